package hbase

import (
	"fmt"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// conditions returns the conditions of a write. The session sends the edit with one of them
// after the other until one holds. HBase tests a condition and applies the edit in one step.
func (st *statement) conditions(e *edit, args []drivers.Value) ([]*pb.Condition, error) {
	t, p := st.table, st.Pattern()
	family, columns := st.family()
	if t.wide() && !p.Static {
		qualifier := e.qualifier(&e.ops[0])
		switch {
		case p.Kind == schemas.PutIf && p.Absent:
			return []*pb.Condition{cellIs(e.row, family, qualifier, nil)}, nil
		case p.Kind == schemas.PutIf:
			want := args[st.Layout.If]
			if err := plan.CheckKind(p.If[0], want.Kind()); err != nil {
				return nil, err
			}
			is := []*pb.Condition{cellIs(e.row, family, qualifier, appendValue(nil, want))}
			if want.IsNull() { // the column of an absent row is null too
				is = append(is, cellIs(e.row, family, qualifier, nil))
			}
			return is, nil
		}
		return nil, nil
	}
	if p.Kind != schemas.PutIf {
		return nil, nil
	}
	if p.Absent {
		return st.absent(e, family)
	}
	if p.Present {
		there := cellIs(e.row, family, []byte(markerName), nil)
		there.CompareType = pb.CompareType_NOT_EQUAL.Enum()
		return []*pb.Condition{there}, nil
	}
	nulls := 0
	for i, c := range p.If {
		want := args[st.Layout.If+i]
		if err := plan.CheckKind(c, want.Kind()); err != nil {
			return nil, err
		}
		if want.IsNull() {
			nulls++
		}
	}
	if len(p.If) == 1 {
		var value []byte
		if nulls == 0 {
			value = appendValue(nil, args[st.Layout.If])
		}
		return []*pb.Condition{cellIs(e.row, family, []byte(p.If[0].Name), value)}, nil
	}
	var all []*pb.Filter
	for i, at := range st.conds {
		all = append(all, columnIs(family, columns[at].Name, args[st.Layout.If+i]))
	}
	is := []*pb.Condition{rowIs(e.row, family, allOf(all...))}
	if nulls == len(p.If) { // the columns of an absent row are null too
		return append(is, cellIs(e.row, family, []byte(markerName), nil)), nil
	}
	return is, nil
}

// absent returns the condition that a row does not exist.
func (st *statement) absent(e *edit, family string) ([]*pb.Condition, error) {
	if len(st.table.added) == 0 {
		return []*pb.Condition{cellIs(e.row, family, []byte(markerName), nil)}, nil
	}
	return nil, fmt.Errorf("table %s has columns that are counted up: %w", st.table.schema.Name, drivers.ErrUnsupported)
}

// cellIs is the condition that a cell has the value, or that it is absent if
// that is nil.
func cellIs(row []byte, family string, qualifier []byte, value []byte) *pb.Condition {
	return &pb.Condition{
		Row: row, Family: []byte(family), Qualifier: qualifier,
		CompareType: pb.CompareType_EQUAL.Enum(), Comparator: equalTo(value),
	}
}

// rowIs is the condition that the filter lets a row pass. gohbase's copy of the protocol
// lacks this condition and requires one on a cell, which HBase ignores if there is a filter.
func rowIs(row []byte, family string, f *pb.Filter) *pb.Condition {
	c := cellIs(row, family, []byte(markerName), nil)
	b, err := proto.Marshal(f)
	if err != nil {
		panic(err) // names and bytes can always be written
	}
	c.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, fieldConditionFilter,
		protowire.BytesType), b))
	return c
}
