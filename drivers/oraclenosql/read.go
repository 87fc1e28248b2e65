package oraclenosql

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
)

// RunRead implements plan.Runner.
func (s *session) RunRead(ctx context.Context, st *statement, args []drivers.Value) error {
	if err := st.fits(&s.store.limits, args); err != nil {
		return err
	}
	r := &reading{
		slot: s.slot, ctx: ctx, st: st, calls: s,
		in: inputs{args: args, limit: s.Left(), low: st.low, high: st.high},
	}
	switch {
	case st.Layout.In < 0:
		return r.one(r.emit)
	case st.Pattern().Parallel > 1:
		return s.readParallel(r, args[st.Layout.In].Elems())
	}
	return r.list(args[st.Layout.In].Elems())
}

// reading is a read under way.
type reading struct {
	*slot
	ctx   context.Context
	st    *statement
	in    inputs
	calls *session // gets the rows, and knows how many more a list may yield
}

// one calls take for each row that one Get or query reads.
func (r *reading) one(take func(*types.MapValue) error) error {
	if r.st.action != doGet {
		return r.each(r.st.queries[r.st.Given(r.in.args)], take)
	}
	row, err := r.get(r.ctx, r.st, r.in.args, r.in.element, r.store.consistency)
	if err != nil || row == nil {
		return readError(r.ctx, err)
	}
	r.count(1, false)
	return take(row.Value)
}

// get reads the row of a key, with its version; nil if there is none.
func (sl *slot) get(
	ctx context.Context, st *statement, args []drivers.Value, element drivers.Value, how types.Consistency,
) (*nosqldb.GetResult, error) {
	key := st.keyOf(args, element)
	r, err := send(sl, ctx, true, func(left time.Duration) (*nosqldb.GetResult, error) {
		return sl.client.Get(&nosqldb.GetRequest{TableName: st.table.full, Key: key, Timeout: left, Consistency: how})
	})
	if err != nil || !r.RowExists() {
		return nil, err
	}
	return r, nil
}

// each runs a query and calls take for each row, until the query is done.
func (r *reading) each(q *query, take func(*types.MapValue) error) error {
	request, err := r.request(q, &r.in)
	if err != nil {
		return err
	}
	defer request.Close()
	for first := true; ; first = false { // the SDK keeps the place of a later page, which a failure may spoil
		rows, err := r.query(r.ctx, request, first)
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
	r.row = plan.Grow(r.row, len(r.st.out))
	for i, f := range r.st.out {
		x, ok := row.Map()[f.name]
		if !ok {
			return fmt.Errorf("the answer has no column %s", f.name)
		}
		v, err := f.decode(x)
		if err != nil {
			if !r.calls.Tolerant {
				return fmt.Errorf("column %s: %w", f.name, err)
			}
			v = drivers.Broken([]byte(fmt.Sprint(x)))
		}
		r.row[i] = v
	}
	if r.st.Pattern().Element != nil && r.row[0].IsNull() {
		return nil // there is no such element
	}
	return r.calls.Yield(r.row)
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
	width := min(r.st.Pattern().Parallel, len(elems))
	if err := s.slots(width); err != nil {
		return err
	}
	var left atomic.Int64
	left.Store(r.in.limit)
	read := func(ctx context.Context, i int) (rows []*types.MapValue, err error) {
		own := reading{slot: s.more[i%width], ctx: ctx, st: r.st, in: r.in}
		own.in.element, own.in.limit = elems[i], left.Load()
		err = own.one(func(row *types.MapValue) error {
			rows = append(rows, row)
			return nil
		})
		return rows, err
	}
	return plan.ReadEach(r.ctx, len(elems), width, read, func(row *types.MapValue) error {
		err := r.emit(row)
		left.Store(s.Left())
		return err
	})
}
