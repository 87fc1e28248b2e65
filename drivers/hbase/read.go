package hbase

import (
	"sync"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/drivers/plan"
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
	for _, v := range r.args[st.Layout.In].Elems() {
		if r.left == 0 {
			break
		}
		if err := r.slice(parts, append(fixed, v)); err != nil {
			return err
		}
	}
	return nil
}

// slice scans the rows that begin with the fixed columns.
func (r *reading) slice(parts []keyPart, fixed []drivers.Value) error {
	st := r.st
	if r.left == 0 {
		return nil
	}
	if err := r.bounds.set(st, "", parts, fixed, r.args); err != nil {
		return err
	}
	r.bounds.part(st)
	if r.bounds.empty() {
		return nil
	}
	r.setRange(&r.bounds)
	r.scan.r.columns, r.scan.r.filter = st.view.ask, r.filters()
	r.scan.sink = &r.rows
	return r.scan.run(r.ctx, st.table.hbase)
}

// setRange makes the scanner's range the rows within the bounds, in the
// direction of the statement.
func (r *reading) setRange(b *bounds) {
	s := &r.scan.r
	s.start, s.stop = append(s.start[:0], b.lower...), append(s.stop[:0], b.upper...)
	s.reversed, s.skipStart = r.st.backward, false
	if s.reversed {
		s.start, s.stop = s.stop, s.start
		s.skipStart = len(s.start) > 0
	}
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
	for a := c.resultCells(); ; {
		cl, stamp, ok, err := a.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if _, err := r.rows.take(cl, stamp); err != nil {
			return err
		}
	}
	_, err := r.rows.end()
	return err
}

// getElement yields one value of a map.
func (r *reading) getElement() error {
	st := r.st
	if err := r.rowKey(st.table.row, r.args[:len(st.table.row)]); err != nil {
		return err
	}
	column := st.Pattern().Element
	key := r.args[st.Layout.Element]
	if key.Kind() != column.Type.Key.Kind {
		return plan.CheckKind(&schemas.Column{Name: column.Name + "'s key", Type: *column.Type.Key}, key.Kind())
	}
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
	r.row = append(r.row[:0], d.elems[1])
	r.yielded = r.yield(r.row)
	return r.yielded
}

// getter is one of several gets that are sent together.
type getter struct {
	key  []byte
	call *call // the getter's own call, if it does not use a slot's
	done *call // the answered call
}

// maxGets is how many keys one request asks for.
const maxGets = 256

// getMany yields the rows of a list of keys, in its order.
func (r *reading) getMany(parts []keyPart) error {
	list := r.args[r.st.Layout.In].Elems()
	together, send := maxGets, r.sendMulti
	if n := r.st.Pattern().Parallel; n > 0 {
		together, send = n, r.sendParallel
	}
	fixed := append(r.fixed[:0], r.args[:len(r.st.Pattern().By)]...)
	r.fixed = fixed
	for len(list) > 0 {
		n := min(together, len(list))
		for i, v := range list[:n] {
			if err := r.prepareGet(i, parts, append(fixed, v)); err != nil {
				return err
			}
		}
		if err := send(n); err != nil {
			return err
		}
		for _, g := range r.gets[:n] {
			if err := r.yieldGot(g.done); err != nil {
				return err
			}
		}
		list = list[n:]
	}
	return nil
}

func (r *reading) prepareGet(i int, parts []keyPart, vals []drivers.Value) error {
	if err := r.rowKey(parts, vals); err != nil {
		return err
	}
	if i == len(r.gets) {
		r.gets = append(r.gets, &getter{})
	}
	g := r.gets[i]
	g.key = append(g.key[:0], r.key...)
	return nil
}

// sendMulti sends the first n gets in one request to each region server.
func (r *reading) sendMulti(n int) error {
	ctx, stop := r.slot.timeout.start(r.ctx)
	calls := make([]hrpc.Call, n)
	for i, g := range r.gets[:n] {
		if g.call == nil {
			g.call = newCall()
		}
		c := g.call
		c.method, c.table, c.key, c.ctx, c.stop, c.block = "Get", r.st.table.hbase, g.key, ctx, stop, nil
		c.asGet(g.key, r.st.view.ask, r.st.view.filter, 0)
		calls[i], g.done = batchable{c, anyBatchable}, c
	}
	results, ok := r.store.client.SendBatch(ctx, calls)
	if ok {
		r.slot.timeout.stop()
		if r.slot.tally != nil {
			own := make([]*call, n)
			for i, g := range r.gets[:n] {
				own[i] = g.call
			}
			r.slot.tally.countBatch(own)
		}
		return nil
	}
	defer r.slot.timeout.end()
	for i := range results {
		if err := results[i].Error; err != nil {
			err = explain(r.ctx, r.gets[i].call, err)
			for _, g := range r.gets {
				g.call = nil
			}
			return err
		}
	}
	return nil
}

// sendParallel sends the first n gets in parallel, each through its own slot.
func (r *reading) sendParallel(n int) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i, sl := range r.parallelSlots(n) {
		g := r.gets[i]
		c := sl.request("Get", r.st.table.hbase, g.key)
		c.asGet(g.key, r.st.view.ask, r.st.view.filter, 0)
		g.done = c
		wg.Go(func() { errs[i] = crash.Guard(func() error { return sl.sendBatched(r.ctx) }) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
