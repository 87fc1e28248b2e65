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

// delete puts a delete into the batch.
func (s *session) delete(st *statement, args []drivers.Value) (err error) {
	t, p := st.table, st.Pattern()
	if len(p.By) == len(t.key) {
		err = s.deleteRow(t, &t.rows, args)
	} else {
		err = s.deleteRange(st, args)
	}
	if err != nil || p.Scope != schemas.ScopePartition || len(t.statics.columns) == 0 {
		return err
	}
	return s.deleteRow(t, &t.statics, args)
}

// deleteRow deletes one row, or one partition's static columns.
func (s *session) deleteRow(t *table, f *family, args []drivers.Value) (err error) {
	if s.key, err = f.append(s.key[:0], args); err != nil {
		return err
	}
	if f == &t.rows && len(t.indexes) > 0 {
		if err := s.reindex(t, nil, args); err != nil {
			return err
		}
	}
	if err := s.batch.Delete(s.key, nil); err != nil {
		return err
	}
	if f.collections > 0 {
		return s.clearCells(f, s.key, 0, len(f.columns)-1)
	}
	return nil
}

// deleteRange deletes all rows below a prefix of the key.
func (s *session) deleteRange(st *statement, args []drivers.Value) error {
	t, b := st.table, &s.bounds
	if err := b.set(st, args, nil); err != nil {
		return err
	}
	if b.empty() {
		return nil
	}
	s.keyVals = plan.Grow(s.keyVals, len(t.key))
	if err := s.clear(b, t); err != nil {
		return err
	}
	if t.rows.collections == 0 {
		return nil
	}
	// The cells of a range of rows are the same range of keys in the cells' own space. If upper
	// is in the space after that of rows, as Successor may make it, the cells' upper is too.
	s.cells.lower = inSpace(append(s.cells.lower[:0], b.lower...), t.rows.cells)
	s.cells.upper = inSpace(append(s.cells.upper[:0], b.upper...), t.rows.cells+uint16(b.upper[1]-b.lower[1]))
	return s.clear(&s.cells, nil)
}

// clear deletes the keys of a range. If t is not nil, the keys are rows of t, and clear also
// deletes their index entries.
func (s *session) clear(b *bounds, t *table) error {
	it, err := s.iterate(b, s.over, &s.cellOpts)
	if it == nil || err != nil {
		return err
	}
	return s.endIter(it, s.clearKeys(it, b.upper, t))
}

func (s *session) clearKeys(it *pebble.Iterator, upper []byte, t *table) error {
	indexed := t != nil && len(t.indexes) > 0
	n := 0
	if t != nil {
		defer func() { s.Cost.RowsExamined += int64(n) }()
	}
	for ok := it.First(); ok; ok = it.Next() {
		n++
		if n == maxPointDeletes+1 {
			if err := s.batch.DeleteRange(it.Key(), upper, nil); err != nil {
				return err
			}
		}
		if n <= maxPointDeletes {
			if err := s.batch.Delete(it.Key(), nil); err != nil {
				return err
			}
		} else if !indexed {
			return nil
		}
		if indexed {
			arena, err := t.rows.decode(it.Key(), s.keyVals, s.arena[:0])
			s.arena = arena
			if err != nil {
				return err
			}
			var data []byte
			if t.plain {
				data, err = it.ValueAndErr()
			}
			if err == nil {
				err = s.replaceEntries(t, nil, s.keyVals, data, t.plain)
			}
			if err != nil {
				return err
			}
		}
	}
	return it.Error()
}
