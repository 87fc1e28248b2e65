package hbase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
)

// maxKeptCells is the largest buffer of cells in bytes that a slot keeps.
const maxKeptCells = 4 << 20

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

// encode makes the call an edit, with the condition if there is one.
func (c *call) encode(e *edit, condition *pb.Condition, d *pb.MutationProto_Durability) {
	c.begin("", e.table, e.row)
	c.mutate.begin()
	c.cells = c.cellsBuf[:0]
	for _, k := range mutationKinds {
		n := 0
		for i := range e.ops {
			if o := &e.ops[i]; slices.Contains(k.actions, o.action) {
				c.cells = e.appendCell(c.cells, o)
				n++
			}
		}
		if n > 0 {
			c.mutate.add(k.mutation, e.row, n, d)
		}
	}
	c.cellsBuf = c.cells[:0]
	c.asMutation(condition)
	c.batchable = c.mutate.n == 1 && condition == nil && c.mutate.types[0] != pb.MutationProto_INCREMENT
	// A put or delete may be sent again, and so may an increment alone, which has a nonce. A
	// conditional edit may not: its first sending may have changed whether the condition holds.
	c.once = e.once || condition != nil || c.mutate.n > 1 && c.mutate.types[c.mutate.n-1] == pb.MutationProto_INCREMENT
}

// increments reports whether the call adds to cells: HBase reads the row first.
func (c *call) increments() bool {
	m := &c.mutate
	return c.writes() && m.types[m.n-1] == pb.MutationProto_INCREMENT
}

func (e *edit) appendCell(dst []byte, o *op) []byte {
	kind := byte(typePut)
	switch o.action {
	case deleteCell:
		kind = typeDeleteColumn
	case deleteFamily:
		kind = typeDeleteFamily
	}
	return appendCell(dst, e.row, o.family, e.qualifier(o), o, kind)
}

// apply sends an edit. applied is false if the condition does not hold. After an increment the
// slot's call has the new values (eachCell).
func (sl *slot) apply(ctx context.Context, e *edit, condition *pb.Condition,
	d *pb.MutationProto_Durability,
) (applied bool, err error) {
	if err := e.check(); err != nil {
		return false, err
	}
	if len(e.ops) == 0 {
		return true, nil
	}
	var again backoff
	defer func() {
		sl.last = time.Time{}
		sl.again = false
	}()
	for {
		sl.call.encode(e, condition, d)
		m := &sl.call.mutate
		if m.n > 1 && again.attempts == 0 {
			again.deadline = time.Now().Add(sl.timeout)
		}
		if err := sl.send(ctx); err != nil {
			return false, err
		}
		if !sl.again && (condition != nil || sl.call.increments()) {
			sl.cost.Cost.RowsExamined++ // HBase reads the row first
		}
		sl.dropLargeBuffer()
		if m.n == 1 {
			return condition == nil || m.response.GetProcessed(), nil
		}
		refused, err := checkMulti(m)
		if err != nil {
			return false, err
		}
		if refused == nil {
			return condition == nil || m.several.GetProcessed(), nil
		}
		if err := again.wait(ctx, refused); err != nil {
			return false, err
		}
		sl.last = again.deadline
		sl.again = true
		if err := sl.awaitRegion(ctx); err != nil {
			return false, err
		}
	}
}

// dropLargeBuffer drops the buffer of sent cells if it is large.
func (sl *slot) dropLargeBuffer() {
	c := sl.call
	if c.cells = nil; cap(c.cellsBuf) > maxKeptCells {
		c.cellsBuf = nil
	}
}

var errMulti = errors.New("HBase's answer to a change of one row has no result")

// checkMulti reads the answer to several mutations. gohbase does not see the exceptions in
// this answer. checkMulti returns one as refused if the region has moved or is busy: then
// nothing was applied, and the change may be sent again.
func checkMulti(m *mutateCall) (refused *javaError, err error) {
	results := m.several.GetRegionActionResult()
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

// awaitRegion gets the row of the slot's call: that makes gohbase find its region and wait
// for it.
func (sl *slot) awaitRegion(ctx context.Context) error {
	sl.call.asGet(sl.call.table, sl.call.key, nil, nil, 1)
	return sl.send(ctx)
}

const (
	// maxTogether is how many rows one multi reads or changes at most.
	maxTogether = 500
	// maxMulti is how many bytes of cells one multi changes at most, unless a single change is
	// larger. HBase's own client sends as many to a server at once
	// (hbase.client.max.perrequest.heapsize).
	maxMulti = 4 << 20
)

// multi sends calls of one table together: one request to each region server. HBase applies
// each call by itself. The calls keep their buffers for the next multi.
type multi struct {
	calls []*call
	n     int // calls in use
	batch []hrpc.Call
}

// begin empties the multi.
func (m *multi) begin() { m.n = 0 }

// next adds a call. The caller prepares it.
func (m *multi) next() *call {
	if m.n == len(m.calls) {
		m.calls = append(m.calls, newCall())
	}
	m.n++
	return m.calls[m.n-1]
}

// send sends the calls and waits for all answers, at most for the slot's timeout. done is how
// many calls took effect for certain. After an error the multi drops its calls, because gohbase
// may still write to them.
func (m *multi) send(ctx context.Context, c *cluster, sl *slot) (done int, err error) {
	if m.n == 0 {
		return 0, nil
	}
	calls := m.calls[:m.n]
	bounded, stop := sl.begin(ctx)
	defer stop(nil)
	m.batch = m.batch[:0]
	for _, c := range calls {
		c.ctx, c.stop = bounded, stop
		c.sent, c.answered, c.conn, c.block, c.sendings = true, false, nil, nil, 0 // gohbase's own goroutine will send it
		m.batch = append(m.batch, batchable{c, anyBatchable})
	}
	results, ok := c.client.SendBatch(bounded, m.batch)
	clear(m.batch)
	if ok {
		sl.countBatch(calls)
		m.dropLargeBuffers()
		return m.n, nil
	}
	m.calls = nil
	for i := range results {
		failed := results[i].Error
		switch {
		case failed == nil:
			done++
		case errors.Is(failed, gohbase.NotExecutedError):
		case err == nil || !errors.Is(err, drivers.ErrUnknown):
			err = explain(ctx, calls[i], failed)
		}
	}
	if err == nil && done < len(calls) {
		err = explain(ctx, calls[0], gohbase.NotExecutedError)
	}
	return done, err
}

// dropLargeBuffers drops the buffers of sent cells if they are large together.
func (m *multi) dropLargeBuffers() {
	size := 0
	for _, c := range m.calls {
		c.cells = nil
		size += cap(c.cellsBuf)
	}
	for i := 0; size > maxKeptCells && i < len(m.calls); i++ {
		m.calls[i].cellsBuf = nil
	}
}
