package oraclenosql

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/drivers/plan"
)

// checkEvery is the number of rows after which a long read checks its context.
const checkEvery = 256

// errEnough stops a read at its limit.
var errEnough = errors.New("enough")

// Read implements drivers.Session.
func (s *session) Read(
	ctx context.Context, stmt drivers.Statement, args []drivers.Value, yield func(row []drivers.Value) error,
) error {
	st, err := s.enter(ctx, stmt)
	if err != nil {
		return err
	}
	defer s.store.leave()
	if !st.Pattern().Kind.Reads() {
		return st.Named(plan.ErrNotRead)
	}
	if err := st.check(args); err != nil {
		return st.Named(err)
	}
	r := &reading{slot: s.slot, ctx: ctx, st: st, in: inputs{args: args, limit: st.Limit(args)}, yield: yield}
	if r.in.limit < 0 {
		r.in.limit = math.MaxInt64
	}
	r.in.low, r.in.high = st.low, st.high
	switch {
	case r.in.limit == 0:
	case st.Layout.In < 0:
		err = r.one()
	case st.Pattern().Parallel > 1:
		err = s.readParallel(r, args[st.Layout.In].Elems())
	default:
		err = r.list(args[st.Layout.In].Elems())
	}
	switch {
	case r.yielded != nil:
		return r.yielded
	case err == errEnough:
		return nil
	}
	return st.Named(err)
}

// reading is a read under way.
type reading struct {
	*slot
	ctx     context.Context
	st      *statement
	in      inputs
	yield   func(row []drivers.Value) error
	rows    int
	yielded error // what yield returned
}

// boundsOf returns the bounds that a call gives.
func (st *statement) boundsOf(args []drivers.Value) (with bounds) {
	if st.Layout.From >= 0 && !args[st.Layout.From].IsNull() {
		with |= withFrom
	}
	if st.Layout.To >= 0 && !args[st.Layout.To].IsNull() {
		with |= withTo
	}
	if len(st.Pattern().After) > 0 && !args[st.Layout.After].IsNull() {
		with |= withAfter
	}
	return with
}

// one reads by one Get or query.
func (r *reading) one() error {
	if r.st.action == doGet {
		row, err := r.get()
		if err != nil || row == nil {
			return err
		}
		return r.emit(row)
	}
	return r.each(r.st.queries[r.st.boundsOf(r.in.args)], r.emit)
}

// get reads the row of a key; nil if there is none.
func (r *reading) get() (*types.MapValue, error) {
	key := r.st.keyOf(r.in.args, r.in.element)
	answer, err := ask(r.slot, r.ctx, true, func(left time.Duration) (*nosqldb.GetResult, error) {
		return r.client.Get(&nosqldb.GetRequest{TableName: r.st.table.full, Key: key, Timeout: left})
	})
	if err != nil {
		return nil, readError(r.ctx, err)
	}
	if !answer.RowExists() {
		return nil, nil
	}
	r.count(1, false)
	return answer.Value, nil
}

// each runs a query and calls take for each row, until the query is done.
func (r *reading) each(q *query, take func(*types.MapValue) error) error {
	request, err := r.request(q, &r.in)
	if err != nil {
		return err
	}
	defer request.Close()
	for first := true; ; first = false { // the SDK keeps the place of a later page, which a failure may spoil
		rows, err := ask(r.slot, r.ctx, first, func(left time.Duration) ([]*types.MapValue, error) {
			request.Timeout = left
			answer, err := r.client.Query(request)
			if err != nil {
				return nil, err
			}
			return answer.GetResults()
		})
		if err != nil {
			return readError(r.ctx, err)
		}
		r.count(len(rows), r.st.passes(q))
		for _, row := range rows {
			if err := take(row); err != nil {
				return err
			}
		}
		if request.IsDone() {
			return nil
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
	}
}

// passes reports whether the engine reads rows for a query that it does not return.
func (st *statement) passes(q *query) bool {
	if q.plan == nil || st.sorts {
		return st.drops
	}
	return q.plan.filters
}

// count counts rows that were read. drops says that the engine read others too.
func (sl *slot) count(rows int, drops bool) {
	switch {
	case drops:
		sl.read = -1
	case sl.read >= 0:
		sl.read += int64(rows)
	}
}

// emit decodes a row and yields it.
func (r *reading) emit(row *types.MapValue) error {
	if r.rows++; r.rows%checkEvery == 0 {
		if err := r.ctx.Err(); err != nil {
			return err
		}
	}
	r.row = plan.Grow(r.row, len(r.st.out))
	for i, f := range r.st.out {
		x, ok := row.Map()[f.name]
		if !ok {
			return fmt.Errorf("the answer has no column %s", f.name)
		}
		v, err := f.decode(x)
		if err != nil {
			if !*r.tolerant {
				return fmt.Errorf("column %s: %w", f.name, err)
			}
			v = drivers.Broken([]byte(fmt.Sprint(x)))
		}
		r.row[i] = v
	}
	if r.st.Pattern().Element != nil && r.row[0].IsNull() {
		return nil // there is no such element
	}
	if r.yielded = r.yield(r.row); r.yielded != nil {
		return r.yielded
	}
	if r.in.limit--; r.in.limit == 0 {
		return errEnough
	}
	return r.ctx.Err()
}

// keyOf returns the key of a row as the SDK takes it.
func (st *statement) keyOf(args []drivers.Value, element drivers.Value) *types.MapValue {
	m := make(map[string]any, len(st.key))
	for i, f := range st.key {
		v := element
		if i < st.keys {
			v = args[i]
		}
		m[f.name] = f.encode(v)
	}
	return types.NewMapValue(m)
}

// readParallel reads the rows of several keys, as many at a time as the pattern allows,
// and yields them in the order of the list.
func (s *session) readParallel(r *reading, elems []drivers.Value) error {
	slots, err := s.parallelSlots(min(r.st.Pattern().Parallel, len(elems)))
	if err != nil {
		return err
	}
	rows := make([][]*types.MapValue, len(elems))
	begin := func(i int) {
		own := reading{slot: slots[i%len(slots)], ctx: r.ctx, st: r.st, in: r.in}
		own.in.element = elems[i]
		go func() {
			own.done <- crash.Guard(func() (err error) {
				rows[i], err = own.collect()
				return err
			})
		}()
	}
	begun, emitting := 0, error(nil)
	for ; begun < len(slots); begun++ {
		begin(begun)
	}
	for i := 0; i < begun; i++ {
		err := <-slots[i%len(slots)].done
		for _, row := range rows[i] {
			if err == nil && emitting == nil {
				emitting = r.emit(row)
			}
		}
		if err != nil && emitting == nil {
			emitting = err
		}
		if emitting == nil && begun < len(elems) {
			begin(begun)
			begun++
		}
	}
	return emitting
}

// collect reads the rows of one key.
func (r *reading) collect() (all []*types.MapValue, err error) {
	if r.st.action == doGet {
		row, err := r.get()
		if row != nil {
			all = append(all, row)
		}
		return all, err
	}
	err = r.each(r.st.queries[r.st.boundsOf(r.in.args)], func(row *types.MapValue) error {
		all = append(all, row)
		return nil
	})
	return all, err
}
