package pebble

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
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
	work        *work         // counts what the calls of a traced session did; else nil

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
	oldCopy  []byte          // buffer of a copy of oldValue
	closer   io.Closer       // of oldValue, or nil

	keyVals []drivers.Value // primary key of the current row
	vals    []drivers.Value // its columns
	statics []drivers.Value // the static columns of its partition
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

// keep reports whether the current row passes the pattern's filter.
func (s *session) keep(st *statement, args []drivers.Value) bool {
	for i, at := range st.filters {
		if !s.vals[at].Equal(args[st.Layout.Filter+i]) {
			return false
		}
	}
	return true
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

// findStatics reads the value of static columns into s.oldStat; absent is nil.
func (s *session) findStatics(key []byte) ([]byte, error) {
	it, err := s.readIter(&s.rowOpts)
	if err != nil {
		return nil, err
	}
	if !it.SeekPrefixGE(key) {
		return nil, closeAfter(it, it.Error())
	}
	s.Cost.RowsExamined++
	data, err := it.ValueAndErr()
	s.oldStat = append(s.oldStat[:0], data...)
	return s.oldStat, closeAfter(it, err)
}

// readStatics reads the static columns of the current row's partition, unless s.statics has
// them already.
func (s *session) readStatics(st *statement) error {
	f := &st.table.statics
	key, err := f.append(s.cellKey[:0], s.keyVals)
	if err != nil && s.Tolerant && s.keyVals[0].Broken() {
		clear(s.statics)
		return nil
	}
	if err != nil {
		return err
	}
	s.cellKey = key
	if len(s.static) == 0 || string(s.static) != string(key) {
		data, err := s.findStatics(key)
		if err != nil {
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
