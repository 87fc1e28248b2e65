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
	with := st.Given(args)
	if with&plan.WithAfter == 0 {
		return with
	}
	with &^= plan.WithAfter
	start := st.startBound()
	if with&start == 0 {
		return with | plan.WithAfter
	}
	if c, open := st.afterBound(args, start); c < 0 || c == 0 && open {
		return with // the whole range is after the row
	}
	return with&^start | plan.WithAfter
}

// afterBound compares the row to continue after with a bound, in the order of reading. open: the bound is.
func (st *statement) afterBound(args []drivers.Value, which plan.Bounds) (c int, open bool) {
	bound, at := st.Pattern().From, st.Layout.From
	if which == plan.WithTo {
		bound, at = st.Pattern().To, st.Layout.To
	}
	if c = compare(args[st.Layout.After], args[at]); st.startBound() == plan.WithTo {
		c = -c
	}
	return c, bound.Open
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
			end := (plan.WithFrom | plan.WithTo) &^ st.startBound()
			if c, open := st.afterBound(args, end); c > 0 || c == 0 && open { // the row is past the end of the range
				return nil
			}
			chain = st.chains[1]
		}
	}
	for _, q := range chain {
		o.limit = s.Left()
		if err := s.stream(ctx, st, q, &o, yield); err != nil {
			return err
		}
	}
	return nil
}

// stream sends a read and yields its rows as they arrive.
func (s *session) stream(ctx context.Context, st *statement, q *query, o *inputs, yield plan.Yield) error {
	it, _ := s.send(ctx, q, o)
	return s.each(st, q, it, func(row []drivers.Value) error { return yield(row[:st.out]) })
}

// each calls do with each row of a result, on all its pages: with all columns that were selected.
func (s *session) each(st *statement, q *query, it *gocql.Iter, do plan.Yield) (err error) {
	var r struct { // room for most rows
		columns [8]resultValue
		dest    [8]any
		row     [8]drivers.Value
	}
	n := len(q.columns)
	columns, dest := slices.Grow(r.columns[:0], n)[:n], slices.Grow(r.dest[:0], n)[:n]
	row := slices.Grow(r.row[:0], n)[:n]
	for i := range columns {
		columns[i] = resultValue{typ: q.columns[i].Type, tolerant: &s.tolerant}
		dest[i] = &columns[i]
	}
	for err == nil && it.Scan(dest...) {
		for i := range columns {
			row[i] = columns[i].v
		}
		if st.exists(row) {
			err = do(row)
		}
		if err == nil && it.WillSwitchPage() { // the next row is on another page
			s.requests.Add(1)
		}
	}
	if cerr := it.Close(); err == nil {
		err = readError(cerr)
	}
	return err
}

// exists reports whether what was selected is a row.
func (st *statement) exists(row []drivers.Value) bool {
	switch {
	case st.rowAt >= 0:
		return !row[st.rowAt].IsNull()
	case st.Pattern().Element != nil:
		return !row[0].IsNull()
	}
	return st.someOf == nil || slices.ContainsFunc(st.someOf, func(at int) bool { return !row[at].IsNull() })
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
	q, most := st.queries[0], s.store.settings.client.PageSize
	for o.rows = max(most/scanFewer, 1); ; {
		o.limit = s.Left()
		begin := time.Now()
		it, _ := s.send(ctx, q, o)
		o.rows, o.state = nextPage(o.rows, most, time.Since(begin)), it.PageState()
		err := s.each(st, q, it, func(row []drivers.Value) error { return yield(row[:st.out]) })
		if err != nil || len(o.state) == 0 {
			return err
		}
	}
}

// collect reads all rows of a request: with all columns that were selected.
func (s *session) collect(ctx context.Context, st *statement, o *inputs) (rows [][]drivers.Value, err error) {
	q := st.queries[0]
	it, _ := s.send(ctx, q, o)
	err = s.each(st, q, it, func(row []drivers.Value) error {
		rows = append(rows, slices.Clone(row))
		return nil
	})
	return rows, err
}

// readIn reads the rows of a list with one IN. Cassandra returns each row once, in
// clustering order. readIn yields them in the list's order, so it reads all of them
// first.
func (s *session) readIn(ctx context.Context, st *statement, args []drivers.Value, yield plan.Yield) error {
	list := args[st.Layout.In].Elems()
	if len(list) == 0 {
		return nil
	}
	rows, err := s.collect(ctx, st, &inputs{args: args})
	if err != nil {
		return err
	}
	found := make(plan.ByElement[[]drivers.Value])
	for _, row := range rows {
		found.Add(row[st.inAt], row)
	}
	return found.Each(list, func(row []drivers.Value) error { return yield(row[:st.out]) })
}

// readPartitions reads the partitions of a list in parallel, each with a request to its own replicas.
func (s *session) readPartitions(
	ctx context.Context, st *statement, args []drivers.Value, yield plan.Yield,
) error {
	list := args[st.Layout.In].Elems()
	read := func(ctx context.Context, i int) ([][]drivers.Value, error) {
		return s.collect(ctx, st, &inputs{args: args, element: list[i]})
	}
	return plan.ReadEach(ctx, len(list), st.Pattern().Parallel, read, func(row []drivers.Value) error {
		return yield(row[:st.out])
	})
}
