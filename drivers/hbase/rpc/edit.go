package rpc

import (
	"bytes"
	"cmp"
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

const (
	// MaxRow is the longest row key that HBase takes, in bytes (HConstants.MAX_ROW_LENGTH).
	MaxRow = 1<<15 - 1
	// MaxCell is the largest cell that a region server takes, in bytes with its key: the
	// default of hbase.server.keyvalue.maxsize.
	MaxCell = 10 << 20
	// MaxRequest is how many bytes of cells fit into the largest request that it takes:
	// the default of hbase.ipc.max.request.size is 256 MiB. The rest of a request needs
	// less than 1 MiB.
	MaxRequest = 255 << 20
)

// Action is what an edit does to a cell.
type Action struct {
	mutation pb.MutationProto_MutationType
	cell     byte   // the type of the cell that says it (org.apache.hadoop.hbase.KeyValue.Type)
	stamp    uint64 // the cell's timestamp
}

var (
	// Put writes a cell.
	Put = Action{pb.MutationProto_PUT, 4, latest}
	// Touch makes a cell exist, and leaves its value if it has one: any other cell of its column that is not deleted
	// hides what Touch writes.
	Touch = Action{pb.MutationProto_PUT, 4, first}
	// Increment adds a number of 8 bytes to that in a cell.
	Increment = Action{pb.MutationProto_INCREMENT, 4, latest}
	// Delete deletes all versions of a cell, and DeleteAll all cells of a family.
	Delete    = Action{pb.MutationProto_DELETE, 12, latest}
	DeleteAll = Action{pb.MutationProto_DELETE, 14, latest}
)

// mutations are the types of mutations. Nearly all edits need only one.
var mutations = [...]pb.MutationProto_MutationType{
	pb.MutationProto_PUT, pb.MutationProto_DELETE, pb.MutationProto_INCREMENT,
}

const (
	// latest is the timestamp of a cell that the region server stamps (HConstants.LATEST_TIMESTAMP).
	latest = 1<<63 - 1
	// beyond is the timestamp of a delete that hides all cells written before it, also those whose
	// timestamps run ahead of the clock, as an Increment's do.
	beyond = latest - 1
	// first is a timestamp before that of every cell that a region server stamps.
	first = 1
)

// CellOverhead is the size of a cell in bytes without row, family, qualifier and value.
const CellOverhead = 4 + 4 + 4 + 2 + 1 + 8 + 1

// Op is one change of an edit. Values are shared with the caller's arguments.
type Op struct {
	Action
	family    string
	Qualifier []byte
	value     []byte
}

// size is that of the cell that says it.
func (o *Op) size(row []byte) int {
	return CellOverhead + len(row) + len(o.family) + len(o.Qualifier) + len(o.value)
}

// Edit is a change of one HBase row, put together and then sent in one request.
type Edit struct {
	Table []byte
	Row   []byte
	Ops   []Op
	// Once is true if the call returns the new value of an increment. The edit is then sent
	// only once: a server that knows the increment's nonce only from the log of a dead
	// server cannot answer with the value.
	Once bool
	// Counted is true if a pattern adds to cells of the table. Deletes then hide all older cells, also those whose
	// timestamps are ahead of the clock.
	Counted bool
}

// Do adds a change of a cell.
func (e *Edit) Do(what Action, family string, qualifier, value []byte) {
	if e.Counted && what.mutation == pb.MutationProto_DELETE {
		what.stamp = beyond
	}
	e.Ops = append(e.Ops, Op{what, family, qualifier, value})
}

// Merge keeps the last of several changes of a cell, and the sum of several
// additions. A put that leaves a value as it is gives way to another put. HBase does not order the changes of one
// edit.
func (e *Edit) Merge() {
	slices.SortStableFunc(e.Ops, func(a, b Op) int {
		return cmp.Or(cmp.Compare(a.family, b.family), bytes.Compare(a.Qualifier, b.Qualifier))
	})
	out := e.Ops[:0]
	for _, o := range e.Ops {
		n := len(out)
		if n == 0 || out[n-1].family != o.family || !bytes.Equal(out[n-1].Qualifier, o.Qualifier) {
			out = append(out, o)
			continue
		}
		switch last := &out[n-1]; {
		case o.Action == Increment && last.Action == Increment:
			sum := binary.BigEndian.Uint64(last.value) + binary.BigEndian.Uint64(o.value)
			last.value = binary.BigEndian.AppendUint64(nil, sum)
		case o.Action != Touch:
			*last = o
		case last.mutation != pb.MutationProto_PUT: // the row does not exist after that change
			o.Action = Put
			*last = o
		}
	}
	e.Ops = out
}

// Single reports whether one mutation of HBase applies the edit.
func (e *Edit) Single() bool {
	return len(e.Ops) > 0 && !slices.ContainsFunc(e.Ops[1:], func(o Op) bool {
		return o.mutation != e.Ops[0].mutation
	})
}

// Check returns an error for what HBase would refuse. Nothing is sent yet.
func (e *Edit) Check() error {
	if err := CheckRow(e.Row); err != nil {
		return err
	}
	total := 0
	for i := range e.Ops {
		o := &e.Ops[i]
		size := o.size(e.Row)
		if size > MaxCell {
			return fmt.Errorf("a cell of %d bytes with its key, at most %d fit: %w", size, MaxCell, drivers.ErrTooLarge)
		}
		total += size
	}
	if total > MaxRequest {
		return fmt.Errorf("a change of one row of %d bytes, at most %d fit: %w", total, MaxRequest, drivers.ErrTooLarge)
	}
	return nil
}

// CheckRow reports a row key that HBase does not take.
func CheckRow(row []byte) error {
	switch {
	case len(row) > MaxRow:
		return fmt.Errorf("a row key of %d bytes, at most %d fit: %w", len(row), MaxRow, drivers.ErrTooLarge)
	case len(row) == 0:
		return errors.New("an empty row key")
	}
	return nil
}

// nonceGroup distinguishes this process's nonces from those of others.
var nonceGroup = rand.Uint64()

// newMutation returns a call that applies an edit: by one mutation (Mutate), or by several of different types that take
// effect together or not at all (Multi with atomic). An increment gets a nonce: by it the server recognizes an
// increment that is sent again after its connection was lost, and answers as it did before.
func newMutation(e *Edit, condition *pb.Condition, d *pb.MutationProto_Durability) *Call {
	size := 0
	for i := range e.Ops {
		size += e.Ops[i].size(e.Row)
	}
	var all []*pb.Action
	cells, increments := make([]byte, 0, size), false
	for _, kind := range mutations {
		n := int32(0)
		for i := range e.Ops {
			if o := &e.Ops[i]; o.mutation == kind {
				cells = appendCell(cells, e.Row, o)
				n++
			}
		}
		if n == 0 {
			continue
		}
		m := &pb.MutationProto{Row: e.Row, MutateType: kind.Enum(), AssociatedCellCount: &n, Durability: d}
		if increments = kind == pb.MutationProto_INCREMENT; increments {
			m.Nonce = proto.Uint64(rand.Uint64())
		}
		all = append(all, &pb.Action{Mutation: m})
	}
	c := &Call{
		table: e.Table, key: e.Row, place: new(pb.RegionSpecifier), cells: cells, readsRow: increments || condition != nil,
		// A put or delete may be sent again, and so may an increment alone, which has a nonce. A
		// conditional edit may not: its first sending may have changed whether the condition holds.
		once: e.Once || condition != nil || len(all) > 1 && increments,
	}
	if len(all) == 1 {
		c.method, c.response = "Mutate", new(pb.MutateResponse)
		c.Request = &pb.MutateRequest{
			Region: c.place, Mutation: all[0].Mutation, Condition: condition, NonceGroup: &nonceGroup,
		}
	} else {
		c.method, c.response = "Multi", new(pb.MultiResponse)
		c.Request = &pb.MultiRequest{
			RegionAction: []*pb.RegionAction{{Region: c.place, Atomic: yes, Action: all}},
			NonceGroup:   &nonceGroup, Condition: condition,
		}
	}
	return c
}

// appendCell appends a cell in the form of HBase's KeyValueCodec: the length of all that
// follows, the length of the key, the length of the value; then the key, which is row,
// family, qualifier, timestamp and type; then the value. The server sets the timestamp, except
// that of an op that must hide no older cell, or all of them.
func appendCell(dst, row []byte, o *Op) []byte {
	key := 2 + len(row) + 1 + len(o.family) + len(o.Qualifier) + 8 + 1
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+4+key+len(o.value)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(key))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(o.value)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(row)))
	dst = append(dst, row...)
	dst = append(dst, byte(len(o.family)))
	dst = append(dst, o.family...)
	dst = append(dst, o.Qualifier...)
	dst = binary.BigEndian.AppendUint64(dst, o.stamp)
	dst = append(dst, o.cell)
	return append(dst, o.value...)
}

