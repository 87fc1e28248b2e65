package hbase

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

const (
	// marker is the value of a cell whose mere existence counts.
	marker = "\x01"
	// markerName is the qualifier of the cell that makes a row exist, whatever
	// its columns hold. It sorts before all columns.
	markerName = "\x00"
)

var markerQualifier, markerValue = []byte(markerName), []byte(marker)

// RunWrite implements plan.Runner.
func (s *session) RunWrite(ctx context.Context, st *statement, args []drivers.Value) (r drivers.Result, err error) {
	own, err := st.step(args)
	if err != nil {
		return r, err
	}
	returns := st.Pattern().ReturnsNew
	if returns {
		own.edit.Once = true
	}
	c, applied, err := s.run(ctx, &own)
	r.Applied = applied
	if err != nil || !applied || !returns {
		return r, err
	}
	for _, of := range st.write { // an add: the answer to the increment has the new values
		at := slices.IndexFunc(c.Found(), func(c rpc.Cell) bool {
			return (st.table.wide || string(c.Qualifier) == of.column.Name) && len(c.Value) == 8
		})
		if at < 0 {
			return r, fmt.Errorf("%w: HBase's answer to an increment has no new value", drivers.ErrUnknown)
		}
		n := int64(binary.BigEndian.Uint64(c.Found()[at].Value))
		r.Row = append(r.Row, drivers.Number(of.column.Type.Kind, n))
	}
	return r, nil
}

// step is a write that is ready to be sent. Consecutive parts of a batch that write the same HBase row share a step if
// they can share an edit.
type step struct {
	st         *statement // that of its first part
	edit       *rpc.Edit  // nil if the write must find what it deletes
	conditions []*pb.Condition
	args       []drivers.Value
	kinds      uint64 // the members of the batch's parts that it runs, a bit each
	bytes      int    // of arguments
}

// step returns the step of a write.
func (st *statement) step(args []drivers.Value) (own step, err error) {
	own = step{st: st, args: args}
	if st.searches() {
		return own, nil
	}
	e := st.table.newEdit(nil)
	if e.Row, err = st.table.row.Append(nil, 0, args[:min(len(st.table.row), len(st.Pattern().By))]); err != nil {
		return own, err
	}
	put := st.putRow
	if st.table.wide {
		put = st.putCell
	}
	if err = put(e, args); err == nil {
		own.conditions, err = st.conditions(e, args)
	}
	own.edit = e
	return own, err
}

// run makes a write. applied is false if its condition does not hold. The call has the new values of an increment.
func (s *session) run(ctx context.Context, own *step) (c *rpc.Call, applied bool, err error) {
	switch {
	case own.edit != nil:
		return s.Apply(ctx, own.edit, own.conditions...)
	case own.st.Pattern().Kind == schemas.Remove:
		return nil, true, s.removeElements(ctx, own.st, own.args)
	}
	return nil, true, s.deleteFound(ctx, own.st, own.args)
}

// putRow adds to the edit the write of a row that is an HBase row.
func (st *statement) putRow(e *rpc.Edit, args []drivers.Value) error {
	p := st.Pattern()
	if p.Kind == schemas.Delete {
		e.Do(rpc.DeleteAll, st.table.family, nil, nil)
		return nil
	}
	if (p.Kind == schemas.Put || p.Kind == schemas.PutIf || p.Kind == schemas.Append) && st.table.marked() {
		e.Do(rpc.Put, st.table.family, markerQualifier, markerValue)
	}
	for _, w := range st.write {
		at, v := w.name, args[w.arg]
		switch {
		case w.column.Type.Collection():
			if err := st.putElements(e, w.column, v); err != nil {
				return err
			}
		case p.Kind == schemas.Add:
			e.Do(rpc.Increment, st.table.family, at, encodeValue(v))
		case v.IsNull():
			e.Do(rpc.Delete, st.table.family, at, nil)
		default:
			e.Do(rpc.Put, st.table.family, at, encodeValue(v))
		}
	}
	return nil
}

