package hbase

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// nonceGroup distinguishes this process's nonces from those of others.
var nonceGroup = rand.Uint64()

// mutationOf is the type of mutation of each action, and mutationKinds are all of them. Nearly all edits need only one.
var (
	mutationOf = [...]pb.MutationProto_MutationType{
		putCell: pb.MutationProto_PUT, deleteCell: pb.MutationProto_DELETE, deleteFamily: pb.MutationProto_DELETE,
		addToCell: pb.MutationProto_INCREMENT,
	}
	mutationKinds = [...]pb.MutationProto_MutationType{
		pb.MutationProto_PUT, pb.MutationProto_DELETE, pb.MutationProto_INCREMENT,
	}
)

// newMutation returns a call that applies an edit: by one mutation (Mutate), or by several of different types that take
// effect at once or not at all (Multi with atomic). An increment gets a nonce: by it the server recognizes an increment
// that is sent again after its connection was lost, and answers as it did before.
func newMutation(e *edit, condition *pb.Condition, d *pb.MutationProto_Durability) *call {
	var all []*pb.Action
	var cells []byte
	increments := false
	for _, kind := range mutationKinds {
		n := int32(0)
		for i := range e.ops {
			if o := &e.ops[i]; mutationOf[o.action] == kind {
				cells = appendCell(cells, e.row, o)
				n++
			}
		}
		if n == 0 {
			continue
		}
		m := &pb.MutationProto{Row: e.row, MutateType: kind.Enum(), AssociatedCellCount: &n, Durability: d}
		if increments = kind == pb.MutationProto_INCREMENT; increments {
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
		refused := exceptionIn(several)
		if refused == nil {
			return c, condition == nil || several.GetProcessed(), nil
		}
		if !isOne(refused, moved) {
			return nil, false, explain(ctx, c, refused)
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

// exceptionIn returns the exception in the answer to several mutations, where gohbase does not see it; nil if they
// were applied.
func exceptionIn(m *pb.MultiResponse) error {
	results := m.GetRegionActionResult()
	if len(results) != 1 {
		return errMulti
	}
	exception := results[0].GetException()
	for _, r := range results[0].GetResultOrException() {
		if exception == nil {
			exception = r.GetException()
		}
	}
	if exception == nil {
		return nil
	}
	return newJava(exception.GetName(), string(exception.GetValue()))
}

const (
	// maxTogether is how many rows one multi reads or changes at most.
	maxTogether = 500
	// maxMulti is how many bytes of cells one multi changes at most, unless a single change is
	// larger. HBase's own client sends as many to a server at once
	// (hbase.client.max.perrequest.heapsize).
	maxMulti = 4 << 20
)
