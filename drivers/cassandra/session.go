package cassandra

import (
	"context"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// session runs statements for one worker.
type session struct {
	plan.Session[*statement]
	slot           // for the worker's own requests
	slots  []*slot // for requests that run in parallel
	groups []group
	order  plan.Order
}

// slot sends requests for one goroutine, one at a time. It keeps the requests with
// their values, and buffers for the results, from call to call. So a call allocates
// only what gocql allocates.
type slot struct {
	store  *calls
	calls  []*call // by the query's number
	retry  retries
	rows   []drivers.Value // the rows of a read that collects all
	batch  batch
	answer []any // the targets for the columns of a conditional write's result
	// tolerant is true if a value that cannot be decoded is yielded as a broken one. All slots
	// of a session share it.
	tolerant *bool
	tracer   gocql.Tracer // if nil, requests are not traced
	requests int64        // sent since the last Take
}

// group is the rows of one element of a list: rows[from:to].
type group struct {
	element  drivers.Value
	from, to int
}

// batch is a slot's batch request, with buffers for the values of its entries.
type batch struct {
	request    *gocql.Batch
	bindValues []bindValue
	vals       []any
	key        []byte // the partition key of the current entry
	before     []byte // the partition key of the previous entry
}

// call is a query in a slot, with its request and buffers. It can be sent many
// times.
type call struct {
	*query
	request    *gocql.Query
	bindValues []bindValue
	vals       []any // the bindValues, as gocql takes them
	results    []resultValue
	dest       []any // the cells, as gocql takes them
	elems      []drivers.Value
	row        []drivers.Value
	key        []byte // the partition key, in the form that gocql hashes
}

var (
	_ drivers.Session  = (*session)(nil)
	_ drivers.Tolerant = (*session)(nil)
)

// Session implements drivers.Store.
func (c *calls) Session() (drivers.Session, error) {
	if err := c.Enter(); err != nil {
		return nil, err
	}
	defer c.Leave()
	s := &session{slot: c.slot()}
	s.Init(c.Gate, s)
	return s, nil
}

func (c *calls) slot() slot {
	return slot{store: c, retry: retries{most: c.settings.retries}, tolerant: new(bool)}
}

// parallelSlots returns n slots for parallel requests.
func (s *session) parallelSlots(n int) []*slot {
	for len(s.slots) < n {
		sl := s.store.slot()
		sl.tolerant, sl.tracer = s.tolerant, s.tracer
		s.slots = append(s.slots, &sl)
	}
	return s.slots[:n]
}

// Tolerate implements drivers.Tolerant.
func (s *session) Tolerate(on bool) { *s.tolerant = on }

// Take implements drivers.Session. Cassandra tells of no call how many rows it examined.
func (s *session) Take() drivers.Cost {
	c := s.slot.take()
	for _, sl := range s.slots {
		own := sl.take()
		c.Add(&own)
	}
	return c
}

func (sl *slot) take() drivers.Cost {
	c := drivers.Cost{Calls: sl.requests, Retries: sl.retry.again, Untold: min(sl.requests, 1)}
	sl.requests, sl.retry.again = 0, 0
	return c
}

// Close implements drivers.Session.
func (s *session) Close() error {
	s.slots, s.groups = nil, nil
	s.slot = slot{store: s.store}
	return s.Session.Close()
}

// call returns the slot's call for a query.
func (sl *slot) call(q *query) *call {
	for q.id >= len(sl.calls) {
		sl.calls = append(sl.calls, make([]*call, q.id+1-len(sl.calls))...)
	}
	if c := sl.calls[q.id]; c != nil {
		return c
	}
	c := &call{
		query: q, request: sl.store.session.Query(q.text).Consistency(sl.store.settings.consistency),
		bindValues: make([]bindValue, len(q.binds)), vals: make([]any, len(q.binds)),
		results: make([]resultValue, len(q.columns)), dest: make([]any, len(q.columns)),
		row: make([]drivers.Value, len(q.columns)),
	}
	for i := range c.bindValues {
		c.vals[i] = &c.bindValues[i]
	}
	for i := range c.results {
		c.results[i] = resultValue{typ: q.columns[i].Type, elems: &c.elems, tolerant: sl.tolerant}
		c.dest[i] = &c.results[i]
	}
	// A page must not be fetched ahead: gocql would read the call's values while
	// the next call overwrites them.
	c.request.Bind(c.vals...).Prefetch(0)
	if sl.tracer != nil {
		c.request.Trace(sl.tracer)
	}
	switch {
	case q.conditional:
		c.request.NoSkipMetadata() // the columns of the result depend on the outcome
	case q.idempotent && len(q.lists) == 0:
		sl.retry.allow(c.request, true)
	}
	sl.calls[q.id] = c
	return c
}

// inputs are the sources of the values that a call binds.
type inputs struct {
	args    []drivers.Value
	limit   int64
	element drivers.Value
	time    int64      // the write's timestamp in µs; 0 if the node sets it
	tokens  tokenRange // the tokens of a part of a scan
}

// send binds a call's values and sends it.
func (sl *slot) send(ctx context.Context, c *call, o *inputs) *gocql.Iter {
	for i, from := range c.binds {
		switch from {
		case bindLimit:
			c.bindValues[i].v = drivers.Int(clamp(o.limit))
		case bindElement:
			c.bindValues[i].v = o.element
		case bindAfterToken:
			c.bindValues[i].v = drivers.Bigint(o.tokens.after)
		case bindToToken:
			c.bindValues[i].v = drivers.Bigint(o.tokens.to)
		case bindTime:
			c.bindValues[i].v = drivers.Bigint(o.time)
		default:
			c.bindValues[i].v = o.args[from]
		}
	}
	for _, i := range c.optional {
		if c.vals[i] = &c.bindValues[i]; absent(&c.bindValues[i].v) {
			c.vals[i] = gocql.UnsetValue
		}
	}
	if c.route != nil {
		c.key = c.partition(c.key[:0], c.bindValues)
		c.request.RoutingKey(c.key)
	}
	if o.time != 0 {
		c.request.WithTimestamp(o.time)
	}
	if len(c.lists) > 0 {
		sl.retry.allow(c.request, c.repeatable(o.args))
	}
	sl.retry.begin(plainWrite) // other writes are sent once
	sl.requests++
	if ctx.Done() == nil {
		return c.request.Iter()
	}
	return c.request.WithContext(ctx).Iter()
}

// absent reports whether a value is null or an empty collection, which Cassandra reads as null.
func absent(v *drivers.Value) bool {
	if v.IsNull() {
		return true
	}
	switch v.Kind() {
	case schemas.Set, schemas.List, schemas.Map:
		return len(v.Elems()) == 0
	}
	return false
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
func (q *query) partition(dst []byte, bindValues []bindValue) []byte {
	if len(q.route) == 1 {
		return appendValue(dst, bindValues[q.route[0]].v)
	}
	for _, i := range q.route {
		at := len(dst)
		dst = appendValue(append(dst, 0, 0), bindValues[i].v)
		n := len(dst) - at - 2
		dst[at], dst[at+1] = byte(n>>8), byte(n)
		dst = append(dst, 0)
	}
	return dst
}

// maxKeptBytes is the size in bytes of the largest buffer that a session keeps from call to call.
const maxKeptBytes = 64 << 10

// done drops the references to the caller's values and to the response.
func (c *call) done() {
	for i := range c.bindValues {
		s := &c.bindValues[i]
		s.v = drivers.Value{}
		if cap(s.buf) > maxKeptBytes {
			s.buf = nil
		}
	}
	for i := range c.results {
		c.results[i].v = drivers.Value{}
	}
	clear(c.elems)
	clear(c.row)
	if c.elems = c.elems[:0]; cap(c.elems) > maxKeptBytes/64 {
		c.elems = nil
	}
}

// clamp returns a limit as an int, the type of LIMIT in CQL. A negative one is no limit.
func clamp(n int64) int32 {
	if n < 0 {
		n = 1<<31 - 1
	}
	return int32(min(n, 1<<31-1))
}