// putElements adds the change of a collection to the edit.
func (st *statement) putElements(e *rpc.Edit, c *schemas.Column, v drivers.Value) error {
	t := c.Type
	if st.Pattern().Kind != schemas.Append { // the collection's own cell hides all older elements
		e.Do(rpc.Put, st.table.family, []byte(c.Name), binary.BigEndian.AppendUint64(nil, nextStamp()))
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
			qualifier = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(qualifier, stamp), processTag)
			e.Do(rpc.Put, st.table.family, qualifier, encodeValue(elems[i]))
			continue
		}
		qualifier, err := elementParts(t).Append(qualifier, 0, elems[i:i+1])
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		value := binary.BigEndian.AppendUint64(nil, stamp)
		if t.Kind == schemas.Map {
			value = appendValue(value, elems[i+1])
		}
		e.Do(rpc.Put, st.table.family, qualifier, value)
	}
	return nil
}

// putCell adds to the edit the write of a row that is a cell.
func (st *statement) putCell(e *rpc.Edit, args []drivers.Value) error {
	t, p := st.table, st.Pattern()
	if p.Kind == schemas.Delete && len(p.By) == len(t.row) {
		e.Do(rpc.DeleteAll, t.family, nil, nil)
		return nil
	}
	at, err := t.rest.Append(nil, 0, args[len(t.row):len(t.key)])
	action, value := rpc.Put, markerValue
	switch {
	case p.Kind == schemas.Delete:
		action, value = rpc.Delete, nil
	case len(t.columns) == 0:
	case len(st.write) == 0: // the row may have a value, which stays
		action, value = rpc.Touch, encodeValue(drivers.Value{})
	default:
		value = encodeValue(args[st.write[0].arg])
		if p.Kind == schemas.Add {
			action = rpc.Increment
		}
	}
	e.Do(action, t.family, at, value)
	return err
}

// conditions returns the conditions of a write. The session sends the edit with one of them
// after the other until one holds. HBase tests a condition and applies the edit in one step.
func (st *statement) conditions(e *rpc.Edit, args []drivers.Value) ([]*pb.Condition, error) {
	t, p := st.table, st.Pattern()
	if p.Kind != schemas.PutIf {
		return nil, nil
	}
	at := markerQualifier // the cell that says whether there is a row
	if st.table.wide {
		at = e.Ops[0].Qualifier
	}
	absent := cellIs(e.Row, st.table.family, at, nil)
	switch {
	case p.Absent && !st.table.wide && len(t.added) > 0:
		return nil, fmt.Errorf("table %s has columns that are counted up: %w", t.schema.Name, drivers.ErrUnsupported)
	case p.Absent:
		return []*pb.Condition{absent}, nil
	case p.Present:
		absent.CompareType = pb.CompareType_NOT_EQUAL.Enum()
		return []*pb.Condition{absent}, nil
	}
	want := args[st.Layout.If:][:len(p.If)]
	var is *pb.Condition
	switch {
	case st.table.wide:
		is = cellIs(e.Row, st.table.family, at, appendValue(nil, want[0]))
	case len(want) == 1:
		var value []byte // none
		if !want[0].IsNull() {
			value = appendValue(nil, want[0])
		}
		return []*pb.Condition{cellIs(e.Row, st.table.family, []byte(p.If[0].Name), value)}, nil
	default:
		var all []*pb.Filter
		for i, c := range p.If {
			all = append(all, columnIs(st.table.family, c.Name, want[i]))
		}
		b, err := proto.Marshal(allOf(all...)) // the filter lets the row pass
		if err != nil {
			return nil, err
		}
		is = cellIs(e.Row, st.table.family, at, nil)
		is.ProtoReflect().SetUnknown(protowire.AppendBytes(
			protowire.AppendTag(nil, fieldConditionFilter, protowire.BytesType), b))
	}
	if slices.ContainsFunc(want, func(v drivers.Value) bool { return !v.IsNull() }) {
		return []*pb.Condition{is}, nil
	}
	return []*pb.Condition{is, absent}, nil // the columns of an absent row are null too
}

