package oraclenosql

import (
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
)

// forecastOf returns the sizes of a schema's rows.
func forecastOf(s *schemas.Schema) (*forecast.Engine, error) {
	l, err := newLayout(s, "", "")
	if err != nil {
		return nil, err
	}
	return &forecast.Engine{
		Row: l.rowSize, Unit: func(t *schemas.Table) int { return len(l.tables[t].shardKey) },
		Space: forecast.Space{
			Replicas: 3, Compaction: 1.5,
			Why: "the store cleans log files until 40 % of their bytes are rows (je.cleaner.minUtilization)",
		},
		Limits: []forecast.Limit{
			{
				Name: "value over the 64 MiB of a request", Of: forecast.CellBytes, Most: maxRequest, Hard: true,
				Source: "measured: the proxy of 25.3.21 answers 413 Request Entity Too Large",
			},
			{
				Name: "value over the cloud's row of 512 KiB", Of: forecast.CellBytes, Most: float64(limitsOf["cloud"].row),
				Source: "the proxy's source, RequestLimits.java; on premises rows may be larger",
			},
		},
	}, nil
}

const (
	rowOverhead   = 54 // of a row, in the log and in the tree
	smallOverhead = 20 // of one that the tree holds itself, since its fields are short
	smallBytes    = 16
	formatBytes   = 3 // of a row's fields
	indexOverhead = 12
	levelBytes    = 2 // a table's number in keys, and of each table that it is nested in
)

// rowSize sizes a row as the server's functions row_storage_size and index_storage_size do: a
// row's key, once in the row and once in its table's tree, its fields, and what the store keeps of
// each. The constants are fitted to a server of release 25.3.21, whose key texts and row format
// they stand for; com.sleepycat.je.dbi.StorageSize says which parts there are.
func (l *layoutOf) rowSize(r *forecast.Row) forecast.Size {
	t := l.tables[r.Table]
	if r.Static {
		t = t.parent
	}
	s := forecast.Size{Rows: 1, Cells: float64(len(r.Cells))}
	key, fields := 0.0, formatBytes+float64(len(t.columns)) // each may be null, which takes a byte
	for up := t; up != nil; up = up.parent {
		key += levelBytes
	}
	sizes := make(map[*schemas.Column]float64)
	for i, c := range t.fullKey {
		sizes[c] = r.Key[i]
		key += keyBytes(c.Type.Kind, r.Key[i]) + 1
	}
	for _, c := range r.Cells {
		sizes[c.Column] = c.Bytes
		fields += fieldBytes(&c)
	}
	if s.Bytes = 2*key + fields + rowOverhead; fields <= smallBytes {
		s.Bytes = key + fields + smallOverhead
	}
	for _, x := range t.kept {
		s.Bytes += indexOverhead + key
		for _, c := range x.Columns {
			s.Bytes += indexBytes(c.Column.Type.Kind, sizes[c.Column])
		}
	}
	return s
}

// keyBytes sizes a column of a key, which is text.
func keyBytes(k schemas.Kind, n float64) float64 {
	switch k {
	case schemas.Blob, schemas.TimeUUID:
		return 2 * n // hexadecimal digits
	case schemas.UUID:
		return 26
	case schemas.Timestamp:
		return 10
	case schemas.Int, schemas.Boolean:
		return 3
	case schemas.Bigint:
		return 5
	}
	return n
}

// indexBytes sizes a column of an entry of an index.
func indexBytes(k schemas.Kind, n float64) float64 {
	switch k {
	case schemas.Text, schemas.Blob, schemas.TimeUUID:
		return keyBytes(k, n) + 2
	}
	return max(n, 1) + 2
}

// fieldBytes sizes a value: text and blobs have a length before them, numbers take as many bytes as
// they need.
func fieldBytes(c *forecast.Cell) float64 {
	switch k := c.Column.Type.Kind; {
	case c.Column.Type.Collection():
		return c.Bytes + 3*c.Count + 2
	case k == schemas.Text || k == schemas.Blob:
		size := c.Bytes + 1
		for n := c.Bytes; n >= 64; n /= 128 { // the length has 7 bits a byte, one of them for its sign
			size++
		}
		return size
	case k == schemas.Int || k == schemas.Bigint || k == schemas.Counter:
		return 3
	case k == schemas.UUID || k == schemas.TimeUUID:
		return c.Bytes + 1
	case k == schemas.Timestamp:
		return 10
	}
	return c.Bytes
}
