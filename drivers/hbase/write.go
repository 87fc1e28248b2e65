package hbase

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// write runs a statement that writes and is no batch.
func (w *writing) write(ctx context.Context, st *statement, args []drivers.Value) (drivers.Result, error) {
	applied := drivers.Result{Applied: true}
	if st.searches() {
		return applied, w.deleteFound(ctx, st, args)
	}
	e := w.edit(0, st.table)
	if err := st.put(e, args); err != nil {
		return drivers.Result{}, err
	}
	conditions, err := st.conditions(e, args)
	if err != nil {
		return drivers.Result{}, err
	}
	e.once = st.Pattern().Kind == schemas.Add && st.Pattern().ReturnsNew
	d := &w.cluster.wal
	if len(conditions) == 0 {
		if _, err := w.slot.apply(ctx, e, nil, d); err != nil {
			return drivers.Result{}, err
		}
		return applied, w.returned(st, &applied)
	}
	for _, c := range conditions {
		ok, err := w.slot.apply(ctx, e, c, d)
		if err != nil {
			return drivers.Result{}, err
		}
		if ok {
			return applied, w.returned(st, &applied)
		}
	}
	return drivers.Result{}, nil
}

// returned sets the result's row to the new values of an add's columns.
func (w *writing) returned(st *statement, res *drivers.Result) error {
	if !st.Pattern().ReturnsNew {
		return nil
	}
	w.row = w.row[:0]
	for _, of := range st.write {
		n, err := w.added(st, of)
		if err != nil {
			return fmt.Errorf("%w: %w", drivers.ErrUnknown, err)
		}
		w.row = append(w.row, drivers.Number(of.column.Type.Kind, n))
	}
	res.Row = w.row
	return nil
}

var errNoSum = errors.New("HBase's answer to an increment lacks the new value")

// added returns the new value of a column from the answer to an increment.
func (w *writing) added(st *statement, of operand) (n int64, err error) {
	for a := w.slot.call.resultCells(); ; {
		c, _, ok, err := a.next()
		if err != nil {
			return 0, err
		}
		if !ok {
			return 0, errNoSum
		}
		if (st.table.wide() || string(c.qualifier) == of.column.Name) && len(c.value) == 8 {
			return int64(binary.BigEndian.Uint64(c.value)), nil
		}
	}
}
