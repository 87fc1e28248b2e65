package cassandra

import (
	"context"
	"fmt"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// session runs statements for one worker.
type session struct {
	slot           // of the worker itself
	slots  []*slot // of requests that are under way at once
	groups []group
	closed bool
}

// slot is what one request at a time needs. All is kept from call to call: the
// requests themselves with their arguments in place, and room for what comes
// back, so that a call allocates what gocql does and nothing else.
type slot struct {
	store  *Store
	calls  []*call // by number of the query
	retry  retries
	rows   []drivers.Value // of a read that is held as a whole
	batch  batch
	answer []any      // where the columns of a verdict go
	done   chan error // where a slot beside the worker's says how it ended
}

// call is one query, ready to be sent again and again.
type call struct {
	*query
	request    *gocql.Query
	bindValues []bindValue
	vals       []any // the bindValues, as gocql takes them
	results    []resultValue
	dest       []any // the cells, as gocql takes them
	elems      []drivers.Value
	row        []drivers.Value
	key        []byte // of the partition, as gocql hashes it
}

var _ drivers.Session = (*session)(nil)

// Session implements drivers.Store.
func (s *Store) Session() (drivers.Session, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	return &session{slot: s.slot()}, nil
}

func (s *Store) slot() slot {
	return slot{store: s, retry: retries{most: s.settings.retries}, done: make(chan error, 1)}
}

// parallelSlots returns n slots beside the worker's own.
func (s *session) parallelSlots(n int) []*slot {
	for len(s.slots) < n {
		sl := s.store.slot()
		s.slots = append(s.slots, &sl)
	}
	return s.slots[:n]
}

// Close implements drivers.Session.
func (s *session) Close() error {
	s.closed, s.slots, s.groups = true, nil, nil
	s.slot = slot{store: s.store}
	return nil
}

// enter checks what every call must. The caller ends the call with
// s.store.leave if it got no error.
func (s *session) enter(ctx context.Context, stmt drivers.Statement) (*statement, error) {
	st, ok := drivers.Native(stmt).(*statement)
	switch {
	case !ok || st.store != s.store:
		return nil, plan.Foreign(stmt)
	case s.closed:
		return nil, st.Named(fmt.Errorf("session: %w", drivers.ErrClosed))
	}
	if err := ctx.Err(); err != nil {
		return nil, st.Named(err)
	}
	return st, s.store.enter()
}

// check judges the arguments of a call before anything is sent.
func (st *statement) check(args []drivers.Value) error {
	if err := st.Takes(len(args)); err != nil {
		return err
	}
	for i := range args {
		if err := plan.Fits(&st.args[i].Type, &args[i]); err != nil {
			return fmt.Errorf("argument %s: %w", st.args[i].Name, err)
		}
		if args[i].IsNull() && (i < st.keys || i == st.At.In || i == st.At.Element || st.Pattern().Kind == schemas.Add) {
			return fmt.Errorf("argument %s: %w", st.args[i].Name, plan.ErrNull)
		}
	}
	return nil
}

// call returns what the slot needs to run a query.
func (sl *slot) call(q *query) *call {
	for q.id >= len(sl.calls) {
		sl.calls = append(sl.calls, make([]*call, q.id+1-len(sl.calls))...)
	}
	if c := sl.calls[q.id]; c != nil {
		return c
	}
	c := &call{
		query: q, request: sl.store.session.Query(q.text),
		bindValues: make([]bindValue, len(q.binds)), vals: make([]any, len(q.binds)),
		results: make([]resultValue, len(q.columns)), dest: make([]any, len(q.columns)), row: make([]drivers.Value, len(q.columns)),
	}
	for i := range c.bindValues {
		c.vals[i] = &c.bindValues[i]
	}
	for i := range c.results {
		c.results[i] = resultValue{typ: q.columns[i].Type, elems: &c.elems}
		c.dest[i] = &c.results[i]
	}
	// Pages are fetched when they are needed: gocql would read the arguments of
	// one fetched ahead while the next call overwrites them.
	c.request.Bind(c.vals...).Prefetch(0)
	switch {
	case q.conditional:
		c.request.NoSkipMetadata() // what comes back depends on the outcome
	case q.idempotent && len(q.lists) == 0:
		sl.retry.allow(c.request, true)
	}
	sl.calls[q.id] = c
	return c
}

// inputs is where the bound values of one call come from.
type inputs struct {
	args    []drivers.Value
	limit   int64
	element drivers.Value
	time    int64 // the write's timestamp; 0: the node's
}

// send binds a call's values and sends it.
func (sl *slot) send(ctx context.Context, c *call, o *inputs) *gocql.Iter {
	for i, from := range c.binds {
		switch from {
		case bindLimit:
			c.bindValues[i].v = drivers.Int(clamp(o.limit))
		case bindElement:
			c.bindValues[i].v = o.element
		case bindTime:
			c.bindValues[i].v = drivers.Bigint(o.time)
		default:
			c.bindValues[i].v = o.args[from]
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
	sl.retry.begin()
	if ctx.Done() == nil {
		return c.request.Iter()
	}
	return c.request.WithContext(ctx).Iter()
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

// partition appends the partition key as gocql hashes it to find the replicas:
// the value itself, or each of several with its length before it and a zero
// behind.
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

// maxKeptBytes is the largest buffer that a session keeps from call to call.
const maxKeptBytes = 64 << 10

// done lets go of what belongs to the caller, or to a response.
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

// clamp makes a limit one that CQL takes.
func clamp(n int64) int32 { return int32(min(n, 1<<31-1)) }
