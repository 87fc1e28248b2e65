package oraclenosql

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// RunWrite implements plan.Runner.
func (s *session) RunWrite(ctx context.Context, st *statement, args []drivers.Value) (drivers.Result, error) {
	if _, err := st.fits(&s.store.limits, args); err != nil {
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
		var created bool
		created, err = sl.put(ctx, st, args, st.option)
		r.Applied = created || st.Pattern().Kind != schemas.PutIf
	case doDelete:
		var removed bool
		removed, err = sl.remove(ctx, st, st.table, args)
		r.Applied = removed || !st.Pattern().Present
	case doDeleteAll:
		err = sl.removeAll(ctx, st, args)
	default:
		return sl.update(ctx, st, args)
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
	what := writes
	if option != types.PutIfAbsent {
		what |= again
	}
	r, err := send(sl, ctx, what, func(left time.Duration) (*nosqldb.PutResult, error) {
		return sl.client.Put(&nosqldb.PutRequest{
			TableName: st.table.full, Value: row, PutOption: option, ExactMatch: true, Timeout: left,
			Durability: sl.store.durability,
		})
	})
	return err == nil && r.Success(), err
}

// throughJSON returns the row that the SDK makes of a row's JSON.
func throughJSON(row *types.MapValue) (*types.MapValue, error) {
	text, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("write the row as JSON: %w", err)
	}
	return types.NewMapValueFromJSON(string(text))
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

// update changes the row by an UPDATE: that of a put-if has the condition that the row is there, or that columns have
// the expected values. If there may be no row, whose columns are null, it then puts one if absent. If another client
// creates the row in between, the UPDATE is tried again.
func (sl *slot) update(ctx context.Context, st *statement, args []drivers.Value) (r drivers.Result, err error) {
	p, nulls := st.Pattern(), 0 // bits: null is expected
	for i := range p.If {
		if args[st.Layout.If+i].IsNull() {
			nulls |= 1 << i
		}
	}
	creates := p.Kind != schemas.Remove && !p.Present && nulls == len(st.queries)-1
	defer func() {
		sl.disturbed = false
		r.Applied = r.Applied || p.Kind != schemas.PutIf
	}()
	for try := range attempts {
		sl.disturbed = try > 0
		r.Applied, r.Row, err = sl.change(ctx, st, st.queries[nulls], args)
		if err != nil || r.Applied || !creates {
			return r, err
		}
		if r.Applied, err = sl.put(ctx, st, args, types.PutIfAbsent); r.Applied && p.ReturnsNew {
			for i, f := range st.write {
				r.Row = append(r.Row, drivers.Number(f.typ.Kind, args[st.Layout.Columns+i].Int64()))
			}
		}
		if err != nil || r.Applied {
			return r, err
		}
		if len(p.If) > 0 { // it does not hold what was expected, or it was just created or is gone again
			row, err := sl.get(ctx, st, args, drivers.Value{}, types.Absolute)
			if err != nil {
				return r, err
			}
			for i := 0; i < len(p.If) && row != nil; i++ {
				f := fieldOf(p.If[i])
				if v, err := f.decode(row.Value.Map()[f.name]); err != nil || !v.IsNull() {
					return r, err
				}
			}
		}
		if err := ctx.Err(); err != nil {
			return r, err
		}
	}
	return r, fmt.Errorf("others changed its rows %d times meanwhile", attempts)
}

// change sends an UPDATE. It returns whether it changed a row, and the new values if it returns them.
func (sl *slot) change(
	ctx context.Context, st *statement, q *query, args []drivers.Value,
) (applied bool, row []drivers.Value, err error) {
	request, err := sl.request(q, &inputs{args: args})
	if err != nil {
		return false, nil, err
	}
	rows, err := sl.query(ctx, request, writes)
	if err != nil || len(rows) == 0 {
		return false, nil, err
	}
	if !st.Pattern().ReturnsNew {
		n, ok := rows[0].GetInt("NumRowsUpdated")
		if !ok {
			return false, nil, fmt.Errorf("%w: the answer to an UPDATE does not report the number of changed rows", drivers.ErrUnknown)
		}
		return n > 0, nil, nil
	}
	sl.row = slices.Grow(sl.row[:0], len(st.write))[:len(st.write)]
	for i, f := range st.write {
		if sl.row[i], err = f.decode(rows[0].Map()[f.name]); err != nil {
			return false, nil, fmt.Errorf("%w: column %s: %w", drivers.ErrUnknown, f.name, err)
		}
	}
	return true, sl.row, nil
}

// RunBatch implements plan.Runner.
func (s *session) RunBatch(ctx context.Context, st *statement, parts []drivers.Call) error {
	size, l := 0, &s.store.limits
	for i := range parts {
		part := st.parts[parts[i].Part]
		n, err := part.fits(l, parts[i].Args)
		if size += n; err != nil {
			return fmt.Errorf("part %s: %w", part.Pattern().Name, err)
		}
	}
	if len(parts) == 1 { // a batch of one is a write
		r, err := s.write(ctx, st.parts[parts[0].Part], parts[0].Args)
		if err == nil && !r.Applied {
			err = drivers.ErrNotApplied
		}
		return err
	}
	switch atomic := st.Pattern().Atomic > schemas.AtomicNone; {
	case atomic && l.parts > 0 && len(parts) > l.parts:
		return fmt.Errorf("%d parts, but an atomic batch has at most %d: %w", len(parts), l.parts, drivers.ErrTooLarge)
	case atomic && size > l.batch:
		return fmt.Errorf("%d bytes, but an atomic batch has at most %d: %w", size, l.batch, drivers.ErrTooLarge)
	case atomic:
		return s.together(ctx, st, parts)
	}
	width := max(min(st.Pattern().Parallel, len(parts)), 1)
	every := func(*schemas.Table) bool { return true }
	if width > 1 && plan.OrderCounts(st.Pattern(), parts, every) != nil {
		width = 1
	}
	if err := s.parallel(width); err != nil {
		return err
	}
	applied, err := plan.Writes(len(parts), width, func(i int) error {
		_, err := s.slots[i%width].write(ctx, st.parts[parts[i].Part], parts[i].Args)
		return err
	})
	return plan.PartsApplied(err, applied, len(parts))
}

// edit is what an atomic batch does to one row.
type edit struct {
	table *table
	key   *types.MapValue
	row   *types.MapValue // what the row becomes; nil if it is deleted
	must  bool            // the row must be there: the part that deletes it says so
}

// edits are those of one batch, in the order in which its parts first name their rows:
// WriteMultiple takes each row once.
type edits struct {
	*slot
	ctx context.Context
	all []*edit
	at  map[string]*edit // by table and key
}

// together writes all parts with one WriteMultiple.
func (s *session) together(ctx context.Context, st *statement, parts []drivers.Call) error {
	s.count(0, true)
	e := &edits{slot: s.slot, ctx: ctx, at: make(map[string]*edit)}
	for i := range parts {
		if err := e.add(st.parts[parts[i].Part], parts[i].Args); err != nil {
			return err
		}
	}
	return e.send()
}

// add applies a part to the edits.
func (e *edits) add(st *statement, args []drivers.Value) error {
	key := st.keyOf(args, drivers.Value{})
	switch st.action {
	case doPut:
		e.edit(st.table, key).row = st.rowOf(args)
		return nil
	case doDelete:
		row := e.edit(st.table, key)
		row.row, row.must = nil, row.must || st.Pattern().Present
		return nil
	}
	// The rows below the key that are there, and those of parts before.
	err := e.each(e.ctx, st, st.listed, &inputs{args: args}, func(key *types.MapValue) error {
		e.edit(st.table, key).row = nil
		return nil
	})
	for _, row := range e.all {
		under := err == nil && row.table == st.table
		for name, v := range key.Map() {
			under = under && fmt.Sprint(row.key.Map()[name]) == fmt.Sprint(v)
		}
		if under {
			row.row = nil
		}
	}
	return err
}

// edit returns the edit of a row, which it adds if no part before has one.
func (e *edits) edit(t *table, key *types.MapValue) *edit {
	id := fmt.Sprintf("%s%#v", t.full, key.Map()) // texts in quotes
	row := e.at[id]
	if row == nil {
		row = &edit{table: t, key: key}
		e.at[id], e.all = row, append(e.all, row)
	}
	return row
}

// send writes the edits. The store refuses all of them if a row that must be there is not.
func (e *edits) send() error {
	request := &nosqldb.WriteMultipleRequest{Durability: e.store.durability}
	for _, row := range e.all {
		var one nosqldb.WriteMultipleRequest // its methods compare all members with each other
		var err error
		if row.row == nil {
			err = one.AddDeleteRequest(&nosqldb.DeleteRequest{TableName: row.table.full, Key: row.key}, row.must)
		} else {
			err = one.AddPutRequest(&nosqldb.PutRequest{TableName: row.table.full, Value: row.row, ExactMatch: true}, true)
		}
		if err != nil {
			return err
		}
		request.Operations = append(request.Operations, one.Operations...)
	}
	if len(request.Operations) == 0 {
		return nil
	}
	r, err := send(e.slot, e.ctx, writes, func(left time.Duration) (*nosqldb.WriteMultipleResult, error) {
		request.Timeout = left
		return e.client.WriteMultiple(request)
	})
	if err == nil && !r.IsSuccess() {
		err = drivers.ErrNotApplied
	}
	return err
}

// remove deletes one row. removed is false if there was none.
func (sl *slot) remove(ctx context.Context, st *statement, t *table, args []drivers.Value) (removed bool, err error) {
	key := st.keyOf(args, drivers.Value{})
	r, err := send(sl, ctx, writes, func(left time.Duration) (*nosqldb.DeleteResult, error) {
		return sl.client.Delete(&nosqldb.DeleteRequest{
			TableName: t.full, Key: key, Timeout: left, Durability: sl.store.durability,
		})
	})
	return err == nil && r.Success, err
}

// removeAll deletes the rows below a key, and a partition's static columns. Each request
// deletes some of them. If a later one fails, the outcome is unknown.
func (sl *slot) removeAll(ctx context.Context, st *statement, args []drivers.Value) error {
	request := &nosqldb.MultiDeleteRequest{
		TableName: st.table.full, Key: st.keyOf(args, drivers.Value{}), Durability: sl.store.durability,
	}
	deleted := 0
	partly := func(err error) error { return plan.Partial(err, deleted, "%d rows were deleted", deleted) }
	for {
		r, err := send(sl, ctx, writes, func(left time.Duration) (*nosqldb.MultiDeleteResult, error) {
			request.Timeout = left
			return sl.client.MultiDelete(request)
		})
		if err != nil {
			return partly(err)
		}
		deleted += r.NumDeleted
		if len(r.ContinuationKey) == 0 {
			break
		}
		request.ContinuationKey = r.ContinuationKey
		if err := ctx.Err(); err != nil {
			return partly(err)
		}
	}
	if st.also == nil {
		return nil
	}
	_, err := sl.remove(ctx, st, st.also, args)
	return partly(err)
}
