package hbase

import (
	"bytes"
	"context"
	"slices"

	"github.com/tsuna/gohbase/filter"
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
	left  func() int64 // how many more rows are wanted (plan.Session.Left)

	scan   scanner
	whole  scanRange // what a scan of rows reads, without its range
	key    []byte    // row key
	rest   []byte    // qualifier, or the beginning of one
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

	staticOf         []byte // row key of the partition whose static columns are in statics
	staticKey        []byte // row key of the current row's partition
	element          pb.Column
	elementRequested []*pb.Column
	prefixes         [][]byte // prefixes of qualifiers, in the order of the list that in binds
	sorted           [][]byte // the same prefixes, sorted
	multi            multi

	// tolerant is true if a value that cannot be decoded is yielded as a broken one.
	tolerant bool
	// skipped is the number of rows without a marker cell that a tolerant session has met
	// since Skipped was called, and skippedKeys are the keys of the first.
	skipped     int64
	skippedKeys [][]byte
}

// RunRead implements plan.Runner.
func (r *reading) RunRead(ctx context.Context, st *statement, args []drivers.Value, yield plan.Yield) (err error) {
	p, t, parts := st.Pattern(), st.table, st.table.row
	if p.Static {
		parts = t.static
	}
	r.ctx, r.st, r.args, r.yield, r.staticOf = ctx, st, args, yield, nil
	r.keyVals, r.vals = slices.Grow(r.keyVals[:0], len(t.key))[:len(t.key)], slices.Grow(r.vals[:0], st.view.n)[:st.view.n]
	r.row, r.fixed = slices.Grow(r.row[:0], len(st.out))[:len(st.out)], append(r.fixed[:0], args[:len(p.By)]...)
	r.rows.view, r.rows.vals, r.rows.key, r.rows.parts = &st.view, r.vals, nil, parts
	// A scan of a whole table is an audit. It must not push what is measured out of the cache.
	r.whole = scanRange{columns: st.view.requested, filter: st.view.filter, left: r.left, uncached: p.Kind == schemas.Scan}
	switch {
	case t.wide() && !p.Static:
		err = r.readCells()
	case st.Layout.Element >= 0:
		err = r.getElement()
	case p.Kind == schemas.Get && st.Layout.In >= 0:
		err = r.getMany(parts)
	case p.Kind == schemas.Get:
		err = r.getOne(parts)
	case st.Layout.In >= 0:
		err = r.sliceMany(parts, args[st.Layout.In].Elems())
	default:
		err = r.slice(parts, r.fixed)
	}
	r.args, r.yield = nil, nil
	return err
}

// slice scans the rows that begin with the fixed columns.
func (r *reading) slice(parts []keyPart, fixed []drivers.Value) error {
	if err := r.bounds.set(r.st, parts, fixed, r.args); err != nil || r.bounds.none {
		return err
	}
	scan := r.whole
	scan.start, scan.stop, scan.reversed = r.bounds.lower, r.bounds.upper, r.st.backward
	if scan.reversed {
		scan.start, scan.stop = scan.stop, scan.start
		scan.skipStart = len(scan.start) > 0
	}
	if len(r.st.filters) > 0 {
		scan.filter, scan.filtered = r.valuesAre(), true
	}
	return r.scan.run(r.ctx, r.st.table.hbase, scan, &r.rows)
}

// sliceMany scans the rows of each element of a list. If it can, it scans them together, from the first to
// the last, and HBase seeks from one to the next.
func (r *reading) sliceMany(parts []keyPart, list []drivers.Value) error {
	ranges, err := r.ranges(parts, list)
	if err == nil && ranges != nil {
		scan := r.whole
		scan.start, scan.stop, scan.filtered = ranges[0].StartRow, ranges[len(list)-1].StopRow, len(r.st.filters) > 0
		scan.filter = allOf(must(filter.NewMultiRowRangeFilter(ranges)), r.valuesAre())
		return r.scan.run(r.ctx, r.st.table.hbase, scan, &r.rows)
	}
	for i := 0; i < len(list) && err == nil; i++ {
		err = r.slice(parts, append(r.fixed, list[i]))
	}
	return err
}

// ranges returns the ranges of rows of all elements of a list. It returns none if one scan does not yield them in the
// order of the list.
func (r *reading) ranges(parts []keyPart, list []drivers.Value) ([]*filter.RowRange, error) {
	if p := r.st.Pattern(); len(list) < 2 || p.From != nil || p.To != nil || len(p.After) > 0 || r.st.backward {
		return nil, nil
	}
	ranges := make([]*filter.RowRange, len(list))
	for i, v := range list {
		if err := r.bounds.set(r.st, parts, append(r.fixed, v), r.args); err != nil {
			return nil, err
		}
		if r.bounds.none || i > 0 && bytes.Compare(r.bounds.lower, ranges[i-1].StopRow) < 0 {
			return nil, nil
		}
		ranges[i] = filter.NewRowRange(bytes.Clone(r.bounds.lower), bytes.Clone(r.bounds.upper), true, false)
	}
	return ranges, nil
}

