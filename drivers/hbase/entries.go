package hbase

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// HBase has no transaction over rows. A write that may change entries reads the old row, puts the new
// entries, writes the row, and only then deletes the old entries: if it is interrupted, an entry is left
// over, which reads pass over, and no row lacks one. An old entry is deleted as of the time at which the
// old row was written, so that what another client puts meanwhile stays.

// tracks reports whether the write may change entries of indexes.
func (st *statement) tracks() bool {
	p, t := st.Pattern(), st.table
	switch {
	case len(t.indexes) == 0 || p.Static:
		return false
	case p.Kind == schemas.Delete:
		return true
	}
	return (p.Kind == schemas.Put || p.Kind == schemas.PutIf) &&
		slices.ContainsFunc(st.write, func(w operand) bool { return slices.Contains(t.indexed(), w.column) })
}

// compileTracked prepares what a write that changes entries must read first.
func (st *statement) compileTracked() error {
	p, t := st.Pattern(), st.table
	if st.tracked = st.tracks(); !st.tracked || !st.searches() {
		return nil
	}
	st.found = &statement{table: t, Plan: plan.Of(&schemas.Pattern{
		Name: p.Name, Kind: schemas.Slice, Table: p.Table, By: p.By, From: p.From, To: p.To,
		Columns: slices.Concat(t.key, t.indexed()),
	})}
	return st.found.compile()
}

// tracked runs apply, which applies the calls, between the changes of the entries of their rows. parts are
// the statements that the calls number.
func (w *writing) tracked(ctx context.Context, parts []*statement, calls []drivers.Call,
	apply func(calls []drivers.Call) (drivers.Result, error),
) (res drivers.Result, err error) {
	if len(calls) > 1 && slices.ContainsFunc(calls, func(c drivers.Call) bool { return parts[c.Part].found != nil }) {
		for i := range calls { // what a part deletes may be what those before it have put
			if res, err = w.tracked(ctx, parts, calls[i:i+1], apply); err != nil {
				return res, plan.Partial(err, i, len(calls))
			}
		}
		return res, nil
	}
	c := entries{rows: make(map[string]*indexedRow)}
	if err := w.readOld(ctx, &c, parts, calls); err != nil {
		return drivers.Result{}, err
	}
	if len(calls) == 1 && parts[calls[0].Part].refused(&c, calls[0].Args) {
		return drivers.Result{}, nil
	}
	for i := range calls {
		if err := c.change(parts[calls[i].Part], calls[i].Args); err != nil {
			return drivers.Result{}, err
		}
	}
	if err := w.sendEntries(ctx, c.puts); err != nil {
		return drivers.Result{}, err
	}
	if res, err = apply(calls); err != nil {
		return res, err
	}
	if !res.Applied {
		return res, w.renew(ctx, &c, parts[calls[0].Part], calls[0].Args)
	}
	if err := w.sendEntries(ctx, c.drops); err != nil {
		return res, fmt.Errorf("%w: the row is written, and its old index entries may be left: %w", drivers.ErrUnknown, err)
	}
	return res, nil
}

