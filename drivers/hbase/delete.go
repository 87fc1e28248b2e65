package hbase

import (
	"bytes"
	"context"
	"slices"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// deleteFound finds the rows or cells that a write deletes, and deletes them in the order of
// their keys, up to maxTogether in a request. If it is interrupted, the later ones remain.
func (s *session) deleteFound(ctx context.Context, st *statement, args []drivers.Value) error {
	f := finder{sender: s.sender, ctx: ctx, st: st, by: args[:len(st.Pattern().By)], args: args}
	var err error
	switch {
	case st.Pattern().Kind == schemas.Remove:
		return f.removeElements()
	case st.table.wide() && len(f.by) >= len(st.table.row):
		err = f.cells()
	default:
		err = f.rows()
	}
	if err == nil && st.Pattern().Scope == schemas.ScopePartition && len(st.table.statics) > 0 {
		err = f.statics()
	}
	return plan.Partial(err, f.deleted, "stopped after %d deletions", f.deleted)
}

// finder finds and deletes the rows or cells of one deleteFound.
type finder struct {
	*sender
	ctx      context.Context
	st       *statement
	by, args []drivers.Value
	deleted  int
}

// each calls found with each cell of the table between two rows, and remove after maxTogether of them and at the end.
func (f *finder) each(start, stop []byte, passes *pb.Filter, found func(c *cell), remove func() error) error {
	t, n := f.st.table, 0
	r := scanRange{table: t.hbase, start: start, stop: stop, columns: columnsOf(t.family), filter: passes}
	err := f.scan(f.ctx, r, eachCell(func(c *cell) error {
		found(c)
		if n++; n%maxTogether > 0 {
			return nil
		}
		return remove()
	}))
	if err != nil {
		return err
	}
	return remove()
}

// newEdit returns an edit of a row of the table.
func (f *finder) newEdit(row []byte) *edit {
	return &edit{table: f.st.table.hbase, row: row, counted: f.st.table.counted}
}

// rows deletes the rows of a range, maxTogether at a time.
func (f *finder) rows() error {
	var b bounds
	if err := b.set(f.st, f.st.table.row, f.by, f.args); err != nil || b.none {
		return err
	}
	var calls []*call
	return f.each(b.lower, b.upper, allOf(firstOnly(), keysOnly()), func(c *cell) {
		e := f.newEdit(c.row)
		e.deleteAll(f.st.table.family)
		calls = append(calls, newMutation(e, nil, f.wal))
	}, func() error {
		f.scanned(len(calls))
		done, err := f.sendTogether(f.ctx, calls)
		f.deleted += done
		calls = nil
		return err
	})
}

// cells deletes the cells of a range of one row, maxTogether at a time.
func (f *finder) cells() error {
	t := f.st.table
	row, err := rowKey(t.row, f.by[:len(t.row)])
	if err != nil {
		return err
	}
	var b bounds
	if err := b.set(f.st, t.rest, f.by[len(t.row):], f.args); err != nil || b.none {
		return err
	}
	passes := keysOnly()
	if len(b.lower)+len(b.upper) > 0 {
		passes = allOf(columnRange(b.lower, b.upper), passes)
	}
	e := f.newEdit(row)
	return f.each(row, rowAfter(row), passes, func(c *cell) {
		f.scanned(1)
		e.delete(t.family, c.qualifier)
	}, func() error {
		if _, _, err := f.apply(f.ctx, e, nil); err != nil {
			return err
		}
		f.deleted += len(e.ops)
		e = f.newEdit(row)
		return nil
	})
}

// statics deletes the static columns of a partition.
func (f *finder) statics() error {
	t := f.st.table
	row, err := appendKey(nil, t.static, f.by[:len(t.static)])
	if err != nil {
		return err
	}
	e := f.newEdit(row)
	e.deleteAll(staticFamily)
	_, _, err = f.apply(f.ctx, e, nil)
	return err
}

// removeElements removes elements from lists: it finds them by their values and
// deletes those that it found. What is appended meanwhile stays.
func (f *finder) removeElements() error {
	st := f.st
	e, err := st.edit(f.args) // a remove puts no cell
	if err != nil {
		return err
	}
	family, _ := st.family()
	find := newGet(st.table.hbase, e.row, columnsOf(family), wantedCells(st.lists, false, false), 0)
	err = f.get(f.ctx, find, eachCell(func(c *cell) error {
		for _, w := range st.lists {
			if !bytes.HasPrefix(c.qualifier, append([]byte(w.name), elements)) {
				continue
			}
			v, err := decodeValue(w.typ.Elem.Kind, c.value, false)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(f.args[w.at].Elems(), v.Equal) {
				e.delete(family, c.qualifier)
			}
		}
		return nil
	}))
	if err != nil {
		return err
	}
	f.scanned(1)
	_, _, err = f.apply(f.ctx, e, nil)
	return err
}
