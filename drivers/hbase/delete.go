package hbase

import (
	"bytes"
	"context"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// deleteFound finds the rows or cells that a write deletes, and deletes them in the order of
// their keys, up to maxTogether in a request. If it is interrupted, the later ones remain.
func (s *session) deleteFound(ctx context.Context, st *statement, args []drivers.Value) error {
	p, t := st.Pattern(), st.table
	if p.Kind == schemas.Remove {
		return s.removeElements(ctx, st, args)
	}
	by := args[:len(p.By)]
	cells := st.cells && len(by) >= len(t.row) // of one row, else rows
	scan, err := st.found(by, args, cells)
	if err != nil {
		return err
	}
	deleted, edits := 0, []*rpc.Edit(nil)
	remove := func() error {
		if len(edits) > 0 && ctx.Err() != nil { // several calls that are not sent would have an unknown outcome
			return ctx.Err()
		}
		done, err := s.ApplyTogether(ctx, edits)
		for _, e := range edits[:done] {
			deleted += e.Len()
		}
		edits = nil
		return err
	}
	found := 0
	if scan.Table != nil {
		err = s.Scan(ctx, scan, func(row []rpc.Cell) error {
			for _, c := range row {
				s.Count(drivers.Cost{RowsScanned: 1})
				if !cells || edits == nil {
					edits = append(edits, t.newEdit(c.Row))
				}
				if e := edits[len(edits)-1]; cells {
					e.Delete(t.family, c.Qualifier)
				} else {
					e.DeleteAll(t.family)
				}
				if found++; found%maxTogether == 0 {
					if err := remove(); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err == nil {
			err = remove()
		}
	}
	if err == nil && p.Scope == schemas.ScopePartition && len(t.statics) > 0 {
		e := t.newEdit(nil)
		e.DeleteAll(staticFamily)
		if e.Row, err = t.static.Append(nil, 0, by[:len(t.static)]); err == nil {
			_, _, err = s.Apply(ctx, e)
		}
	}
	return plan.Partial(err, deleted, "stopped after %d deletions", deleted)
}

// found returns a scan that finds the first cell of each row that a write deletes, or the cells of one row. It is empty
// if there can be none.
func (st *statement) found(by, args []drivers.Value, cells bool) (scan rpc.Range, err error) {
	t := st.table
	scan = rpc.Range{Table: t.hbase, Columns: columnsOf(t.family), Filter: keysOnly(), Pieces: cells}
	var b plan.Range
	if cells {
		_, err = st.inRow(&scan, &b, by, args)
	} else {
		scan.Filter = allOf(firstOnly(), scan.Filter)
		err = b.Set(&st.Plan, t.row, by, args, st.backward)
		scan.Start, scan.Stop = b.Lower, b.Upper
	}
	if b.Empty {
		scan = rpc.Range{}
	}
	return scan, err
}

// newEdit returns an edit of a row of the table.
func (t *table) newEdit(row []byte) *rpc.Edit {
	return &rpc.Edit{Table: t.hbase, Row: row, Counted: t.counted}
}

// removeElements removes elements from lists: it finds them by their values and
// deletes those that it found. Elements that are appended meanwhile stay.
func (s *session) removeElements(ctx context.Context, st *statement, args []drivers.Value) error {
	row, err := st.rows.Append(nil, 0, args[:len(st.rows)])
	if err != nil {
		return err
	}
	e := st.table.newEdit(row)
	found, err := s.Get(ctx, st.table.hbase, e.Row, st.view.requested, st.view.filter, 0)
	if err != nil {
		return err
	}
	s.Count(drivers.Cost{RowsScanned: 1})
	for _, c := range found {
		name, _, isElement := bytes.Cut(c.Qualifier, beforeElement)
		at := slices.IndexFunc(st.write, func(of operand) bool { return of.column.Name == string(name) })
		if !isElement || at < 0 {
			continue
		}
		v, err := decodeValue(st.write[at].column.Type.Elem.Kind, c.Value, false)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(args[st.write[at].arg].Elems(), v.Equal) {
			e.Delete(st.family, c.Qualifier)
		}
	}
	_, _, err = s.Apply(ctx, e)
	return err
}