// readOld reads the rows that the calls are about to change, each once. Of a range that is to be deleted it
// keeps only the entries.
func (w *writing) readOld(ctx context.Context, c *entries, parts []*statement, calls []drivers.Call) error {
	if st := parts[calls[0].Part]; st.found != nil {
		args := calls[0].Args[:len(st.found.Pattern().Args())] // by, from and to are the first of both
		row := make([]drivers.Value, len(st.table.key)+len(st.table.columns))
		return w.find.read(ctx, st.found, args, func(vals []drivers.Value) error {
			st.table.spread(row, vals)
			return c.drop(st.table, row, w.find.rows.decoder.newest)
		})
	}
	type wanted struct {
		keys []drivers.Value
		rows []*indexedRow
	}
	of := make(map[*table]*wanted)
	var order []*table
	for i := range calls {
		st := parts[calls[i].Part]
		if !st.tracked {
			continue
		}
		t, key := st.table, calls[i].Args[:len(st.table.key)]
		name, err := t.nameOf(key)
		if err != nil {
			return err
		}
		if c.rows[name] != nil {
			continue
		}
		r := &indexedRow{vals: make([]drivers.Value, len(t.key)+len(t.columns))}
		copy(r.vals, key)
		c.rows[name] = r
		if of[t] == nil {
			of[t], order = new(wanted), append(order, t)
		}
		of[t].keys, of[t].rows = append(of[t].keys, key...), append(of[t].rows, r)
	}
	for _, t := range order {
		rows := of[t].rows
		err := w.find.fetch(ctx, t.old, of[t].keys, func(i int, vals []drivers.Value) error {
			r := rows[i]
			r.exists, r.until = true, w.find.rows.decoder.newest
			t.spread(r.vals[len(t.key):], vals)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// refused reports whether the old row already says that a put-if is not to be applied.
func (st *statement) refused(c *entries, args []drivers.Value) bool {
	p, t := st.Pattern(), st.table
	if p.Kind != schemas.PutIf {
		return false
	}
	name, _ := t.nameOf(args[:len(t.key)]) // the row has been read by it
	r := c.rows[name]
	if p.Absent {
		return r.exists
	}
	known := t.indexed()
	for i, column := range p.If {
		want := args[st.Layout.If+i]
		at := len(t.key) + slices.Index(t.columns, column)
		if slices.Contains(known, column) && plan.CheckKind(column, want.Kind()) == nil && !r.vals[at].Equal(want) {
			return true
		}
	}
	return false
}

// renew follows a put-if that another client's write has forestalled, when its entries were there already. If the
// row has the same values, it writes them again, so that the row is not older than the entries: whoever
// deletes it deletes these. Otherwise the entries are left over.
func (w *writing) renew(ctx context.Context, c *entries, st *statement, args []drivers.Value) error {
	t := st.table
	name, err := t.nameOf(args[:len(t.key)])
	if err != nil {
		return err
	}
	put, e := c.rows[name], w.edit(0, t)
	var same []*pb.Filter
	err = w.find.fetch(ctx, t.old, args[:len(t.key)], func(_ int, vals []drivers.Value) error {
		for i, column := range t.indexed() {
			if !vals[i].Equal(put.vals[t.position(column.Name)]) {
				same = nil
				break
			}
			same = append(same, columnIs(t.family, column.Name, vals[i]))
		}
		return nil
	})
	if err != nil || same == nil {
		return err
	}
	if e.row, err = appendKey(e.row, t.row, args[:len(t.key)]); err != nil {
		return err
	}
	for _, column := range t.indexed() {
		if v := put.vals[t.position(column.Name)]; !v.IsNull() {
			e.put(t.family, e.beginQualifier(column.Name), v)
		}
	}
	_, err = w.slot.apply(ctx, e, rowIs(e.row, t.family, allOf(same...)), &w.cluster.wal)
	return err
}

// sendEntries sends changes of entries, those of one index together.
func (w *writing) sendEntries(ctx context.Context, edits []edit) (err error) {
	slices.SortStableFunc(edits, func(a, b edit) int { return bytes.Compare(a.table, b.table) })
	for len(edits) > 0 && err == nil {
		n := 1
		for n < min(len(edits), maxTogether) && bytes.Equal(edits[n].table, edits[0].table) {
			n++
		}
		if n == 1 {
			_, err = w.slot.apply(ctx, &edits[0], nil, &w.cluster.wal)
		} else {
			m := w.multiAt(0)
			m.begin()
			for i := range edits[:n] {
				m.next().encode(&edits[i], nil, &w.cluster.wal)
			}
			_, err = m.send(ctx, w.cluster, w.slot)
		}
		edits = edits[n:]
	}
	return err
}
