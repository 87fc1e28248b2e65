package hbase

import (
	"bytes"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// readRows reads rows that are HBase rows, or the static columns of partitions.
func (r *reading) readRows() error {
	st := r.st
	r.rows.reading, r.rows.key, r.rows.static = r, nil, st.Pattern().Static
	r.staticOf = nil
	parts := st.table.row
	if st.Pattern().Static {
		parts = st.table.static
	}
	switch {
	case st.Layout.Element >= 0:
		return r.getElement()
	case st.Pattern().Kind == schemas.Get && st.Layout.In >= 0:
		return r.getMany(parts)
	case st.Pattern().Kind == schemas.Get:
		return r.getOne(parts)
	}
	fixed := append(r.fixed[:0], r.args[:len(st.Pattern().By)]...)
	r.fixed = fixed
	if st.Layout.In < 0 {
		return r.slice(parts, fixed)
	}
	list := r.args[st.Layout.In].Elems()
	if p := st.Pattern(); len(list) > 1 && p.From == nil && p.To == nil && len(p.After) == 0 && !st.backward {
		if done, err := r.sliceMany(parts, fixed, list); done || err != nil {
			return err
		}
	}
	for _, v := range list {
		if err := r.slice(parts, append(fixed, v)); err != nil {
			return err
		}
	}
	return nil
}

// slice scans the rows that begin with the fixed columns.
func (r *reading) slice(parts []keyPart, fixed []drivers.Value) error {
	st := r.st
	if err := r.bounds.set(st, parts, fixed, r.args); err != nil {
		return err
	}
	r.bounds.part(st)
	if r.bounds.empty() {
		return nil
	}
	s := &r.scan.r
	s.start, s.stop = append(s.start[:0], r.bounds.lower...), append(s.stop[:0], r.bounds.upper...)
	s.reversed, s.skipStart = st.backward, false
	if s.reversed {
		s.start, s.stop = s.stop, s.start
		s.skipStart = len(s.start) > 0
	}
	return r.scanRange(r.filters())
}

// sliceMany scans the rows of all elements at once, from the first to the last, and HBase
// seeks from one to the next. It does nothing, and done is false, if the list is not in the
// order of the keys: the rows would not come in the order of the list.
func (r *reading) sliceMany(parts []keyPart, fixed, list []drivers.Value) (done bool, err error) {
	ranges := make([]*pb.RowRange, len(list))
	for i, v := range list {
		if err := r.bounds.set(r.st, parts, append(fixed, v), r.args); err != nil {
			return false, err
		}
		if r.bounds.empty() || i > 0 && bytes.Compare(r.bounds.lower, ranges[i-1].StopRow) < 0 {
			return false, nil
		}
		ranges[i] = &pb.RowRange{
			StartRow: bytes.Clone(r.bounds.lower), StartRowInclusive: yes,
			StopRow: bytes.Clone(r.bounds.upper), StopRowInclusive: proto.Bool(false),
		}
	}
	s := &r.scan.r
	s.start, s.stop = append(s.start[:0], ranges[0].StartRow...), append(s.stop[:0], ranges[len(list)-1].StopRow...)
	s.reversed, s.skipStart = false, false
	return true, r.scanRange(allOf(rowRanges(ranges), r.filters()))
}

// scanRange scans the scanner's range of rows.
func (r *reading) scanRange(filter *pb.Filter) error {
	st := r.st
	r.scan.r.columns, r.scan.r.filter = st.view.ask, filter
	r.scan.sink, r.scan.r.told = &r.rows, len(st.filters) > 0
	err := r.scan.run(r.ctx, st.table.hbase)
	r.scan.r.told = false
	return err
}

// filters returns the filter that drops rows by their values and cells that are not wanted.
func (r *reading) filters() *pb.Filter {
	st := r.st
	if len(st.filters) == 0 {
		return st.view.filter
	}
	family, columns := st.family()
	var all []*pb.Filter
	for i, at := range st.filters {
		all = append(all, columnIs(family, columns[at].Name, r.args[st.Layout.Filter+i]))
	}
	return allOf(append(all, st.view.filter)...)
}

// getOne yields the row of one key.
func (r *reading) getOne(parts []keyPart) error {
	if err := r.rowKey(parts, r.args[:len(parts)]); err != nil {
		return err
	}
	c := r.slot.request("Get", r.st.table.hbase, r.key)
	c.asGet(r.key, r.st.view.ask, r.st.view.filter, 0)
	if err := r.slot.sendBatched(r.ctx); err != nil {
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
	st := r.st
	if err := r.rowKey(st.table.row, r.args[:len(st.table.row)]); err != nil {
		return err
	}
	column := st.Pattern().Element
	key := r.args[st.Layout.Element]
	own := len(column.Name)
	var err error
	r.rest = append(append(r.rest[:0], column.Name...), elements)
	if r.rest, err = elementPart(column.Type).append(r.rest, key); err != nil {
		return err
	}
	family, _ := st.family()
	r.element.Family = append(r.element.Family[:0], family...)
	r.element.Qualifier = append(r.element.Qualifier[:0], r.rest[:own], r.rest)
	r.elementAsk = append(r.elementAsk[:0], &r.element)
	c := r.slot.request("Get", st.table.hbase, r.key)
	c.asGet(r.key, r.elementAsk, nil, 0)
	if err := r.slot.sendBatched(r.ctx); err != nil {
		return err
	}
	d := &r.rows.decoder
	d.begin(&st.view, r.vals)
	if err := c.eachCell(d.take); err != nil {
		return err
	}
	d.finish()
	if len(d.elems) != 2 {
		return nil
	}
	r.examined(1)
	r.row = append(r.row[:0], d.elems[1])
	return r.yield(r.row)
}

// getMany yields the rows of a list of keys, in its order. It asks for those of a multi at once: as
// many as the pattern reads in parallel, so that their answers fit into memory.
func (r *reading) getMany(parts []keyPart) error {
	list := r.args[r.st.Layout.In].Elems()
	together := maxTogether
	if n := r.st.Pattern().Parallel; n > 0 {
		together = n
	}
	fixed := append(r.fixed[:0], r.args[:len(r.st.Pattern().By)]...)
	r.fixed = fixed
	for len(list) > 0 {
		n := min(together, len(list))
		r.multi.begin()
		r.rest = r.rest[:0]
		for _, v := range list[:n] {
			if err := r.rowKey(parts, append(fixed, v)); err != nil {
				return err
			}
			at := len(r.rest)
			r.rest = append(r.rest, r.key...)
			key, c := r.rest[at:len(r.rest):len(r.rest)], r.multi.next()
			c.begin("Get", r.st.table.hbase, key)
			c.asGet(key, r.st.view.ask, r.st.view.filter, 0)
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
