package hbase

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// session runs statements for one worker.
type session struct {
	plan.Session[*statement]
	*rpc.Sender

	// tolerant is true if a value that cannot be decoded is yielded as a broken one.
	tolerant bool
	// skipped is the number of rows without a marker cell that a tolerant session has met
	// since Skipped was called, and skippedKeys are the keys of the first.
	skipped     int64
	skippedKeys [][]byte
}

var (
	_ drivers.Session  = (*session)(nil)
	_ drivers.Tolerant = (*session)(nil)
	_ drivers.Skipper  = (*session)(nil)
)

func newSession(c *cluster) *session {
	s := &session{Sender: c.newSender()}
	s.Init(&c.Gate, s)
	return s
}

// Tolerate implements drivers.Tolerant.
func (s *session) Tolerate(on bool) { s.tolerant = on }

// skip counts a row that has cells and no marker: mailbench did not write it.
func (s *session) skip(key []byte) {
	s.skipped++
	if len(s.skippedKeys) < drivers.SkippedNamed {
		s.skippedKeys = append(s.skippedKeys, bytes.Clone(key))
	}
}

// Skipped implements drivers.Skipper. It returns what skip counted, and begins again.
func (s *session) Skipped() (rows int64, keys [][]byte) {
	rows, keys = s.skipped, s.skippedKeys
	s.skipped, s.skippedKeys = 0, nil
	return rows, keys
}

// reading is one read.
type reading struct {
	*session
	ctx   context.Context
	st    *statement
	args  []drivers.Value
	fixed []drivers.Value // the key columns that it binds
	parts []keyPart       // of the row keys
	cells bool            // its rows are cells of wide HBase rows
	yield plan.Yield

	bounds  bounds
	keyVals []drivers.Value // primary key of the current row
	vals    []drivers.Value // its columns
	statics []drivers.Value // the static columns of its partition
	row     []drivers.Value // the row that yield gets
	arena   []byte          // bytes of decoded key columns that are not raw

	rowSink     rowSink
	cellSink    cellSink
	staticOf    []byte // row key of the partition whose static columns are in statics
	rowsScanned int64  // rows or cells that HBase has read
}

// RunRead implements plan.Runner.
func (s *session) RunRead(ctx context.Context, st *statement, args []drivers.Value, yield plan.Yield) (err error) {
	p, t := st.Pattern(), st.table
	k, n := len(t.key), len(t.key)+st.view.n
	all := make([]drivers.Value, n+len(st.out))
	r := &reading{
		session: s, ctx: ctx, st: st, args: args, fixed: args[:len(p.By):len(p.By)], parts: t.row, yield: yield,
		cells: t.wide() && !p.Static, keyVals: all[:k:k], vals: all[k:n:n], row: all[n:],
	}
	if p.Static {
		r.parts = t.static
	}
	r.rowSink = rowSink{rowDecoder{view: &st.view, vals: r.vals, tolerant: s.tolerant}, r}
	r.cellSink.reading = r
	defer func() { s.Count(drivers.Cost{RowsExamined: r.rowsScanned}) }()
	if r.cells && len(p.Filter) > 0 { // HBase does not report how many cells a filter drops
		s.Count(drivers.Cost{Unreported: 1})
	}
	switch {
	case st.Layout.Element >= 0:
		return r.getElement()
	case st.Layout.In >= 0:
		return r.readList(args[st.Layout.In].Elems())
	}
	return r.read(r.fixed)
}

// read reads the rows that begin with the fixed columns.
func (r *reading) read(fixed []drivers.Value) error {
	switch {
	case r.cells && len(fixed) >= len(r.parts):
		return r.oneRow(fixed)
	case r.cells:
		return r.severalRows(fixed)
	case r.st.Pattern().Kind == schemas.Get:
		c, err := r.newGet(fixed)
		if err != nil {
			return err
		}
		return r.Get(r.ctx, c, &r.rowSink)
	}
	if err := r.bounds.set(r.st, r.parts, fixed, r.args); err != nil || r.bounds.none {
		return err
	}
	scan := r.scanOf()
	scan.Start, scan.Stop, scan.Reversed = r.bounds.lower, r.bounds.upper, r.st.backward
	if scan.Reversed {
		scan.Start, scan.Stop = scan.Stop, scan.Start
		scan.SkipStart = len(scan.Start) > 0
	}
	return r.Scan(r.ctx, scan, &r.rowSink)
}

