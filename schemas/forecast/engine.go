package forecast

import "github.com/mailbench/mailbench/schemas"

// Engine knows how many bytes rows take in the files of an engine, flushed, compacted
// and without compression. Drivers have one for each schema.
type Engine interface {
	// Row returns what one row takes in the files of its table.
	Row(r *Row) Size
	// Partition returns what a partition takes in addition to its rows: header, index entries,
	// filter.
	Partition(p *Partition) float64
	// Table returns what the files of a table take in addition to partitions and rows.
	Table(t *schemas.Table, total Size) float64
	// Unit returns how many columns of a table's primary key name what the engine
	// keeps together, for which its limits hold: those of a partition, or of an HBase
	// row. The forecast calls that a partition.
	Unit(t *schemas.Table) int
	// Limits are what the engine warns of or refuses.
	Limits() []Limit
	// Space says what a cluster of the engine needs in addition to one copy of the files.
	Space() Space
	// Compression is how the engine compresses files, or nil if it does not.
	Compression() *Compression
}

// Compression is a way to compress a file block by block.
type Compression struct {
	Name  string
	Block int // bytes
	// Compressed returns how many bytes are left of a block.
	Compressed func(block []byte) int
}

// Row is one row to be sized.
type Row struct {
	Table  *schemas.Table
	Static bool      // the static columns of a partition
	Key    []float64 // bytes of each column of the primary key (static: of the partition key)
	Cells  []Cell    // of the columns that have a value
	// Together is how many rows the partition of a row has, on average over all rows, so
	// that large partitions weigh more. Engines that leave out what a key shares with the
	// one before it save more in partitions of more rows.
	Together float64
	// Around is how many rows the row's user has, if the partition is that of a folder:
	// the keys of a user's partitions may begin alike. Otherwise it equals Together.
	Around float64
	// Span is the time in seconds in which the rows of a file were written. Engines
	// that store times as differences take less for shorter spans.
	Span float64
}

// Cell is a column's value, or the elements of a collection.
type Cell struct {
	Column *schemas.Column
	Count  float64 // number of elements; 1 for a column that is no collection
	Bytes  float64 // bytes of the value, or of all elements with their keys
}

// Partition is one partition to be sized.
type Partition struct {
	Table *schemas.Table
	Key   []float64 // bytes of each column of the partition key
	Size  Size      // size of its rows
}

// Size is the size of rows. Bytes are those in files.
type Size struct {
	Bytes float64 `json:"bytes"`
	Rows  float64 `json:"rows"`
	Cells float64 `json:"cells"`
}

// add adds n times o.
func (s *Size) add(n float64, o Size) {
	s.Bytes += n * o.Bytes
	s.Rows += n * o.Rows
	s.Cells += n * o.Cells
}

// Limit is a bound of an engine.
type Limit struct {
	Name   string // such as "partition of 100 MB"
	Of     Measure
	Most   float64 // in bytes, rows, cells or tombstones, as Of says
	Hard   bool    // the engine refuses more; else it warns or slows down
	Source string  // where the number is from
}

// Measure is what a limit bounds.
type Measure uint8

// Measures. A partition is what Engine.Unit says.
const (
	PartitionBytes Measure = iota
	PartitionRows
	PartitionCells
	PartitionTombstones
	CellBytes  // bytes of one value, or of one element of a collection
	TableBytes // bytes of all files of a table, in one copy
)

// Space is the disk space that a cluster needs in addition to one copy of the files.
type Space struct {
	Replicas int // copies of the data, unless the user says otherwise
	// Compaction is the free room, as a share of the files, that compactions need.
	Compaction float64
	Why        string // says where Compaction is from
	// Tombstones is how many days a delete marker stays before compaction may drop it.
	Tombstones float64
}

// Bytes returns the bytes of a value of a type of fixed size as a payload, or 0.
func Bytes(t schemas.Type) float64 {
	if t.Foreign != "" {
		return float64(schemas.CQLBytes(t))
	}
	switch t.Kind {
	case schemas.Int:
		return 4
	case schemas.Bigint, schemas.Timestamp, schemas.Counter:
		return 8
	case schemas.Boolean:
		return 1
	case schemas.UUID, schemas.TimeUUID:
		return 16
	}
	return 0
}
