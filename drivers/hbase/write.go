package hbase

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// RunWrite implements plan.Runner.
func (s *session) RunWrite(ctx context.Context, st *statement, args []drivers.Value) (r drivers.Result, err error) {
	if st.searches() {
		return drivers.Result{Applied: true}, s.deleteFound(ctx, st, args)
	}
	e, err := st.edit(args)
	if err != nil {
		return r, err
	}
	conditions, err := st.conditions(e, args)
	if err != nil {
		return r, err
	}
	e.once = st.Pattern().ReturnsNew
	c, applied, err := s.applyIf(ctx, e, conditions)
	if err == nil && applied && st.Pattern().ReturnsNew {
		r.Row, err = st.added(c)
	}
	r.Applied = applied
	return r, err
}

// applyIf sends an edit with one condition after the other until one holds.
func (s *sender) applyIf(ctx context.Context, e *edit, conditions []*pb.Condition) (c *call, applied bool, err error) {
	if len(conditions) == 0 {
		return s.apply(ctx, e, nil)
	}
	for _, is := range conditions {
		if c, applied, err = s.apply(ctx, e, is); applied || err != nil {
			break
		}
	}
	return c, applied, err
}

// added returns the new values of an add's columns from the answer to the increment.
func (st *statement) added(c *call) (row []drivers.Value, err error) {
	for _, of := range st.write {
		at := slices.IndexFunc(c.found(), func(c cell) bool {
			return (st.table.wide() || string(c.qualifier) == of.column.Name) && len(c.value) == 8
		})
		if at < 0 {
			return nil, fmt.Errorf("%w: HBase's answer to an increment has no new value", drivers.ErrUnknown)
		}
		row = append(row, drivers.Number(of.column.Type.Kind, int64(binary.BigEndian.Uint64(c.found()[at].value))))
	}
	return row, nil
}

// step is one request of a batch that is not atomic. Consecutive parts that write the same
// HBase row share a step if they can share an edit.
type step struct {
	st         *statement // that of its first part
	edit       *edit      // nil if the part must find what it deletes
	args       []drivers.Value
	kinds      uint64 // the members of the batch's parts that it runs, a bit each
	conditions []*pb.Condition
	bytes      int
}

// edit returns the edit of a write of one row.
func (st *statement) edit(args []drivers.Value) (e *edit, err error) {
	p, t := st.Pattern(), st.table
	e = &edit{table: t.hbase, counted: t.counted}
	row := t.row
	if p.Static {
		row = t.static
	}
	if e.row, err = appendKey(nil, row, args[:min(len(row), len(p.By))]); err != nil {
		return nil, err
	}
	if t.wide() && !p.Static {
		return e, st.putCell(e, args)
	}
	family, _ := st.family()
	if p.Kind == schemas.Delete {
		e.deleteAll(t.family)
		return e, nil
	}
	if (p.Kind == schemas.Put || p.Kind == schemas.PutIf || p.Kind == schemas.Append) && !p.Static {
		e.put(family, []byte(markerName), []byte(marker))
	}
	for _, w := range st.write {
		if err := st.putColumn(e, family, w, args); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// putColumn adds the change of one column to the edit.
func (st *statement) putColumn(e *edit, family string, w operand, args []drivers.Value) error {
	kind := st.Pattern().Kind
	if w.column.Type.Collection() {
		return st.putElements(e, family, w.column, args, w.arg)
	}
	at, v := []byte(w.column.Name), args[w.arg]
	switch {
	case kind == schemas.Add:
		e.increment(family, at, v.Int64())
	case v.IsNull():
		e.delete(family, at)
	default:
		e.put(family, at, encodeValue(v))
	}
	return nil
}

// putElements adds the change of a collection to the edit.
func (st *statement) putElements(e *edit, family string, c *schemas.Column, args []drivers.Value, arg int) error {
	v, t := args[arg], c.Type
	if st.Pattern().Kind != schemas.Append { // the collection's own cell hides all older elements
		e.put(family, []byte(c.Name), binary.BigEndian.AppendUint64(nil, nextStamp()))
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
		qualifier := append([]byte(c.Name), elements)
		if t.Kind == schemas.List {
			e.put(family, appendListKey(qualifier, stamp), encodeValue(elems[i]))
			continue
		}
		qualifier, err := appendKey(qualifier, elementParts(t), elems[i:i+1])
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		value := binary.BigEndian.AppendUint64(nil, stamp)
		if t.Kind == schemas.Map {
			value = appendValue(value, elems[i+1])
		}
		e.put(family, qualifier, value)
	}
	return nil
}

// putCell adds to the edit the write of a row that is a cell.
func (st *statement) putCell(e *edit, args []drivers.Value) error {
	t, p := st.table, st.Pattern()
	if p.Kind == schemas.Delete && len(p.By) == len(t.row) {
		e.deleteAll(t.family)
		return nil
	}
	at, err := appendKey(nil, t.rest, args[len(t.row):len(t.key)])
	if err != nil {
		return err
	}
	switch {
	case p.Kind == schemas.Delete:
		e.delete(t.family, at)
	case p.Kind == schemas.Add:
		e.increment(t.family, at, args[st.write[0].arg].Int64())
	case len(t.columns) == 0:
		e.put(t.family, at, []byte(marker))
	case len(st.write) == 0: // the row may have a value, which stays
		e.put(t.family, at, encodeValue(drivers.Value{}))
		e.ops[0].stamp = first
	default:
		e.put(t.family, at, encodeValue(args[st.write[0].arg]))
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