// valuesAre returns the filter that drops rows by their values and cells that are not wanted.
func (r *reading) valuesAre() *pb.Filter {
	family, columns := r.st.family()
	var all []*pb.Filter
	for i, at := range r.st.filters {
		all = append(all, columnIs(family, columns[at].Name, r.args[r.st.Layout.Filter+i]))
	}
	return allOf(append(all, r.st.view.filter)...)
}

// getOne yields the row of one key.
func (r *reading) getOne(parts []keyPart) error {
	if err := r.rowKey(parts, r.args[:len(parts)]); err != nil {
		return err
	}
	c := r.slot.call
	c.asGet(r.st.table.hbase, r.key, r.st.view.requested, r.st.view.filter, 0)
	if err := r.slot.send(r.ctx); err != nil {
		return err
	}
	return r.yieldGot(c)
}

// yieldGot yields the row that a Get has returned.
func (r *reading) yieldGot(c *call) error {
	if err := c.eachCell(r.rows.take); err != nil {
		return err
	}
	return r.rows.end()
}

// getElement yields one value of a map.
func (r *reading) getElement() error {
	st, column := r.st, r.st.Pattern().Element
	if err := r.rowKey(st.table.row, r.args[:len(st.table.row)]); err != nil {
		return err
	}
	own, element := len(column.Name), st.Layout.Element
	var err error
	r.rest = append(append(r.rest[:0], column.Name...), elements)
	if r.rest, err = appendKey(r.rest, elementParts(column.Type), r.args[element:element+1]); err != nil {
		return err
	}
	family, _ := st.family()
	c := r.slot.call
	c.asGet(st.table.hbase, r.key, r.requestedFor(family, r.rest[:own], r.rest), nil, 0)
	if err := r.slot.send(r.ctx); err != nil {
		return err
	}
	d := &r.rows.rowDecoder
	d.elems = d.elems[:0]
	if err := c.eachCell(d.take); err != nil || len(d.elems) != 2 {
		return err
	}
	r.slot.cost.Cost.RowsExamined++
	r.row = append(r.row[:0], d.elems[1])
	return r.yield(r.row)
}

// getMany yields the rows of a list of keys, in its order. It requests those of a multi together: as
// many as the pattern reads in parallel, so that their answers fit into memory.
func (r *reading) getMany(parts []keyPart) error {
	list := r.args[r.st.Layout.In].Elems()
	together := maxTogether
	if n := r.st.Pattern().Parallel; n > 0 {
		together = n
	}
	for len(list) > 0 {
		n := min(together, len(list))
		r.multi.begin()
		r.rest = r.rest[:0]
		for _, v := range list[:n] {
			if err := r.rowKey(parts, append(r.fixed, v)); err != nil {
				return err
			}
			at := len(r.rest)
			r.rest = append(r.rest, r.key...)
			key, c := r.rest[at:len(r.rest):len(r.rest)], r.multi.next()
			c.asGet(r.st.table.hbase, key, r.st.view.requested, r.st.view.filter, 0)
		}
		if _, err := r.multi.send(r.ctx, r.cluster, r.slot); err != nil {
			return err
		}
		for _, c := range r.multi.calls[:n] {
			if err := r.yieldGot(c); err != nil {
				return err
			}
		}
		list = list[n:]
	}
	return nil
}

// Tolerate implements drivers.Tolerant: a value that cannot be decoded is yielded as a broken one, or not.
func (r *reading) Tolerate(on bool) {
	r.tolerant, r.rows.tolerant, r.static.tolerant = on, on, on
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

// rowKey encodes the first columns of a row key.
func (r *reading) rowKey(parts []keyPart, vals []drivers.Value) (err error) {
	if r.key, err = appendKey(r.key[:0], parts, vals); err == nil && len(vals) == len(parts) {
		err = checkRow(r.key)
	}
	return err
}

// emit yields the current row.
func (r *reading) emit() error {
	if len(r.st.statics.requested) > 0 {
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
	t, view := r.st.table, &r.st.statics
	r.statics = slices.Grow(r.statics[:0], view.n)[:view.n]
	if r.keyVals[0].Broken() {
		clear(r.statics)
		return nil
	}
	if r.staticKey, err = appendKey(r.staticKey[:0], t.static, r.keyVals[:len(t.static)]); err != nil {
		return err
	}
	if r.staticOf != nil && slices.Equal(r.staticOf, r.staticKey) {
		return nil
	}
	r.staticOf = append(r.staticOf[:0], r.staticKey...)
	clear(r.statics)
	d := &r.static
	d.view, d.vals, d.key = view, r.statics, nil
	sl := r.parallel(1)[0]
	c := sl.call
	c.asGet(t.hbase, r.staticOf, view.requested, view.filter, 0)
	if err := sl.send(r.ctx); err != nil {
		return err
	}
	if err := c.eachCell(d.take); err != nil {
		return err
	}
	if d.key != nil {
		d.endCollection()
		r.slot.cost.Cost.RowsExamined++
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
	s.reading.slots, s.reading.scan.slot, s.reading.left = &s.slots, s.slot, s.Left
	s.reading.rows.r, s.reading.cells.reading = &s.reading, &s.reading
	s.writing.slots, s.writing.find = &s.slots, &s.reading
	return s
}
