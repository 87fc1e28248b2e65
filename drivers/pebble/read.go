package pebble

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// checkEvery is after how many rows a long read looks at its context.
const checkEvery = 256

// RunRead implements plan.Runner.
func (s *session) RunRead(ctx context.Context, st *statement, args []drivers.Value, yield plan.Yield) error {
	defer s.leave()
	err := s.store.fs.fault()
	if err != nil {
		return err
	}
	s.Cost.Calls += st.Requests(args)
	s.prepareRow(st)
	if st.Layout.In < 0 {
		err = s.readOne(ctx, st, args, nil, yield)
	} else {
		for list := args[st.Layout.In].Elems(); len(list) > 0 && err == nil; list = list[1:] {
			if err = ctx.Err(); err == nil {
				err = s.readOne(ctx, st, args, &list[0], yield)
			}
		}
	}
	if cerr := s.closeIters(); err == nil {
		err = cerr
	}
	return corrupt(err)
}

// readOne reads the row or the range that a call names, or those of one element of its list. It reads elements one
// after another, even if the pattern allows parallel calls: a point read in this process takes a few microseconds,
// which is less than handing it to another goroutine and back.
func (s *session) readOne(
	ctx context.Context, st *statement, args []drivers.Value, element *drivers.Value, yield plan.Yield,
) error {
	if st.Pattern().Kind != schemas.Get {
		return s.slice(ctx, st, args, element, yield)
	}
	n := copy(s.keyVals, args[:len(st.Pattern().By)])
	if element != nil {
		s.keyVals[n] = *element
	}
	return s.get(st, args, yield)
}

// lookup finds the value of one key. It uses the call's iterator. SeekPrefixGE checks the Bloom
// filters (what Pebble calls the prefix is the whole key here).
func (s *session) lookup(key []byte) (data []byte, found bool, err error) {
	if err := s.openRows(); err != nil {
		return nil, false, err
	}
	if !s.rowIter.SeekPrefixGE(key) {
		return nil, false, s.rowIter.Error()
	}
	s.Cost.RowsExamined++
	if s.work != nil {
		s.work.looked++
	}
	data, err = s.rowIter.ValueAndErr()
	return data, err == nil, err
}

// lookupNear is lookup for one of many keys of a call, whose rows are often neighbors. It looks
// at the neighbor of the last row, and seeks if the key is not there. After one such miss it
// only seeks. (25 Gets took 14 times as long as 25 steps, 25 seeks 1.5 to 4 times.)
func (s *session) lookupNear(key []byte) (data []byte, found bool, err error) {
	if err := s.openRows(); err != nil {
		return nil, false, err
	}
	it := s.rowIter
	found = s.near && it.Valid() && stepTo(it, key)
	if s.work != nil && it.Valid() {
		s.work.looked++
	}
	if !found {
		s.near = s.near && !it.Valid()
		s.limit = append(append(s.limit[:0], key...), 0) // go no further over tombstones
		found = it.SeekGEWithLimit(key, s.limit) == pebble.IterValid
		if s.work != nil && found {
			s.work.looked++
		}
	}
	if !found {
		return nil, false, it.Error()
	}
	s.Cost.RowsExamined++
	data, err = it.ValueAndErr()
	return data, err == nil, err
}

// stepTo moves the iterator one step towards the key, and reports whether it is there.
func stepTo(it *pebble.Iterator, key []byte) bool {
	switch c := bytes.Compare(key, it.Key()); {
	case c > 0:
		return it.Next() && bytes.Equal(it.Key(), key)
	case c < 0:
		return it.Prev() && bytes.Equal(it.Key(), key)
	}
	return true
}

func (s *session) openRows() (err error) {
	if s.rowIter == nil {
		s.near = true
		s.rowIter, err = s.db.NewIter(&s.rowOpts)
	}
	return err
}

func (s *session) closeIters() (err error) {
	if s.rowIter != nil {
		if s.work != nil {
			s.work.lookedUp(s.rowIter)
		}
		err = s.rowIter.Close()
	}
	if s.cellIter != nil {
		err = errors.Join(err, s.endIter(s.cellIter, nil))
	}
	s.rowIter, s.cellIter = nil, nil
	return err
}

