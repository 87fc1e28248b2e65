package drive

import (
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/results"
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
func (f *figures) allOps() *results.AllOps {
	if f.hiccups == nil {
		return nil
	}
	return summary.All(f.recorded(), latency.Latency)
}

// delays compares the response times of all operations together with those that
// undelayed computed.
func (f *figures) delays() results.Delays {
	d := summary.Delays(summary.All(f.recorded(), latency.Latency))
	d.Operations, d.Dropped = f.stats.delayed, f.stats.droppedByClient
	return d
}
