package cassandra

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// session runs statements for one worker.
type session struct {
	plan.Session[*statement]
	store  *Store
	tracer gocql.Tracer // if nil, requests are not traced
}

var _ drivers.Session = (*session)(nil)

// Session implements drivers.Store.
func (s *Store) Session() (drivers.Session, error) {
	return plan.Call(s.Gate, "open a session", func() (drivers.Session, error) {
		se := &session{store: s}
		se.Init(s.Gate, se)
		return se, nil
	})
}

// oneRequest is the cost of a request. Cassandra reports rows scanned for none.
var oneRequest = drivers.Cost{Requests: 1, Unreported: 1}

// retries returns the policy of a request.
func (s *session) retries(kind writeKind) retries {
	most := s.store.settings.retries
	return retries{most: most, left: most, kind: kind, meter: &s.Meter}
}

// retries is the retry policy of one idempotent request. It retries after a pause
// if a connection was lost, and at once if a node refused the request. After a time-out it
// retries only one kind of read. Other requests (counters, list appends,
// conditional writes) have no retry policy, and are sent once.
//
// Each request has its own. So retries can remember, as gocql does not, that a lost
// attempt may have been applied.
type retries struct {
	most, left int
	kind       writeKind
	uncertain  bool
	meter      *drivers.Meter  // counts further attempts
	ctx        context.Context // of the request
}

// firstPause is the time before a request whose connection was lost is sent again. Each further pause takes
// twice as long.
const firstPause = 50 * time.Millisecond

// Attempt implements gocql.RetryPolicy.
func (r *retries) Attempt(q gocql.RetryableQuery) bool {
	r.left--
	r.ctx = q.Context()
	return r.left >= 0 && q.Context().Err() == nil
}

// GetRetryType implements gocql.RetryPolicy.
func (r *retries) GetRetryType(err error) gocql.RetryType {
	t := r.typeOf(err)
	if t != gocql.Rethrow {
		r.meter.Count(drivers.Cost{Retries: 1})
	}
	return t
}

func (r *retries) typeOf(err error) gocql.RetryType {
	var readTimeout *gocql.RequestErrReadTimeout
	var refused gocql.RequestError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, gocql.ErrTimeoutNoResponse):
		return gocql.Rethrow
	case errors.As(err, &readTimeout):
		// Enough replicas answered, but not the one that was to send the data.
		// The coordinator now knows that this one is slow.
		if readTimeout.Received >= readTimeout.BlockFor && readTimeout.DataPresent == 0 {
			return gocql.Retry
		}
		return gocql.Rethrow
	case errors.As(err, &refused):
		if of := refusals[refused.Code()]; of.away {
			r.uncertain = r.uncertain || r.kind >= of.open
			return gocql.RetryNextHost
		}
		return gocql.Rethrow
	}
	_ = drivers.Pause(r.ctx, firstPause<<(r.most-r.left-1)) // a node that starts again needs time
	// The connection was lost, or there was none. The node itself may be well, so
	// it gets the next attempt. If it has no connections left, gocql tries the
	// next node.
	r.uncertain = r.uncertain || classify(err, r.kind) == drivers.ErrUnknown
	if r.left > 0 {
		return gocql.Retry
	}
	return gocql.RetryNextHost
}

// inputs are the sources of the values that a request binds.
type inputs struct {
	args    []drivers.Value
	limit   int64
	element drivers.Value
	time    int64  // the write's timestamp in µs; 0 if the node sets it
	rows    int    // of a page; 0 is the setting page_size
	state   []byte // where the page begins, in the protocol's form
	// The tokens of a part of a scan are above after, up to and including to.
	after, to int64
}

// value returns the value of a bind marker.
func (o *inputs) value(from bind) drivers.Value {
	switch from {
	case bindLimit:
		return drivers.Int(int32(min(uint64(o.limit), math.MaxInt32))) // -1, no limit, is the highest uint64
	case bindElement:
		return o.element
	case bindAfterToken:
		return drivers.Bigint(o.after)
	case bindToToken:
		return drivers.Bigint(o.to)
	case bindTime:
		return drivers.Bigint(o.time)
	}
	return o.args[from]
}

