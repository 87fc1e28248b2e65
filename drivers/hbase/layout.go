package hbase

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
)

const (
	rowFamily    = "m" // family of a root table's rows, unless a hint names another
	staticFamily = "s" // family of the static columns; their row key is the partition key
)

// table is the layout of a schema's table in HBase. The package comment has the
// rules.
type table struct {
	schema *schemas.Table
	hbase  []byte // the HBase table: the root table's
	family string // the family of its rows
	key    []*schemas.Column
	row    keys.Columns // the first columns of key: the HBase row key
	rest   keys.Columns // the other columns of key: the qualifier; empty unless rows are cells
	wide   bool         // its rows are cells of wide HBase rows
	// flipped is true if the columns of rest are stored in the opposite order (hint order).
	flipped bool
	// columns are the plain columns; a wide table has at most one. added are the positions of
	// those that a pattern adds to. A row that is not a cell exists if it has its marker cell
	// or a cell of an added column.
	columns []*schemas.Column
	added   []int
	// counted is true if a pattern adds to a cell of the table.
	counted bool
	// statics has a row for each partition: the static columns. nil: there are none. static is true if this is such a
	// table, whose rows have no marker.
	statics *table
	static  bool

	descriptor familySettings    // the settings of family
	unsigned   []*schemas.Column // its own key columns that are never negative (hint unsigned)
	salt       int               // buckets that the row keys of a root table are spread over (hint salt); 0: none

	// noMarker is true if any cell makes a row exist (hint marker: none): another program
	// writes the rows, and mailbench only reads them.
	noMarker bool
}

// marked reports whether a cell marks each row.
func (t *table) marked() bool { return !t.wide && !t.noMarker && !t.static }

// layout is the layout of a schema in HBase.
type layout struct {
	schema *schemas.Schema
	tables map[*schemas.Table]*table // without headers
	roots  []*root
	// unsigned are the key columns that are never negative. Nested tables inherit them.
	unsigned map[*schemas.Column]bool
}

// root is one HBase table: a root table of the schema with all that is nested in it.
type root struct {
	TableDescription // without mailbench's mark
	schema           *schemas.Table
	salt             int // buckets that the row keys are spread over; 0: none
}

// newLayout lays out a schema. The names of its HBase tables begin with prefix.
func newLayout(prefix string, s *schemas.Schema) (*layout, error) {
	if err := drivers.Portable(s); err != nil {
		return nil, err
	}
	l := &layout{schema: s, tables: make(map[*schemas.Table]*table), unsigned: make(map[*schemas.Column]bool)}
	for _, t := range s.Tables {
		if t.Parent == nil {
			d := TableDescription{Name: prefix + t.Name, Families: make(map[string]familySettings)}
			l.roots = append(l.roots, &root{TableDescription: d, schema: t})
		}
		if t.Header() {
			if len(t.Hints[engineName]) > 0 {
				return nil, fmt.Errorf("table %s: hints of a table that stores nothing of its own", t.Name)
			}
			continue
		}
		tb, err := l.place(t, l.rootOf(t))
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
		l.tables[t] = tb
	}
	l.countAdded()
	return l, nil
}

// place lays out one table. The tables that it is nested in come first.
func (l *layout) place(t *schemas.Table, r *root) (*table, error) {
	tb, err := parseHints(t)
	if err != nil {
		return nil, err
	}
	tb.hbase, tb.key, tb.columns = []byte(r.Name), t.Key(), t.Columns
	for _, c := range tb.unsigned {
		l.unsigned[c] = true
	}
	rows := l.rowOf(t)
	if t.Parent == nil {
		r.salt = tb.salt
	}
	tb.row, tb.rest = l.parts(r, tb.key, 0, rows, false), l.parts(r, tb.key, rows, len(tb.key), tb.flipped)
	tb.wide = len(tb.rest) > 0
	if tb.flipped && !tb.wide {
		return nil, fmt.Errorf("hint order: its rows are no cells of a wide row, and HBase scans rows either way")
	}
	if tb.noMarker && tb.wide {
		return nil, fmt.Errorf("hint marker: its rows are cells of a wide row, which have no marker")
	}
	switch {
	case tb.family != "": // by the hint
	case t.Parent == nil:
		tb.family = rowFamily
	default:
		tb.family = t.Name[strings.LastIndexByte(t.Name, '.')+1:]
	}
	families := []string{tb.family}
	if len(t.Static) > 0 {
		families = append(families, staticFamily)
		tb.statics = &table{
			schema: t, hbase: tb.hbase, family: staticFamily, key: t.Partition, columns: t.Static, static: true,
			row: l.parts(r, t.Partition, 0, len(t.Partition), false), descriptor: tb.descriptor,
		}
	}
	for _, family := range families {
		if _, taken := r.Families[family]; taken {
			return nil, fmt.Errorf("its family %s is another table's, too: name one by the hint family", family)
		}
		r.Families[family] = tb.descriptor
	}
	return tb, nil
}

