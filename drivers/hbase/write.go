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
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
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
	e.Once = st.Pattern().ReturnsNew
	c, applied, err := s.Apply(ctx, e, conditions...)
	r.Applied = applied
	if err != nil || !applied || !st.Pattern().ReturnsNew {
		return r, err
	}
	for _, of := range st.write { // an add: the answer to the increment has the new values
		at := slices.IndexFunc(c.Found(), func(c rpc.Cell) bool {
			return (st.table.wide() || string(c.Qualifier) == of.column.Name) && len(c.Value) == 8
		})
		if at < 0 {
			return r, fmt.Errorf("%w: HBase's answer to an increment has no new value", drivers.ErrUnknown)
		}
		n := int64(binary.BigEndian.Uint64(c.Found()[at].Value))
		r.Row = append(r.Row, drivers.Number(of.column.Type.Kind, n))
	}
	return r, nil
}

// step is one request of a batch that is not atomic. Consecutive parts that write the same
// HBase row share a step if they can share an edit.
type step struct {
	st         *statement // that of its first part
	edit       *rpc.Edit  // nil if the part must find what it deletes
	args       []drivers.Value
	kinds      uint64 // the members of the batch's parts that it runs, a bit each
	conditions []*pb.Condition
	bytes      int
}

// edit returns the edit of a write of one row.
func (st *statement) edit(args []drivers.Value) (e *rpc.Edit, err error) {
	p, t := st.Pattern(), st.table
	e = t.newEdit(nil)
	if e.Row, err = st.rows.Append(nil, 0, args[:min(len(st.rows), len(p.By))]); err != nil {
		return nil, err
	}
	if st.cells {
		return e, st.putCell(e, args)
	}
	if p.Kind == schemas.Delete {
		e.DeleteAll(t.family)
		return e, nil
	}
	if (p.Kind == schemas.Put || p.Kind == schemas.PutIf || p.Kind == schemas.Append) && !p.Static {
		e.Put(st.family, markerQualifier, markerValue)
	}
	for _, w := range st.write {
		at, v := w.name, args[w.arg]
		switch {
		case w.column.Type.Collection():
			if err := st.putElements(e, w.column, v); err != nil {
				return nil, err
			}
		case p.Kind == schemas.Add:
			e.Increment(st.family, at, v.Int64())
		case v.IsNull():
			e.Delete(st.family, at)
		default:
			e.Put(st.family, at, encodeValue(v))
		}
	}
	return e, nil
}

// putElements adds the change of a collection to the edit.
func (st *statement) putElements(e *rpc.Edit, c *schemas.Column, v drivers.Value) error {
	t := c.Type
	if st.Pattern().Kind != schemas.Append { // the collection's own cell hides all older elements
		e.Put(st.family, []byte(c.Name), binary.BigEndian.AppendUint64(nil, nextStamp()))
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
			e.Put(st.family, qualifier, encodeValue(elems[i]))
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
		e.Put(st.family, qualifier, value)
	}
	return nil
}

// putCell adds to the edit the write of a row that is a cell.
func (st *statement) putCell(e *rpc.Edit, args []drivers.Value) error {
	t, p := st.table, st.Pattern()
	if p.Kind == schemas.Delete && len(p.By) == len(t.row) {
		e.DeleteAll(t.family)
		return nil
	}
	at, err := t.rest.Append(nil, 0, args[len(t.row):len(t.key)])
	if err != nil {
		return err
	}
	switch {
	case p.Kind == schemas.Delete:
		e.Delete(t.family, at)
	case p.Kind == schemas.Add:
		e.Increment(t.family, at, args[st.write[0].arg].Int64())
	case len(t.columns) == 0:
		e.Put(t.family, at, markerValue)
	case len(st.write) == 0: // the row may have a value, which stays
		e.Touch(t.family, at, encodeValue(drivers.Value{}))
	default:
		e.Put(t.family, at, encodeValue(args[st.write[0].arg]))
	}
	return nil
}

// conditions returns the conditions of a write. The session sends the edit with one of them
// after the other until one holds. HBase tests a condition and applies the edit in one step.
func (st *statement) conditions(e *rpc.Edit, args []drivers.Value) ([]*pb.Condition, error) {
	t, p := st.table, st.Pattern()
	if p.Kind != schemas.PutIf {
		return nil, nil
	}
	at := markerQualifier // the cell that says whether there is a row
	if st.cells {
		at = e.Qualifier()
	}
	absent := cellIs(e.Row, st.family, at, nil)
	switch {
	case p.Absent && !st.cells && len(t.added) > 0:
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
	case st.cells:
		is = cellIs(e.Row, st.family, at, appendValue(nil, want[0]))
	case len(want) == 1 && want[0].IsNull():
		return []*pb.Condition{cellIs(e.Row, st.family, []byte(p.If[0].Name), nil)}, nil
	case len(want) == 1:
		is = cellIs(e.Row, st.family, []byte(p.If[0].Name), appendValue(nil, want[0]))
	default:
		var all []*pb.Filter
		for i, c := range p.If {
			all = append(all, columnIs(st.family, c.Name, want[i]))
		}
		b, err := proto.Marshal(allOf(all...)) // the filter lets the row pass
		if err != nil {
			return nil, err
		}
		is = cellIs(e.Row, st.family, at, nil)
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
