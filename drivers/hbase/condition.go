package hbase

import (
	"fmt"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// conditions returns on what the write depends: none, or several that HBase is
// given one after another until one holds. Each is tested and the edit applied
// in one step, so that the write takes effect at a moment at which one held.
func (st *statement) conditions(e *edit, args []drivers.Value) ([]*pb.Condition, error) {
	t, p := st.table, st.Pattern()
	family, columns := st.family()
	if t.wide() && !p.Static {
		qualifier := e.qualifier(&e.ops[0])
		switch {
		case p.Kind == schemas.Put && len(p.Columns) == 0 && len(t.columns) > 0, p.Kind == schemas.PutIf && p.Absent:
			return []*pb.Condition{cellIs(e.row, family, qualifier, nil)}, nil
		case p.Kind == schemas.PutIf:
			want := args[st.Layout.If]
			if err := checkKind(p.If[0], want.Kind()); err != nil {
				return nil, err
			}
			is := []*pb.Condition{cellIs(e.row, family, qualifier, appendValue(nil, want))}
			if want.IsNull() { // so it is in a row that is not there
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
	nulls := 0
	for i, c := range p.If {
		want := args[st.Layout.If+i]
		if err := checkKind(c, want.Kind()); err != nil {
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
	if nulls == len(p.If) { // so they are in a row that is not there
		return append(is, cellIs(e.row, family, []byte(markerName), nil)), nil
	}
	return is, nil
}

// absent is the condition that a row is not there: neither its marker nor what
// counting up has made.
func (st *statement) absent(e *edit, family string) ([]*pb.Condition, error) {
	if len(st.table.added) == 0 {
		return []*pb.Condition{cellIs(e.row, family, []byte(markerName), nil)}, nil
	}
	return nil, fmt.Errorf("table %s has columns that are counted up: %w", st.table.schema.Name, drivers.ErrUnsupported)
}

// cellIs is the condition that a cell has the value, or that it is absent if
// that is nil.
func cellIs(row []byte, family string, qualifier []byte, value []byte) *pb.Condition {
	return &pb.Condition{Row: row, Family: []byte(family), Qualifier: qualifier, CompareType: pb.CompareType_EQUAL.Enum(), Comparator: equalTo(value)}
}

// rowIs is the condition that the filter lets a row pass. gohbase's copy of the
// protocol does not know it, and asks for a condition on a cell beside it,
// which HBase then does not look at.
func rowIs(row []byte, family string, f *pb.Filter) *pb.Condition {
	c := cellIs(row, family, []byte(markerName), nil)
	b, err := proto.Marshal(f)
	if err != nil {
		panic(err) // names and bytes can always be written
	}
	c.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, fieldConditionFilter, protowire.BytesType), b))
	return c
}
