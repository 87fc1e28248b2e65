package pebble

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// maxPointDeletes is how many keys of a range are deleted one by one; a range tombstone deletes
// the rest. A range tombstone is one small write, but the first read after it sorts all range
// tombstones of the memtable again. Deletes of single messages would leave thousands of them,
// and every read would take milliseconds.
const maxPointDeletes = 1024

// deleteRange deletes all rows below a prefix of the key.
func (s *session) deleteRange(st *statement, args []drivers.Value) error {
	f, b := st.fam, &s.rows
	s.fixed = st.fixed(s.fixed[:0], args, nil)
	if err := b.Set(&st.Plan, st.path, s.fixed, args, false); err != nil {
		return err
	}
	if !b.Empty {
		if err := s.clear(b, st.table); err != nil {
			return err
		}
		// The cells of a range of rows are the same range of keys in the cells' own space. If upper
		// is in the space after that of rows, as Successor may make it, the cells' upper is too.
		if f.collections > 0 {
			s.cells.Lower = inSpace(append(s.cells.Lower[:0], b.Lower...), f.cells)
			s.cells.Upper = inSpace(append(s.cells.Upper[:0], b.Upper...), f.cells+uint16(b.Upper[1]-b.Lower[1]))
			if err := s.clear(&s.cells, nil); err != nil {
				return err
			}
		}
	}
	return s.deleteStatics(st, args)
}

// deleteStatics deletes the static columns of a partition, if the write deletes the partition.
func (s *session) deleteStatics(st *statement, args []drivers.Value) (err error) {
	f := &st.table.statics
	if st.Pattern().Scope != schemas.ScopePartition || len(f.columns) == 0 {
		return nil
	}
	if s.key, err = f.append(s.key[:0], args); err != nil {
		return err
	}
	if f.collections > 0 {
		if err := s.clearCells(f, s.key, 0, len(f.columns)-1); err != nil {
			return err
		}
	}
	return s.batch.Delete(s.key, nil)
}

// clear deletes the keys of a range. If t is not nil, the keys are rows of t, and clear also
// deletes their index entries.
func (s *session) clear(b *plan.Range, t *table) error {
	it, err := s.iterate(b, s.readThrough, &s.cellOpts)
	if it == nil || err != nil {
		return err
	}
	n := 0
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		n++
		switch {
		case n <= maxPointDeletes:
			err = s.batch.Delete(it.Key(), nil)
		case n == maxPointDeletes+1:
			err = s.batch.DeleteRange(it.Key(), b.Upper, nil)
		}
		if t != nil && len(t.indexes) > 0 {
			if err == nil {
				err = s.unindex(t, it)
			}
		} else if n > maxPointDeletes {
			break
		}
	}
	if err == nil {
		err = it.Error()
	}
	if t != nil {
		s.Cost.RowsExamined += int64(n)
	}
	return s.endIter(it, err)
}

// unindex deletes the index entries of the row at the iterator.
func (s *session) unindex(t *table, it *pebble.Iterator) (err error) {
	n := len(t.key)
	s.oldRow = plan.Grow(s.oldRow, n+len(t.rows.columns))
	if s.arena, err = t.rows.decode(it.Key(), s.oldRow, s.arena[:0]); err != nil {
		return err
	}
	if t.plain {
		data, err := it.ValueAndErr()
		if err == nil {
			err = t.rows.decodeRow(data, s.oldRow[n:], false)
		}
		if err != nil {
			return err
		}
	}
	return s.reindex(t.indexes, s.oldRow, nil)
}
