package pebble

import (
	"bytes"
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
	if err = s.begin(st, []drivers.Call{{Args: args}}); err != nil {
		return res, err
	}
	res.Applied = true
	if st.readsRow {
		res, err = s.check(st, args)
	}
	if err == nil && res.Applied {
		err = s.apply(st, args, st.readsRow)
	}
	return res, s.end(err)
}

// RunBatch implements plan.Runner. The batch is all or nothing, whatever atomicity the
// pattern declares.
func (s *session) RunBatch(_ context.Context, st *statement, calls []drivers.Call) error {
	if err := s.begin(st, calls); err != nil {
		return err
	}
	for i, c := range calls {
		if part := st.parts[c.Part]; part.readsRow {
			res, err := s.check(part, c.Args)
			if err == nil && !res.Applied {
				err = drivers.ErrNotApplied
			}
			if err != nil {
				return s.end(fmt.Errorf("part %d, %s: %w", i, part.Pattern().Name, err))
			}
		}
	}
	for i, c := range calls {
		if err := s.apply(st.parts[c.Part], c.Args, false); err != nil {
			return s.end(fmt.Errorf("part %d, %s: %w", i, st.parts[c.Part].Pattern().Name, err))
		}
	}
	return s.end(nil)
}

// begin begins a batch of Pebble for the calls of a write or a batch. It takes the locks of the rows that they
// write, and all locks for a delete of many rows. All sessions take locks in the same order, so none can wait for
// each other.
func (s *session) begin(st *statement, calls []drivers.Call) (err error) {
	if err := s.store.fs.fault(); err != nil {
		return err
	}
	s.Cost.Requests++
	s.batch.Reset()
	s.readThrough, s.lockedStripes = s.db, s.lockedStripes[:0]
	size := 0
	for i := range calls {
		part, args := st.parts[calls[i].Part], calls[i].Args
		for j := range args {
			size += args[j].Size()
		}
		switch {
		case !part.table.guarded.Load():
		case part.ranged:
			s.lockedStripes = s.lockedStripes[:0]
			for lock := range stripes {
				s.lockedStripes = append(s.lockedStripes, uint8(lock))
			}
		default:
			s.key = part.fam.append(s.key[:0], args)
			s.lockedStripes = append(s.lockedStripes, uint8(maphash.Bytes(s.store.seed, s.key)%stripes))
		}
	}
	// A part that replaces a row's index entries must see what an earlier part has made of the row. All
	// writes to such a table take locks, so a batch with two parts of one row takes a lock twice.
	locks := len(s.lockedStripes)
	slices.Sort(s.lockedStripes)
	s.lockedStripes = slices.Compact(s.lockedStripes)
	if st.seesOwnBatch || st.changesIndex && len(s.lockedStripes) < locks {
		s.batch = s.db.NewIndexedBatch()
		s.readThrough = s.batch
	}
	// Pebble doubles a buffer that is too small: for 17 MB it would take 32 MB, and keep them until the flush.
	if size > keepBatch {
		s.largeBatch = true
		if err := s.batch.SetRepr(make([]byte, batchrepr.HeaderLen, size+size/64+4<<10)); err != nil {
			return err
		}
	}
	for _, i := range s.lockedStripes {
		s.store.stripes[i].Lock()
	}
	return nil
}

// keepBatch is the size in bytes of the largest batch whose memory a session keeps.
// Otherwise each of many sessions could keep a message of 25 MB.
const keepBatch = 256 << 10

// end applies the batch, releases the locks, and waits until the batch is as durable as the store promises.
// After an error it discards the batch. Other sessions may read the batch while end waits, but their writes
// come after it in the log. It drops large buffers, and all that refers to a large row but the result of the call.
func (s *session) end(err error) error {
	failed, wait := err != nil, !s.bulk && s.store.durability != drivers.Memory
	switch {
	case failed:
		err = corrupt(err)
	case wait:
		err = s.db.ApplyNoSyncWait(s.batch, pebble.Sync)
	default:
		err = s.db.Apply(s.batch, pebble.NoSync)
	}
	for _, i := range s.lockedStripes {
		s.store.stripes[i].Unlock()
	}
	if wait && err == nil {
		err = s.batch.SyncWait()
	}
	if fault := s.store.fs.fault(); fault != nil && !failed {
		err = fault
	}
	if err != nil && !failed {
		err = fmt.Errorf("%w: %w", drivers.ErrUnknown, err)
	}
	if s.release(); cap(s.oldCopy) > keepBatch {
		s.oldCopy = nil
	}
	if s.batch != s.own {
		s.batch.Close()
		s.batch = s.own
	}
	if failed || s.largeBatch {
		s.largeBatch = false
		s.batch.Reset()
	}
	return err
}

