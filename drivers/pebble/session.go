package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// session runs statements for one worker. It keeps its buffers from call to call, so that a
// call allocates nothing of its own.
type session struct {
	plan.Session[*statement]
	store       *Store
	db          *pebble.DB
	batch       *pebble.Batch // what the current write does
	own         *pebble.Batch // reused by every write; batch, unless a write needs an indexed one
	readThrough pebble.Reader // where writes read: db or an indexed batch
	bulk        bool          // writes are not synced
	largeBatch  bool          // begin gave the batch a large buffer
	looked      int           // number of keys at which rowIter stopped

	rows               plan.Range      // of a slice or a delete
	fixed              []drivers.Value // the first columns of those keys
	cells              plan.Range      // of the elements of a row's collections
	lastEnd            []byte          // where the cells of the row before ended
	allCells           plan.Range      // of the elements of all rows
	key                []byte          // key of the current row
	cellKey            []byte
	oldEntry, newEntry []byte  // keys of its entry in an index, before the write and after it
	static             []byte  // key of the partition whose static columns are in statics
	oldStat            []byte  // value of the static columns in statics
	arena              []byte  // copied or decoded bytes that the current row's values share
	limit              []byte  // buffer of lookup
	lockedStripes      []uint8 // the row locks that the current write takes

	// The row that a write has read, see readOld. Its columns are after its key.
	oldValue []byte          // nil: there is none
	oldRow   []drivers.Value // its key and columns
	newRow   []drivers.Value // what the write makes of them
	result   []drivers.Value // those of them that the call returns
	oldCopy  []byte          // buffer of a copy of oldValue
	closer   io.Closer       // of oldValue, or nil

	row     []drivers.Value // the current row:
	keyVals []drivers.Value // its primary key,
	vals    []drivers.Value // its columns,
	statics []drivers.Value // and the static columns of its partition
	entry   []drivers.Value // its key and columns in an index over plain columns
	elems   []drivers.Value // elements of its collections

	iterOpts, rowOpts, cellOpts pebble.IterOptions

	// The iterators of the current read, or nil: over a range of rows or of an index, for rows one by one, and over cells.
	rangeIter, rowIter, cellIter *pebble.Iterator

	cellSpace     uint16 // the key space of cells that cellIter is over; 0: a row's cells
	neighborFirst bool   // lookup looks at rowIter's neighbors first
}

var (
	_ drivers.Session = (*session)(nil)
	_ drivers.Bulk    = (*session)(nil)
)

// Session implements drivers.Store.
func (s *Store) Session() (drivers.Session, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil || s.gate.Closed() {
		return nil, fmt.Errorf("embedded engine: %w", drivers.ErrClosed)
	}
	se := &session{store: s, db: s.db, own: s.db.NewBatch(pebble.WithMaxRetainedSizeBytes(keepBatch))}
	se.batch = se.own
	se.Init(&s.gate, se)
	return se, nil
}

// Traced implements drivers.Tracer. The work of calls is in the statistics of iterators, requests and rows are in the
// session's meter. A Get of Pebble has no statistics.
func (s *Store) Traced() (drivers.TracedSession, error) {
	se, err := s.Session()
	if err != nil {
		return nil, err
	}
	t, idle := se.(*session), drivers.Unreported
	idle.Requests, idle.Rows, idle.Hidden, idle.Blocks = 0, 0, 0, 0
	t.Trace(idle, true)
	return t, nil
}

// trace counts, in a traced session, what an iterator read that stopped at so many keys.
func (s *session) trace(stats pebble.IteratorStats, seen int) {
	s.Did(func(w *drivers.Work) {
		w.Blocks += int64(stats.InternalStats.BlockBytes)
		// In a reverse read Pebble also passes the key before the one that it returns.
		w.Hidden += max(0, int64(stats.InternalStats.PointCount)-int64(seen))
	})
}

// Bulk implements drivers.Bulk: writes are not synced while it is on.
func (s *session) Bulk(on bool) { s.bulk = on }

