package drive

import (
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/summary"
)

// recorded is what was recorded in each slot.
func (p *phase) recorded() []*latency.Op {
	var all []*latency.Op
	for i := range p.slots.all {
		all = append(all, p.recorder.Total(i))
	}
	return all
}

// allOps are the latencies of all operations together; nil if the phase did not begin.
func (p *phase) allOps() *reports.AllOps {
	if p.hiccups == nil {
		return nil
	}
	return summary.All(p.recorded(), p.reported())
}

// delays compares the response times of all operations together with those that
// undelayed computed.
func (p *phase) delays() reports.Delays {
	d := summary.Delays(p.recorded(), p.reported())
	d.Dropped = p.stats.droppedByClient
	return d
}
