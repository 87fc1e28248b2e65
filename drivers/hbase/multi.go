package hbase

import (
	"context"
	"errors"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers"
)

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
	bounded, stop := sl.timeout.start(ctx)
	m.batch = m.batch[:0]
	for _, c := range calls {
		c.ctx, c.stop = bounded, stop
		c.sent, c.answered, c.conn, c.block, c.sendings = true, false, nil, nil, 0 // gohbase's own goroutine will send it
		m.batch = append(m.batch, batchable{c, anyBatchable})
	}
	sl.counts()
	results, ok := c.client.SendBatch(bounded, m.batch)
	clear(m.batch)
	if ok {
		sl.timeout.stop()
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
	sl.timeout.end()
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