// Close implements drivers.Session.
func (s *session) Close() error {
	if s.own == nil {
		return nil
	}
	err := errors.Join(s.Session.Close(), s.own.Close())
	s.own, s.batch, s.db = nil, nil, nil
	return err
}

// checkEvery is after how many rows a long read looks at its context.
const checkEvery = 256

// RunRead implements plan.Runner.
func (s *session) RunRead(ctx context.Context, st *statement, args []drivers.Value) error {
	err := s.store.fs.fault()
	if err != nil {
		return err
	}
	s.Cost.Requests += st.Requests(args)
	k, n := len(st.fam.cols), len(st.fam.cols)+len(st.fam.columns)
	all := n + len(st.table.statics.columns)
	s.row = slices.Grow(s.row[:0], all)[:all]
	s.keyVals, s.vals, s.statics = s.row[:k], s.row[k:n], s.row[n:]
	s.static = s.static[:0]
	if st.Layout.In < 0 {
		err = s.readOne(ctx, st, args, nil)
	} else {
		for list := args[st.Layout.In].Elems(); len(list) > 0 && err == nil; list = list[1:] {
			if err = ctx.Err(); err == nil {
				err = s.readOne(ctx, st, args, &list[0])
			}
		}
	}
	if s.rowIter != nil {
		if s.Traced() {
			s.trace(s.rowIter.Stats(), s.looked)
		}
		s.looked = 0
		err = closeAfter(s.rowIter, err)
	}
	if s.cellIter != nil {
		err = s.endIter(s.cellIter, err)
	}
	s.rowIter, s.cellIter = nil, nil
	// Large buffers go, and all that refers to a large row.
	if cap(s.arena) > keepBatch || cap(s.oldStat) > keepBatch {
		s.arena, s.oldStat = nil, nil
		for _, vs := range [...][]drivers.Value{s.row, s.entry, s.elems} {
			clear(vs[:cap(vs)])
		}
	}
	if errors.Is(err, plan.ErrEnough) {
		return err // to look for damage in it would cost each page a few microseconds
	}
	return corrupt(err)
}

// readOne reads the row or the range that a call names, or those of one element of its list. It reads elements one
// after another, even if the pattern allows parallel calls: a point read in this process takes a few microseconds,
// which is less than handing it to another goroutine and back.
func (s *session) readOne(ctx context.Context, st *statement, args []drivers.Value, element *drivers.Value) error {
	if st.Pattern().Kind != schemas.Get {
		return s.slice(ctx, st, args, element)
	}
	n := copy(s.keyVals, args[:len(st.Pattern().By)])
	if element != nil {
		s.keyVals[n] = *element
	}
	s.arena = s.arena[:0]
	s.key = st.fam.append(s.key[:0], s.keyVals)
	key := s.key
	if at := st.Layout.Element; at >= 0 { // one value of a map
		s.cellKey = keys.Append(st.fam.cellsOf(s.cellKey[:0], s.key, st.mapColumn), args[at], false)
		key = s.cellKey
	}
	data, found, err := s.lookup(key, element != nil)
	if !found || err != nil {
		return err
	}
	if st.Layout.Element < 0 {
		return s.emit(st, data, args)
	}
	v, err := decodeScalar(st.Pattern().Element.Type.Elem.Kind, data)
	if err != nil {
		return err
	}
	s.elems = append(s.elems[:0], v)
	return s.Yield(s.elems)
}