// get yields the row whose key is in s.keyVals, if it is there.
func (s *session) get(st *statement, args []drivers.Value, yield plan.Yield) error {
	s.arena = s.arena[:0]
	key, err := st.fam.append(s.key[:0], s.keyVals)
	s.key = key
	if err != nil {
		return err
	}
	if st.Layout.Element >= 0 {
		return s.getElement(st, args[st.Layout.Element], yield)
	}
	var data []byte
	var found bool
	if st.Layout.In < 0 {
		data, found, err = s.lookup(key)
	} else {
		data, found, err = s.lookupNear(key)
	}
	if !found || err != nil {
		return err
	}
	return s.emit(st, data, args, yield)
}

// endIter is closeAfter for an iterator over one or several ranges. In a traced session it
// counts what the iterator read.
func (s *session) endIter(it *pebble.Iterator, err error) error {
	if s.work != nil {
		s.work.ended(it)
	}
	return closeAfter(it, err)
}

// closeAfter closes c and returns err, or else the error of closing.
func closeAfter(c io.Closer, err error) error {
	if cerr := c.Close(); err == nil {
		err = cerr
	}
	return err
}

// emit yields the row with the key in s.keyVals and s.key and the value in data, unless the
// filter drops it.
func (s *session) emit(st *statement, data []byte, args []drivers.Value, yield plan.Yield) error {
	if st.needRow {
		if err := st.fam.decodeRow(data, s.vals, s.tolerant); err != nil {
			return err
		}
		if !s.keep(st, args) || st.path != &st.fam.path && !s.entryHolds(st) {
			return nil
		}
	}
	s.elems = s.elems[:0]
	if len(st.needCells) > 0 {
		if err := s.readCells(st.fam, s.key, st.needCells, s.vals); err != nil {
			return err
		}
	}
	if st.statics {
		if err := s.readStatics(st); err != nil {
			return err
		}
	}
	plan.Project(s.row, st.out, s.keyVals, s.vals, s.statics)
	return yield(s.row)
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

// slice yields the rows of one range.
func (s *session) slice(
	ctx context.Context, st *statement, args []drivers.Value, element *drivers.Value, yield plan.Yield,
) error {
	if err := s.bounds.set(st, args, element); err != nil {
		return err
	}
	if st.from != nil {
		s.bounds.narrow(st.from, true)
	}
	if st.to != nil {
		s.bounds.narrow(st.to, false)
	}
	it, err := s.iterate(&s.bounds, s.db, &s.iterOpts)
	if it == nil || err != nil {
		return err
	}
	read, step := 0, it.Next
	ok := false
	if st.Pattern().Reverse {
		ok, step = it.Last(), it.Prev
	} else {
		ok = it.First()
	}
	for ; ok && err == nil; ok = err == nil && step() {
		if read++; read%checkEvery == 0 {
			err = ctx.Err()
		}
		if err == nil {
			err = s.sliceRow(st, it, args, yield)
		}
	}
	s.Cost.RowsExamined += int64(read)
	return s.endIter(it, err)
}

func (s *session) sliceRow(st *statement, it *pebble.Iterator, args []drivers.Value, yield plan.Yield) error {
	arena, err := st.path.decode(it.Key(), s.keyVals, s.arena[:0])
	s.arena = arena
	if err != nil && s.tolerant {
		breakAll(s.keyVals, it.Key()[spaceLen:])
		err = nil
	}
	if err != nil {
		return err
	}
	var data []byte
	if st.path == &st.fam.path {
		s.key = append(s.key[:0], it.Key()...)
		if st.needRow {
			data, err = it.ValueAndErr()
		}
	} else if s.key, err = st.fam.append(s.key[:0], s.keyVals); err == nil && st.needRow {
		var found bool
		if data, found, err = s.lookupNear(s.key); !found { // somebody has deleted the row since
			return err
		}
	}
	if err != nil {
		return err
	}
	return s.emit(st, data, args, yield)
}

// iterate returns an iterator over the range, or nil if that is empty.
func (s *session) iterate(b *bounds, r pebble.Reader, o *pebble.IterOptions) (*pebble.Iterator, error) {
	if b.empty() {
		return nil, nil
	}
	o.LowerBound, o.UpperBound = b.lower, b.upper
	return r.NewIter(o)
}
