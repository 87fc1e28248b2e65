package pebble

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/mailbench/mailbench/schemas"
)

// family is a set of columns with one key: the plain columns with the primary key, or the
// static columns with the partition key. A column is named by its position in columns.
type family struct {
	path
	cells       uint16 // the key space of the elements of its collections
	columns     []*schemas.Column
	collections int       // number of columns that are collections
	scalars     []operand // the others, of a row as append takes it
}

// index is the sort order of an index. The entry of a row in an index over key columns never changes.
type index struct {
	path
	name  string
	plain bool // it has plain columns
}

// table is a table's layout.
type table struct {
	key     []*schemas.Column
	rows    family
	statics family
	indexes []*index
	plain   bool // some index has plain columns
	// guarded is true if some writes to the table read first. Then every write to a
	// row takes its lock.
	guarded *atomic.Bool
}

// spacesOf is how many key spaces a table takes.
func spacesOf(t *schemas.Table) int { return 4 + len(t.Indexes) }

// newTable lays out a table over the spaces from first on. Columns and indexes have the
// order with which the table was created.
func newTable(t, created *schemas.Table, first uint16) (*table, error) {
	tb := &table{key: t.Key()}
	order := make([]keyColumn, len(tb.key))
	for i, c := range tb.key {
		order[i] = keyColumn{c.Type.Kind, c.Desc, i}
	}
	var err error
	if tb.rows, err = newFamily(first, order, inOrder(t, created.Columns)); err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name, err)
	}
	if tb.statics, err = newFamily(first+2, order[:len(t.Partition)], inOrder(t, created.Static)); err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name, err)
	}
	for _, x := range t.Indexes {
		if !keeps(x) {
			continue
		}
		i := slices.IndexFunc(created.Indexes, func(c *schemas.Index) bool { return c.Name == x.Name })
		if i < 0 {
			continue // a store opened read-only may lack it
		}
		p := &index{path: path{space: first + 4 + uint16(i)}, name: x.Name, plain: !x.OverKeys()}
		for _, c := range x.Columns {
			from := slices.Index(tb.key, c.Column)
			if from < 0 {
				from = len(tb.key) + slices.Index(tb.rows.columns, c.Column)
			}
			p.cols = append(p.cols, keyColumn{c.Column.Type.Kind, c.Desc, from})
		}
		for i, k := range order {
			if !slices.ContainsFunc(p.cols, func(c keyColumn) bool { return c.from == i }) {
				p.cols = append(p.cols, k)
			}
		}
		tb.indexes, tb.plain = append(tb.indexes, p), tb.plain || p.plain
	}
	return tb, nil
}

// index returns the table's index of that name, or nil.
func (tb *table) index(name string) *index {
	if i := slices.IndexFunc(tb.indexes, func(x *index) bool { return x.name == name }); i >= 0 {
		return tb.indexes[i]
	}
	return nil
}

// column returns the column of the table that a key column is.
func (tb *table) column(c keyColumn) *schemas.Column {
	if c.from < len(tb.key) {
		return tb.key[c.from]
	}
	return tb.rows.columns[c.from-len(tb.key)]
}

// inOrder returns the table's columns in the order of others. It returns a column of others
// itself if the table has none of that name.
func inOrder(t *schemas.Table, others []*schemas.Column) []*schemas.Column {
	cs := make([]*schemas.Column, len(others))
	for i, c := range others {
		if cs[i] = t.Column(c.Name); cs[i] == nil {
			cs[i] = c
		}
	}
	return cs
}

func newFamily(first uint16, order []keyColumn, cols []*schemas.Column) (family, error) {
	f := family{path: path{first, order}, cells: first + 1, columns: cols}
	if len(cols) > maxColumns {
		return f, fmt.Errorf("%d columns; at most %d can be stored", len(cols), maxColumns)
	}
	for i, c := range cols {
		if !c.Type.Collection() {
			f.scalars = append(f.scalars, operand{i, len(order) + i})
			continue
		}
		f.collections++
		if c.Type.Elem.Collection() || c.Type.Key != nil && c.Type.Key.Collection() {
			return f, fmt.Errorf("column %s is %s: collections of collections cannot be stored", c.Name, c.Type)
		}
	}
	return f, nil
}
