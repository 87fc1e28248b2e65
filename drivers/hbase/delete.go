package hbase

import (
	"bytes"
	"context"
	"slices"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// deleteFound finds the rows or cells that a write deletes, and deletes them in the order of
// their keys, up to maxTogether in a request. If it is interrupted, the later ones remain.
func (s *session) deleteFound(ctx context.Context, st *statement, args []drivers.Value) error {
	f := finder{Sender: s.Sender, ctx: ctx, st: st, by: args[:len(st.Pattern().By)], args: args}
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
	*rpc.Sender
	ctx      context.Context
	st       *statement
	by, args []drivers.Value
	deleted  int
}

// each calls found with each cell of the table between two rows, and remove after maxTogether of them and at the end.
func (f *finder) each(start, stop []byte, passes *pb.Filter, found func(c *rpc.Cell), remove func() error) error {
	t, n := f.st.table, 0
	r := rpc.Range{Table: t.hbase, Start: start, Stop: stop, Columns: columnsOf(t.family), Filter: passes}
	err := f.Scan(f.ctx, r, rpc.EachCell(func(c *rpc.Cell) error {
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
func (f *finder) newEdit(row []byte) *rpc.Edit {
	return &rpc.Edit{Table: f.st.table.hbase, Row: row, Counted: f.st.table.counted}
}

// rows deletes the rows of a range, maxTogether at a time.
func (f *finder) rows() error {
	var b bounds
	if err := b.set(f.st, f.st.table.row, f.by, f.args); err != nil || b.none {
		return err
	}
	var edits []*rpc.Edit
	return f.each(b.lower, b.upper, allOf(firstOnly(), keysOnly()), func(c *rpc.Cell) {
		e := f.newEdit(c.Row)
		e.DeleteAll(f.st.table.family)
		edits = append(edits, e)
	}, func() error {
		f.Scanned(len(edits))
		done, err := f.ApplyTogether(f.ctx, edits)
		f.deleted += done
		edits = nil
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
	return f.each(row, rowAfter(row), passes, func(c *rpc.Cell) {
		f.Scanned(1)
		e.Delete(t.family, c.Qualifier)
	}, func() error {
		if _, _, err := f.Apply(f.ctx, e); err != nil {
			return err
		}
		f.deleted += e.Len()
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
	e.DeleteAll(staticFamily)
	_, _, err = f.Apply(f.ctx, e)
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
	find := rpc.NewGet(st.table.hbase, e.Row, columnsOf(family), wantedCells(st.lists, false, false), 0)
	err = f.Get(f.ctx, find, rpc.EachCell(func(c *rpc.Cell) error {
		for _, w := range st.lists {
			if !bytes.HasPrefix(c.Qualifier, append([]byte(w.name), elements)) {
				continue
			}
			v, err := decodeValue(w.typ.Elem.Kind, c.Value, false)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(f.args[w.at].Elems(), v.Equal) {
				e.Delete(family, c.Qualifier)
			}
		}
		return nil
	}))
	if err != nil {
		return err
	}
	f.Scanned(1)
	_, _, err = f.Apply(f.ctx, e)
	return err
}
