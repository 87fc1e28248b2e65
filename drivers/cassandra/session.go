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
	lane           // of the worker itself
	lanes  []*lane // of requests that are under way at once
	groups []group
	closed bool
}

// lane is what one request at a time needs. All is kept from call to call: the
// requests themselves with their arguments in place, and room for what comes
// back, so that a call allocates what gocql does and nothing else.
type lane struct {
	store  *Store
	calls  []*call // by number of the query
	retry  retries
	rows   []drivers.Value // of a read that is held as a whole
	batch  batch
	answer []any      // where the columns of a verdict go
	done   chan error // where a lane beside the worker's says how it ended
}

// call is one query, ready to be sent again and again.
type call struct {
	*query
	request *gocql.Query
	slots   []slot
	vals    []any // the slots, as gocql takes them
	cells   []cell
	dest    []any // the cells, as gocql takes them
	elems   []drivers.Value
	row     []drivers.Value
	key     []byte // of the partition, as gocql hashes it
}

var _ drivers.Session = (*session)(nil)

// Session implements drivers.Store.
func (s *Store) Session() (drivers.Session, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	return &session{lane: s.lane()}, nil
}

func (s *Store) lane() lane {
	return lane{store: s, retry: retries{most: s.settings.retries}, done: make(chan error, 1)}
}

// side returns n lanes beside the worker's own.
func (s *session) side(n int) []*lane {
	for len(s.lanes) < n {
		l := s.store.lane()
		s.lanes = append(s.lanes, &l)
	}
	return s.lanes[:n]
}

// Close implements drivers.Session.
func (s *session) Close() error {
	s.closed, s.lanes, s.groups = true, nil, nil
	s.lane = lane{store: s.store}
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

// call returns what the lane needs to run a query.
func (l *lane) call(q *query) *call {
	for q.id >= len(l.calls) {
		l.calls = append(l.calls, make([]*call, q.id+1-len(l.calls))...)
	}
	if c := l.calls[q.id]; c != nil {
		return c
	}
	c := &call{
		query: q, request: l.store.session.Query(q.text),
		slots: make([]slot, len(q.binds)), vals: make([]any, len(q.binds)),
		cells: make([]cell, len(q.columns)), dest: make([]any, len(q.columns)), row: make([]drivers.Value, len(q.columns)),
	}
	for i := range c.slots {
		c.vals[i] = &c.slots[i]
	}
	for i := range c.cells {
		c.cells[i] = cell{typ: q.columns[i].Type, elems: &c.elems}
		c.dest[i] = &c.cells[i]
	}
	// Pages are fetched when they are needed: gocql would read the arguments of
	// one fetched ahead while the next call overwrites them.
	c.request.Bind(c.vals...).Prefetch(0)
	switch {
	case q.conditional:
		c.request.NoSkipMetadata() // what comes back depends on the outcome
	case q.idempotent && len(q.lists) == 0:
		l.retry.give(c.request, true)
	}
	l.calls[q.id] = c
	return c
}

// origin is where the bound values of one call come from.
type origin struct {
	args    []drivers.Value
	limit   int64
	element drivers.Value
	time    int64 // the write's timestamp; 0: the node's
}

// send binds a call's values and sends it.
func (l *lane) send(ctx context.Context, c *call, o *origin) *gocql.Iter {
	for i, from := range c.binds {
		switch from {
		case bindLimit:
			c.slots[i].v = drivers.Int(clamp(o.limit))
		case bindElement:
			c.slots[i].v = o.element
		case bindTime:
			c.slots[i].v = drivers.Bigint(o.time)
		default:
			c.slots[i].v = o.args[from]
		}
	}
	if c.route != nil {
		c.key = c.partition(c.key[:0], c.slots)
		c.request.RoutingKey(c.key)
	}
	if o.time != 0 {
		c.request.WithTimestamp(o.time)
	}
	if len(c.lists) > 0 {
		l.retry.give(c.request, c.repeatable(o.args))
	}
	l.retry.begin()
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
func (q *query) partition(dst []byte, slots []slot) []byte {
	if len(q.route) == 1 {
		return appendValue(dst, slots[q.route[0]].v)
	}
	for _, i := range q.route {
		at := len(dst)
		dst = appendValue(append(dst, 0, 0), slots[i].v)
		n := len(dst) - at - 2
		dst[at], dst[at+1] = byte(n>>8), byte(n)
		dst = append(dst, 0)
	}
	return dst
}

// keepBytes is the largest buffer that a session keeps from call to call.
const keepBytes = 64 << 10

// done lets go of what belongs to the caller, or to a response.
func (c *call) done() {
	for i := range c.slots {
		s := &c.slots[i]
		s.v = drivers.Value{}
		if cap(s.buf) > keepBytes {
			s.buf = nil
		}
	}
	for i := range c.cells {
		c.cells[i].v = drivers.Value{}
	}
	clear(c.elems)
	clear(c.row)
	if c.elems = c.elems[:0]; cap(c.elems) > keepBytes/64 {
		c.elems = nil
	}
}

// clamp makes a limit one that CQL takes.
func clamp(n int64) int32 { return int32(min(n, 1<<31-1)) }
