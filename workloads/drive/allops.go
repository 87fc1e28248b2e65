package drive

import (
	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
)

// allOps are the latencies of all operations of the phase together.
func (p *phase) allOps() *reports.AllOps {
	if p.hiccups == nil {
		return nil // a phase that did not begin
	}
	var sum latency.Op
	for i := range p.target.Offers {
		o := p.recorder.Total(i)
		for _, k := range []latency.Kind{latency.Response, latency.Service, latency.Lag, latency.Rest} {
			h := o.Times[k]
			if h == nil {
				continue
			}
			if sum.Times[k] == nil {
				sum.Times[k] = hdr.New(1, int64(latency.Highest), 3)
			}
			sum.Times[k].Merge(h)
		}
		for out, n := range o.Counts {
			sum.Counts[out] += n
		}
	}
	return &reports.AllOps{
		Response: summary(sum.Times[p.reported()]), Service: summary(sum.Times[latency.Service]),
		Lag: summary(sum.Times[latency.Lag]), Due: due(&sum, p.reported()),
	}
}
