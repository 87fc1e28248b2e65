package hbase

import (
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

var (
	errNullElement = errors.New("null cannot be an element of a collection")
	errOddMap      = errors.New("a map is key, value, key, value …, but the number of its elements is odd")
)

// put adds a write of one row to an edit. It appends the HBase row's key to e.row.
func (st *statement) put(e *edit, args []drivers.Value) (err error) {
	row := st.table.row
	if st.Pattern().Static {
		row = st.table.static
	}
	n := min(len(row), len(st.Pattern().By))
	if e.row, err = appendKey(e.row, row, args[:n]); err != nil {
		return err
	}
	if st.table.wide() && !st.Pattern().Static {
		return st.putCell(e, args)
	}
	p := st.Pattern()
	family, _ := st.family()
	if p.Kind == schemas.Delete {
		e.deleteRow(st.table)
		return nil
	}
	if (p.Kind == schemas.Put || p.Kind == schemas.PutIf || p.Kind == schemas.Append) && !p.Static {
		e.putMarker(family, e.beginQualifier(markerName))
	}
	for _, w := range st.write {
		if err := st.putColumn(e, family, w, args); err != nil {
			return err
		}
	}
	return nil
}

// putColumn adds the change of one column to the edit.
func (st *statement) putColumn(e *edit, family string, w operand, args []drivers.Value) error {
	kind := st.Pattern().Kind
	if w.column.Type.Collection() {
		return st.putElements(e, family, w.column, args, w.arg)
	}
	at := e.beginQualifier(w.column.Name)
	if kind == schemas.Add && args[w.arg].IsNull() {
		return plan.ErrNullAdd
	}
	v := args[w.arg]
	if err := plan.CheckKind(w.column, v.Kind()); err != nil {
		return err
	}
	switch {
	case kind == schemas.Add:
		e.add(family, at, v.Int64())
	case v.IsNull():
		e.delete(family, at)
	default:
		e.put(family, at, v)
	}
	return nil
}

// putElements adds the change of a collection to the edit.
func (st *statement) putElements(e *edit, family string, c *schemas.Column, args []drivers.Value, arg int) error {
	v, t := args[arg], c.Type
	if st.Pattern().Kind != schemas.Append { // the collection's own cell hides all older elements
		e.putStamped(family, e.beginQualifier(c.Name), nextStamp(), drivers.Value{})
	}
	if v.IsNull() {
		return nil
	}
	if err := plan.CheckKind(c, v.Kind()); err != nil {
		return err
	}
	elems, step := v.Elems(), 1
	if t.Kind == schemas.Map {
		if step = 2; len(elems)%2 != 0 {
			return errOddMap
		}
	}
	for i := 0; i < len(elems); i += step {
		if elems[i].IsNull() || elems[i+step-1].IsNull() {
			return errNullElement
		}
		stamp := nextStamp()
		from := e.beginQualifier(c.Name)
		e.arena = append(e.arena, elements)
		var err error
		if t.Kind == schemas.List {
			if err = kindOfElement(c, *t.Elem, elems[i]); err != nil {
				return err
			}
			e.arena = appendListKey(e.arena, stamp)
			e.put(family, from, elems[i])
			continue
		}
		if e.arena, err = elementPart(t).append(e.arena, elems[i]); err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		switch t.Kind {
		case schemas.Set:
			e.putStamped(family, from, stamp, drivers.Value{})
		default:
			if err = kindOfElement(c, *t.Elem, elems[i+1]); err != nil {
				return err
			}
			e.putStamped(family, from, stamp, elems[i+1])
		}
	}
	return nil
}

func kindOfElement(c *schemas.Column, t schemas.Type, v drivers.Value) error {
	if v.Kind() != t.Kind {
		return fmt.Errorf("a %s value was given for an element of column %s, which is %s", v.Kind(), c.Name, c.Type)
	}
	return nil
}

// putCell adds to the edit the write of a row that is a cell.
func (st *statement) putCell(e *edit, args []drivers.Value) (err error) {
	t, p := st.table, st.Pattern()
	if p.Kind == schemas.Delete && len(p.By) == len(t.row) {
		e.deleteAll(t.family) // in a shared family only if the other table's row goes too: see deletedWith
		return nil
	}
	at := e.beginQualifier(t.lead)
	if e.arena, err = appendKey(e.arena, t.rest, args[len(t.row):len(t.key)]); err != nil {
		return err
	}
	switch {
	case p.Kind == schemas.Delete:
		e.delete(t.family, at)
	case p.Kind == schemas.Add:
		v := args[st.write[0].arg]
		if v.IsNull() {
			return plan.ErrNullAdd
		}
		if err := plan.CheckKind(st.write[0].column, v.Kind()); err != nil {
			return err
		}
		e.add(t.family, at, v.Int64())
	case len(t.columns) == 0:
		e.putMarker(t.family, at)
	case len(st.write) == 0:
		e.putEarly(t.family, at) // the row may have a value, which stays
	default:
		v := args[st.write[0].arg]
		if err := plan.CheckKind(st.write[0].column, v.Kind()); err != nil {
			return err
		}
		e.put(t.family, at, v)
	}
	return nil
}
