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
func (s *session) RunWrite(_ context.Context, st *statement, args []drivers.Value) (drivers.Result, error) {
	defer s.leave()
	if err := s.start(); err != nil {
		return drivers.Result{}, err
	}
	s.Cost.Calls++
	s.begin()
	if err := s.makeRoom(bytesOf(args)); err != nil {
		return drivers.Result{}, err
	}
	if st.table.guarded.Load() {
		if err := s.noteLock(st, args); err != nil {
			return drivers.Result{}, err
		}
		s.lock()
	}
	res, err := s.writeLocked(st, args)
	if err != nil {
		s.unlock()
		s.discard()
		return drivers.Result{}, corrupt(err)
	}
	return res, s.commit()
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
			s.advance(st, args)
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

// there reports whether the row that is about to be deleted exists.
func (s *session) there(st *statement, args []drivers.Value) (bool, error) {
	var err error
	if s.key, err = st.fam.append(s.key[:0], args); err != nil {
		return false, err
	}
	_, closer, err := s.db.Get(s.key)
	if err == pebble.ErrNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.Cost.RowsExamined++
	return true, closer.Close()
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

// advance adds the arguments of an add to the old values in s.vals.
func (s *session) advance(st *statement, args []drivers.Value) {
	for _, op := range st.write {
		s.vals[op.col] = drivers.Number(st.fam.columns[op.col].Type.Kind, s.vals[op.col].Int64()+args[op.arg].Int64())
	}
}

func (s *session) apply(st *statement, args []drivers.Value) (err error) {
	if st.Pattern().Kind == schemas.Delete {
		return s.delete(st, args)
	}
	if s.key, err = st.fam.append(s.key[:0], args); err != nil {
		return err
	}
	f := st.fam
	if st.tracks {
		if err := s.reindex(st, args); err != nil {
			return err
		}
	}
	switch st.Pattern().Kind {
	case schemas.Put, schemas.PutIf, schemas.Append:
		if err := s.writeRow(st, args, opSet); err != nil {
			return err
		}
		if st.Pattern().Kind != schemas.Append {
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
		if err := s.writeRow(st, args, opAdd); err != nil {
			return err
		}
	case schemas.Remove:
		for _, op := range st.cells {
			if err := s.removeFromList(f, s.key, op.col, args[op.arg]); err != nil {
				return err
			}
		}
		return nil
	}
	if f == &st.table.rows && !st.tracks { // reindex has written them
		return s.writeEntries(st.table, nil, args, false)
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
