package pebble

import (
	"bytes"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// An index with plain columns has an entry for each row in which none of them is null. A write that
// may change it reads the old row first, under the row's lock, and puts the old entry's deletion and
// the new entry in the batch with the row.

// keeps reports whether the engine keeps an index: one over key columns and plain ones that are no
// collections and no counters.
func keeps(x *schemas.Index) bool {
	return !slices.ContainsFunc(x.Columns, func(c schemas.IndexColumn) bool {
		return c.Column.Role == schemas.Static || c.Column.Type.Collection() || c.Column.Type.Kind == schemas.Counter
	})
}

// column returns the column of the table that a key column is.
func (tb *table) column(c keyColumn) *schemas.Column {
	if c.from < len(tb.key) {
		return tb.key[c.from]
	}
	return tb.rows.columns[c.from-len(tb.key)]
}

// tracks reports whether a write may change entries of indexes with plain columns.
func (tb *table) tracks(st *statement) bool {
	if st.Pattern().Kind == schemas.Delete {
		return tb.plain
	}
	return slices.ContainsFunc(tb.indexes, func(p *index) bool {
		return p.plain && slices.ContainsFunc(p.cols, func(c keyColumn) bool {
			return slices.ContainsFunc(st.write, func(w operand) bool { return len(tb.key)+w.col == c.from })
		})
	})
}

// throughFilter makes a read that filters go through an index that begins with what the read binds and
// filters, if there is one. Behind these columns the index must have the order of the primary key.
func (st *statement) throughFilter() {
	p := st.Pattern()
	if p.Index != nil || st.fam != &st.table.rows {
		return
	}
	for _, x := range st.table.indexes {
		lead := []int(nil)
		for _, c := range x.cols[:min(len(x.cols), len(p.By)+1)] {
			at := c.from
			if c.from >= len(st.table.key) {
				if at = slices.Index(p.Filter, st.table.column(c)); at >= 0 {
					at += st.Layout.Filter
				}
			} else if at >= len(p.By) {
				at = -1
			}
			if at < 0 {
				break
			}
			lead = append(lead, at)
		}
		rest := x.cols[len(lead):]
		if x.plain && len(lead) == len(p.By)+1 && slices.Equal(rest, st.fam.cols[len(p.By):]) {
			st.path, st.lead = &x.path, lead
			return
		}
	}
}

// entryHolds reports whether the columns in s.vals are those of the index entry that led to the row:
// somebody may have changed the row since the entry was read.
func (s *session) entryHolds(st *statement) bool {
	n := len(st.table.key)
	for _, c := range st.path.cols {
		if c.from >= n && !s.vals[c.from-n].Equal(s.keyVals[c.from]) {
			return false
		}
	}
	return true
}

// reindex puts the changes of the index entries of the row with the key s.key into the batch. st writes the row;
// nil: it is deleted.
func (s *session) reindex(t *table, st *statement, args []drivers.Value) error {
	if !t.plain || st != nil && !st.tracks {
		return s.replaceEntries(t, st, args, nil, false)
	}
	if s.read {
		return s.replaceEntries(t, st, args, s.prior, true)
	}
	data, closer, err := s.over.Get(s.key) // as earlier parts of the batch have left it
	if err == pebble.ErrNotFound {
		return s.replaceEntries(t, st, args, nil, true)
	}
	if err != nil {
		return err
	}
	s.Cost.RowsExamined++
	return errors.Join(s.replaceEntries(t, st, args, data, true), closer.Close())
}

// replaceEntries puts into the batch that the index entries of a row become those of what st makes of it; without st
// the row goes. data is the value of the row before; nil: there was no row. It is not copied, since it may have a body
// of megabytes. If it was not read, only the row's key is known, and the entries over plain columns stay.
func (s *session) replaceEntries(t *table, st *statement, args []drivers.Value, data []byte, read bool) (err error) {
	was, will := args, args
	if read {
		n := len(t.key)
		s.was = plan.Grow(s.was, n+len(t.rows.columns))
		copy(s.was, args[:n])
		err = t.rows.decodeRow(data, s.was[n:], false)
		s.will = append(s.will[:0], s.was...)
		if was, will = s.was, s.will; st != nil {
			st.change(will[n:], args)
		}
		defer func() { // a session must not keep a message of megabytes
			clear(s.was)
			clear(s.will)
		}()
	}
	for _, x := range t.indexes {
		if x.plain && !read {
			continue
		}
		had, has := s.index[:0], s.cellKey[:0]
		if err == nil && (x.plain || st == nil) {
			had, err = x.entry(had, was)
			s.index = had
		}
		if err == nil && st != nil {
			has, err = x.entry(has, will)
			s.cellKey = has
		}
		if err == nil && bytes.Equal(had, has) {
			continue
		}
		if len(had) > 0 && err == nil {
			err = s.batch.Delete(had, nil)
		}
		if len(has) > 0 && err == nil {
			err = s.batch.Set(has, nil, nil)
		}
	}
	return err
}

// entry is append, but appends nothing if one of the columns is null: the row has no entry then.
func (p *path) entry(dst []byte, row []drivers.Value) ([]byte, error) {
	for _, c := range p.cols {
		if row[c.from].IsNull() {
			return dst, nil
		}
	}
	return p.append(dst, row)
}
