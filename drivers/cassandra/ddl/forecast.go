package ddl

import (
	"math"
	"strconv"

	"github.com/pierrec/lz4/v4"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
)

// Forecast returns the sizes of a schema's rows in Cassandra 4 and 5, as they write them in the BIG format, version
// "nb", which 5.0 also writes unless storage_compatibility_mode is set otherwise. The
// sources are the classes UnfilteredSerializer, Cell, ClusteringPrefix and
// RowIndexEntry of Cassandra 5.0.
func Forecast(s *schemas.Schema) (*forecast.Engine, error) {
	if _, err := Define(s, "", nil); err != nil {
		return nil, err
	}
	return &forecast.Engine{
		Row: rowSize, Partition: partitionSize, Table: fileSize,
		Unit: func(t *schemas.Table) int { return len(t.Partition) },
		Space: forecast.Space{
			Replicas: 3, Compaction: 1, Tombstones: 10,
			Why: "SizeTieredCompaction may write a copy of all before it removes the old files",
		},
		Compression: &forecast.Compression{Name: "LZ4", Block: 16 << 10, Compressed: lz4Size}, // the default since 4.0
		Limits: []forecast.Limit{
			{
				Name: "partition over 100 MB", Of: forecast.PartitionBytes, Most: 100 << 20,
				Source: "compaction_large_partition_warning_threshold of Cassandra 4.0; the guardrail " +
					"partition_size_warn_threshold since 4.1",
			},
			{
				Name: "partition over 100,000 rows", Of: forecast.PartitionRows, Most: 100_000,
				Source: "DataStax, data modeling: keep partitions below 100,000 values",
			},
			{
				Name: "partition over 2 billion cells", Of: forecast.PartitionCells, Most: 2e9, Hard: true,
				Source: "Cassandra's documentation, limitations of CQL",
			},
			{
				Name: "read meets over 1,000 tombstones", Of: forecast.PartitionTombstones, Most: 1000,
				Source: "tombstone_warn_threshold in cassandra.yaml",
			},
			{
				Name: "read meets over 100,000 tombstones", Of: forecast.PartitionTombstones, Most: 100_000, Hard: true,
				Source: "tombstone_failure_threshold in cassandra.yaml: the read fails",
			},
			{
				Name: "value over 16 MiB", Of: forecast.CellBytes, Most: 16 << 20, Hard: true,
				Source: "max_mutation_size in cassandra.yaml, half of commitlog_segment_size",
			},
		},
	}, nil
}

// lz4Size returns how many bytes are left of a block.
func lz4Size(b []byte) int {
	n, err := lz4.CompressBlock(b, make([]byte, lz4.CompressBlockBound(len(b))), nil)
	if err != nil || n == 0 {
		return len(b) // it does not get smaller
	}
	return min(n+4, len(b)) // 4 bytes are the length
}

// rowSize sizes a row, and its entries in secondary indexes.
func rowSize(r *forecast.Row) forecast.Size {
	stamp := vint(r.Span * 1e6) // a timestamp: µs since the file's earliest
	seconds := vint(r.Span)     // a local deletion time: seconds since the file's earliest
	s := forecast.Size{Rows: 1}
	body, counters, complex := 0.0, false, 0.0
	for _, c := range r.Cells {
		s.Cells += c.Count
		switch {
		case c.Column.Type.Kind == schemas.Counter:
			counters = true
			body += 1 + stamp + variable(counterContext)
		case c.Column.Type.Collection():
			complex++
			body += vint(c.Count)
			if !NewRows(r.Table) {
				body += stamp + seconds // a put deletes the elements that were there: a complex deletion
			}
			body += c.Count * (1 + element(c))
		default:
			body += 1 + value(c.Column.Type, c.Bytes)
		}
	}
	if !counters {
		body += stamp // timestamp of the primary key
	}
	columns := len(r.Table.Columns)
	if r.Static {
		columns = len(r.Table.Static)
		s.Bytes++ // extended flags
	}
	if len(r.Cells) < columns {
		body += vint(math.Exp2(float64(columns))) // bitmap of the columns that are missing
	}
	body += vint(body) // size of the previous row
	s.Bytes += 1 + clustering(r) + vint(body) + body
	if !r.Static {
		made, _ := indexesOf(r.Table)
		for _, x := range made {
			s.Bytes += indexEntries(r, x.Column, stamp)
		}
	}
	s.Cells = max(s.Cells, 1)
	return s
}

// counterContext is a counter cell of one replica: a header of 2 + 2 bytes, and the
// replica's id, clock and count (class CounterContext).
const counterContext = 2 + 2 + 16 + 8 + 8