// ApplyTogether applies edits of rows of one table, each by itself and by one mutation: in one request to each region
// server. done is how many took effect for certain.
func (s *Sender) ApplyTogether(ctx context.Context, edits []*Edit) (done int, err error) {
	calls := make([]*Call, len(edits))
	for i, e := range edits {
		calls[i] = newMutation(e, nil, s.WAL)
	}
	return s.SendTogether(ctx, calls)
}

// Apply applies an edit, if there are conditions with one after the other until one holds. applied is false if none
// does. The call has the new values of an increment.
func (s *Sender) Apply(ctx context.Context, e *Edit, conditions ...*pb.Condition) (c *Call, applied bool, err error) {
	if err := e.Check(); err != nil || len(e.Ops) == 0 {
		return nil, err == nil, err
	}
	if len(conditions) == 0 {
		conditions = []*pb.Condition{nil}
	}
	for i := 0; i < len(conditions) && !applied && err == nil; i++ {
		c, applied, err = s.apply(ctx, e, conditions[i])
	}
	return c, applied, err
}

// The first and the longest pause before a change of one row that HBase refuses for now is sent again. gohbase, too,
// begins with 16 ms when it sends other calls again.
const (
	firstPause   = 16 * time.Millisecond
	longestPause = time.Second
)

// apply applies an edit. applied is false if the condition does not hold. All attempts, and the pauses between, share
// the timeout of one call. A pause is twice as long as the one before, and chance takes off up to a half of it, so that
// refused clients do not all come back together. If no time is left for another attempt, the error is the refusal,
// which says that nothing was applied.
func (s *Sender) apply(ctx context.Context, e *Edit, condition *pb.Condition) (c *Call, applied bool, err error) {
	deadline, longest := time.Now().Add(s.Timeout), firstPause
	for attempts := 1; ; attempts++ {
		c = newMutation(e, condition, s.WAL)
		c.again, c.deadline = attempts > 1, deadline
		if err := s.Send(ctx, c); err != nil {
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
		pause := longest/2 + rand.N(longest/2)
		longest = min(2*longest, longestPause)
		if time.Until(deadline) <= pause {
			return nil, false, fmt.Errorf("%w (rejected %d times, until the timeout)", refused, attempts)
		}
		if err := drivers.Pause(ctx, pause); err != nil {
			return nil, false, err
		}
		// A Get of the row makes gohbase find its region and wait for it.
		find := NewGet(Range{Table: e.Table, Start: e.Row}, 1)
		find.again, find.deadline = true, deadline
		if err := s.Send(ctx, find); err != nil {
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
	return NewException(exception.GetName(), string(exception.GetValue()))
}