// check reads the row of a write that has a condition or returns the new row. Without the condition the write is
// not applied. The row does not change until end, because the session has its lock.
func (s *session) check(st *statement, args []drivers.Value) (res drivers.Result, err error) {
	s.key = st.fam.append(s.key[:0], args)
	if err = s.readOld(st, args); err != nil {
		return res, err
	}
	p, present := st.Pattern(), s.oldValue != nil
	res.Applied = !(p.Absent && present || p.Present && !present)
	for i, at := range st.conds {
		res.Applied = res.Applied && s.oldRow[at].Equal(args[st.Layout.If+i])
	}
	var outs []int
	row := s.oldRow
	switch {
	case res.Applied && p.ReturnsNew:
		outs, row = st.out, s.newRow
	case !res.Applied && present:
		outs = st.conds
	}
	s.result = s.result[:0]
	for _, at := range outs {
		s.result = append(s.result, row[at])
	}
	res.Row = s.result
	return res, nil
}

// release drops the row that was read, and all that refers to it.
func (s *session) release() {
	clear(s.oldRow)
	clear(s.newRow)
	s.oldValue, s.oldRow, s.newRow = nil, s.oldRow[:0], s.newRow[:0]
	if s.closer != nil {
		s.closer.Close()
		s.closer = nil
	}
}

// readOld reads the row with the key in s.key, as earlier parts of the batch have left it: oldValue, and oldRow and
// newRow, which are before and after the write, until the next row is read or the call ends. The value is copied only
// if a result may have parts of it, since it may have a body of megabytes.
func (s *session) readOld(st *statement, args []drivers.Value) (err error) {
	s.release() // that of the part before
	s.oldValue, s.closer, err = s.readThrough.Get(s.key)
	if err != nil && err != pebble.ErrNotFound {
		return err
	}
	if err == nil {
		s.Cost.RowsScanned++
	}
	if err == nil && st.readsRow {
		s.oldCopy = append(s.oldCopy[:0], s.oldValue...)
		s.oldValue = s.oldCopy
	}
	f, n := st.fam, len(st.fam.cols)
	s.oldRow = slices.Grow(append(s.oldRow[:0], args[:n]...), len(f.columns))[:n+len(f.columns)]
	if err = f.decodeRow(s.oldValue, s.oldRow[n:], false); err != nil {
		return err
	}
	s.newRow = append(s.newRow[:0], s.oldRow...)
	for _, w := range st.write {
		if v := &s.newRow[n+w.col]; st.op == opAdd {
			*v = drivers.Number(f.columns[w.col].Type.Kind, v.Int64()+args[w.arg].Int64())
		} else {
			*v = args[w.arg]
		}
	}
	return nil
}

