package oraclenosql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/auth"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
)

// session runs statements for one worker.
type session struct {
	plan.Session[*statement]
	*slot
	more []*slot // for requests that run in parallel
}

// slot sends requests for one goroutine, one at a time.
type slot struct {
	store     *Store
	client    *nosqldb.Client
	transport *transport
	retry     *retries
	row       []drivers.Value
	read      int64 // rows that reads returned; -1 if the engine read others too
}

var _ drivers.Session = (*session)(nil)

// Session implements drivers.Store.
func (s *Store) Session() (drivers.Session, error) {
	se, err := s.session()
	if err != nil {
		return nil, err
	}
	return se, nil
}

func (s *Store) session() (*session, error) {
	return plan.Call(&s.gate, "open a session", func() (*session, error) {
		se := new(session)
		se.Init(&s.gate, se)
		var err error
		se.slot, err = s.newSlot(&se.Meter)
		return se, err
	})
}

// slots makes the slots of requests of which up to width run in parallel: more[i%width] is that of number i
// (plan.InOrder).
func (s *session) slots(width int) error {
	for len(s.more) < width {
		sl, err := s.store.newSlot(&s.Meter)
		if err != nil {
			return err
		}
		s.more = append(s.more, sl)
	}
	return nil
}

// Close implements drivers.Session.
func (s *session) Close() error {
	s.more = nil
	return s.Session.Close()
}

// fits checks what only Oracle requires of a call's arguments, before anything is sent.
func (st *statement) fits(l *limits, args []drivers.Value) error {
	key, size := 0, 0
	for i := range args {
		if err := valid(args[i]); err != nil {
			return fmt.Errorf("argument %s: %w", st.Pattern().Args()[i].Name, err)
		}
		size += args[i].Size()
		if i < st.keys {
			key += args[i].Size()
		}
	}
	return l.check(key, size)
}

// send sends the requests of one SDK call. All calls of a slot go through it. again says
// that the call may be sent twice. do gets the time that the call has left.
func send[R any](sl *slot, ctx context.Context, again bool, do func(left time.Duration) (R, error)) (R, error) {
	sl.retry.begin(again)
	sl.transport.begin(ctx)
	defer sl.transport.end()
	for try := 0; ; try++ {
		left := sl.store.timeout
		if at, ok := ctx.Deadline(); ok {
			left = max(min(left, time.Until(at)), time.Millisecond)
		}
		r, err := do(left)
		if c := sl.retry.credential; c != nil {
			err = c.Hide(err, strings.TrimPrefix(c.used, auth.BearerToken+" "))
		}
		if err == nil || !again || try >= sl.retry.most || ctx.Err() != nil || !lost(err) {
			return r, err
		}
		if drivers.Pause(ctx, delay(uint(try))) != nil { // a server that starts again needs time
			return r, err
		}
		sl.retry.uncertain, sl.retry.repeats = true, true
	}
}

// request returns a request for a query with the values of its variables.
func (sl *slot) request(q *query, in *inputs) (*nosqldb.QueryRequest, error) {
	own := *q.prepared
	for i := range q.binds {
		v := &q.binds[i]
		if err := own.SetVariable(v.name, v.value(in)); err != nil {
			return nil, err
		}
	}
	return &nosqldb.QueryRequest{
		PreparedStatement: &own, Durability: sl.store.durability, MaxReadKB: uint(sl.store.pageKB),
	}, nil
}

// query sends a request for a query, and returns the rows of the answer.
func (sl *slot) query(ctx context.Context, request *nosqldb.QueryRequest, again bool) ([]*types.MapValue, error) {
	return send(sl, ctx, again, func(left time.Duration) ([]*types.MapValue, error) {
		request.Timeout = left
		answer, err := sl.client.Query(request)
		if err != nil {
			return nil, err
		}
		return answer.GetResults()
	})
}
