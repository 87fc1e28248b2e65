package oraclenosql

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/types"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// RunBatch implements plan.Runner.
func (s *session) RunBatch(ctx context.Context, st *statement, parts []drivers.Call) error {
	for i := range parts {
		part := st.parts[parts[i].Part]
		if err := part.fits(&s.store.limits, parts[i].Args); err != nil {
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
	if st.Pattern().Atomic > schemas.AtomicNone {
		return s.together(ctx, st, parts)
	}
	width := min(st.Pattern().Parallel, len(parts))
	if width == 1 || sameRows(st, parts) {
		width = 0
	}
	if err := s.slots(width); err != nil {
		return err
	}
	applied, err := plan.Writes(len(parts), width, func(i int) error {
		sl := s.slot
		if width > 0 {
			sl = s.more[i%width]
		}
		_, err := sl.write(ctx, st.parts[parts[i].Part], parts[i].Args)
		return err
	})
	return plan.PartsApplied(err, applied, len(parts))
}

// sameRows reports whether two parts may write the same row: then their order counts.
func sameRows(st *statement, parts []drivers.Call) bool {
	for i := range parts {
		p := st.parts[parts[i].Part]
		for j := range parts[:i] {
			q := st.parts[parts[j].Part]
			n := min(p.keys, q.keys)
			if p.table == q.table && slices.EqualFunc(parts[i].Args[:n], parts[j].Args[:n], drivers.Value.Equal) {
				return true
			}
		}
	}
	return false
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
	known   bool // a part has said what becomes of the row, or it was read
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
	if err := s.store.limits.checkBatch(parts); err != nil {
		return err
	}
	s.count(0, true)
	return s.repeat(ctx, func(try int) (done bool, err error) {
		if try > 0 {
			s.retry.Delay(nil, uint(min(try-1, 3)), nil)
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
	if st.action == doDeleteAll {
		return e.dropAll(st, args)
	}
	row := e.edit(st.table, st.keyOf(args, drivers.Value{}))
	switch st.action {
	case doDelete:
		row.row, row.known, row.must = nil, true, row.must || st.Pattern().Present
		return nil
	case doPut:
		row.row, row.known = st.rowOf(args), true
		return nil
	}
	if !row.known {
		there, err := e.get(e.ctx, st, args, drivers.Value{}, types.Absolute)
		if err != nil {
			return readError(e.ctx, err)
		}
		row.read, row.known = true, true
		if there != nil {
			row.row, row.version = there.Value, there.Version
		}
	}
	return row.change(st, args)
}

// edit returns the edit of a row.
func (e *edits) edit(t *table, key *types.MapValue) *edit {
	id := []byte(t.full)
	for _, c := range t.fullKey() {
		id = fmt.Appendf(id, "\x00%v", key.Map()[identifier(c.Name)])
	}
	row := e.at[string(id)]
	if row == nil {
		row = &edit{table: t, key: key}
		e.at[string(id)] = row
		e.all = append(e.all, row)
	}
	return row
}

// dropAll deletes the rows below a key: those that are there, and those of parts before.
func (e *edits) dropAll(st *statement, args []drivers.Value) error {
	r := &reading{slot: e.slot, ctx: e.ctx, st: st, in: inputs{args: args}}
	var keys []*types.MapValue
	if err := r.each(st.listed, func(key *types.MapValue) error {
		keys = append(keys, key)
		return nil
	}); err != nil {
		return err
	}
	for _, key := range keys {
		row := e.edit(st.table, key)
		row.row, row.known = nil, true
	}
	prefix := st.keyOf(args, drivers.Value{}).Map()
	for _, row := range e.all {
		if row.table == st.table && begins(row.key.Map(), prefix) {
			row.row = nil
		}
	}
	return nil
}

func begins(key, prefix map[string]any) bool {
	for name, v := range prefix {
		if fmt.Sprint(key[name]) != fmt.Sprint(v) {
			return false
		}
	}
	return true
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
		row.row.Put(f.name, f.encode(changed(p.Kind, f.typ, old, arg)))
	}
	return nil
}

// changed returns a value after an add, append or remove.
func changed(kind schemas.PatternKind, t schemas.Type, old, arg drivers.Value) drivers.Value {
	if kind == schemas.Add {
		return drivers.Number(t.Kind, old.Int64()+arg.Int64())
	}
	elems := slices.Clone(old.Elems())
	if kind == schemas.Append {
		return drivers.ListOf(append(elems, arg.Elems()...))
	}
	return drivers.ListOf(slices.DeleteFunc(elems, func(v drivers.Value) bool {
		return slices.ContainsFunc(arg.Elems(), v.Equal)
	}))
}

// send writes the edits. done is false if the store refused them because of a row that has
// changed.
func (e *edits) send() (done bool, err error) {
	request := &nosqldb.WriteMultipleRequest{Durability: e.store.durability}
	var edits []*edit // that of each operation
	for _, row := range e.all {
		op, err := row.operation()
		if err != nil {
			return false, err
		}
		request.Operations = append(request.Operations, op...)
		edits = append(edits, slices.Repeat([]*edit{row}, len(op))...)
	}
	if len(request.Operations) == 0 {
		return true, nil
	}
	r, err := send(e.slot, e.ctx, false, func(left time.Duration) (*nosqldb.WriteMultipleResult, error) {
		request.Timeout = left
		return e.client.WriteMultiple(request)
	})
	if err != nil {
		return false, writeError(e.ctx, err, e.retry.uncertain)
	}
	if i := r.FailedOperationIndex; !r.IsSuccess() && i >= 0 && i < len(edits) && edits[i].must {
		return false, drivers.ErrNotApplied
	}
	return r.IsSuccess(), nil
}

// operation returns the edit as a member of WriteMultiple; none if there is no row and the
// batch makes none.
func (row *edit) operation() ([]*nosqldb.WriteOperation, error) {
	var one nosqldb.WriteMultipleRequest // its methods compare all members with each other
	if row.row == nil {
		if row.read && row.version == nil {
			return nil, nil
		}
		err := one.AddDeleteRequest(&nosqldb.DeleteRequest{TableName: row.table.full, Key: row.key}, row.must)
		return one.Operations, err
	}
	put := &nosqldb.PutRequest{TableName: row.table.full, Value: row.row, ExactMatch: true}
	switch {
	case row.version != nil:
		put.PutOption, put.MatchVersion = types.PutIfVersion, row.version
	case row.read:
		put.PutOption = types.PutIfAbsent
	}
	err := one.AddPutRequest(put, true)
	return one.Operations, err
}

// remove deletes one row. removed is false if there was none.
func (sl *slot) remove(ctx context.Context, st *statement, t *table, args []drivers.Value) (removed bool, err error) {
	key := st.keyOf(args, drivers.Value{})
	r, err := send(sl, ctx, false, func(left time.Duration) (*nosqldb.DeleteResult, error) {
		return sl.client.Delete(&nosqldb.DeleteRequest{
			TableName: t.full, Key: key, Timeout: left, Durability: sl.store.durability,
		})
	})
	if err != nil {
		return false, writeError(ctx, err, sl.retry.uncertain)
	}
	return r.Success, nil
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
		r, err := send(sl, ctx, false, func(left time.Duration) (*nosqldb.MultiDeleteResult, error) {
			request.Timeout = left
			return sl.client.MultiDelete(request)
		})
		if err != nil {
			return partly(writeError(ctx, err, sl.retry.uncertain))
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