// readList reads the rows of each element of a list, in its order. It requests them together if it can: of scans, HBase
// seeks from the rows of one element to those of the next.
func (r *reading) readList(list []drivers.Value) error {
	p := r.st.Pattern()
	bounded := p.From != nil || p.To != nil || len(p.After) > 0
	switch {
	case r.cells && len(r.fixed) >= len(r.parts) && !bounded:
		return r.cellsOf(list)
	case !r.cells && p.Kind == schemas.Get:
		return r.getMany(list)
	case !r.cells && !bounded && !r.st.backward && len(list) > 1:
		if ranges, err := r.ranges(list); err != nil || ranges != nil {
			if err != nil {
				return err
			}
			scan := r.scanOf()
			scan.Start, scan.Stop = ranges[0].StartRow, ranges[len(list)-1].StopRow
			scan.Filter = allOf(must(filter.NewMultiRowRangeFilter(ranges)), scan.Filter)
			return r.Scan(r.ctx, scan, &r.rowSink)
		}
	}
	for _, v := range list {
		if err := r.read(append(r.fixed, v)); err != nil {
			return err
		}
	}
	return nil
}

// scanOf returns what a scan reads, without its range. Its filter drops rows by their values, and cells that are not
// wanted. A scan of a whole table is an audit. It must not push what is measured out of the cache.
func (r *reading) scanOf() rpc.Range {
	st, p := r.st, r.st.Pattern()
	scan := rpc.Range{
		Table: st.table.hbase, Columns: st.view.requested, Filter: st.view.filter, Uncached: p.Kind == schemas.Scan,
	}
	if !r.cells {
		scan.Left, scan.Filtered = r.Left, len(p.Filter) > 0
	}
	var all []*pb.Filter
	for i, c := range p.Filter {
		value := r.args[st.Layout.Filter+i]
		if r.cells {
			all = append(all, valueIs(value))
		} else {
			all = append(all, columnIs(st.view.family, c.Name, value))
		}
	}
	if len(all) > 0 {
		scan.Filter = allOf(append(all, scan.Filter)...)
	}
	return scan
}

// ranges returns the ranges of rows of all elements of a list. It returns none if one scan does not yield them in the
// order of the list.
func (r *reading) ranges(list []drivers.Value) ([]*filter.RowRange, error) {
	ranges := make([]*filter.RowRange, len(list))
	for i, v := range list {
		if err := r.bounds.set(r.st, r.parts, append(r.fixed, v), r.args); err != nil {
			return nil, err
		}
		if r.bounds.none || i > 0 && bytes.Compare(r.bounds.lower, ranges[i-1].StopRow) < 0 {
			return nil, nil
		}
		ranges[i] = filter.NewRowRange(bytes.Clone(r.bounds.lower), bytes.Clone(r.bounds.upper), true, false)
	}
	return ranges, nil
}

// newGet returns a Get of the row of one key.
func (r *reading) newGet(key []drivers.Value) (*rpc.Call, error) {
	row, err := rowKey(r.parts, key)
	return rpc.NewGet(r.st.table.hbase, row, r.st.view.requested, r.st.view.filter, 0), err
}

// getElement yields one value of a map.
func (r *reading) getElement() error {
	st, column := r.st, r.st.Pattern().Element
	key, err := rowKey(st.table.row, r.args[:len(st.table.row)])
	if err != nil {
		return err
	}
	element := append([]byte(column.Name), elements)
	element, err = appendKey(element, elementParts(column.Type), r.args[st.Layout.Element:st.Layout.Element+1])
	if err != nil {
		return err
	}
	family, _ := st.family()
	c := rpc.NewGet(st.table.hbase, key, columnsOf(family, []byte(column.Name), element), nil, 0)
	d := &r.rowSink.rowDecoder
	if err := r.Get(r.ctx, c, rpc.EachCell(d.Take)); err != nil || len(d.elems) != 2 {
		return err
	}
	r.rowsScanned++
	return r.yield(d.elems[1:])
}

