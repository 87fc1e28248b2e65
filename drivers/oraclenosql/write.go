package oraclenosql

import (
	"context"
	"fmt"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// RunWrite implements plan.Runner.
func (s *session) RunWrite(ctx context.Context, st *statement, args []drivers.Value) (drivers.Result, error) {
	if err := st.fits(&s.store.limits, args); err != nil {
		return drivers.Result{}, err
	}
	return s.write(ctx, st, args)
}

// write runs one write.
func (sl *slot) write(ctx context.Context, st *statement, args []drivers.Value) (r drivers.Result, err error) {
	sl.count(0, true)
	r.Applied = true
	switch st.action {
	case doPut:
		_, err = sl.put(ctx, st, args, 0)
	case doPutAbsent:
		var created bool
		created, err = sl.put(ctx, st, args, types.PutIfAbsent)
		r.Applied = created || st.Pattern().Kind != schemas.PutIf
	case doDelete:
		var removed bool
		removed, err = sl.remove(ctx, st, st.table, args)
		r.Applied = removed || !st.Pattern().Present
	case doDeleteAll:
		err = sl.removeAll(ctx, st, args)
	case doUpdateIf:
		return sl.updateIf(ctx, st, args)
	default:
		r.Row, err = sl.update(ctx, st, args)
	}
	return r, err
}

// put writes a row. created is false if there was a row and the option forbids it.
func (sl *slot) put(
	ctx context.Context, st *statement, args []drivers.Value, option types.PutOption,
) (created bool, err error) {
	row := st.rowOf(args)
	if st.table.putsJSON() {
		if row, err = throughJSON(row); err != nil {
			return false, err
		}
	}
	again := option != types.PutIfAbsent
	r, err := send(sl, ctx, again, func(left time.Duration) (*nosqldb.PutResult, error) {
		return sl.client.Put(&nosqldb.PutRequest{
			TableName: st.table.full, Value: row, PutOption: option, ExactMatch: true, Timeout: left,
			Durability: sl.store.durability,
		})
	})
	if err != nil {
		return false, writeError(ctx, err, sl.retry.uncertain)
	}
	return r.Success(), nil
}

// rowOf returns the row that a write makes where there was none: its key and the columns
// of the pattern.
func (st *statement) rowOf(args []drivers.Value) *types.MapValue {
	m := st.keyOf(args, drivers.Value{})
	for i, f := range st.write {
		m.Put(f.name, f.encode(args[st.Layout.Columns+i]))
	}
	return m
}

// attempts bounds how often a write is tried while others change its rows.
const attempts = 100

// repeat tries a write again as long as others change its rows meanwhile.
func (sl *slot) repeat(ctx context.Context, write func(try int) (done bool, err error)) error {
	defer func() { sl.retry.disturbed = false }()
	for try := range attempts {
		sl.retry.disturbed = try > 0
		done, err := write(try)
		if err == nil && !done {
			err = ctx.Err()
		}
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("others changed its rows %d times meanwhile", attempts)
}

// update changes the row by an UPDATE. If there is no row, it puts one if absent. These are two
// requests: if another client creates the row in between, the UPDATE is tried again.
func (sl *slot) update(ctx context.Context, st *statement, args []drivers.Value) (row []drivers.Value, err error) {
	err = sl.repeat(ctx, func(int) (done bool, err error) {
		var n int
		n, row, err = sl.change(ctx, st, st.queries[0], args)
		if err != nil || n > 0 || st.Pattern().Kind == schemas.Remove {
			return true, err
		}
		if done, err = sl.put(ctx, st, args, types.PutIfAbsent); done {
			row = sl.given(st, args)
		}
		return done, err
	})
	return row, err
}

// given returns the new values of an add that made its row.
func (sl *slot) given(st *statement, args []drivers.Value) []drivers.Value {
	if !st.Pattern().ReturnsNew {
		return nil
	}
	sl.row = plan.Grow(sl.row, len(st.write))
	for i, f := range st.write {
		sl.row[i] = drivers.Number(f.typ.Kind, args[st.Layout.Columns+i].Int64())
	}
	return sl.row
}

// change sends an UPDATE. It returns how many rows it changed, and their new values if it
// returns them.
func (sl *slot) change(
	ctx context.Context, st *statement, q *query, args []drivers.Value,
) (n int, row []drivers.Value, err error) {
	request, err := sl.request(q, &inputs{args: args})
	if err != nil {
		return 0, nil, err
	}
	rows, err := sl.query(ctx, request, false)
	if err != nil {
		return 0, nil, writeError(ctx, err, sl.retry.uncertain)
	}
	if len(rows) == 0 {
		return 0, nil, nil
	}
	if !st.Pattern().ReturnsNew {
		n, ok := rows[0].GetInt("NumRowsUpdated")
		if !ok {
			return 0, nil, fmt.Errorf("%w: the answer to an UPDATE does not report the number of changed rows", drivers.ErrUnknown)
		}
		return n, nil, nil
	}
	sl.row = plan.Grow(sl.row, len(st.write))
	for i, f := range st.write {
		if sl.row[i], err = f.decode(rows[0].Map()[f.name]); err != nil {
			return 0, nil, fmt.Errorf("%w: column %s: %w", drivers.ErrUnknown, f.name, err)
		}
	}
	return len(rows), sl.row, nil
}

// updateIf changes a row if it is there, or if columns have the expected values. Of these, a row that is
// not there has nulls.
func (sl *slot) updateIf(ctx context.Context, st *statement, args []drivers.Value) (r drivers.Result, err error) {
	nulls := 0
	for i := range st.Pattern().If {
		if args[st.Layout.If+i].IsNull() {
			nulls |= 1 << i
		}
	}
	err = sl.repeat(ctx, func(int) (done bool, err error) {
		n, _, err := sl.change(ctx, st, st.queries[nulls], args)
		r.Applied = err == nil && n > 0
		if err != nil || r.Applied || nulls != len(st.queries)-1 || st.Pattern().Present {
			return true, err
		}
		if r.Applied, err = sl.put(ctx, st, args, types.PutIfAbsent); err != nil || r.Applied {
			return true, err
		}
		// There is a row. Either it does not hold what was expected, or it was just created.
		again, err := sl.matches(ctx, st, args)
		return !again, err
	})
	return r, err
}

// matches reports whether the row is there and all expected columns are null.
func (sl *slot) matches(ctx context.Context, st *statement, args []drivers.Value) (bool, error) {
	row, err := sl.get(ctx, st, args, drivers.Value{}, types.Absolute)
	if err != nil || row == nil {
		return true, err // gone again: try once more
	}
	for _, c := range st.Pattern().If {
		f := fieldOf(c)
		if v, err := f.decode(row.Value.Map()[f.name]); err != nil || !v.IsNull() {
			return false, err
		}
	}
	return true, nil
}
