package pebble

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// stripes is how many locks all rows share. There are many more than workers, so that
// two workers rarely want the same one. A delete of a range takes all of them.
const stripes = 256

// stripe is one lock on a cache line of its own.
type stripe struct {
	sync.Mutex
	_ [56]byte
}

// RunWrite implements plan.Runner.
func (s *session) RunWrite(_ context.Context, st *statement, args []drivers.Value) (res drivers.Result, err error) {
	defer s.leave()
	if err = s.begin(st, []drivers.Call{{Args: args}}); err != nil {
		return res, err
	}
	res.Applied = true
	if st.locks {
		res, err = s.check(st, args)
	}
	if err == nil && res.Applied {
		err = s.apply(st, args)
	}
	return res, s.end(err)
}

// RunBatch implements plan.Runner. The batch is all or nothing, whatever atomicity the
// pattern declares.
func (s *session) RunBatch(_ context.Context, st *statement, calls []drivers.Call) error {
	defer s.leave()
	if err := s.begin(st, calls); err != nil {
		return err
	}
	for i, c := range calls {
		if err := s.there(st.parts[c.Part], c.Args); err != nil {
			return s.end(fmt.Errorf("part %d, %s: %w", i, st.parts[c.Part].Pattern().Name, err))
		}
	}
	for i, c := range calls {
		if err := s.apply(st.parts[c.Part], c.Args); err != nil {
			return s.end(fmt.Errorf("part %d, %s: %w", i, st.parts[c.Part].Pattern().Name, err))
		}
	}
	return s.end(nil)
}

// begin begins a batch of Pebble for the calls of a write or a batch. It takes the locks of the rows that they
// write. All sessions take locks in the same order, so none can wait for each other.
func (s *session) begin(st *statement, calls []drivers.Call) error {
	if err := s.start(); err != nil {
		return err
	}
	s.Cost.Calls++
	s.batch.Reset()
	s.over, s.held, s.read = s.db, s.held[:0], false
	size := 0
	for i := range calls {
		args := calls[i].Args
		for j := range args {
			size += args[j].Size()
		}
		if part := st.parts[calls[i].Part]; part.table.guarded.Load() {
			if err := s.noteLock(part, args); err != nil {
				return err
			}
		}
	}
	// A part that replaces a row's index entries must see what an earlier part has made of the row. All
	// writes to such a table take locks, so a batch with two parts of one row takes a lock twice.
	locks := len(s.held)
	slices.Sort(s.held)
	s.held = slices.Compact(s.held)
	if st.indexed || st.tracks && len(s.held) < locks {
		s.plain, s.batch = s.batch, s.db.NewIndexedBatch()
		s.over = s.batch
	}
	// Pebble doubles a buffer that is too small: for 17 MB it would take 32 MB, and keep them until the flush.
	if size > keepBatch {
		s.roomy = true
		if err := s.batch.SetRepr(make([]byte, batchrepr.HeaderLen, size+size/64+4<<10)); err != nil {
			return err
		}
	}
	for _, i := range s.held {
		s.store.stripes[i].Lock()
	}
	return nil
}

// keepBatch is the size in bytes of the largest batch whose memory a session keeps.
// Otherwise each of many sessions could keep a message of 25 MB.
const keepBatch = 256 << 10

// noteLock adds to s.held the number of the lock of the row that is written. A delete of many rows takes all
// locks.
func (s *session) noteLock(st *statement, args []drivers.Value) (err error) {
	if st.Pattern().Kind == schemas.Delete && len(st.Pattern().By) < len(st.fam.path.cols) {
		s.held = s.held[:0]
		for i := range stripes {
			s.held = append(s.held, uint8(i))
		}
		return nil
	}
	if s.key, err = st.fam.append(s.key[:0], args); err != nil {
		return err
	}
	s.held = append(s.held, uint8(maphash.Bytes(s.store.seed, s.key)%stripes))
	return nil
}

