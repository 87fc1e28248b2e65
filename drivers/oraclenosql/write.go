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

// repeat tries a write again as long as others change its rows meanwhile.
func (sl *slot) repeat(ctx context.Context, write func(try int) (done bool, err error)) error {
	defer func() { sl.disturbed = false }()
	for try := range attempts {
		sl.disturbed = try > 0
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
	err = sl.repeat(ctx, func(int) (done bool, err error) {
		r.Applied, r.Row, err = sl.change(ctx, st, st.queries[nulls], args)
		if err != nil || r.Applied || !creates {
			return true, err
		}
		if r.Applied, err = sl.put(ctx, st, args, types.PutIfAbsent); r.Applied && p.ReturnsNew {
			for i, f := range st.write {
				r.Row = append(r.Row, drivers.Number(f.typ.Kind, args[st.Layout.Columns+i].Int64()))
			}
		}
		if err != nil || r.Applied || len(p.If) == 0 {
			return r.Applied, err
		}
		// There is a row. Either it does not hold what was expected, or it was just created or is gone again: try again.
		row, err := sl.get(ctx, st, args, drivers.Value{}, types.Absolute)
		if err != nil || row == nil {
			return false, err
		}
		for _, c := range p.If {
			f := fieldOf(c)
			if v, err := f.decode(row.Value.Map()[f.name]); err != nil || !v.IsNull() {
				return true, err
			}
		}
		return false, nil
	})
	r.Applied = r.Applied || p.Kind != schemas.PutIf
	return r, err
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
	// read: the row was read, and must not have changed when the batch is written. version
	// is nil if there was no row.
	read    bool
	version types.Version
	must    bool // the row must be there: the part that deletes it says so
}

// edits are those of one batch, in the order in which its parts first name their rows:
// WriteMultiple takes each row once.
type edits struct {
	*slot
	ctx context.Context
	all []*edit
	at  map[string]*edit // by table and key
}

// together writes all parts with one WriteMultiple. If rows that it has read have changed
// meanwhile, the store refuses it as a whole, and it is made again.
func (s *session) together(ctx context.Context, st *statement, parts []drivers.Call) error {
	s.count(0, true)
	return s.repeat(ctx, func(try int) (done bool, err error) {
		if try > 0 {
			s.Delay(nil, uint(min(try-1, 3)), nil)
		}
		e := &edits{slot: s.slot, ctx: ctx, at: make(map[string]*edit)}
		for i := range parts {
			if err := e.add(st.parts[parts[i].Part], parts[i].Args); err != nil {
				return false, err
			}
		}
		return e.send()
	})
}

// add applies a part to the edits.
func (e *edits) add(st *statement, args []drivers.Value) error {
	if st.action == doDeleteAll { // the rows that are there, and those of parts before
		err := e.each(e.ctx, st, st.listed, &inputs{args: args}, func(key *types.MapValue) error {
			row, _ := e.edit(st.table, key)
			row.row = nil
			return nil
		})
		prefix := st.keyOf(args, drivers.Value{}).Map()
		for _, row := range e.all {
			under := err == nil && row.table == st.table
			for name, v := range prefix {
				under = under && fmt.Sprint(row.key.Map()[name]) == fmt.Sprint(v)
			}
			if under {
				row.row = nil
			}
		}
		return err
	}
	row, first := e.edit(st.table, st.keyOf(args, drivers.Value{}))
	switch {
	case st.action == doDelete:
		row.row, row.must = nil, row.must || st.Pattern().Present
		return nil
	case st.action == doPut && st.option == 0:
		row.row = st.rowOf(args)
		return nil
	}
	if first { // no part before has said what becomes of the row
		there, err := e.get(e.ctx, st, args, drivers.Value{}, types.Absolute)
		if err != nil {
			return err
		}
		row.read = true
		if there != nil {
			row.row, row.version = there.Value, there.Version
		}
	}
	return row.change(st, args)
}

// edit returns the edit of a row, and whether no part before has one.
func (e *edits) edit(t *table, key *types.MapValue) (row *edit, first bool) {
	id := fmt.Sprintf("%s%#v", t.full, key.Map()) // texts in quotes
	if row = e.at[id]; row != nil {
		return row, false
	}
	row = &edit{table: t, key: key}
	e.at[id], e.all = row, append(e.all, row)
	return row, true
}

// change applies a put of some columns, an add, an append or a remove.
func (row *edit) change(st *statement, args []drivers.Value) error {
	p := st.Pattern()
	if row.row == nil {
		if p.Kind == schemas.Remove {
			return nil
		}
		row.row = st.keyOf(args, drivers.Value{})
	}
	for i, f := range st.write {
		arg := args[st.Layout.Columns+i]
		if p.Kind == schemas.Put {
			row.row.Put(f.name, f.encode(arg))
			continue
		}
		old, err := f.decode(row.row.Map()[f.name])
		if err != nil {
			return fmt.Errorf("column %s: %w", f.name, err)
		}
		elems := slices.Clone(old.Elems())
		switch p.Kind {
		case schemas.Add:
			arg = drivers.Number(f.typ.Kind, old.Int64()+arg.Int64())
		case schemas.Append:
			arg = drivers.ListOf(append(elems, arg.Elems()...))
		default:
			arg = drivers.ListOf(slices.DeleteFunc(elems, func(v drivers.Value) bool {
				return slices.ContainsFunc(arg.Elems(), v.Equal)
			}))
		}
		row.row.Put(f.name, f.encode(arg))
	}
	return nil
}

// send writes the edits. done is false if the store refused them because of a row that has
// changed.
func (e *edits) send() (done bool, err error) {
	request := &nosqldb.WriteMultipleRequest{Durability: e.store.durability}
	var edits []*edit // that of each operation
	for _, row := range e.all {
		if row.row == nil && row.read && row.version == nil {
			continue // there is no row, and the batch makes none
		}
		var one nosqldb.WriteMultipleRequest // its methods compare all members with each other
		if row.row == nil {
			err = one.AddDeleteRequest(&nosqldb.DeleteRequest{TableName: row.table.full, Key: row.key}, row.must)
		} else {
			put := &nosqldb.PutRequest{TableName: row.table.full, Value: row.row, ExactMatch: true}
			if row.version != nil {
				put.PutOption, put.MatchVersion = types.PutIfVersion, row.version
			} else if row.read {
				put.PutOption = types.PutIfAbsent
			}
			err = one.AddPutRequest(put, true)
		}
		if err != nil {
			return false, err
		}
		request.Operations = append(request.Operations, one.Operations...)
		edits = append(edits, row)
	}
	if len(request.Operations) == 0 {
		return true, nil
	}
	r, err := send(e.slot, e.ctx, writes, func(left time.Duration) (*nosqldb.WriteMultipleResult, error) {
		request.Timeout = left
		return e.client.WriteMultiple(request)
	})
	if err != nil {
		return false, err
	}
	if i := r.FailedOperationIndex; !r.IsSuccess() && i >= 0 && i < len(edits) && edits[i].must {
		return false, drivers.ErrNotApplied
	}
	return r.IsSuccess(), nil
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