// rowOf returns how many columns of the primary key are in the HBase row key.
func (l *layout) rowOf(t *schemas.Table) int {
	rows := len(t.Partition)
	for p := t.Parent; p != nil; p = p.Parent {
		if tb := l.tables[p]; tb != nil && !tb.wide {
			rows = len(tb.key) // the rows it is nested in are HBase rows
			break
		}
	}
	if len(t.Columns) > 1 || len(t.Columns) == 1 && t.Columns[0].Type.Collection() {
		return len(t.Partition) + len(t.Clustering)
	}
	return rows
}

// countAdded finds the columns that patterns add to. An Increment writes only their cells and
// no marker, so their cells must make the row exist.
func (l *layout) countAdded() {
	for _, p := range l.schema.Patterns {
		tb := l.tables[p.Table]
		if p.Kind != schemas.Add || tb == nil {
			continue
		}
		for of := tb; of != nil; of = of.statics {
			of.counted = true
		}
		for _, c := range p.Columns {
			if at := slices.Index(tb.columns, c); at >= 0 && !tb.wide && !slices.Contains(tb.added, at) {
				tb.added = append(tb.added, at)
			}
		}
		slices.Sort(tb.added)
	}
}

// parts describes the columns of a row key, which may be salted, or of a qualifier: those from number first on and
// before number last. If reversed, each is stored in the order opposite to its own. HBase takes no empty row key, and
// with NEW_VERSION_BEHAVIOR (2.6.4) the deletion of a family misses a cell with an empty qualifier.
func (l *layout) parts(r *root, key []*schemas.Column, first, last int, reversed bool) keys.Columns {
	ps := make(keys.Columns, last-first)
	for i := range ps {
		c := key[first+i]
		ps[i] = keys.Column{Kind: c.Type.Kind, Desc: c.Desc != reversed, At: first + i, Unsigned: l.unsigned[c]}
	}
	if first == 0 {
		ps[0].Salt, ps[0].Salted = r.salt, len(r.schema.Partition)
	}
	if n := len(ps); n > 0 {
		end := &ps[n-1]
		end.Raw = !end.Desc && (end.Kind == schemas.Text || end.Kind == schemas.Blob)
		end.Filled = end.Raw && n == 1
	}
	return ps
}

// prefixOf returns how the names of a schema's HBase tables begin. HBase takes no @
// in them.
func prefixOf(namespace, schema string) string {
	return plan.PlaceName(namespace, strings.ReplaceAll(schema, "@", "_")) + "."
}

// forecastOf returns the sizes of a schema's rows. A partition takes nothing in addition: a wide row has only one entry
// in the Bloom filter.
func forecastOf(s *schemas.Schema) (*forecast.Engine, error) {
	l, err := newLayout(prefixOf("", s.Name), s)
	if err != nil {
		return nil, err
	}
	return &forecast.Engine{
		Row: l.rowSize,
		Table: func(t *schemas.Table, _ forecast.Size) float64 {
			if len(t.Static) > 0 {
				return 2 * fileBytes
			}
			return fileBytes
		},
		Unit: func(t *schemas.Table) int { return len(l.tables[t].row) }, // an HBase row
		Space: forecast.Space{
			Replicas: 3, Compaction: 0.5, Tombstones: 7,
			Why: "major compactions rewrite stores, one by one; the replicas are those of HDFS",
		},
		Limits: []forecast.Limit{
			{
				Name: "cell over 10 MiB", Of: forecast.CellBytes, Most: 10 << 20, Hard: true,
				Source: "hbase.client.keyvalue.maxsize and hbase.server.keyvalue.maxsize",
			},
			{
				Name: "row over 1 GiB", Of: forecast.PartitionBytes, Most: 1 << 30, Hard: true,
				Source: "hbase.table.max.rowsize: reads of a whole row fail",
			},
			{
				Name: "row over a region of 10 GiB", Of: forecast.PartitionBytes, Most: 10 << 30, Hard: true,
				Source: "hbase.hregion.max.filesize: a region cannot split inside a row",
			},
			{
				Name: "family over a region of 10 GiB", Of: forecast.TableBytes, Most: 10 << 30,
				Source: "hbase.hregion.max.filesize: regions split from there on",
			},
		},
	}, nil
}

