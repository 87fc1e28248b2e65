package pebble

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// RunWrite implements plan.Runner.
func (s *session) RunWrite(
	_ context.Context, st *statement, args []drivers.Value,
) (res drivers.Result, err error) {
	defer s.leave()
	if err = s.begin(); err == nil {
		err = s.noteLock(st, args)
	}
	if err != nil {
		return res, err
	}
	err = s.locked(bytesOf(args), func() error {
		res, err = s.writeLocked(st, args)
		return err
	})
	return res, err
}

// writeLocked puts one write into the batch. If it reads the row first, the caller has the row's
// lock, so no other session changes the row in between.
func (s *session) writeLocked(st *statement, args []drivers.Value) (drivers.Result, error) {
	res := drivers.Result{Applied: true}
	if st.locks {
		present, err := s.readOld(st, args)
		if err != nil {
			return res, err
		}
		if st.Pattern().Conditional() && !s.conditionMet(st, present, args[st.Layout.If:]) {
			return s.refused(st, present), nil
		}
		if st.Pattern().ReturnsNew {
			st.change(s.vals, args)
			plan.Project(s.row, st.out, s.keyVals, s.vals, s.statics)
			res.Row = s.row
		}
	}
	return res, s.apply(st, args)
}

// readOld reads the columns of the row that is about to be written.
func (s *session) readOld(st *statement, args []drivers.Value) (present bool, err error) {
	s.prepareRow(st)
	copy(s.keyVals, args[:len(st.Pattern().By)])
	if s.key, err = st.fam.append(s.key[:0], args); err != nil {
		return false, err
	}
	data, err := s.find(s.key, s.old)
	if err != nil {
		return false, err
	}
	if s.prior = data; data != nil {
		s.old = data
	}
	return data != nil, st.fam.decodeRow(data, s.vals, false)
}

// conditionMet reports whether the row in s.vals meets the condition of a put-if or delete.
func (s *session) conditionMet(st *statement, present bool, want []drivers.Value) bool {
	if p := st.Pattern(); p.Absent && present || p.Present && !present {
		return false
	}
	for i, at := range st.conds {
		if !s.vals[at].Equal(want[i]) {
			return false
		}
	}
	return true
}

// refused is the result of a put-if whose condition does not hold.
func (s *session) refused(st *statement, present bool) drivers.Result {
	if !present || len(st.conds) == 0 {
		return drivers.Result{}
	}
	s.row = plan.Grow(s.row, len(st.conds))
	for i, at := range st.conds {
		s.row[i] = s.vals[at]
	}
	return drivers.Result{Row: s.row}
}

// change makes of the old values of a row what a write makes of them.
func (st *statement) change(vals, args []drivers.Value) {
	for _, w := range st.write {
		if v := &vals[w.col]; st.Pattern().Kind == schemas.Add {
			*v = drivers.Number(st.fam.columns[w.col].Type.Kind, v.Int64()+args[w.arg].Int64())
		} else {
			*v = args[w.arg]
		}
	}
}

func (s *session) apply(st *statement, args []drivers.Value) (err error) {
	if st.Pattern().Kind == schemas.Delete {
		return s.delete(st, args)
	}
	if s.key, err = st.fam.append(s.key[:0], args); err != nil {
		return err
	}
	f, kind := st.fam, st.Pattern().Kind
	if f == &st.table.rows && kind != schemas.Remove {
		if err := s.reindex(st.table, st, args); err != nil {
			return err
		}
	}
	switch kind {
	case schemas.Put, schemas.PutIf, schemas.Append:
		if err := s.writeRow(st, args, opSet); err != nil {
			return err
		}
		if kind != schemas.Append {
			if err := s.replaceCells(st); err != nil {
				return err
			}
		}
		for _, op := range st.cells {
			if err := s.appendCells(f, s.key, op.col, args[op.arg]); err != nil {
				return err
			}
		}
	case schemas.Add:
		return s.writeRow(st, args, opAdd)
	case schemas.Remove:
		for _, op := range st.cells {
			if err := s.removeFromList(f, s.key, op.col, args[op.arg]); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaceCells deletes the elements that a put replaces.
func (s *session) replaceCells(st *statement) error {
	if len(st.cells) == st.fam.collections && len(st.cells) > 0 {
		return s.clearCells(st.fam, s.key, 0, len(st.fam.columns)-1)
	}
	for _, op := range st.cells {
		if err := s.clearCells(st.fam, s.key, op.col, op.col); err != nil {
			return err
		}
	}
	return nil
}

// writeRow puts the scalar columns of a write into the batch: as a Set of the row if the write
// has all of them, else as an operand that Pebble merges into the row.
func (s *session) writeRow(st *statement, args []drivers.Value, op uint64) error {
	size := 1
	for _, w := range st.write {
		if tag, v := w.entry(args, op); v != nil || !st.replaces {
			size += entryLen(tag, v)
		}
	}
	if size > maxRow {
		return tooLarge("row", size)
	}
	if n := int64(s.batch.Len()) + int64(size); n > s.store.maxBatch {
		return fmt.Errorf("one atomic write of %d bytes, at most %d fit: %w", n, s.store.maxBatch, drivers.ErrTooLarge)
	}
	if st.locks && !st.replaces && len(s.prior) <= rewriteBelow {
		return s.rewriteRow(st, args, op)
	}
	var kv *pebble.DeferredBatchOp
	if st.replaces {
		kv = s.batch.SetDeferred(len(s.key), size)
	} else {
		kv = s.batch.MergeDeferred(len(s.key), size)
	}
	copy(kv.Key, s.key)
	out := append(kv.Value[:0], rowByte)
	for _, w := range st.write {
		if tag, v := w.entry(args, op); v != nil || !st.replaces {
			out = appendEntryOf(out, tag, v)
		}
	}
	return kv.Finish()
}

func tooLarge(what string, size int) error {
	return fmt.Errorf("a %s of %d bytes, at most %d fit: %w", what, size, maxRow, drivers.ErrTooLarge)
}

// rewriteBelow is the size in bytes up to which a write that has read its row writes the whole
// row, and not an operand. Otherwise a row that is read and written again and again, such as a
// UID counter, would become an ever longer chain of operands, which each read folds from end to
// end. For a larger row, such as a message with flags, writing all of it would cost more.
const rewriteBelow = 1 << 10

// rewriteRow applies the write to the row in s.prior and puts the whole row into the batch. The
// session has the row's lock, so the row has not changed since it was read.
func (s *session) rewriteRow(st *statement, args []drivers.Value, op uint64) error {
	operand := append(s.operand[:0], rowByte)
	for _, w := range st.write {
		tag, v := w.entry(args, op)
		operand = appendEntryOf(operand, tag, v)
	}
	var err error
	if s.prior == nil {
		s.whole = append(s.whole[:0], operand...)
	} else if s.whole, err = foldOperands(s.whole[:0], s.prior, operand); err != nil {
		return err
	}
	if s.operand, err = appendRow(operand[:0], s.whole); err != nil {
		return err
	}
	return s.batch.Set(s.key, s.operand, nil)
}

// entry returns what a write does to one column: the entry's tag, and its
// value or nil.
func (w operand) entry(args []drivers.Value, op uint64) (tag uint64, v *drivers.Value) {
	tag = uint64(w.col) << opBits
	if v = &args[w.arg]; v.IsNull() {
		return tag | opDelete, nil
	}
	return tag | op, v
}
