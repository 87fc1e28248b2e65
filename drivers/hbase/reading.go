package hbase

import (
	"bytes"
	"context"
	"slices"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// reading is the state of one read. It keeps its buffers for the next one.
type reading struct {
	*slots
	ctx   context.Context
	st    *statement
	args  []drivers.Value
	yield plan.Yield
	calls *plan.Session[*statement] // it knows how many more rows are wanted

	scan   scanner
	key    []byte // row key
	rest   []byte // qualifier, or the beginning of one
	bounds bounds

	keyVals []drivers.Value // primary key of the current row
	vals    []drivers.Value // its columns
	statics []drivers.Value // the static columns of its partition
	row     []drivers.Value // the row that yield gets
	arena   []byte          // bytes of decoded key columns that are not raw

	rows   rowSink
	static rowDecoder
	cells  cellSink
	fixed  []drivers.Value // the key columns that a read binds

	staticOf   []byte // row key of the partition whose static columns are in statics
	staticKey  []byte // row key of the current row's partition
	element    pb.Column
	elementAsk []*pb.Column
	prefixes   [][]byte // prefixes of qualifiers, in the order of the list that in binds
	sorted     [][]byte // the same prefixes, sorted
	multi      multi

	// tolerant is true if a value that cannot be decoded is yielded as a broken one.
	tolerant bool
	// skipped is the number of rows without a marker cell that a tolerant session has met
	// since Skipped was called, and skippedKeys are the keys of the first.
	skipped     int64
	skippedKeys [][]byte
}

// RunRead implements plan.Runner.
func (r *reading) RunRead(ctx context.Context, st *statement, args []drivers.Value, yield plan.Yield) (err error) {
	r.prepareRow(st)
	r.ctx, r.st, r.args, r.yield = ctx, st, args, yield
	// A scan of a whole table is an audit. It must not push what is measured out of the cache.
	r.scan.r.uncached = st.Pattern().Kind == schemas.Scan
	if st.table.wide() && !st.Pattern().Static {
		err = r.readCells()
	} else {
		err = r.readRows()
	}
	r.args, r.yield = nil, nil
	return err
}

// Tolerate implements drivers.Tolerant: a value that cannot be decoded is yielded as a broken one, or not.
func (r *reading) Tolerate(on bool) {
	r.tolerant, r.rows.decoder.tolerant, r.static.tolerant = on, on, on
}

// skip counts a row that has cells and no marker: mailbench did not write it.
func (r *reading) skip(key []byte) {
	r.skipped++
	if len(r.skippedKeys) < drivers.SkippedNamed {
		r.skippedKeys = append(r.skippedKeys, bytes.Clone(key))
	}
}

// Skipped implements drivers.Skipper. It returns what skip counted, and begins again.
func (r *reading) Skipped() (rows int64, keys [][]byte) {
	rows, keys = r.skipped, r.skippedKeys
	r.skipped, r.skippedKeys = 0, nil
	return rows, keys
}

// breakAll makes all values of a key broken: the stored key cannot be decoded.
func breakAll(vals []drivers.Value, key []byte) {
	for i := range vals {
		vals[i] = drivers.Broken(key)
	}
}

// prepareRow makes room for a row of the statement's table.
func (r *reading) prepareRow(st *statement) {
	r.keyVals = plan.Grow(r.keyVals, len(st.table.key))
	r.vals = plan.Grow(r.vals, st.view.n)
	r.statics = plan.Grow(r.statics, len(st.table.statics))
	r.row = plan.Grow(r.row, len(st.out))
	r.arena = r.arena[:0]
}

// rowKey encodes the first columns of a row key.
func (r *reading) rowKey(parts []keyPart, vals []drivers.Value) (err error) {
	if r.key, err = appendKey(r.key[:0], parts, vals); err == nil && len(vals) == len(parts) {
		err = checkRow(r.key)
	}
	return err
}

// emit yields the current row.
func (r *reading) emit() error {
	if len(r.st.statics.ask) > 0 {
		if err := r.readStatics(); err != nil {
			return err
		}
	}
	plan.Project(r.row, r.st.out, r.keyVals, r.vals, r.statics)
	if err := r.yield(r.row); err != nil {
		return err
	}
	return r.ctx.Err() // a page of rows is in memory, and the next may be far away
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
	sl := r.parallel(1)[0]
	c := sl.request("Get", r.st.table.hbase, r.staticOf)
	c.asGet(r.staticOf, r.st.statics.ask, r.st.statics.filter, 0)
	if err := sl.send(r.ctx); err != nil {
		return err
	}
	if err := c.eachCell(r.static.take); err != nil {
		return err
	}
	if r.static.finish(); r.static.cells {
		r.examined(1)
	}
	return nil
}

// session runs statements for one worker.
type session struct {
	plan.Session[*statement]
	slots
	reading
	writing
}

var (
	_ drivers.Session  = (*session)(nil)
	_ drivers.Tolerant = (*session)(nil)
	_ drivers.Skipper  = (*session)(nil)
)

func newSession(c *cluster) *session {
	s := &session{slots: slots{cluster: c, slot: c.newSlot()}}
	s.Init(&c.Gate, s)
	s.reading.slots, s.reading.scan.slot, s.reading.calls = &s.slots, s.slot, &s.Session
	s.writing.slots, s.writing.find = &s.slots, &s.reading
	return s
}
