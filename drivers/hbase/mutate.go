package hbase

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
)

// nonceGroup distinguishes this process's nonces from those of others.
var nonceGroup = rand.Uint64()

// mutationKinds are the types of mutation that an edit consists of, each with its actions.
// Nearly all edits need only one.
var mutationKinds = [...]struct {
	mutation pb.MutationProto_MutationType
	actions  []action
}{
	{pb.MutationProto_PUT, []action{putCell}},
	{pb.MutationProto_DELETE, []action{deleteCell, deleteFamily}},
	{pb.MutationProto_INCREMENT, []action{addToCell}},
}

// newMutation returns a call that applies an edit: by one mutation (Mutate), or by several of different types that take
// effect at once or not at all (Multi with atomic). An increment gets a nonce: by it the server recognizes an increment
// that is sent again after its connection was lost, and answers as it did before.
func newMutation(e *edit, condition *pb.Condition, d *pb.MutationProto_Durability) *call {
	var all []*pb.Action
	var cells []byte
	increments := false
	for _, k := range mutationKinds {
		n := int32(0)
		for i := range e.ops {
			if o := &e.ops[i]; slices.Contains(k.actions, o.action) {
				cells = appendCell(cells, e.row, o)
				n++
			}
		}
		if n == 0 {
			continue
		}
		m := &pb.MutationProto{Row: e.row, MutateType: k.mutation.Enum(), AssociatedCellCount: &n, Durability: d}
		if increments = k.mutation == pb.MutationProto_INCREMENT; increments {
			m.Nonce = proto.Uint64(rand.Uint64())
		}
		all = append(all, &pb.Action{Mutation: m})
	}
	var c *call
	region := new(pb.RegionSpecifier)
	if len(all) == 1 {
		c = newCall("Mutate", e.table, e.row, &pb.MutateRequest{
			Region: region, Mutation: all[0].Mutation, Condition: condition, NonceGroup: &nonceGroup,
		}, new(pb.MutateResponse))
	} else {
		c = newCall("Multi", e.table, e.row, &pb.MultiRequest{
			RegionAction: []*pb.RegionAction{{Region: region, Atomic: yes, Action: all}},
			NonceGroup:   &nonceGroup, Condition: condition,
		}, new(pb.MultiResponse))
	}
	c.place, c.cells, c.readsRow = region, cells, increments || condition != nil
	c.batchable = len(all) == 1 && !c.readsRow
	// A put or delete may be sent again, and so may an increment alone, which has a nonce. A
	// conditional edit may not: its first sending may have changed whether the condition holds.
	c.once = e.once || condition != nil || len(all) > 1 && increments
	return c
}

// apply sends an edit. applied is false if the condition does not hold. The call has the new values of an increment.
func (s *sender) apply(ctx context.Context, e *edit, condition *pb.Condition) (c *call, applied bool, err error) {
	if err := e.check(); err != nil {
		return nil, false, err
	}
	if len(e.ops) == 0 {
		return nil, true, nil
	}
	again := backoff{deadline: time.Now().Add(s.timeout)}
	for {
		c = newMutation(e, condition, s.wal)
		c.again, c.deadline = again.attempts > 0, again.deadline
		if err := s.send(ctx, c); err != nil {
			return nil, false, err
		}
		if one, ok := c.response.(*pb.MutateResponse); ok {
			return c, condition == nil || one.GetProcessed(), nil
		}
		several := c.response.(*pb.MultiResponse)
		refused, err := checkMulti(several)
		if err != nil {
			return nil, false, err
		}
		if refused == nil {
			return c, condition == nil || several.GetProcessed(), nil
		}
		if err := again.wait(ctx, refused); err != nil {
			return nil, false, err
		}
		// A Get of the row makes gohbase find its region and wait for it.
		find := newGet(e.table, e.row, nil, nil, 1)
		find.again, find.deadline = true, again.deadline
		if err := s.send(ctx, find); err != nil {
			return nil, false, err
		}
	}
}

var errMulti = errors.New("HBase's answer to a change of one row has no result")

// checkMulti reads the answer to several mutations. gohbase does not see the exceptions in
// this answer. checkMulti returns one as refused if the region has moved or is busy: then
// nothing was applied, and the change may be sent again.
func checkMulti(m *pb.MultiResponse) (refused *javaError, err error) {
	results := m.GetRegionActionResult()
	if len(results) != 1 {
		return nil, fmt.Errorf("%w: %w", drivers.ErrUnknown, errMulti)
	}
	exception := results[0].GetException()
	for _, r := range results[0].GetResultOrException() {
		if exception == nil {
			exception = r.GetException()
		}
	}
	if exception == nil {
		return nil, nil
	}
	j := &javaError{class: exception.GetName(), message: firstLine(string(exception.GetValue()), exception.GetName())}
	switch {
	case j.tooLarge():
		return nil, fmt.Errorf("%w: %w", drivers.ErrTooLarge, j)
	case j.is(moved):
		return j, nil
	case j.is(refusals):
		return nil, j
	}
	return nil, fmt.Errorf("%w: %w", drivers.ErrUnknown, j)
}

const (
	// maxTogether is how many rows one multi reads or changes at most.
	maxTogether = 500
	// maxMulti is how many bytes of cells one multi changes at most, unless a single change is
	// larger. HBase's own client sends as many to a server at once
	// (hbase.client.max.perrequest.heapsize).
	maxMulti = 4 << 20
)

// The types of cells (org.apache.hadoop.hbase.KeyValue.Type).
const (
	typePut          = 4
	typeDeleteColumn = 12 // all versions of one column
	typeDeleteFamily = 14 // all columns of one family
)

const (
	// latest is the timestamp of a cell that the region server stamps (HConstants.LATEST_TIMESTAMP).
	latest = 1<<63 - 1
	// beyond is the timestamp of a delete that hides all cells written before it, also those whose
	// timestamps run ahead of the clock, as an Increment's do.
	beyond = latest - 1
	// first is a timestamp before that of every cell that a region server stamps.
	first = 1
)

// cellOverhead is the size of a cell in bytes without row, family, qualifier and value.
const cellOverhead = 4 + 4 + 4 + 2 + 1 + 8 + 1

// appendCell appends a cell in the form of HBase's KeyValueCodec: the length of all that
// follows, the length of the key, the length of the value; then the key, which is row,
// family, qualifier, timestamp and type; then the value. The server sets the timestamp, except
// that of an op that must hide no older cell, or all of them.
func appendCell(dst, row []byte, o *op) []byte {
	key, value := 2+len(row)+1+len(o.family)+len(o.qualifier)+8+1, o.sent()
	dst = slices.Grow(dst, 12+key+len(value))
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+4+key+len(value)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(key))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(value)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(row)))
	dst = append(dst, row...)
	dst = append(dst, byte(len(o.family)))
	dst = append(dst, o.family...)
	dst = append(dst, o.qualifier...)
	kind, stamp := byte(typePut), uint64(latest)
	switch o.action {
	case deleteCell:
		kind = typeDeleteColumn
	case deleteFamily:
		kind = typeDeleteFamily
	}
	switch {
	case o.early:
		stamp = first
	case o.beyond:
		stamp = beyond
	}
	dst = binary.BigEndian.AppendUint64(dst, stamp)
	dst = append(dst, kind)
	return append(dst, value...)
}