// request is a request in flight, with the memory for what it binds and returns, which the next one uses again: gocql
// reads the values until the iterator is closed.
type request struct {
	query   *gocql.Query
	it      *gocql.Iter
	retry   retries
	values  []bindValue
	given   []any // the values as gocql takes them
	key     []byte
	columns []resultValue
	dest    []any // the columns as gocql takes them
	row     []drivers.Value
}

// requests has those that are not in flight.
var requests = sync.Pool{New: func() any { return new(request) }}

// send binds the values of a query and sends it. The caller closes the request.
func (s *session) send(ctx context.Context, q *query, o *inputs) *request {
	r := requests.Get().(*request)
	r.retry = s.retries(plainWrite) // other writes are sent once
	r.values, r.given = q.bind(r.values, r.given, o)
	// A page that is fetched ahead would be counted before it is read.
	r.query = s.store.session.Query(q.text, r.given...).Consistency(s.store.settings.consistency).Prefetch(0)
	if s.tracer != nil {
		r.query.Trace(s.tracer)
	}
	if q.conditional {
		r.query.NoSkipMetadata() // the columns of the result depend on the outcome
	}
	if q.route != nil {
		r.key = q.partition(r.key[:0], r.values)
		r.query.RoutingKey(r.key)
	}
	if o.time != 0 {
		r.query.WithTimestamp(o.time)
	}
	if o.rows > 0 {
		r.query.PageSize(o.rows).PageState(o.state)
	}
	if q.repeatable(o.args) && r.retry.most > 0 {
		r.query.RetryPolicy(&r.retry).Idempotent(true)
	}
	s.Count(oneRequest)
	sent := r.query
	if ctx.Done() != nil {
		sent = sent.WithContext(ctx)
	}
	r.it = sent.Iter()
	return r
}

// close ends the request. uncertain: an attempt before the last one may have been applied.
func (r *request) close() (uncertain bool, err error) {
	err = r.it.Close()
	uncertain = r.retry.uncertain
	r.query.Release()
	clear(r.values)
	clear(r.given)
	clear(r.columns)
	clear(r.row)
	r.query, r.it, r.retry = nil, nil, retries{}
	requests.Put(r)
	return uncertain, err
}

// bind puts the values to bind into values, and as gocql takes them into given: without optional ones that are null or
// empty.
func (q *query) bind(values []bindValue, given []any, o *inputs) ([]bindValue, []any) {
	n := len(q.binds)
	values, given = slices.Grow(values[:0], n)[:n], slices.Grow(given[:0], n)[:n]
	for i, from := range q.binds {
		values[i].v, given[i] = o.value(from), &values[i]
	}
	for _, i := range q.optional {
		if absent(&values[i].v) {
			given[i] = gocql.UnsetValue
		}
	}
	return values, given
}

// absent reports whether a value is null or an empty collection, which Cassandra reads as null.
func absent(v *drivers.Value) bool {
	return v.IsNull() || v.Kind() >= schemas.Set && len(v.Elems()) == 0
}

// repeatable reports whether the query may be sent twice with these arguments.
func (q *query) repeatable(args []drivers.Value) bool {
	for _, at := range q.lists {
		if len(args[at].Elems()) > 0 {
			return false
		}
	}
	return q.idempotent
}

// partition appends the partition key in the form that gocql hashes to find the
// replicas. The key of one column is the value itself. In a key of several columns
// each value has its length before it and a zero byte after it.
func (q *query) partition(dst []byte, values []bindValue) []byte {
	if len(q.route) == 1 {
		return appendValue(dst, values[q.route[0]].v)
	}
	for _, i := range q.route {
		at := len(dst)
		dst = appendValue(append(dst, 0, 0), values[i].v)
		n := len(dst) - at - 2
		dst[at], dst[at+1] = byte(n>>8), byte(n)
		dst = append(dst, 0)
	}
	return dst
}

