package rpc

import (
	"context"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
)

// Tally counts what the calls of a traced session did. For a scan, region servers return how
// many rows and bytes of blocks they read. For other calls, Tally counts only the answer.
type Tally struct {
	all     []drivers.Work
	regions map[string]bool // names of the regions in the current piece of work
}

// Begin begins a piece of work.
func (t *Tally) Begin() {
	next := drivers.Unreported
	next.Requests, next.Nodes, next.Rows, next.Cells, next.Bytes = 0, 0, 0, 0, 0
	t.all, t.regions = append(t.all, next), make(map[string]bool)
}

// Work returns what each piece of work did since the last call of Work.
func (t *Tally) Work(context.Context) (all []drivers.Work, err error) {
	all, t.all = t.all, nil
	return all, nil
}

// Names of scan metrics (ServerSideScanMetrics.java). HBase returns metricBlocks, in bytes,
// since 2.6.
const (
	metricRows   = "ROWS_SCANNED"
	metricBlocks = "BLOCK_BYTES_SCANNED"
)

// count counts a call that was answered, which is a number of requests: none if it was sent with others.
func (t *Tally) count(c *Call, requests int64) {
	if len(t.all) == 0 { // before the first Begin
		return
	}
	w := &t.all[len(t.all)-1]
	w.Requests += requests
	if c.Region() != nil {
		t.regions[string(c.Region().Name())] = true
		w.Nodes = int64(len(t.regions))
	}
	if c.method == "Get" && len(c.Found()) > 0 {
		w.Rows++
	}
	if scan, ok := c.response.(*pb.ScanResponse); ok {
		for _, m := range scan.GetScanMetrics().GetMetrics() {
			switch m.GetName() {
			case metricRows:
				w.Rows += m.GetValue()
			case metricBlocks:
				w.Blocks = max(0, w.Blocks) + m.GetValue()
			}
		}
	}
	w.Cells += int64(len(c.Found()))
	for _, c := range c.Found() {
		w.Bytes += int64(len(c.Row) + len(c.Family) + len(c.Qualifier) + len(c.Value))
	}
}
