package hbase

import (
	"context"
	"sync"

	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers"
)

var _ drivers.TracedSession = (*tracedSession)(nil)

// tracedSession is a session that counts what its calls did.
type tracedSession struct {
	*session
}

func newTraced(s *session) *tracedSession {
	s.slot.tally = new(tally)
	return &tracedSession{s}
}

// tally counts what the calls of a traced session did. For a scan, region servers return how
// many rows and bytes of blocks they read. For other calls, tally counts only the answer.
type tally struct {
	mu      sync.Mutex // calls may run in parallel
	all     []drivers.Work
	regions map[string]bool // names of the regions in the current piece of work
}

// Begin implements drivers.TracedSession.
func (t *tracedSession) Begin() {
	next := drivers.Untold
	next.Requests, next.Nodes, next.Rows, next.Cells, next.Bytes = 0, 0, 0, 0, 0
	t.slot.tally.all = append(t.slot.tally.all, next)
	t.slot.tally.regions = make(map[string]bool)
}

// Work implements drivers.TracedSession.
func (t *tracedSession) Work(context.Context) ([]drivers.Work, error) {
	all := t.slot.tally.all
	t.slot.tally.all = nil
	return all, nil
}

// Names of scan metrics (ServerSideScanMetrics.java). HBase returns metricBlocks, in bytes,
// since 2.6.
const (
	metricRows   = "ROWS_SCANNED"
	metricBlocks = "BLOCK_BYTES_SCANNED"
)

// count counts a call that was answered.
func (t *tally) count(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.answered(c); w != nil {
		w.Requests++
	}
}

// countBatch counts calls that were sent together: one request to each region server.
func (t *tally) countBatch(calls []*call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	servers := make(map[hrpc.RegionClient]bool)
	for _, c := range calls {
		w := t.answered(c)
		if w != nil && !servers[c.conn] {
			servers[c.conn] = true
			w.Requests++
		}
	}
}

// answered counts what is in an answer. It returns nil before the first Begin.
func (t *tally) answered(c *call) *drivers.Work {
	if len(t.all) == 0 {
		return nil
	}
	w := &t.all[len(t.all)-1]
	if c.region != nil {
		t.regions[string(c.region.Name())] = true
		w.Nodes = int64(len(t.regions))
	}
	// The read itself returns the error of a cell that cannot be decoded.
	if c.method != "Scan" {
		before := w.Cells
		_ = c.eachCell(func(cl cell, _ uint64) error {
			addCell(w, cl)
			return nil
		})
		if c.method == "Get" && w.Cells > before {
			w.Rows++
		}
		return w
	}
	for block := c.block; len(block) > 0; {
		cl, _, rest, err := nextCell(block)
		if err != nil {
			break
		}
		addCell(w, cl)
		block = rest
	}
	for _, m := range c.scan.response.GetScanMetrics().GetMetrics() {
		switch m.GetName() {
		case metricRows:
			w.Rows += m.GetValue()
		case metricBlocks:
			w.Blocks = max(0, w.Blocks) + m.GetValue()
		}
	}
	return w
}

func addCell(w *drivers.Work, c cell) {
	w.Cells++
	w.Bytes += int64(len(c.row) + len(c.family) + len(c.qualifier) + len(c.value))
}