// cellIs is the condition that a cell has the value, or that it is absent if
// that is nil.
func cellIs(row []byte, family string, qualifier []byte, value []byte) *pb.Condition {
	is, err := bytesOf(value).ConstructPBComparator()
	if err != nil {
		panic(err) // bytes can always be written
	}
	return &pb.Condition{
		Row: row, Family: []byte(family), Qualifier: qualifier,
		CompareType: pb.CompareType_EQUAL.Enum(), Comparator: is,
	}
}

// fieldConditionFilter is Condition.filter, a field that gohbase's copy of the protocol lacks. It requires a condition
// on a cell, which HBase ignores if there is a filter.
const fieldConditionFilter = 7

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

// deleteFound finds the rows or cells that a write deletes, and deletes them in the order of
// their keys, up to maxTogether in a request. If it is interrupted, the later ones remain.
func (s *session) deleteFound(ctx context.Context, st *statement, args []drivers.Value) error {
	p, t := st.Pattern(), st.table
	by := args[:len(p.By)]
	cells := st.table.wide && len(by) >= len(t.row) // of one row, else rows
	scan := rpc.Range{Table: t.hbase, Columns: columnsOf(t.family), Pieces: cells}
	scan.Filter = must(filter.NewKeyOnlyFilter(false))
	if !cells { // the first cell of each
		scan.Filter = allOf(firstOnly(), scan.Filter)
	}
	var bounds plan.Range
	err := st.bound(&scan, &bounds, by, args)
	if err != nil {
		return err
	}
	deleted, found, edits := 0, 0, []*rpc.Edit(nil)
	remove := func() error {
		if len(edits) > 0 && ctx.Err() != nil { // several calls that are not sent would have an unknown outcome
			return ctx.Err()
		}
		done, err := s.ApplyTogether(ctx, edits)
		for _, e := range edits[:done] {
			deleted += len(e.Ops)
		}
		edits = nil
		return err
	}
	if !bounds.Empty {
		err = s.Scan(ctx, scan, func(row []rpc.Cell) error {
			for _, c := range row {
				s.Count(drivers.Cost{RowsScanned: 1})
				if !cells || edits == nil {
					edits = append(edits, t.newEdit(c.Row))
				}
				if e := edits[len(edits)-1]; cells {
					e.Do(rpc.Delete, t.family, c.Qualifier, nil)
				} else {
					e.Do(rpc.DeleteAll, t.family, nil, nil)
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
	if err == nil && p.Scope == schemas.ScopePartition && t.statics != nil {
		e := t.statics.newEdit(nil)
		e.Do(rpc.DeleteAll, staticFamily, nil, nil)
		if e.Row, err = t.statics.row.Append(nil, 0, by[:len(t.statics.row)]); err == nil {
			_, _, err = s.Apply(ctx, e)
		}
	}
	return plan.Partial(err, deleted, "stopped after %d deletions", deleted)
}

// newEdit returns an edit of a row of the table.
func (t *table) newEdit(row []byte) *rpc.Edit {
	return &rpc.Edit{Table: t.hbase, Row: row, Counted: t.counted}
}

// removeElements removes elements from lists: it finds them by their values and
// deletes those that it found. Elements that are appended meanwhile stay.
func (s *session) removeElements(ctx context.Context, st *statement, args []drivers.Value) error {
	row, err := st.table.row.Append(nil, 0, args[:len(st.table.row)])
	if err != nil {
		return err
	}
	e, scan := st.table.newEdit(row), st.view.scan
	scan.Start = row
	found, err := s.Get(ctx, scan, 0)
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
			e.Do(rpc.Delete, st.table.family, c.Qualifier, nil)
		}
	}
	_, _, err = s.Apply(ctx, e)
	return err
}
