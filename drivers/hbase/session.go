package hbase

import (
	"context"
	"slices"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
)

// session runs statements for one worker. It keeps its buffers from call to call. It
// has one slot, and more slots for what a pattern runs in parallel.
type session struct {
	store *Store
	slot  *slot
	more  []*slot
	scan  scanner

	key    []byte // row key
	rest   []byte // qualifier, or the beginning of one
	bounds bounds

	keyVals []drivers.Value // primary key of the current row
	vals    []drivers.Value // its columns
	statics []drivers.Value // the static columns of its partition
	row     []drivers.Value // the row that yield gets
	arena   []byte          // bytes of decoded key columns that are not raw

	reading reading
	rows    rowSink
	static  rowDecoder
	cells   cellSink
	fixed   []drivers.Value // the key columns that a read binds

	staticOf   []byte // row key of the partition whose static columns are in statics
	staticKey  []byte // row key of the current row's partition
	element    pb.Column
	elementAsk []*pb.Column
	prefixes   [][]byte // prefixes of qualifiers, in the order of the list that in binds
	sorted     [][]byte // the same prefixes, sorted

	edits []edit // the edits of the current call
	steps []step // the steps of the current batch

	hashes []uint64 // hashes of the HBase rows that steps change
	gets   []*getter

	closed bool
	// tolerant is true if a value that cannot be decoded is yielded as a broken one.
	tolerant bool
}

var (
	_ drivers.Session  = (*session)(nil)
	_ drivers.Tolerant = (*session)(nil)
)

// Session implements drivers.Store.
func (s *Store) Session() (drivers.Session, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	se := &session{store: s, slot: s.newSlot()}
	se.scan.slot = se.slot
	return se, nil
}

func (s *Store) newSlot() *slot {
	sl := newSlot(s.regions, s.timeout)
	sl.batched = s.batch > 1
	return sl
}

// parallelSlots returns n slots for parallel calls.
func (s *session) parallelSlots(n int) []*slot {
	for len(s.more) < n {
		sl := s.store.newSlot()
		sl.tally = s.slot.tally
		s.more = append(s.more, sl)
	}
	return s.more[:n]
}

// Tolerate implements drivers.Tolerant.
func (s *session) Tolerate(on bool) {
	s.tolerant, s.rows.decoder.tolerant, s.static.tolerant = on, on, on
}

// breakAll makes all values of a key broken: the stored key cannot be decoded.
func breakAll(vals []drivers.Value, key []byte) {
	for i := range vals {
		vals[i] = drivers.Broken(key)
	}
}

// Close implements drivers.Session.
func (s *session) Close() error {
	s.closed = true
	s.slot.close()
	for _, sl := range s.more {
		sl.close()
	}
	return nil
}

// enter checks what every call must, and returns the compiled statement. If it returns
// no error, the caller must end the call with the store's leave.
func (s *session) enter(ctx context.Context, stmt drivers.Statement, nargs int) (*statement, error) {
	st, ok := stmt.(*statement)
	if !ok || st.store != s.store {
		return nil, plan.Foreign(stmt)
	}
	if err := st.Enter(ctx, s.closed, nargs); err != nil {
		return nil, err
	}
	return st, st.Named(s.store.enter())
}

// prepareRow makes room for a row of the statement's table.
func (s *session) prepareRow(st *statement) {
	s.keyVals = plan.Grow(s.keyVals, len(st.table.key))
	s.vals = plan.Grow(s.vals, st.view.n)
	s.statics = plan.Grow(s.statics, len(st.table.statics))
	s.row = plan.Grow(s.row, len(st.out))
	s.arena = s.arena[:0]
}

// rowKey encodes the first columns of a row key.
func (s *session) rowKey(parts []keyPart, vals []drivers.Value) (err error) {
	if s.key, err = appendKey(s.key[:0], parts, vals); err == nil && len(vals) == len(parts) {
		err = checkRow(s.key)
	}
	return err
}

// Read implements drivers.Session.
func (s *session) Read(ctx context.Context, stmt drivers.Statement, args []drivers.Value,
	yield func(row []drivers.Value) error,
) error {
	st, err := s.enter(ctx, stmt, len(args))
	if err != nil {
		return err
	}
	defer s.store.leave()
	if !st.Pattern().Kind.Reads() {
		return st.Named(plan.ErrNotRead)
	}
	s.prepareRow(st)
	r := &s.reading
	*r = reading{session: s, ctx: ctx, st: st, args: args, yield: yield, left: st.Limit(args)}
	switch {
	case st.table.wide() && !st.Pattern().Static:
		err = r.readCells()
	default:
		err = r.readRows()
	}
	if r.yielded != nil {
		return r.yielded
	}
	return st.Named(err)
}

// reading is the state of one Read.
type reading struct {
	*session
	ctx     context.Context
	st      *statement
	args    []drivers.Value
	yield   func(row []drivers.Value) error
	left    int64 // rows that may still be yielded; -1 is no limit
	yielded error // what yield returned
}

// emit yields the current row and reports whether the read wants more.
func (r *reading) emit() (more bool, err error) {
	if len(r.st.statics.ask) > 0 {
		if err := r.readStatics(); err != nil {
			return false, err
		}
	}
	plan.Project(r.row, r.st.out, r.keyVals, r.vals, r.statics)
	if r.yielded = r.yield(r.row); r.yielded != nil {
		return false, r.yielded
	}
	if r.left > 0 {
		r.left--
	}
	if r.left == 0 {
		return false, nil
	}
	return true, r.ctx.Err()
}

// readStatics reads the static columns of the current row's partition, unless r.statics has
// them already.
func (r *reading) readStatics() (err error) {
	n := len(r.st.table.static)
	if r.keyVals[0].Broken() {
		clear(r.statics)
		return nil
	}
	if r.staticKey, err = appendKey(r.staticKey[:0], r.st.table.static, r.keyVals[:n]); err != nil {
		return err
	}
	if r.staticOf != nil && slices.Equal(r.staticOf, r.staticKey) {
		return nil
	}
	r.staticOf = append(r.staticOf[:0], r.staticKey...)
	r.static.begin(&r.st.statics, r.statics)
	sl := r.parallelSlots(1)[0]
	c := sl.request("Get", r.st.table.hbase, r.staticOf)
	c.asGet(r.staticOf, r.st.statics.ask, r.st.statics.filter, 0)
	if err := sl.send(r.ctx); err != nil {
		return err
	}
	if err := c.eachCell(r.static.take); err != nil {
		return err
	}
	r.static.finish()
	return nil
}
