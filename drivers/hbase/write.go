package hbase

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// RunWrite implements plan.Runner.
func (w *writing) RunWrite(ctx context.Context, st *statement, args []drivers.Value) (drivers.Result, error) {
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

var errNoSum = errors.New("HBase's answer to an increment has no new value")

// added returns the new value of a column from the answer to an increment.
func (w *writing) added(st *statement, of operand) (n int64, err error) {
	found := false
	err = w.slot.call.eachCell(func(c cell, _ uint64) error {
		if !found && (st.table.wide() || string(c.qualifier) == of.column.Name) && len(c.value) == 8 {
			n, found = int64(binary.BigEndian.Uint64(c.value)), true
		}
		return nil
	})
	if err == nil && !found {
		err = errNoSum
	}
	return n, err
}

// writing changes rows for one worker. It keeps its buffers from call to call.
type writing struct {
	*slots
	find  *reading // for what must be found before it is deleted
	edits []edit   // the edits of the current call
	steps []step   // the steps of the current batch

	key    []byte          // row key
	row    []drivers.Value // the row of a result
	hashes []uint64        // hashes of the HBase rows that steps change
	groups [][]step        // the steps of the current wave, as they are sent
	multis []*multi
}

// edit returns w.edits[i], emptied for a row of the table.
func (w *writing) edit(i int, t *table) *edit {
	for len(w.edits) <= i {
		w.edits = append(w.edits, edit{})
	}
	e := &w.edits[i]
	e.reset(t)
	return e
}

// step is one request of a batch that is not atomic. Consecutive parts that write the same
// HBase row share a step if they can share an edit.
type step struct {
	edit       int    // index in the edits
	kinds      uint64 // the members of the batch's parts that it runs, a bit each
	conditions []*pb.Condition
	class      class
	bytes      int

	search *statement // a part that must find what it deletes; nil if the step has an edit
	args   []drivers.Value
}

// class is a group of writes. Only writes of the same class can share an edit.
type class uint8

const (
	writesCells class = iota
	deletesRows       // in one edit, HBase would also delete what other parts write to the row
	addsToCells
	dependsOnCells // the write has a condition, so it shares its edit with no other
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
		e.deleteAll(st.table.family)
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
	v := args[w.arg]
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
	elems, step := v.Elems(), 1
	if t.Kind == schemas.Map {
		step = 2
	}
	for i := 0; i < len(elems); i += step {
		stamp := nextStamp()
		from := e.beginQualifier(c.Name)
		e.arena = append(e.arena, elements)
		var err error
		if t.Kind == schemas.List {
			e.arena = appendListKey(e.arena, stamp)
			e.put(family, from, elems[i])
			continue
		}
		if e.arena, err = appendKey(e.arena, elementParts(t), elems[i:i+1]); err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		switch t.Kind {
		case schemas.Set:
			e.putStamped(family, from, stamp, drivers.Value{})
		default:
			e.putStamped(family, from, stamp, elems[i+1])
		}
	}
	return nil
}

// putCell adds to the edit the write of a row that is a cell.
func (st *statement) putCell(e *edit, args []drivers.Value) (err error) {
	t, p := st.table, st.Pattern()
	if p.Kind == schemas.Delete && len(p.By) == len(t.row) {
		e.deleteAll(t.family)
		return nil
	}
	at := e.beginQualifier("")
	if e.arena, err = appendKey(e.arena, t.rest, args[len(t.row):len(t.key)]); err != nil {
		return err
	}
	switch {
	case p.Kind == schemas.Delete:
		e.delete(t.family, at)
	case p.Kind == schemas.Add:
		e.add(t.family, at, args[st.write[0].arg].Int64())
	case len(t.columns) == 0:
		e.putMarker(t.family, at)
	case len(st.write) == 0:
		e.putEarly(t.family, at) // the row may have a value, which stays
	default:
		e.put(t.family, at, args[st.write[0].arg])
	}
	return nil
}

// lastStamp is the last stamp of this process. A stamp is in nanoseconds since 1970,
// and each is greater than the one before. Stamps order the writes to collections
// within one millisecond of HBase's clock.
var lastStamp atomic.Int64

func nextStamp() uint64 {
	for {
		last, now := lastStamp.Load(), time.Now().UnixNano()
		if now <= last {
			now = last + 1
		}
		if lastStamp.CompareAndSwap(last, now) {
			return uint64(now)
		}
	}
}

// processTag distinguishes the list elements that two processes append in the same
// nanosecond.
var processTag = rand.Uint32()

// appendListKey appends what follows a list's name in the qualifier of an element.
func appendListKey(dst []byte, stamp uint64) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(dst, stamp), processTag)
}
