package drive

import (
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
)

// due is the distribution of response times of all operations that were due. Those that
// were refused as too large are left out: the engine does not offer them. It is nil if all
// the others were ok.
func due(o *latency.Op, reported latency.Kind) *reports.Latency {
	dropped := o.Counts[latency.Dropped]
	if o.Times[latency.Rest] == nil && dropped == 0 {
		return nil
	}
	h := hdr.New(1, int64(latency.Highest), 3)
	for _, k := range []latency.Kind{reported, latency.Rest} {
		if o.Times[k] != nil {
			h.Merge(o.Times[k])
		}
	}
	l := summary(h)
	if dropped == 0 {
		return &l
	}
	ended := h.TotalCount()
	at := func(percent float64) int64 {
		rank := math.Ceil(percent / 100 * float64(ended+dropped))
		if rank > float64(ended) {
			return reports.NeverEnded
		}
		return h.ValueAtQuantile(100 * rank / float64(ended))
	}
	return &reports.Latency{
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: reports.NeverEnded, Mean: reports.NeverEnded,
	}
}