// apply puts the changes of one write into the batch. read says that check has read the row.
func (s *session) apply(st *statement, args []drivers.Value, read bool) (err error) {
	if st.ranged {
		return s.deleteRange(st, args)
	}
	f, oldRow, newRow := st.fam, args, args
	s.key = f.append(s.key[:0], args)
	if st.changesIndex && !read {
		if err := s.readOld(st, args); err != nil {
			return err
		}
		read = true
	}
	if read {
		oldRow, newRow = s.oldRow, s.newRow
	}
	if st.kind == schemas.Delete {
		newRow = nil
	}
	if err := s.reindex(st.entries, oldRow, newRow); err != nil {
		return err
	}
	for _, c := range st.clears {
		if err := s.clearCells(f, s.key, c.first, c.last); err != nil {
			return err
		}
	}
	switch st.kind {
	case schemas.Delete:
		if err := s.batch.Delete(s.key, nil); err != nil {
			return err
		}
		return s.deleteStatics(st, args)
	case schemas.Remove:
		for _, op := range st.cells {
			if err := s.removeFromList(f, s.key, op.col, args[op.arg]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.writeRow(st, args, read); err != nil {
		return err
	}
	for _, op := range st.cells {
		if err := s.appendCells(f, s.key, op.col, args[op.arg]); err != nil {
			return err
		}
	}
	return nil
}

// reindex puts into the batch that a row's entries in indexes become those of newRow, or go if that is nil. oldRow and
// newRow are as path.append takes them. A write does not change the entry of an index over key columns only.
func (s *session) reindex(indexes []*path, oldRow, newRow []drivers.Value) (err error) {
	for _, x := range indexes {
		s.oldEntry, s.newEntry = s.oldEntry[:0], s.newEntry[:0]
		if x.plain || newRow == nil {
			s.oldEntry = x.append(s.oldEntry, oldRow)
		}
		if newRow != nil {
			s.newEntry = x.append(s.newEntry, newRow)
		}
		if bytes.Equal(s.oldEntry, s.newEntry) {
			continue
		}
		if len(s.oldEntry) > 0 {
			err = s.batch.Delete(s.oldEntry, nil)
		}
		if err == nil && len(s.newEntry) > 0 {
			err = s.batch.Set(s.newEntry, nil, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rewriteBelow is the size in bytes up to which a write that has read its row writes the whole
// row, and not an operand. Otherwise a row that is read and written again and again, such as a
// UID counter, would become an ever longer chain of operands, which each read folds from end to
// end. For a larger row, such as a message with flags, writing all of it would cost more.
const rewriteBelow = 1 << 10

// writeRow puts the scalar columns of a write into the batch: as a Set of the row if the write has all of them or has
// read a small row, else as an operand that Pebble merges into the row.
func (s *session) writeRow(st *statement, args []drivers.Value, read bool) error {
	columns, vals, op, whole := st.write, args, st.op, st.putsWholeRow
	if read && len(s.oldValue) <= rewriteBelow {
		columns, vals, op, whole = st.fam.scalars, s.newRow, opSet, true
	}
	var buf entryBuffer
	size := 1
	for _, c := range columns {
		head, payload := c.entry(vals, op, whole, &buf)
		size += len(head) + len(payload)
	}
	if size > maxRow {
		return tooLarge("row", size)
	}
	if n := int64(s.batch.Len()) + int64(size); n > s.store.maxBatch {
		return fmt.Errorf("one atomic write of %d bytes, at most %d fit: %w", n, s.store.maxBatch, drivers.ErrTooLarge)
	}
	var kv *pebble.DeferredBatchOp
	if whole {
		kv = s.batch.SetDeferred(len(s.key), size)
	} else {
		kv = s.batch.MergeDeferred(len(s.key), size)
	}
	copy(kv.Key, s.key)
	value := append(kv.Value[:0], rowByte)
	for _, c := range columns {
		head, payload := c.entry(vals, op, whole, &buf)
		value = append(append(value, head...), payload...)
	}
	return kv.Finish()
}

func tooLarge(what string, size int) error {
	return fmt.Errorf("a %s of %d bytes, at most %d fit: %w", what, size, maxRow, drivers.ErrTooLarge)
}

// maxPointDeletes is how many keys of a range without indexes are deleted one by one; a range tombstone deletes
// the rest. A range tombstone is one small write, but the first read after it sorts all range
// tombstones of the memtable again. Deletes of single messages would leave thousands of them,
// and every read would take milliseconds.
const maxPointDeletes = 1024

// deleteRange deletes all rows below a prefix of the key.
func (s *session) deleteRange(st *statement, args []drivers.Value) error {
	f, b := st.fam, &s.rows
	s.fixed = st.fixed(s.fixed[:0], args, nil)
	if err := b.Set(&st.Plan, st.path.cols, s.fixed, args, false); err != nil {
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
	s.key = f.append(s.key[:0], args)
	if f.collections > 0 {
		if err := s.clearCells(f, s.key, 0, len(f.columns)-1); err != nil {
			return err
		}
	}
	return s.batch.Delete(s.key, nil)
}

// clear deletes the keys of a range. If t is not nil, the keys are rows of t, and clear also deletes their index
// entries. Then it deletes all rows one by one: a range tombstone would also delete a row that somebody writes
// meanwhile, without its entries.
func (s *session) clear(b *plan.Range, t *table) error {
	it, err := s.iterate(b, s.readThrough, &s.cellOpts)
	if it == nil || err != nil {
		return err
	}
	indexed, n := t != nil && len(t.indexes) > 0, 0
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		if n++; n > maxPointDeletes && !indexed {
			err = s.batch.DeleteRange(it.Key(), b.Upper, nil)
			break
		}
		if err = s.batch.Delete(it.Key(), nil); err != nil || !indexed {
			continue
		}
		all := len(t.key) + len(t.rows.columns)
		s.oldRow = slices.Grow(s.oldRow[:0], all)[:all]
		s.arena, err = t.rows.cols.Decode(it.Key(), s.oldRow, s.arena[:0], false)
		if err == nil && t.plain {
			var data []byte
			if data, err = it.ValueAndErr(); err == nil {
				err = t.rows.decodeRow(data, s.oldRow[len(t.key):], false)
			}
		}
		if err == nil {
			err = s.reindex(t.indexes, s.oldRow, nil)
		}
	}
	if err == nil {
		err = it.Error()
	}
	if t != nil {
		s.Cost.RowsScanned += int64(n)
	}
	return s.endIter(it, err)
}