// clustering sizes the clustering columns of a row.
func clustering(r *forecast.Row) float64 {
	if r.Static || len(r.Table.Clustering) == 0 {
		return 0
	}
	n := 1.0 // flags: which values are empty or null
	for i, c := range r.Table.Clustering {
		n += value(c.Type, r.Key[len(r.Table.Partition)+i])
	}
	return n
}

// indexEntries sizes a row's entry in a legacy index: a partition of the value, whose row
// is the partition key and the clustering key of the indexed row. It counts the
// partition in full, as if all values were different.
func indexEntries(r *forecast.Row, c *schemas.Column, stamp float64) float64 {
	key := 8.0
	for _, cell := range r.Cells {
		if cell.Column == c {
			key = cell.Bytes
		}
	}
	body := stamp + 1
	row := 1 + 1 + variable(partitionKey(r.Table, r.Key)) + max(0, clustering(r)-1) + vint(body) + body
	return row + partitionHeader(key) + indexEntry(key) + filterBits(nil)/8
}

// value sizes a value. A type of variable length has its length before it.
func value(t schemas.Type, bytes float64) float64 {
	if n := float64(t.Bytes()); n > 0 {
		return n
	}
	if bytes == 0 {
		return 0 // a flag says so
	}
	return variable(bytes)
}

// element sizes the path and the value of an element of a collection.
func element(c forecast.Cell) float64 {
	if c.Count == 0 {
		return 0
	}
	bytes := c.Bytes / c.Count
	switch c.Column.Type.Kind {
	case schemas.List:
		return variable(16) + value(*c.Column.Type.Elem, bytes)
	case schemas.Map:
		fixed := float64(c.Column.Type.Elem.Bytes())
		if fixed > 0 {
			return variable(bytes-fixed) + fixed
		}
		return bytes + vint(bytes) + 1 // a short key and a longer value
	}
	return variable(bytes)
}

func variable(bytes float64) float64 { return vint(bytes) + bytes }

// vint returns how many bytes Cassandra takes for an unsigned number (class VIntCoding): one
// for each 7 bits, and 9 for a number of more than 56 bits.
func vint(n float64) float64 {
	if n < 1 {
		return 1
	}
	return min(9, math.Floor(math.Log2(n)/7)+1)
}

// partitionKey sizes a partition key. In a key of several columns, each has its length before
// it and a byte after it (class CompositeType).
func partitionKey(t *schemas.Table, key []float64) (n float64) {
	for i := range t.Partition {
		n += key[i]
	}
	if len(t.Partition) > 1 {
		n += 3 * float64(len(t.Partition))
	}
	return n
}

// partitionHeader sizes what surrounds the rows of a partition: the key with its
// length, a deletion time of 12 bytes, and the end.
func partitionHeader(key float64) float64 { return 2 + key + 12 + 1 }

// indexEntry sizes a partition's entry in Index.db and its share of Summary.db, which has an
// entry for every 128th partition.
func indexEntry(key float64) float64 { return 2 + key + 4 + 1 + (key+8+4)/128 }

// columnIndex is the distance of entries in the index of a large partition: the
// default of column_index_size for the BIG format.
const columnIndex = 64 << 10

// partitionSize sizes what a partition takes in addition to its rows.
func partitionSize(t *schemas.Table, columns []float64, rows forecast.Size) float64 {
	key := partitionKey(t, columns)
	n := partitionHeader(key) + indexEntry(key) + filterBits(t)/8
	if blocks := math.Ceil(rows.Bytes / columnIndex); blocks > 1 {
		// The first and the last clustering of a block, offset, width and place.
		names := 0.0
		for _, c := range t.Clustering {
			names += max(8, float64(c.Type.Bytes()))
		}
		n += 20 + blocks*(2*(2+names)+3+2+1+4)
	}
	return n
}

// filterBits is the number of bits that a partition takes in the Bloom filter: 10 for
// the default chance of 0.01, 5 for 0.1 (class BloomCalculations).
func filterBits(t *schemas.Table) float64 {
	chance := 0.01
	if t != nil {
		if f, err := strconv.ParseFloat(t.Hints[EngineName]["bloom_filter_fp_chance"], 64); err == nil {
			chance = f
		}
	}
	return math.Ceil(-1.44*math.Log2(chance) + 0.1)
}

// fileBytes is what the files of an SSTable take that hold no rows: Statistics.db
// with its histograms, Summary.db, TOC.txt, Digest.crc32.
const fileBytes = 5000

// fileSize sizes what files take in addition to partitions. CRC.db has 4 bytes for 64 KiB.
func fileSize(t *schemas.Table, total forecast.Size) float64 {
	indexes, _ := indexesOf(t)
	return fileBytes*float64(1+len(indexes)) + total.Bytes*4/(64<<10)
}