const (
	// sequenceBytes is a cell's sequence id as a vlong: 3 bytes up to 65,535 writes of
	// a region, 4 up to 16 million. Families with NEW_VERSION_BEHAVIOR keep it.
	sequenceBytes = 3
	// fileBytes is the size of a file without cells: a trailer of 4 KiB, and about 1,000 bytes of
	// file info and roots of indexes and filters.
	fileBytes = 4096 + 1000
	// blockBytes is the size of a block, and headerBytes that of its header; its checksums take 4 bytes for 16 KiB.
	blockBytes  = 64 << 10
	headerBytes = 33
	// stampBytes is the length of the stamp before the value of an element and in a
	// collection's own cell.
	stampBytes = 8
	// bloomBytes is what an HBase row takes in the Bloom filter at an error rate of 0.01.
	bloomBytes = 1.2
)

// rowSize sizes a row as HBase 2 writes it in an HFile of version 3 without data block encoding: each cell repeats row,
// family and qualifier (classes KeyValue, NoOpDataBlockEncoder, HFileBlock).
func (l *layout) rowSize(r *forecast.Row) forecast.Size {
	t := l.tables[r.Table]
	if r.Static {
		t = t.statics
	}
	s, row, columns := forecast.Size{Rows: 1}, keyBytes(t.row, r.Key), r.Cells
	add := func(cells, qualifier, value float64) {
		s.Cells += cells
		s.Bytes += cells * (rpc.CellOverhead - 4 + row + float64(len(t.family)) + qualifier + value + sequenceBytes)
	}
	switch {
	case t.wide:
		v := float64(len(escapeNull))
		if len(columns) > 0 {
			v = valueBytes(columns[0].Bytes)
		}
		add(1, keyBytes(t.rest, r.Key[len(t.row):]), v)
		columns = nil
	case !t.static:
		add(1, float64(len(markerName)), float64(len(marker)))
	}
	for _, c := range columns {
		name := float64(len(c.Column.Name))
		if !c.Column.Type.Collection() {
			add(1, name, valueBytes(c.Bytes))
			continue
		}
		// A collection has a cell of its own and one for each element. An element's qualifier
		// ends with the byte elements and the element, or in a list with its stamp.
		add(1, name, stampBytes)
		if c.Count > 0 {
			add(c.Count, name+1, c.Bytes/c.Count+stampBytes)
		}
	}
	// The row's share of its blocks: header, checksums, and an entry in the block index with a key of 60 bytes.
	s.Bytes += s.Bytes / math.Max(blockBytes, s.Bytes) * (headerBytes + 12 + 60)
	s.Bytes += s.Bytes * 4 / (16 << 10)
	if !t.wide && !t.static {
		s.Bytes += bloomBytes
	}
	return s
}

// valueBytes sizes a value of n bytes. The driver writes an empty value as escapeEmpty.
func valueBytes(n float64) float64 {
	if n == 0 {
		return float64(len(escapeEmpty))
	}
	return n
}

// keyBytes sizes a row key or a qualifier, given its columns' sizes.
func keyBytes(parts keys.Columns, sizes []float64) (n float64) {
	for i, p := range parts {
		n += sizes[i]
		if !p.Raw && (p.Kind == schemas.Text || p.Kind == schemas.Blob) {
			n += 2 // a terminator
		}
	}
	if len(parts) > 0 && parts[0].Salt > 0 {
		n++
	}
	return n
}
