package pebble

import (
	"math"

	"github.com/golang/snappy"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
)

// forecastOf returns the sizes of rows. Tables share files, in which there is nothing but pairs. Pebble does not know
// partitions and has no limits for them.
func forecastOf(s *schemas.Schema) (*forecast.Engine, error) {
	return &forecast.Engine{
		Row: rowSize, Unit: func(t *schemas.Table) int { return len(t.Partition) },
		Space: forecast.Space{
			Replicas: 1, Compaction: 0.25,
			Why: "levels above the last, and blob files with values that are no longer used",
		},
		Compression: &forecast.Compression{Name: "Snappy", Block: 4 << 10, Compressed: func(b []byte) int { // the default
			return min(len(snappy.Encode(nil, b)), len(b))
		}},
	}, drivers.Portable(s)
}

// bundle is how many keys store their common prefix once (bundle size of the default key schema).
const bundle = 16

// entryBytes is the overhead of a key-value pair in bytes: the offsets of key and value, and
// the pair's share of trailer, bitmaps and block index.
const entryBytes = 5.5

// rowSize sizes a row as Pebble writes it in its newest format. A block has columns of keys and of values, and each 16
// keys store their common prefix once. Values of minSeparate bytes or more are in blob files.
func rowSize(r *forecast.Row) forecast.Size {
	s := forecast.Size{Rows: 1}
	t, keyed := r.Table, r.Table.Key()
	if r.Static {
		keyed = t.Partition
	}
	key, shared, begin := float64(spaceLen), 0.0, 0.0
	for i, c := range keyed {
		n := keyBytes(c.Type.Kind, r.Key[i])
		key += n
		switch {
		case i >= len(t.Partition):
			switch c.Type.Kind { // the high bytes of times and numbers are equal in neighboring keys
			case schemas.TimeUUID, schemas.Timestamp, schemas.Int:
				shared += 2
			case schemas.Bigint:
				shared += 6
			}
		case c.Type.Kind == schemas.Text:
			begin += begins * n
			shared += n
		default:
			shared += n
		}
	}
	// A bundle within one partition stores once what its keys share. A bundle that spans
	// partitions of one user stores once the beginning of the partition key. Any other bundle
	// shares only the number of the key space.
	inside, near := within(r.Together), within(r.Around)
	if r.Static {
		inside, near = 0, 0
	}
	common := spaceLen + inside*shared + (near-inside)*begin
	rest := key - common*(1-1.0/bundle)

	value := 1.0
	columns := make(map[*schemas.Column]float64, len(r.Cells))
	for i, c := range r.Cells {
		columns[c.Column] = c.Bytes
		if c.Column.Type.Collection() {
			each := c.Bytes / max(1, c.Count)
			s.Bytes += c.Count * (pair(3, each) + key/max(1, min(bundle, c.Count)))
			s.Cells += c.Count
			continue
		}
		n := c.Bytes
		switch c.Column.Type.Kind {
		case schemas.Int, schemas.Bigint, schemas.Counter:
			n = 3 // a varint; a timestamp is one of 8 bytes
		}
		value += uvarint(float64(i)*4) + uvarint(n) + n
		s.Cells++
	}
	s.Bytes += pair(rest, value)
	for _, x := range t.Indexes {
		if n := rest; keeps(x) && !r.Static {
			for _, c := range x.Columns {
				if c.Column.Role == schemas.Plain {
					n += keyBytes(c.Column.Type.Kind, columns[c.Column])
				}
			}
			s.Bytes += pair(n, 0)
		}
	}
	return s
}

// begins is the share of a text partition key that is equal in all partitions of a user: the
// address without the label.
const begins = 0.8

// within returns the share of bundles that lie within a run of so many rows.
func within(rows float64) float64 { return max(0, 1-(bundle-1)/max(1, rows)) }

// pair sizes a key and a value in tables and blob files.
func pair(key, value float64) float64 {
	n := entryBytes + key + value
	if value >= minSeparate {
		n += blobHandle
	}
	return n
}

// blobHandle is the size in bytes of a reference to a value in a blob file, with the value's
// overhead there.
const blobHandle = 6

func keyBytes(k schemas.Kind, n float64) float64 {
	if k == schemas.Text || k == schemas.Blob {
		return n + 2 // a terminator
	}
	return n
}

func uvarint(n float64) float64 {
	if n < 1 {
		return 1
	}
	return math.Floor(math.Log2(n)/7) + 1
}
