package cassandra

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// checkEvery is the number of rows after which a long read checks its context.
const checkEvery = 256

// errLimitReached stops a read at its limit.
var errLimitReached = errors.New("enough")

// Read implements drivers.Session.
func (s *session) Read(
	ctx context.Context, stmt drivers.Statement, args []drivers.Value, yield func(row []drivers.Value) error,
) (err error) {
	st, err := s.enter(ctx, stmt)
	if err != nil {
		return err
	}
	defer s.store.leave(&err)
	if !st.Pattern().Kind.Reads() {
		return st.Named(plan.ErrNotRead)
	}
	if err := st.check(args); err != nil {
		return st.Named(err)
	}
	limit := st.Limit(args)
	switch {
	case limit == 0:
		return nil
	case limit < 0:
		limit = math.MaxInt64
	}
	switch {
	case st.readsEach():
		err = s.readPartitions(ctx, st, args, limit, yield)
	case st.inAt >= 0:
		err = s.readIn(ctx, st, args, limit, yield)
	default:
		err = s.readRange(ctx, st, args, limit, yield)
	}
	if err == errLimitReached {
		return nil
	}
	return err
}

// boundsOf returns the bounds that a call gives. If it gives both the bound at
// which reading begins and a row to continue after, only the closer one is used.
func (st *statement) boundsOf(args []drivers.Value) bounds {
	p := st.Pattern()
	var with bounds
	if st.Layout.From >= 0 && !args[st.Layout.From].IsNull() {
		with |= withFrom
	}
	if st.Layout.To >= 0 && !args[st.Layout.To].IsNull() {
		with |= withTo
	}
	if len(p.After) == 0 || args[st.Layout.After].IsNull() {
		return with
	}
	start := st.startBound()
	if with&start == 0 {
		return with | withAfter
	}
	bound, at := p.From, st.Layout.From
	if start == withTo {
		bound, at = p.To, st.Layout.To
	}
	c := compare(args[st.Layout.After], args[at])
	if start == withTo {
		c = -c
	}
	if c < 0 || c == 0 && bound.Open {
		return with // the whole range is after the row
	}
	return with&^start | withAfter
}

// readRange reads with one query, or with the queries of a chain one after another.
func (s *session) readRange(
	ctx context.Context, st *statement, args []drivers.Value, limit int64, yield func([]drivers.Value) error,
) error {
	with := st.boundsOf(args)
	o := inputs{args: args, limit: limit, tokens: st.tokens}
	if st.Pattern().Kind == schemas.Scan {
		return s.scan(ctx, st, &o, yield)
	}
	if with&withAfter == 0 || st.chains[0] == nil {
		_, err := s.stream(ctx, st, s.call(st.queries[with]), &o, yield)
		return err
	}
	chain := st.chains[0]
	if with&^withAfter != 0 {
		if st.beyondEnd(args) {
			return nil
		}
		chain = st.chains[1]
	}
	for _, q := range chain {
		n, err := s.stream(ctx, st, s.call(q), &o, yield)
		if err != nil {
			return err
		}
		if o.limit -= n; o.limit == 0 {
			return nil
		}
	}
	return nil
}

// beyondEnd reports whether the row to continue after is already past the end of
// the range.
func (st *statement) beyondEnd(args []drivers.Value) bool {
	p := st.Pattern()
	bound, at := p.To, st.Layout.To
	if st.startBound() == withTo {
		bound, at = p.From, st.Layout.From
	}
	c := compare(args[st.Layout.After], args[at])
	if st.startBound() == withTo {
		c = -c
	}
	return c > 0 || c == 0 && bound.Open
}

// stream sends a read and yields its rows as they arrive.
func (sl *slot) stream(
	ctx context.Context, st *statement, c *call, o *inputs, yield func([]drivers.Value) error,
) (n int64, err error) {
	it := sl.send(ctx, c, o)
	n, err = sl.drain(ctx, st, c, o, it, yield)
	c.done()
	return n, err
}

