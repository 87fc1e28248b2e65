package hbase

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

const (
	// maxCell is the largest cell that a region server takes, in bytes with its key: the
	// default of hbase.server.keyvalue.maxsize.
	maxCell = 10 << 20
	// maxRequest is how many bytes of cells fit into the largest request that it takes:
	// the default of hbase.ipc.max.request.size is 256 MiB. The rest of a request needs
	// less than 1 MiB.
	maxRequest = 255 << 20
)

const (
	// marker is the value of a cell whose mere existence counts.
	marker = "\x01"
	// markerName is the qualifier of the cell that makes a row exist, whatever
	// its columns hold. It sorts before all columns.
	markerName = "\x00"
)

// action is what an edit does to a cell.
type action uint8

const (
	putCell action = iota
	deleteCell
	deleteFamily // all cells of a family
	addToCell
)

// op is one change of an edit. Values are shared with the caller's arguments.
type op struct {
	action    action
	family    string
	qualifier []byte
	value     []byte // what a put stores
	early     bool   // the cell is hidden by any other cell of its column that is not deleted
	beyond    bool   // a delete that also hides cells whose timestamps are ahead of the clock
	delta     int64
}

// edit is a change of one HBase row, put together and then sent at once.
type edit struct {
	table []byte
	row   []byte
	ops   []op
	// once is true if the call returns the new value of an increment. The edit is then sent
	// only once: a server that knows the increment's nonce only from the log of a dead
	// server cannot answer with the value.
	once bool
	// counted is true if a pattern adds to cells of the table.
	counted bool
}

func (e *edit) add(o op) { e.ops = append(e.ops, o) }

// put writes a cell.
func (e *edit) put(family string, qualifier []byte, v drivers.Value) {
	e.add(op{action: putCell, family: family, qualifier: qualifier, value: encodeValue(v)})
}

func (e *edit) delete(family string, qualifier []byte) {
	e.add(op{action: deleteCell, family: family, qualifier: qualifier, beyond: e.counted})
}

func (e *edit) deleteAll(family string) {
	e.add(op{action: deleteFamily, family: family, beyond: e.counted})
}

// mergeChanges keeps the last of several changes of a cell, and the sum of several
// additions. A put that leaves a value as it is gives way to another put. Deletions of cells
// whose family is deleted are dropped. HBase does not order the changes of one edit.
func (e *edit) mergeChanges() {
	slices.SortStableFunc(e.ops, func(a, b op) int {
		return cmp.Or(cmp.Compare(a.family, b.family), bytes.Compare(a.qualifier, b.qualifier),
			cmp.Compare(kindOf(a), kindOf(b)))
	})
	out := e.ops[:0]
	for _, o := range e.ops {
		if n := len(out); n > 0 {
			last := &out[n-1]
			if last.family == o.family && kindOf(*last) == kindOf(o) && bytes.Equal(last.qualifier, o.qualifier) {
				o.delta += last.delta
				if o.early {
					o.early = last.early // the row does not exist if the last change deletes it
					if last.action == putCell {
						continue
					}
				}
				*last = o
				continue
			}
		}
		out = append(out, o)
	}
	e.ops = out
	whole := make([]string, 0, 4)
	for i := range e.ops {
		if e.ops[i].action == deleteFamily {
			whole = append(whole, e.ops[i].family)
		}
	}
	if len(whole) > 0 {
		e.ops = slices.DeleteFunc(e.ops, func(o op) bool {
			return o.action == deleteCell && slices.Contains(whole, o.family)
		})
	}
}

// kindOf distinguishes the deletion of a family from a change of its cell with the
// empty qualifier.
func kindOf(o op) int {
	if o.action == deleteFamily {
		return 1
	}
	return 0
}

// mutations returns how many mutations of HBase the edit consists of.
func (e *edit) mutations() (n int) {
	for _, k := range mutationKinds {
		if slices.ContainsFunc(e.ops, func(o op) bool { return slices.Contains(k.actions, o.action) }) {
			n++
		}
	}
	return n
}

// check returns an error for what HBase would refuse. Nothing is sent yet.
func (e *edit) check() error {
	if err := checkRow(e.row); err != nil {
		return err
	}
	total := 0
	for i := range e.ops {
		o := &e.ops[i]
		size := cellOverhead + len(e.row) + len(o.family) + len(o.qualifier) + len(o.sent())
		if size > maxCell {
			return fmt.Errorf("a cell of %d bytes with its key, at most %d fit: %w", size, maxCell, drivers.ErrTooLarge)
		}
		total += size
	}
	if total > maxRequest {
		return fmt.Errorf("a change of one row of %d bytes, at most %d fit: %w", total, maxRequest, drivers.ErrTooLarge)
	}
	return nil
}

// sent returns the value that HBase gets.
func (o *op) sent() []byte {
	if o.action == addToCell {
		return binary.BigEndian.AppendUint64(nil, uint64(o.delta))
	}
	return o.value
}

// conditions returns the conditions of a write. The session sends the edit with one of them
// after the other until one holds. HBase tests a condition and applies the edit in one step.
func (st *statement) conditions(e *edit, args []drivers.Value) ([]*pb.Condition, error) {
	t, p := st.table, st.Pattern()
	if p.Kind != schemas.PutIf {
		return nil, nil
	}
	family, _ := st.family()
	wide := t.wide() && !p.Static
	at := []byte(markerName) // the cell that says whether there is a row
	if wide {
		at = e.ops[0].qualifier
	}
	absent := cellIs(e.row, family, at, nil)
	switch {
	case p.Absent && !wide && len(t.added) > 0:
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
	case wide:
		is = cellIs(e.row, family, at, appendValue(nil, want[0]))
	case len(want) == 1 && want[0].IsNull():
		return []*pb.Condition{cellIs(e.row, family, []byte(p.If[0].Name), nil)}, nil
	case len(want) == 1:
		is = cellIs(e.row, family, []byte(p.If[0].Name), appendValue(nil, want[0]))
	default:
		var all []*pb.Filter
		for i, c := range p.If {
			all = append(all, columnIs(family, c.Name, want[i]))
		}
		is = rowIs(e.row, family, allOf(all...))
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

// fieldConditionFilter is Condition.filter, a field that gohbase's copy of the protocol lacks.
const fieldConditionFilter = 7

// rowIs is the condition that the filter lets a row pass. gohbase's copy of the protocol
// does not have this condition and requires one on a cell, which HBase ignores if there is a filter.
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
