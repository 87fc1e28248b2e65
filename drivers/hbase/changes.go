package hbase

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// entries are the changes of entries that belong to one write.
type entries struct {
	puts, drops []edit
	rows        map[string]*indexedRow // by HBase row
}

// indexedRow is a row as the parts of a write leave it, one after the other.
type indexedRow struct {
	exists bool
	vals   []drivers.Value // the key, then the columns, of which only the indexed ones are set
	until  uint64          // when the stored row was written, as HBase's timestamp; 0: by this write
}

// change adds what one call changes. An entry that the row has again is not deleted.
func (c *entries) change(st *statement, args []drivers.Value) error {
	if !st.tracked || st.found != nil {
		return nil
	}
	t := st.table
	name, err := t.nameOf(args[:len(t.key)])
	if err != nil {
		return err
	}
	r := c.rows[name]
	if err := c.drop(t, r.vals, r.until); err != nil {
		return err
	}
	r.until = 0
	if st.Pattern().Kind == schemas.Delete {
		clear(r.vals[len(t.key):])
		return nil
	}
	for _, w := range st.write {
		at := len(t.key) + slices.Index(t.columns, w.column)
		if slices.Contains(t.indexed(), w.column) {
			if err := plan.CheckKind(w.column, args[w.arg].Kind()); err != nil {
				return err
			}
			r.vals[at] = args[w.arg]
		}
	}
	for i := range t.indexes {
		e, err := t.indexes[i].edit(t.indexes[i].put, r.vals)
		if err != nil {
			return fmt.Errorf("index %s: %w", t.indexes[i].schema.Name, err)
		}
		if e.ops == nil {
			continue
		}
		c.puts = append(c.puts, e)
		c.drops = slices.DeleteFunc(c.drops, func(d edit) bool { return d.sameCell(&e) })
	}
	return nil
}

// drop adds the deletion of a row's entries.
func (c *entries) drop(t *table, row []drivers.Value, until uint64) error {
	for i := range t.indexes {
		e, err := t.indexes[i].edit(t.indexes[i].drop, row)
		if err != nil {
			return err
		}
		if e.ops != nil {
			e.ops[0].until = until
			c.drops = append(c.drops, e)
		}
	}
	return nil
}

// edit returns the change of a row's entry by one of the index's statements, without ops if it has none.
func (x *index) edit(st *statement, row []drivers.Value) (e edit, err error) {
	vals := x.values(row)
	if vals == nil {
		return e, nil
	}
	e.reset(x.entries)
	if err = st.put(&e, vals); err == nil {
		err = e.check()
	}
	return e, err
}

// sameCell reports whether two changes of one cell each are of the same one.
func (e *edit) sameCell(o *edit) bool {
	return bytes.Equal(e.table, o.table) && bytes.Equal(e.row, o.row) &&
		bytes.Equal(e.qualifier(&e.ops[0]), o.qualifier(&o.ops[0]))
}

// spread puts copies of a row's values where they are in a whole row: vals are its indexed columns, with the
// key before them if row has room for it.
func (t *table) spread(row, vals []drivers.Value) {
	at := len(row) - len(t.columns)
	for i := range at {
		row[i] = vals[i].Clone()
	}
	for i, c := range t.indexed() {
		row[at+slices.Index(t.columns, c)] = vals[at+i].Clone()
	}
}

// nameOf returns what tells a row from those of other tables.
func (t *table) nameOf(key []drivers.Value) (string, error) {
	name := append(append(slices.Clone(t.hbase), 0), t.family...)
	name, err := appendKey(append(name, 0), t.row, key)
	return string(name), err
}