// drain yields the rows of a result, on all its pages.
func (sl *slot) drain(
	ctx context.Context, st *statement, c *call, o *inputs, it *gocql.Iter, yield func([]drivers.Value) error,
) (n int64, err error) {
	for read := 1; it.Scan(c.dest...); read++ {
		if read%checkEvery == 0 {
			if err = ctx.Err(); err != nil {
				break
			}
		}
		if c.take(st) {
			if err = yield(c.row[:st.out]); err != nil {
				break
			}
			if n++; n == o.limit {
				break
			}
		}
		c.elems = c.elems[:0]
		sl.turn(it)
	}
	if cerr := it.Close(); err == nil && cerr != nil {
		err = st.Named(readError(cerr))
	}
	return n, err
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
func (s *session) scan(ctx context.Context, st *statement, o *inputs, yield func([]drivers.Value) error) error {
	c := s.call(st.queries[0])
	defer c.done()
	most := s.store.settings.pageSize
	var state []byte
	for rows := max(most/scanFewer, 1); ; {
		c.request.PageSize(rows).PageState(state)
		begin := time.Now()
		it := s.send(ctx, c, o)
		rows = nextPage(rows, most, time.Since(begin))
		state = it.PageState()
		n, err := s.drain(ctx, st, c, o, it, yield)
		if err != nil || len(state) == 0 {
			return err
		}
		if o.limit -= n; o.limit == 0 {
			return nil
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
	return st.Named(readError(it.Close()))
}

// readIn reads the rows of a list with one IN. Cassandra returns each row once, in
// clustering order. readIn yields them in the list's order, so it reads all of them
// first.
func (s *session) readIn(
	ctx context.Context, st *statement, args []drivers.Value, limit int64, yield func([]drivers.Value) error,
) error {
	list := args[st.Layout.In].Elems()
	if len(list) == 0 {
		return nil
	}
	c := s.call(st.queries[0])
	err := s.collect(ctx, st, c, &inputs{args: args})
	if err == nil {
		err = s.yieldInListOrder(st, list, len(c.columns), limit, yield)
	}
	c.done()
	clear(s.rows)
	clear(s.groups)
	return err
}

// yieldInListOrder yields the collected rows in the order of the list.
func (s *session) yieldInListOrder(
	st *statement, list []drivers.Value, width int, limit int64, yield func([]drivers.Value) error,
) error {
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
			if limit--; limit == 0 {
				return nil
			}
		}
	}
	return nil
}

// readPartitions reads the partitions of a list in parallel, as many at a time as
// the pattern allows, each with a request to its own replicas. It yields rows in
// the list's order, and holds the rows of no more partitions than it reads at a time.
func (s *session) readPartitions(
	ctx context.Context, st *statement, args []drivers.Value, limit int64, yield func([]drivers.Value) error,
) error {
	list := args[st.Layout.In].Elems()
	slots := s.parallelSlots(min(st.Pattern().Parallel, len(list)))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := func(i int) {
		sl := slots[i%len(slots)]
		go func() {
			sl.done <- crash.Guard(func() error {
				c := sl.call(st.queries[0])
				return sl.collect(ctx, st, c, &inputs{args: args, element: list[i]})
			})
		}()
	}
	begun := 0
	for ; begun < len(slots); begun++ {
		begin(begun)
	}
	var err error
	for i := 0; i < begun; i++ {
		sl := slots[i%len(slots)]
		if got := <-sl.done; err == nil {
			err = got
		}
		c := sl.call(st.queries[0])
		for row := 0; row < len(sl.rows) && err == nil; row += len(c.columns) {
			if err = yield(sl.rows[row : row+st.out]); err == nil {
				if limit--; limit == 0 {
					err = errLimitReached
				}
			}
		}
		c.done()
		clear(sl.rows)
		switch {
		case err != nil:
			cancel() // the loop still waits for the reads under way
		case begun < len(list):
			begin(begun)
			begun++
		}
	}
	return err
}
