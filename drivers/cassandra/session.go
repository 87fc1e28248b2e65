package cassandra

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// session runs statements for one worker.
type session struct {
	plan.Session[*statement]
	store    *Store
	tolerant bool         // a value that cannot be decoded is yielded as a broken one
	tracer   gocql.Tracer // if nil, requests are not traced
	order    plan.Order
	// Counts since the last Take: of requests, and of those that were sent again. Requests of one call may run in
	// parallel.
	requests, again atomic.Int64
}

var (
	_ drivers.Session  = (*session)(nil)
	_ drivers.Tolerant = (*session)(nil)
)

// Session implements drivers.Store.
func (s *Store) Session() (drivers.Session, error) {
	if err := s.Enter(); err != nil {
		return nil, err
	}
	defer s.Leave()
	se := &session{store: s}
	se.Init(s.Gate, se)
	return se, nil
}

// Tolerate implements drivers.Tolerant.
func (s *session) Tolerate(on bool) { s.tolerant = on }

// Take implements drivers.Session. Cassandra reports rows scanned for no call.
func (s *session) Take() drivers.Cost {
	n := s.requests.Swap(0)
	return drivers.Cost{Calls: n, Retries: s.again.Swap(0), Unreported: min(n, 1)}
}

// retries returns the policy of a request.
func (s *session) retries(kind writeKind) retries {
	most := s.store.settings.retries
	return retries{most: most, left: most, kind: kind, again: &s.again}
}

// inputs are the sources of the values that a request binds.
type inputs struct {
	args    []drivers.Value
	limit   int64
	element drivers.Value
	time    int64      // the write's timestamp in µs; 0 if the node sets it
	tokens  tokenRange // the tokens of a part of a scan
	rows    int        // of a page; 0 is the setting page_size
	state   []byte     // where the page begins, in the protocol's form
}

// value returns the value of a bind marker.
func (o *inputs) value(from bind) drivers.Value {
	switch from {
	case bindLimit:
		return drivers.Int(clamp(o.limit))
	case bindElement:
		return o.element
	case bindAfterToken:
		return drivers.Bigint(o.tokens.after)
	case bindToToken:
		return drivers.Bigint(o.tokens.to)
	case bindTime:
		return drivers.Bigint(o.time)
	}
	return o.args[from]
}

// request has room for what most requests bind: one allocation in place of three.
type request struct {
	values [8]bindValue
	given  [8]any
	key    [64]byte
	retry  retries
}

// send binds the values of a query and sends it.
func (s *session) send(ctx context.Context, q *query, o *inputs) (*gocql.Iter, *retries) {
	r := new(request)
	r.retry = s.retries(plainWrite) // other writes are sent once
	values := slices.Grow(r.values[:0], len(q.binds))[:len(q.binds)]
	for i, from := range q.binds {
		values[i].v = o.value(from)
	}
	// A page that is fetched ahead would be counted before it is read.
	given := q.given(r.given[:0], values)
	request := s.store.session.Query(q.text, given...).Consistency(s.store.settings.consistency).Prefetch(0)
	if s.tracer != nil {
		request.Trace(s.tracer)
	}
	if q.conditional {
		request.NoSkipMetadata() // the columns of the result depend on the outcome
	}
	if q.route != nil {
		request.RoutingKey(q.partition(r.key[:0], values))
	}
	if o.time != 0 {
		request.WithTimestamp(o.time)
	}
	if o.rows > 0 {
		request.PageSize(o.rows).PageState(o.state)
	}
	r.retry.allow(request, q.repeatable(o.args))
	s.requests.Add(1)
	if ctx.Done() != nil {
		request = request.WithContext(ctx)
	}
	return request.Iter(), &r.retry
}

// given appends the values as gocql takes them, without optional ones that are null or empty.
func (q *query) given(all []any, values []bindValue) []any {
	all = slices.Grow(all, len(values))[:len(values)]
	for i := range values {
		all[i] = &values[i]
	}
	for _, i := range q.optional {
		if absent(&values[i].v) {
			all[i] = gocql.UnsetValue
		}
	}
	return all
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

// clamp returns a limit as an int, the type of LIMIT in CQL. A negative one is no limit.
func clamp(n int64) int32 {
	if n < 0 {
		n = 1<<31 - 1
	}
	return int32(min(n, 1<<31-1))
}