// RunRead implements plan.Runner.
func (s *session) RunRead(ctx context.Context, st *statement, args []drivers.Value) error {
	out := func(row []drivers.Value) error { return s.Yield(row[:st.out]) }
	if st.Pattern().In != nil {
		return s.readList(ctx, st, args, out)
	}
	return s.readRange(ctx, st, args, out)
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

// readRange reads with one query, or with those of a chain one after another.
func (s *session) readRange(
	ctx context.Context, st *statement, args []drivers.Value, yield func([]drivers.Value) error,
) error {
	with := st.boundsOf(args)
	o := inputs{args: args}
	if st.Pattern().Kind == schemas.Scan {
		return s.scan(ctx, st, &o, yield)
	}
	if end := with &^ plan.WithAfter; end != 0 && len(st.reads[with]) > 1 {
		if c, open := st.afterBound(args, end); c > 0 || c == 0 && open { // the row is past the end of the range
			return nil
		}
	}
	for _, q := range st.reads[with] {
		o.limit = s.Left
		if err := s.each(st, q, s.send(ctx, q, &o), yield); err != nil {
			return err
		}
	}
	return nil
}

// each calls do with each row of a result, on all its pages: with all columns that were selected.
func (s *session) each(st *statement, q *query, r *request, do func(row []drivers.Value) error) (err error) {
	n := len(q.columns)
	r.columns, r.dest = slices.Grow(r.columns[:0], n)[:n], slices.Grow(r.dest[:0], n)[:n]
	r.row = slices.Grow(r.row[:0], n)[:n]
	for i := range r.columns {
		r.columns[i] = resultValue{typ: q.columns[i].Type, tolerant: &s.Tolerant}
		r.dest[i] = &r.columns[i]
	}
	for err == nil && r.it.Scan(r.dest...) {
		for i := range r.columns {
			r.row[i] = r.columns[i].v
		}
		if st.exists(r.row) {
			err = do(r.row)
		}
		if err == nil && r.it.WillSwitchPage() { // the next row is on another page
			s.Count(oneRequest)
		}
	}
	if _, cerr := r.close(); err == nil {
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
func (s *session) scan(ctx context.Context, st *statement, o *inputs, yield func([]drivers.Value) error) error {
	q, most := st.reads[0][0], s.store.settings.client.PageSize
	o.after, o.to = tokens(st.Part())
	for o.rows = max(most/scanFewer, 1); ; {
		o.limit = s.Left
		begin := time.Now()
		r := s.send(ctx, q, o)
		o.rows, o.state = nextPage(o.rows, most, time.Since(begin)), r.it.PageState()
		if err := s.each(st, q, r, yield); err != nil || len(o.state) == 0 {
			return err
		}
	}
}

// collect reads all rows of a request: with all columns that were selected.
func (s *session) collect(ctx context.Context, st *statement, o *inputs) (rows [][]drivers.Value, err error) {
	q := st.reads[0][0]
	err = s.each(st, q, s.send(ctx, q, o), func(row []drivers.Value) error {
		rows = append(rows, slices.Clone(row))
		return nil
	})
	return rows, err
}

// readList reads the rows of a list: partitions in parallel, each with a request to its own replicas, or rows with one
// IN. Cassandra returns each row of an IN once, in clustering order. readList yields them in the list's order, so it
// reads all of them first.
func (s *session) readList(
	ctx context.Context, st *statement, args []drivers.Value, yield func([]drivers.Value) error,
) error {
	list := args[st.Layout.In].Elems()
	if st.readsEach() {
		read := func(ctx context.Context, i int) ([][]drivers.Value, error) {
			return s.collect(ctx, st, &inputs{args: args, element: list[i]})
		}
		return plan.ReadEach(ctx, len(list), st.Pattern().Parallel, read, yield)
	}
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
	return found.Each(list, yield)
}
