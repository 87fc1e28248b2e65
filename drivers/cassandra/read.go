package cassandra

import (
	"context"
	"slices"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// RunRead implements plan.Runner.
func (s *session) RunRead(ctx context.Context, st *statement, args []drivers.Value, yield plan.Yield) error {
	switch {
	case st.readsEach():
		return s.readPartitions(ctx, st, args, yield)
	case st.inAt >= 0:
		return s.readIn(ctx, st, args, yield)
	}
	return s.readRange(ctx, st, args, yield)
}

// boundsOf returns the bounds that a call gives. If it gives both the bound at
// which reading begins and a row to continue after, only the closer one is used.
func (st *statement) boundsOf(args []drivers.Value) plan.Bounds {
	p, with := st.Pattern(), st.Given(args)
	if with&plan.WithAfter == 0 {
		return with
	}
	with &^= plan.WithAfter
	start := st.startBound()
	if with&start == 0 {
		return with | plan.WithAfter
	}
	bound, at := p.From, st.Layout.From
	if start == plan.WithTo {
		bound, at = p.To, st.Layout.To
	}
	c := compare(args[st.Layout.After], args[at])
	if start == plan.WithTo {
		c = -c
	}
	if c < 0 || c == 0 && bound.Open {
		return with // the whole range is after the row
	}
	return with&^start | plan.WithAfter
}

// readRange reads with one query, or with the queries of a chain one after another.
func (s *session) readRange(ctx context.Context, st *statement, args []drivers.Value, yield plan.Yield) error {
	with := st.boundsOf(args)
	o := inputs{args: args, tokens: st.tokens}
	if st.Pattern().Kind == schemas.Scan {
		return s.scan(ctx, st, &o, yield)
	}
	chain := []*query{st.queries[with]}
	if with&plan.WithAfter != 0 && st.chains[0] != nil {
		chain = st.chains[0]
		if with&^plan.WithAfter != 0 {
			if st.beyondEnd(args) {
				return nil
			}
			chain = st.chains[1]
		}
	}
	for _, q := range chain {
		o.limit = s.Left()
		if err := s.stream(ctx, st, s.call(q), &o, yield); err != nil {
			return err
		}
	}
	return nil
}

// beyondEnd reports whether the row to continue after is already past the end of
// the range.
func (st *statement) beyondEnd(args []drivers.Value) bool {
	p := st.Pattern()
	bound, at := p.To, st.Layout.To
	if st.startBound() == plan.WithTo {
		bound, at = p.From, st.Layout.From
	}
	c := compare(args[st.Layout.After], args[at])
	if st.startBound() == plan.WithTo {
		c = -c
	}
	return c > 0 || c == 0 && bound.Open
}

// stream sends a read and yields its rows as they arrive.
func (sl *slot) stream(ctx context.Context, st *statement, c *call, o *inputs, yield plan.Yield) error {
	err := sl.drain(st, c, sl.send(ctx, c, o), yield)
	c.done()
	return err
}

// drain yields the rows of a result, on all its pages.
func (sl *slot) drain(st *statement, c *call, it *gocql.Iter, yield plan.Yield) (err error) {
	for err == nil && it.Scan(c.dest...) {
		if c.take(st) {
			err = yield(c.row[:st.out])
		}
		c.elems = c.elems[:0]
		if err == nil {
			sl.turn(it)
		}
	}
	if cerr := it.Close(); err == nil && cerr != nil {
		err = readError(cerr)
	}
	return err
}

// turn counts a request if the next row is on another page of the result.
func (sl *slot) turn(it *gocql.Iter) {
	if it.WillSwitchPage() {
		sl.requests++
	}
}

// take copies the columns that were read into the row, and reports whether there is
// a row.
func (c *call) take(st *statement) bool {
	for i := range c.results {
		c.row[i] = c.results[i].v
	}
	switch {
	case st.rowAt >= 0:
		return !c.row[st.rowAt].IsNull()
	case st.Pattern().Element != nil:
		return !c.row[0].IsNull()
	case st.someOf == nil:
		return true
	}
	for _, at := range st.someOf {
		if !c.row[at].IsNull() {
			return true
		}
	}
	return false
}

// The pages of a scan begin small and grow as long as they come quickly. A node
// reads whole rows even if the scan selects few columns, and gives up after 10 s.
// So a large page of attachments might never succeed, but the same number of flags
// takes milliseconds. The driver cannot see in advance how large rows are.
const (
	scanFewer = 50 // the first page has page_size divided by this many rows
	quickPage = 100 * time.Millisecond
	slowPage  = time.Second
)

// nextPage returns the number of rows of the next page.
func nextPage(rows, most int, took time.Duration) int {
	switch {
	case took < quickPage:
		return min(2*rows, most)
	case took > slowPage:
		return max(rows/2, 1)
	}
	return rows
}

// scan reads a table page by page.
func (s *session) scan(ctx context.Context, st *statement, o *inputs, yield plan.Yield) error {
	c := s.call(st.queries[0])
	defer c.done()
	most := s.store.settings.pageSize
	var state []byte
	for rows := max(most/scanFewer, 1); ; {
		o.limit = s.Left()
		c.request.PageSize(rows).PageState(state)
		begin := time.Now()
		it := s.send(ctx, c, o)
		rows = nextPage(rows, most, time.Since(begin))
		state = it.PageState()
		if err := s.drain(st, c, it, yield); err != nil || len(state) == 0 {
			return err
		}
	}
}

// collect reads all rows of a call into the slot. The caller must then call c.done.
func (sl *slot) collect(ctx context.Context, st *statement, c *call, o *inputs) error {
	sl.rows = sl.rows[:0]
	it := sl.send(ctx, c, o)
	for it.Scan(c.dest...) {
		if c.take(st) {
			sl.rows = append(sl.rows, c.row...)
		}
		sl.turn(it)
	}
	return readError(it.Close())
}

// readIn reads the rows of a list with one IN. Cassandra returns each row once, in
// clustering order. readIn yields them in the list's order, so it reads all of them
// first.
func (s *session) readIn(ctx context.Context, st *statement, args []drivers.Value, yield plan.Yield) error {
	list := args[st.Layout.In].Elems()
	if len(list) == 0 {
		return nil
	}
	c := s.call(st.queries[0])
	err := s.collect(ctx, st, c, &inputs{args: args})
	if err == nil {
		err = s.yieldInListOrder(st, list, len(c.columns), yield)
	}
	c.done()
	clear(s.rows)
	clear(s.groups)
	return err
}

// yieldInListOrder yields the collected rows in the order of the list.
func (s *session) yieldInListOrder(st *statement, list []drivers.Value, width int, yield plan.Yield) error {
	s.groups = s.groups[:0]
	for row := 0; row < len(s.rows); row += width {
		element := s.rows[row+st.inAt]
		if last := len(s.groups) - 1; last >= 0 && compare(s.groups[last].element, element) == 0 {
			s.groups[last].to = row + width
		} else {
			s.groups = append(s.groups, group{element, row, row + width})
		}
	}
	slices.SortFunc(s.groups, func(a, b group) int { return compare(a.element, b.element) })
	for i := range list {
		at, found := slices.BinarySearchFunc(s.groups, list[i],
			func(g group, v drivers.Value) int { return compare(g.element, v) })
		if !found {
			continue
		}
		for row := s.groups[at].from; row < s.groups[at].to; row += width {
			if err := yield(s.rows[row : row+st.out]); err != nil {
				return err
			}
		}
	}
	return nil
}

// readPartitions reads the partitions of a list in parallel, as many at a time as
// the pattern allows, each with a request to its own replicas. It yields rows in
// the list's order, and holds the rows of no more partitions than it reads at a time.
func (s *session) readPartitions(
	ctx context.Context, st *statement, args []drivers.Value, yield plan.Yield,
) (err error) {
	list := args[st.Layout.In].Elems()
	slots := s.parallelSlots(min(st.Pattern().Parallel, len(list)))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	plan.InOrder(len(list), len(slots), func(i, on int) error {
		return slots[on].collect(ctx, st, slots[on].call(st.queries[0]), &inputs{args: args, element: list[i]})
	}, func(_, on int, failed error) bool {
		sl := slots[on]
		c := sl.call(st.queries[0])
		if err == nil {
			err = failed
		}
		for row := 0; row < len(sl.rows) && err == nil; row += len(c.columns) {
			err = yield(sl.rows[row : row+st.out])
		}
		c.done()
		clear(sl.rows)
		if err != nil {
			cancel() // of the reads under way
		}
		return err == nil
	})
	return err
}