// end applies the batch, releases the locks, and waits until the batch is as durable as the store promises.
// After an error it discards the batch. Other sessions may read the batch while end waits, but their writes
// come after it in the log.
func (s *session) end(err error) error {
	failed, wait := err != nil, !s.bulk && s.store.durability != drivers.Memory
	switch {
	case failed:
		s.batch.Reset()
	case wait:
		err = s.db.ApplyNoSyncWait(s.batch, pebble.Sync)
	default:
		err = s.db.Apply(s.batch, pebble.NoSync)
	}
	for _, i := range s.held {
		s.store.stripes[i].Unlock()
	}
	if failed {
		return corrupt(err)
	}
	if wait && err == nil {
		err = s.batch.SyncWait()
	}
	if fault := s.store.fs.fault(); fault != nil {
		err = fault
	}
	if err != nil {
		return fmt.Errorf("%w: %w", drivers.ErrUnknown, err)
	}
	return nil
}

// there returns drivers.ErrNotApplied for a part that needs its row, if there is none.
func (s *session) there(st *statement, args []drivers.Value) (err error) {
	if !st.Pattern().Present {
		return nil
	}
	if s.key, err = st.fam.append(s.key[:0], args); err != nil {
		return err
	}
	_, closer, err := s.db.Get(s.key)
	if err == pebble.ErrNotFound {
		return drivers.ErrNotApplied
	}
	if err != nil {
		return err
	}
	s.Cost.RowsExamined++
	return closer.Close()
}

// check reads the row of a write that has a condition or returns the new row. Without the condition the write is
// not applied. The row does not change until end, because the session has its lock.
func (s *session) check(st *statement, args []drivers.Value) (res drivers.Result, err error) {
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
	res.Applied = true
	return res, nil
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
	if s.prior, s.read = data, true; data != nil {
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

// apply puts the changes of one write into the batch.
func (s *session) apply(st *statement, args []drivers.Value) (err error) {
	f, kind := st.fam, st.Pattern().Kind
	if kind == schemas.Delete {
		return s.delete(st, args)
	}
	if s.key, err = f.append(s.key[:0], args); err != nil {
		return err
	}
	if f == &st.table.rows && len(st.table.indexes) > 0 && kind != schemas.Remove {
		if err := s.reindex(st.table, st, args); err != nil {
			return err
		}
	}
	switch kind {
	case schemas.Add:
		return s.writeRow(st, args, opAdd)
	case schemas.Remove:
		for _, op := range st.cells {
			if err := s.removeFromList(f, s.key, op.col, args[op.arg]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.writeRow(st, args, opSet); err != nil {
		return err
	}
	if len(st.cells) > 0 && kind != schemas.Append {
		if err := s.replaceCells(st); err != nil {
			return err
		}
	}
	for _, op := range st.cells {
		if err := s.appendCells(f, s.key, op.col, args[op.arg]); err != nil {
			return err
		}
	}
	return nil
}

// replaceCells deletes the elements that a put replaces.
func (s *session) replaceCells(st *statement) error {
	if len(st.cells) == st.fam.collections {
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
	var number [scalarLen]byte
	size := 1
	for _, w := range st.write {
		if e := w.entry(args, op, &number); e.op() != opDelete || !st.replaces {
			size += e.len()
		}
	}
	if size > maxRow {
		return tooLarge("row", size)
	}
	if n := int64(s.batch.Len()) + int64(size); n > s.store.maxBatch {
		return fmt.Errorf("one atomic write of %d bytes, at most %d fit: %w", n, s.store.maxBatch, drivers.ErrTooLarge)
	}
	if s.read && !st.replaces && len(s.prior) <= rewriteBelow {
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
		if e := w.entry(args, op, &number); e.op() != opDelete || !st.replaces {
			out = e.append(out)
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
	var number [scalarLen]byte
	operand := append(s.operand[:0], rowByte)
	for _, w := range st.write {
		operand = w.entry(args, op, &number).append(operand)
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

// entry returns what a write does to one column. A number's payload is in number.
func (w operand) entry(args []drivers.Value, op uint64, number *[scalarLen]byte) entry {
	tag := uint64(w.col) << opBits
	if args[w.arg].IsNull() {
		return entry{tag: tag | opDelete}
	}
	return entry{tag | op, scalar(&args[w.arg], number)}
}
