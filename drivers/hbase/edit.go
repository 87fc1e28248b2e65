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
	value     []byte // what a put stores, or the number that addToCell adds
	stamp     uint64 // the cell's timestamp: latest, first or beyond
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
	// counted is true if a pattern adds to cells of the table. Deletes then hide all older cells, also those whose
	// timestamps are ahead of the clock.
	counted bool
}

// put writes a cell.
func (e *edit) put(family string, qualifier, value []byte) {
	e.ops = append(e.ops, op{putCell, family, qualifier, value, latest})
}

// increment adds to the number in a cell.
func (e *edit) increment(family string, qualifier []byte, delta int64) {
	e.ops = append(e.ops, op{addToCell, family, qualifier, binary.BigEndian.AppendUint64(nil, uint64(delta)), latest})
}

// delete deletes a cell.
func (e *edit) delete(family string, qualifier []byte) { e.remove(deleteCell, family, qualifier) }

// deleteAll deletes all cells of a family.
func (e *edit) deleteAll(family string) { e.remove(deleteFamily, family, nil) }

func (e *edit) remove(what action, family string, qualifier []byte) {
	o := op{what, family, qualifier, nil, latest}
	if e.counted {
		o.stamp = beyond
	}
	e.ops = append(e.ops, o)
}

// mergeChanges keeps the last of several changes of a cell, and the sum of several
// additions. A put that leaves a value as it is gives way to another put. HBase does not order the changes of one
// edit.
func (e *edit) mergeChanges() {
	slices.SortStableFunc(e.ops, func(a, b op) int {
		return cmp.Or(cmp.Compare(a.family, b.family), bytes.Compare(a.qualifier, b.qualifier))
	})
	out := e.ops[:0]
	for _, o := range e.ops {
		n := len(out)
		if n == 0 || out[n-1].family != o.family || !bytes.Equal(out[n-1].qualifier, o.qualifier) {
			out = append(out, o)
			continue
		}
		switch last := &out[n-1]; {
		case o.action == addToCell && last.action == addToCell:
			sum := binary.BigEndian.Uint64(last.value) + binary.BigEndian.Uint64(o.value)
			last.value = binary.BigEndian.AppendUint64(nil, sum)
		case o.stamp != first:
			*last = o
		case last.action != putCell: // the row does not exist after that change
			o.stamp = latest
			*last = o
		}
	}
	e.ops = out
}

// mutations returns how many mutations of HBase the edit consists of.
func (e *edit) mutations() (n int) {
	for _, kind := range mutationKinds {
		if slices.ContainsFunc(e.ops, func(o op) bool { return mutationOf[o.action] == kind }) {
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
		size := cellOverhead + len(e.row) + len(o.family) + len(o.qualifier) + len(o.value)
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
