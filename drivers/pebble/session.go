package pebble

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
)

// session runs statements for one worker. It keeps its buffers from call to call, so that a
// call allocates nothing of its own.
type session struct {
	plan.Session[*statement]
	drivers.CostCounter
	store *Store
	db    *pebble.DB
	batch *pebble.Batch // reused by every write
	plain *pebble.Batch // batch, while an indexed one is in its place; else nil
	over  pebble.Reader // where writes find the keys that they delete: db or an indexed batch
	bulk  bool          // writes are not synced
	roomy bool          // begin gave the batch a large buffer
	// tolerant is true if a value that cannot be decoded is yielded as a broken one.
	tolerant bool
	work     *work // counts what the calls of a traced session did; else nil

	bounds bounds
	cells  bounds // bounds of the elements of a row's collections
	// allCells are those of the elements of all rows.
	allCells bounds
	key      []byte // key of the current row
	cellKey  []byte
	index    []byte
	was      []drivers.Value // the row whose index entries a write changes, as path.append takes it
	will     []drivers.Value // what the write makes of it
	static   []byte          // key of the partition whose static columns are in statics
	old      []byte          // buffer for the value of the row that a write reads first
	read     bool            // the write has read its row
	prior    []byte          // old if that row exists, else nil
	operand  []byte          // buffer of rewriteRow: what the write merges into prior, then the new row
	whole    []byte          // buffer of rewriteRow: prior merged with operand
	oldStat  []byte          // value of the static columns in statics
	arena    []byte          // copied or decoded bytes that the current row's values share
	limit    []byte          // buffer of lookupNear
	held     []uint8         // numbers of the row locks that the current write takes

	keyVals []drivers.Value // primary key of the current row
	vals    []drivers.Value // its columns
	statics []drivers.Value // the static columns of its partition
	elems   []drivers.Value // elements of its collections
	row     []drivers.Value // the row that yield gets

	iterOpts, rowOpts, cellOpts pebble.IterOptions

	rowIter, cellIter *pebble.Iterator // the iterators of the current call, or nil
	cellSpace         uint16           // the key space of cells that cellIter is over; 0: a row's cells
	near              bool             // lookupNear looks at rowIter's neighbors first
}

var (
	_ drivers.Session  = (*session)(nil)
	_ drivers.Bulk     = (*session)(nil)
	_ drivers.Tolerant = (*session)(nil)
)

// Session implements drivers.Store.
func (s *Store) Session() (drivers.Session, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil || s.gate.Closed() {
		return nil, fmt.Errorf("embedded engine: %w", drivers.ErrClosed)
	}
	se := &session{store: s, db: s.db, over: s.db, batch: s.db.NewBatch(pebble.WithMaxRetainedSizeBytes(keepBatch))}
	se.Init(&s.gate, se)
	return se, nil
}

// Bulk implements drivers.Bulk: writes are not synced while it is on.
func (s *session) Bulk(on bool) { s.bulk = on }

// Tolerate implements drivers.Tolerant.
func (s *session) Tolerate(on bool) { s.tolerant = on }

// Close implements drivers.Session.
func (s *session) Close() error {
	if s.batch == nil {
		return nil
	}
	err := errors.Join(s.Session.Close(), s.batch.Close())
	s.batch, s.db = nil, nil
	return err
}

// start begins a call. The caller must end it with leave.
func (s *session) start() error {
	if s.work != nil {
		s.work.before = s.Cost
	}
	return s.store.fs.fault()
}

func (s *session) leave() {
	for _, b := range [...]*[]byte{&s.arena, &s.old, &s.operand, &s.whole, &s.oldStat} {
		if cap(*b) > keepBatch {
			*b = nil
			s.forget()
		}
	}
	if s.plain != nil {
		s.batch.Close()
		s.batch, s.over, s.plain = s.plain, s.db, nil
	}
	if s.roomy {
		s.roomy = false
		s.batch.Reset()
	}
	if s.work != nil {
		s.work.called(&s.Cost)
	}
}

// forget drops what refers to a large row.
func (s *session) forget() {
	s.prior = nil
	for _, vs := range [...][]drivers.Value{s.vals, s.statics, s.elems, s.row, s.was, s.will} {
		clear(vs[:cap(vs)])
	}
}

// prepareRow makes room for a row of the statement's table.
func (s *session) prepareRow(st *statement) {
	s.keyVals = plan.Grow(s.keyVals, len(st.table.key)+len(st.table.rows.columns))
	s.vals = plan.Grow(s.vals, len(st.fam.columns))
	s.statics = plan.Grow(s.statics, len(st.table.statics.columns))
	s.row = plan.Grow(s.row, len(st.out))
	s.static = s.static[:0]
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

// find is find in the session's database.
func (s *session) find(key, buf []byte) ([]byte, error) {
	data, err := find(s.db, key, buf)
	if data != nil {
		s.Cost.RowsExamined++
	}
	return data, err
}

// readStatics reads the static columns of the current row's partition, unless s.statics has
// them already.
func (s *session) readStatics(st *statement) error {
	f := &st.table.statics
	key, err := f.append(s.cellKey[:0], s.keyVals)
	if err != nil && s.tolerant && s.keyVals[0].Broken() {
		clear(s.statics)
		return nil
	}
	if err != nil {
		return err
	}
	s.cellKey = key
	if len(s.static) == 0 || string(s.static) != string(key) {
		data, err := s.find(key, s.oldStat)
		if err != nil {
			return err
		}
		if data != nil {
			s.oldStat = data
		}
		s.static = append(s.static[:0], key...)
		if err := f.decodeRow(data, s.statics, s.tolerant); err != nil {
			return err
		}
	}
	if len(st.staticSet) > 0 {
		return s.readCells(f, s.static, st.staticSet, s.statics)
	}
	return nil
}
