package hbase

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// index is an index over plain columns. HBase has none, so its entries are the rows of a table of
// their own: the index's columns are its partition key, the rest of the primary key follows.
type index struct {
	schema  *schemas.Index
	entries *table
	from    []int // for each column of the entries' key, its position in a row: the key, then the columns
	// put and drop write and delete one entry. Their arguments are the entries' key.
	put, drop *statement
}

// keeps reports whether the driver keeps a table of entries for an index: one over plain columns, which
// are no collections and nobody counts up, in ascending order. The rows must be HBase rows of mailbench's own.
func keeps(s *schemas.Schema, t *schemas.Table, x *schemas.Index) bool {
	if len(t.Columns) < 2 || t.Hints[engineName]["marker"] != "" || x.OverKeys() {
		return false
	}
	return !slices.ContainsFunc(x.Columns, func(x schemas.IndexColumn) bool {
		c := x.Column
		return x.Desc || c.Role == schemas.Static || c.Type.Collection() || c.Type.Kind == schemas.Counter ||
			slices.ContainsFunc(s.Patterns, func(p *schemas.Pattern) bool {
				return p.Kind == schemas.Add && slices.Contains(p.Columns, c)
			})
	})
}

// tableHints are the hints that say how the rows of one table are stored. A table of entries has the
// other ones of its table, such as the expiry.
var tableHints = []string{"family", "unsigned", "order", "salt", "marker"}

// entriesOf returns the table of an index's entries.
func entriesOf(t *schemas.Table, x *schemas.Index) *schemas.Table {
	e := &schemas.Table{
		Name: strings.ReplaceAll(t.Name, ".", "_") + "_" + x.Name, Schema: t.Schema,
		Doc: fmt.Sprintf("Entries of the index %s of table %s, which HBase itself does not have.", x.Name, t.Name),
		Pos: x.Pos,
	}
	for _, c := range x.Columns {
		e.Partition = append(e.Partition, &schemas.Column{
			Name: c.Column.Name, Type: c.Column.Type, Role: schemas.Partition, Pos: x.Pos,
		})
	}
	for _, c := range t.Key() {
		if e.Column(c.Name) == nil {
			e.Clustering = append(e.Clustering, &schemas.Column{
				Name: c.Name, Type: c.Type, Role: schemas.Clustering, Desc: c.Desc, Pos: x.Pos,
			})
		}
	}
	hints := maps.Clone(t.Hints[engineName])
	maps.DeleteFunc(hints, func(name, _ string) bool { return slices.Contains(tableHints, name) })
	if len(hints) > 0 {
		e.Hints = map[string]map[string]string{engineName: hints}
	}
	return e
}

// withEntries returns the schema with a table for each index that the driver keeps, and those tables.
func withEntries(s *schemas.Schema) (*schemas.Schema, map[*schemas.Index]*schemas.Table, error) {
	own, entries := *s, make(map[*schemas.Index]*schemas.Table)
	own.Tables = slices.Clone(s.Tables)
	for _, t := range s.Tables {
		for _, x := range t.Indexes {
			if !keeps(s, t, x) {
				continue
			}
			e := entriesOf(t, x)
			if own.Table(e.Name) != nil {
				return nil, nil, fmt.Errorf("table %s has the name of the table of index %s", e.Name, x.Name)
			}
			entries[x] = e
			own.Tables = append(own.Tables, e)
		}
	}
	return &own, entries, nil
}

// dropEntries removes the tables of entries from a schema that was read out of HBase's tables: its indexes
// bring them back.
func dropEntries(s *schemas.Schema) {
	for _, t := range s.Tables {
		for _, x := range t.Indexes {
			name := entriesOf(t, x).Name
			s.Tables = slices.DeleteFunc(slices.Clone(s.Tables), func(t *schemas.Table) bool { return t.Name == name })
		}
	}
}

// addIndexes gives the tables their indexes.
func (l *layout) addIndexes(entries map[*schemas.Index]*schemas.Table) error {
	for _, t := range l.schema.Tables {
		tb := l.tables[t]
		for _, x := range t.Indexes {
			e := l.tables[entries[x]]
			if e == nil {
				continue
			}
			own := index{schema: x, entries: e}
			for _, c := range e.key {
				own.from = append(own.from, tb.position(c.Name))
			}
			own.put = &statement{Plan: plan.Of(&schemas.Pattern{Kind: schemas.Put, Table: e.schema, By: e.key}), table: e}
			own.drop = &statement{Plan: plan.Of(&schemas.Pattern{Kind: schemas.Delete, Table: e.schema, By: e.key}), table: e}
			tb.indexes = append(tb.indexes, own)
		}
		if tb == nil || len(tb.indexes) == 0 {
			continue
		}
		tb.old = &statement{table: tb, Plan: plan.Of(&schemas.Pattern{
			Name: "old row", Kind: schemas.Get, Table: t, By: tb.key, Columns: tb.indexColumns(),
		})}
		if err := tb.old.compile(); err != nil {
			return err
		}
	}
	return nil
}

// dropIndex forgets the index, if there is one, whose entries are in e.
func (l *layout) dropIndex(e *schemas.Table) {
	tb := l.tables[l.indexedBy(e)]
	if tb == nil {
		return
	}
	tb.indexes = slices.DeleteFunc(tb.indexes, func(x index) bool { return x.entries.schema == e })
	l.schema.Tables = slices.DeleteFunc(l.schema.Tables, func(t *schemas.Table) bool { return t == e })
	delete(l.tables, e)
	l.roots = slices.DeleteFunc(l.roots, func(r *root) bool { return r.schema == e })
}

// indexedBy returns the table whose index has its entries in e, or nil.
func (l *layout) indexedBy(e *schemas.Table) *schemas.Table {
	for t, tb := range l.tables {
		if slices.ContainsFunc(tb.indexes, func(x index) bool { return x.entries.schema == e }) {
			return t
		}
	}
	return nil
}

// entriesBelow returns the HBase tables of the entries of what is in another one.
func (l *layout) entriesBelow(r *root) (all []*root) {
	for _, e := range l.roots {
		if of := l.indexedBy(e.schema); of != nil && of.Root() == r.schema {
			all = append(all, e)
		}
	}
	return all
}

// position returns where a column is in a row: the key, then the columns.
func (t *table) position(name string) int {
	return slices.IndexFunc(slices.Concat(t.key, t.columns), func(c *schemas.Column) bool { return c.Name == name })
}

// indexed returns the plain columns that the table's old row is read with: those of its indexes.
func (t *table) indexed() []*schemas.Column { return t.old.Pattern().Columns }

// indexColumns collects the plain columns of the table's indexes.
func (t *table) indexColumns() (all []*schemas.Column) {
	for at, c := range t.columns {
		if slices.ContainsFunc(t.indexes, func(x index) bool { return slices.Contains(x.from, len(t.key)+at) }) {
			all = append(all, c)
		}
	}
	return all
}

// values returns the key of the entry of a row, or nil if a column of the index is null: the row has none.
func (x *index) values(row []drivers.Value) []drivers.Value {
	vals := make([]drivers.Value, len(x.from))
	for i, at := range x.from {
		if vals[i] = row[at]; vals[i].IsNull() {
			return nil
		}
	}
	return vals
}

// kept returns the table's own index of that name, or nil.
func (t *table) kept(name string) *index {
	for i := range t.indexes {
		if t.indexes[i].schema.Name == name {
			return &t.indexes[i]
		}
	}
	return nil
}