// lookup finds the value of a key with the call's iterator. For one key SeekPrefixGE checks the Bloom filters (what
// Pebble calls the prefix is the whole key here). The rows of many keys are often neighbors: lookup looks at the
// neighbor of the last row, and seeks if the key is not there. After one such miss it only seeks. (25 Gets took 14
// times as long as 25 steps, 25 seeks 1.5 to 4 times.)
func (s *session) lookup(key []byte, many bool) (data []byte, found bool, err error) {
	if s.rowIter == nil {
		s.neighborFirst = true
		if s.rowIter, err = s.readIter(&s.rowOpts); err != nil {
			return nil, false, err
		}
	}
	it := s.rowIter
	if !many {
		found = it.SeekPrefixGE(key)
	} else if found = s.neighborFirst && it.Valid() && stepTo(it, key); !found {
		if s.neighborFirst = s.neighborFirst && !it.Valid(); it.Valid() {
			s.looked++
		}
		s.limit = append(append(s.limit[:0], key...), 0) // go no further over tombstones
		found = it.SeekGEWithLimit(key, s.limit) == pebble.IterValid
	}
	if !found {
		return nil, false, it.Error()
	}
	s.Cost.RowsScanned++
	s.looked++
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

// endIter is closeAfter for an iterator over one or several ranges. In a traced session it
// counts what the iterator read: it stopped at a key after each step and each seek, except at the end of a range.
func (s *session) endIter(it *pebble.Iterator, err error) error {
	if s.Traced() {
		stats := it.Stats()
		seen := stats.ForwardStepCount[pebble.InterfaceCall] + stats.ReverseStepCount[pebble.InterfaceCall]
		if it.Valid() {
			seen++
		}
		s.trace(stats, seen)
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
func (s *session) emit(st *statement, data []byte, args []drivers.Value) error {
	if st.needRow {
		if err := st.fam.decodeRow(data, s.vals, s.Tolerant); err != nil {
			return err
		}
		for i, at := range st.filters {
			if !s.vals[at].Equal(args[st.Layout.Filter+i]) {
				return nil
			}
		}
		// Somebody may have changed the row since the entry of an index that led to it was read.
		for _, c := range st.path.cols {
			if at := c.At - len(st.table.key); st.path.plain && at >= 0 && !s.vals[at].Equal(s.entry[c.At]) {
				return nil
			}
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
	return s.Yield(s.row)
}

// readStatics reads the static columns of the current row's partition, unless s.statics has
// them already.
func (s *session) readStatics(st *statement) error {
	f := &st.table.statics
	if s.keyVals[0].Broken() {
		clear(s.statics)
		return nil
	}
	s.cellKey = f.append(s.cellKey[:0], s.keyVals)
	key := s.cellKey
	if len(s.static) == 0 || string(s.static) != string(key) {
		it, err := s.readIter(&s.rowOpts)
		if err != nil {
			return err
		}
		var data []byte // absent: nil
		if it.SeekPrefixGE(key) {
			s.Cost.RowsScanned++
			data, err = it.ValueAndErr()
			s.oldStat = append(s.oldStat[:0], data...)
			data = s.oldStat
		} else {
			err = it.Error()
		}
		if err = closeAfter(it, err); err != nil {
			return err
		}
		s.static = append(s.static[:0], key...)
		if err := f.decodeRow(data, s.statics, s.Tolerant); err != nil {
			return err
		}
	}
	if len(st.staticSet) > 0 {
		return s.readCells(f, s.static, st.staticSet, s.statics)
	}
	return nil
}

// slice yields the rows of one range.
func (s *session) slice(ctx context.Context, st *statement, args []drivers.Value, element *drivers.Value) error {
	s.fixed = st.fixed(s.fixed[:0], args, element)
	if st.path.plain && slices.ContainsFunc(s.fixed, drivers.Value.IsNull) { // a row without a value has no entry
		return plan.ErrNull
	}
	if err := s.rows.Set(&st.Plan, st.path.cols, s.fixed, args, st.Pattern().Reverse); err != nil {
		return err
	}
	it, err := s.iterate(&s.rows, nil, &s.iterOpts)
	if it == nil || err != nil {
		return err
	}
	s.rangeIter = it
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
			err = s.sliceRow(st, it, args)
		}
	}
	s.Cost.RowsScanned += int64(read)
	s.rangeIter = nil
	return s.endIter(it, err)
}

func (s *session) sliceRow(st *statement, it *pebble.Iterator, args []drivers.Value) error {
	ofRows, into := st.path == &st.fam.path, s.keyVals
	if st.path.plain {
		n := len(s.keyVals) + len(s.vals)
		s.entry = slices.Grow(s.entry[:0], n)[:n]
		into = s.entry
	}
	arena, err := st.path.cols.Decode(it.Key(), into, s.arena[:0], s.Tolerant && ofRows)
	s.arena = arena
	if err != nil {
		return err
	}
	copy(s.keyVals, into)
	var data []byte
	if ofRows {
		s.key = append(s.key[:0], it.Key()...)
		if st.needRow {
			data, err = it.ValueAndErr()
		}
	} else if s.key = st.fam.append(s.key[:0], s.keyVals); st.needRow {
		var found bool
		if data, found, err = s.lookup(s.key, true); !found { // somebody has deleted the row since
			return err
		}
	}
	if err != nil {
		return err
	}
	return s.emit(st, data, args)
}

// find reads the value of one key into buf; absent is nil.
func find(r pebble.Reader, key, buf []byte) ([]byte, error) {
	data, closer, err := r.Get(key)
	switch err {
	case nil:
		buf = append(buf[:0], data...)
		return buf, closer.Close()
	case pebble.ErrNotFound:
		return nil, nil
	}
	return nil, err
}

// iterate returns an iterator over the range, or nil if that is empty. It reads r, or what readIter reads if r is nil.
func (s *session) iterate(b *plan.Range, r pebble.Reader, o *pebble.IterOptions) (*pebble.Iterator, error) {
	if b.Empty {
		return nil, nil
	}
	o.LowerBound, o.UpperBound = b.Lower, b.Upper
	if r == nil {
		return s.readIter(o)
	}
	return r.NewIter(o)
}

// readIter returns an iterator that sees the store at the same moment as the call's other iterators. A row is whole
// then, with its collections and the static columns, though others write it meanwhile.
func (s *session) readIter(o *pebble.IterOptions) (*pebble.Iterator, error) {
	for _, it := range [...]*pebble.Iterator{s.rangeIter, s.rowIter, s.cellIter} {
		if it != nil {
			return it.Clone(pebble.CloneOptions{IterOptions: o})
		}
	}
	return s.db.NewIter(o)
}

// fixed appends the first columns of the keys of a slice or a delete to dst. element is the element of the list that in
// binds, or nil if the pattern has no in.
func (st *statement) fixed(dst, args []drivers.Value, element *drivers.Value) []drivers.Value {
	for _, at := range st.lead {
		dst = append(dst, args[at])
	}
	if element != nil {
		dst = append(dst, *element)
	}
	return dst
}

// part returns a copy of a scan for a range of rows, whatever index finds those that its filter keeps.
func part(_ context.Context, scan *statement, _, _ []byte) (*statement, error) {
	rows := *scan
	rows.path, rows.lead = &scan.fam.path, nil
	return &rows, nil
}

// divide returns the keys at which n parts of a scan begin, between the table's first and last key.
func (s *Store) divide(_ context.Context, scan *statement, n int) (at [][]byte, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return nil, drivers.ErrClosed
	}
	var b plan.Range
	if err := b.Set(&scan.Plan, scan.fam.cols, nil, nil, false); err != nil {
		return nil, err
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: b.Lower, UpperBound: b.Upper})
	if err != nil {
		return nil, err
	}
	at, err = keys.Divide(n, func(key []byte, before bool) ([]byte, error) {
		found := false
		switch {
		case key == nil && before:
			found = it.Last()
		case before:
			found = it.SeekLT(key)
		default: // without a key from the lower bound on
			found = it.SeekGE(key)
		}
		if !found {
			return nil, it.Error()
		}
		return bytes.Clone(it.Key()), nil
	})
	return at, corrupt(closeAfter(it, err))
}