// getMany yields the rows of a list of keys, in its order. It requests those of a multi together: as
// many as the pattern reads in parallel, so that their answers fit into memory.
func (r *reading) getMany(list []drivers.Value) error {
	together := maxTogether
	if n := r.st.Pattern().Parallel; n > 0 {
		together = n
	}
	for len(list) > 0 {
		calls := make([]*rpc.Call, min(together, len(list)))
		for i := range calls {
			var err error
			if calls[i], err = r.newGet(append(r.fixed, list[i])); err != nil {
				return err
			}
		}
		if _, err := r.SendTogether(r.ctx, calls); err != nil {
			return err
		}
		for _, c := range calls {
			if err := c.Deliver(&r.rowSink); err != nil {
				return err
			}
		}
		list = list[len(calls):]
	}
	return nil
}

// rowKey encodes the first columns of a row key.
func rowKey(parts []keyPart, vals []drivers.Value) (key []byte, err error) {
	if key, err = appendKey(nil, parts, vals); err == nil && len(vals) == len(parts) {
		err = rpc.CheckRow(key)
	}
	return key, err
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
func (r *reading) readStatics() error {
	t, view := r.st.table, &r.st.statics
	if r.keyVals[0].Broken() {
		r.statics, r.staticOf = make([]drivers.Value, view.n), nil
		return nil
	}
	key, err := appendKey(nil, t.static, r.keyVals[:len(t.static)])
	if err != nil || r.staticOf != nil && bytes.Equal(r.staticOf, key) {
		return err
	}
	r.statics, r.staticOf = make([]drivers.Value, view.n), key
	d := rowDecoder{view: view, vals: r.statics, tolerant: r.tolerant}
	err = r.Get(r.ctx, rpc.NewGet(t.hbase, key, view.requested, view.filter, 0), rpc.EachCell(d.Take))
	if d.key != nil {
		d.endCollection()
		r.rowsScanned++
	}
	return err
}

// A collection is stored as a cell of its own and one cell for each element. With c
// the column's name and e the element, or a map's key:
//
//	c              → stamp           when the collection was last put or deleted
//	c, 0, e        → stamp           an element of a set
//	c, 0, e        → stamp, value    an entry of a map
//	c, 0, stamp    → value           an element of a list
//
// Elements older than the collection's own cell do not count. That is why neither an append
// nor a put that replaces the collection has to read. HBase's timestamp decides which cell is
// older; within one millisecond the stamp does. A stamp is nanoseconds of the client's clock.
// In lists the client's processTag follows it.
const elements = 0

// rowDecoder makes columns of the cells of one HBase row. Its user sets view and vals for a read.
type rowDecoder struct {
	view *view
	vals []drivers.Value

	tolerant bool // a value that cannot be decoded becomes a broken one

	key    []byte // row key of the current row; nil between rows
	exists bool   // the row exists

	// The collection whose cells take is reading.
	at    *wanted
	from  int    // index of its first element in elems
	stamp uint64 // HBase's timestamp of its own cell, in ms; 0 if it has none
	since uint64 // stamp in its own cell; 0 if it has none
	elems []drivers.Value
	arena []byte
}

// Take takes the next cell of the row.
func (d *rowDecoder) Take(c *rpc.Cell) error {
	if d.key == nil {
		clear(d.vals)
		d.key, d.exists, d.at = c.Row, !d.view.row, nil
		d.elems, d.arena = d.elems[:0], d.arena[:0]
	}
	if string(c.Qualifier) == markerName {
		d.exists = true
		return nil
	}
	for i := range d.view.want {
		w := &d.view.want[i]
		n := len(w.name)
		if len(c.Qualifier) < n || string(c.Qualifier[:n]) != w.name {
			continue
		}
		switch collection := w.typ.Collection(); {
		case len(c.Qualifier) == n && collection:
			d.begin(w)
			d.stamp = c.Stamp
			if len(c.Value) == 8 {
				d.since = binary.BigEndian.Uint64(c.Value)
			}
			return nil
		case len(c.Qualifier) == n:
			d.exists = d.exists || w.exists
			var err error
			d.vals[w.at], err = decodeValue(w.typ.Kind, c.Value, d.tolerant)
			return err
		case collection && c.Qualifier[n] == elements:
			if d.at != w {
				d.begin(w)
			}
			return d.element(c.Qualifier[n+1:], c.Value, c.Stamp)
		}
	}
	return nil
}

// begin begins the cells of a collection.
func (d *rowDecoder) begin(w *wanted) {
	d.endCollection()
	d.at, d.from, d.stamp, d.since = w, len(d.elems), 0, 0
}

// endCollection sets the column of the current collection, if there is one.
func (d *rowDecoder) endCollection() {
	at := d.at
	if at == nil || len(d.elems) == d.from {
		return
	}
	switch elems := d.elems[d.from:]; at.typ.Kind {
	case schemas.Set:
		d.vals[at.at] = drivers.SetOf(elems)
	case schemas.List:
		d.vals[at.at] = drivers.ListOf(elems)
	default:
		d.vals[at.at] = drivers.MapOf(elems)
	}
}

var errElement = errors.New("an element of a collection that mailbench did not write")

// element takes one element of the current collection.
func (d *rowDecoder) element(key, value []byte, stamp uint64) error {
	t := d.at.typ
	stamped := value
	if t.Kind == schemas.List {
		stamped = key
	}
	if len(stamped) < 8 && d.tolerant {
		d.elems = append(d.elems, drivers.Broken(stamped))
		if t.Kind == schemas.Map {
			d.elems = append(d.elems, drivers.Broken(value))
		}
		return nil
	}
	if len(stamped) < 8 {
		return errElement
	}
	if stamp < d.stamp || stamp == d.stamp && binary.BigEndian.Uint64(stamped) < d.since {
		return nil
	}
	if t.Kind == schemas.List {
		v, err := decodeValue(t.Elem.Kind, value, d.tolerant)
		d.elems = append(d.elems, v)
		return err
	}
	at := len(d.elems)
	d.elems = append(d.elems, drivers.Value{})
	var err error
	d.arena, err = decodeKey(elementParts(t), key, d.elems[at:], d.arena, d.tolerant)
	if err == nil && t.Kind == schemas.Map {
		var v drivers.Value
		v, err = decodeValue(t.Elem.Kind, value[8:], d.tolerant)
		d.elems = append(d.elems, v)
	}
	return err
}

// elementParts returns how a qualifier ends with an element of a set or a key of a map.
func elementParts(t schemas.Type) []keyPart {
	kind := t.Elem.Kind
	if t.Kind == schemas.Map {
		kind = t.Key.Kind
	}
	return []keyPart{{kind: kind, raw: kind == schemas.Text || kind == schemas.Blob}}
}

// rowSink yields rows that are HBase rows, or the static columns of partitions.
type rowSink struct {
	rowDecoder
	r *reading
}

func (k *rowSink) RestartRow() { k.key = nil }

// End yields the current row, if it exists.
func (k *rowSink) End() (err error) {
	key, r := k.key, k.r
	if key == nil {
		return nil
	}
	k.key = nil
	if len(r.st.Pattern().Filter) == 0 { // else HBase's scan metrics count them
		r.rowsScanned++
	}
	if !k.exists {
		if k.tolerant {
			r.skip(key)
		}
		return nil
	}
	if k.at != nil {
		k.endCollection()
	}
	if r.arena, err = decodeKey(r.parts, key, r.keyVals, r.arena[:0], k.tolerant); err != nil {
		return err
	}
	return r.emit()
}
