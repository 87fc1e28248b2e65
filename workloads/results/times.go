package results

import (
	"cmp"
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/workloads/latency"
)

// LatencyOf is the distribution of a histogram; zero if it has no values.
func LatencyOf(h *hdr.Histogram) Latency {
	if h == nil || h.TotalCount() == 0 {
		return Latency{}
	}
	return Latency{
		P50: latency.At(h, 50), P90: latency.At(h, 90), P99: latency.At(h, 99), P999: latency.At(h, 99.9),
		Max: h.Max(), Mean: math.Round(h.Mean()),
	}
}

// SetTimes sets the latencies of an operation. Reported is the kind of time that its phase reports.
func (o *Op) SetTimes(t *latency.Op, reported latency.Kind) {
	o.Times, o.Quantiles = *TimesOf(t, reported), quantiles(t, reported)
}

// TimesOf are the latencies of what was recorded of one operation, or of several together.
func TimesOf(t *latency.Op, reported latency.Kind) *Times {
	all := Times{
		Service: LatencyOf(t.Times[latency.Service]), Wait: LatencyOf(t.Times[latency.Wait]), Due: due(t, reported),
	}
	all.Response = all.Service // a closed loop has no scheduled times
	if h := t.Times[latency.Response]; h != nil {
		all.Response = LatencyOf(h)
	}
	if h := t.Times[latency.Latency]; h != nil {
		l := LatencyOf(h)
		all.Latency = &l
	}
	return &all
}

// Reported is the distribution of all scheduled operations.
func (a *Times) Reported() *Latency { return cmp.Or(a.Due, a.Latency, &a.Response) }

// Delays compares the response times of all operations together with their latencies, which are
// without client delay.
func (a *Times) Delays() Delays {
	return Delays{Response: a.Response, Undelayed: *cmp.Or(a.Latency, &a.Response)}
}

// quantiles are the latencies of all scheduled operations, at QuantileShares. They are nil if there was
// no operation.
func quantiles(o *latency.Op, reported latency.Kind) []int64 {
	at, n := allDue(ended(o, reported), o.Counts[latency.Dropped])
	if n == 0 {
		return nil
	}
	var times []int64
	for _, share := range QuantileShares {
		times = append(times, at(100*share))
	}
	return times
}

// due is the distribution of response times of all scheduled operations. Messages that were refused as too
// large are left out: the engine does not support them. It is nil if all other operations succeeded.
func due(o *latency.Op, reported latency.Kind) *Latency {
	dropped := o.Counts[latency.Dropped]
	if o.Times[latency.Rest] == nil && dropped == 0 {
		return nil
	}
	h := ended(o, reported)
	at, _ := allDue(h, dropped)
	l := Latency{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: at(100), Mean: NeverEnded}
	if dropped == 0 {
		l.Max, l.Mean = h.Max(), math.Round(h.Mean())
	}
	return &l
}

// allDue returns the percentiles of the times of operations that ended, and of others that were dropped, n in
// all. A percentile among dropped operations is NeverEnded.
func allDue(h *hdr.Histogram, dropped int64) (at func(percent float64) int64, n int64) {
	n = h.TotalCount() + dropped
	return func(percent float64) int64 {
		rank := latency.Rank(percent, n)
		if rank > h.TotalCount() {
			return NeverEnded
		}
		return latency.AtRank(h, rank)
	}, n
}

// ended are the times of the operations that ended, whatever their outcome.
func ended(o *latency.Op, reported latency.Kind) *hdr.Histogram {
	h := hdr.New(1, int64(latency.Highest), 3)
	for _, k := range []latency.Kind{reported, latency.Rest} {
		if o.Times[k] != nil {
			h.Merge(o.Times[k])
		}
	}
	return h
}
