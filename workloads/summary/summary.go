// Package summary makes the figures of a cell from histograms: those of one phase, or the sums of
// those of all shards.
package summary

import (
	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

// Of returns a distribution's figures, which are zero if it has no values.
func Of(h *hdr.Histogram) results.Latency {
	if h == nil || h.TotalCount() == 0 {
		return results.Latency{}
	}
	return results.Latency{
		P50: latency.At(h, 50), P90: latency.At(h, 90), P99: latency.At(h, 99), P999: latency.At(h, 99.9),
		Max: h.Max(), Mean: h.Mean(),
	}
}

// Times sets the latencies of an operation. Reported is the kind of time that its phase reports.
func Times(o *results.Op, t *latency.Op, reported latency.Kind) {
	o.Service, o.Lag = Of(t.Times[latency.Service]), Of(t.Times[latency.Lag])
	o.Response = o.Service // a closed loop has no due times
	if h := t.Times[latency.Response]; h != nil {
		o.Response = Of(h)
	}
	if h := t.Times[latency.Latency]; h != nil {
		l := Of(h)
		o.Latency = &l
	}
	if queued := t.Times[latency.Queued]; queued != nil {
		found, waited := Of(Free(t)), Of(queued)
		o.Queued, o.ServiceFree, o.ServiceQueued = queued.TotalCount(), &found, &waited
	}
	o.Due, o.Quantiles = due(t, reported), quantiles(t, reported)
}

// quantiles are the latencies of all scheduled operations, at results.QuantileShares. They
// are nil if there was no operation.
func quantiles(o *latency.Op, reported latency.Kind) []int64 {
	at, n := allDue(o, reported)
	if n == 0 {
		return nil
	}
	var times []int64
	for _, share := range results.QuantileShares {
		times = append(times, at(100*share))
	}
	return times
}

// due is the distribution of response times of all operations that were due. Messages that were
// refused as too large are left out: the engine does not offer them. It is nil if all other
// operations were ok.
func due(o *latency.Op, reported latency.Kind) *results.Latency {
	dropped := o.Counts[latency.Dropped]
	if o.Times[latency.Rest] == nil && dropped == 0 {
		return nil
	}
	at, _ := allDue(o, reported)
	l := results.Latency{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: at(100), Mean: results.NeverEnded}
	if dropped == 0 {
		h := ended(o, reported)
		l.Max, l.Mean = h.Max(), h.Mean()
	}
	return &l
}

// allDue returns the percentiles of the response times of all n operations that were due. One that
// lies among dropped operations is results.NeverEnded.
func allDue(o *latency.Op, reported latency.Kind) (at func(percent float64) int64, n int64) {
	h := ended(o, reported)
	n = h.TotalCount() + o.Counts[latency.Dropped]
	return func(percent float64) int64 {
		rank := latency.Rank(percent, n)
		if rank > h.TotalCount() {
			return results.NeverEnded
		}
		return latency.AtRank(h, rank)
	}, n
}

// ended are the times of the operations that ended, whatever their outcome.
func ended(o *latency.Op, reported latency.Kind) *hdr.Histogram {
	h := wide()
	for _, k := range []latency.Kind{reported, latency.Rest} {
		if o.Times[k] != nil {
			h.Merge(o.Times[k])
		}
	}
	return h
}

// All are the latencies of all operations of a phase together.
func All(ops []*latency.Op, reported latency.Kind) *results.AllOps {
	var sum latency.Op
	for _, o := range ops {
		for _, k := range []latency.Kind{latency.Response, latency.Service, latency.Lag, latency.Latency, latency.Rest} {
			h := o.Times[k]
			if h == nil {
				continue
			}
			if sum.Times[k] == nil {
				sum.Times[k] = wide()
			}
			sum.Times[k].Merge(h)
		}
		for out, n := range o.Counts {
			sum.Counts[out] += n
		}
	}
	all := results.AllOps{
		Service: Of(sum.Times[latency.Service]), Lag: Of(sum.Times[latency.Lag]), Due: due(&sum, reported),
	}
	all.Response = all.Service
	if h := sum.Times[latency.Response]; h != nil {
		all.Response = Of(h)
	}
	if h := sum.Times[latency.Latency]; h != nil {
		l := Of(h)
		all.Latency = &l
	}
	return &all
}

// Delays compares the response times of all operations together with their latencies, which are
// without the client's own delays.
func Delays(all *results.AllOps) results.Delays {
	d := results.Delays{Response: all.Response, Undelayed: all.Response}
	if all.Latency != nil {
		d.Undelayed = *all.Latency
	}
	return d
}

// Free is the distribution of the service times of operations that found a free worker;
// nil if there are none.
func Free(o *latency.Op) *hdr.Histogram {
	all, queued := o.Times[latency.Service], o.Times[latency.Queued]
	if all == nil || queued == nil {
		return all
	}
	return without(all, queued)
}

// ByWait are the distributions of the service times of operations that found a free worker,
// and of those that found all workers busy.
func ByWait(ops []*latency.Op) (free, queued *hdr.Histogram) {
	free, queued = wide(), wide()
	for _, o := range ops {
		if h := Free(o); h != nil {
			free.Merge(h)
		}
		if h := o.Times[latency.Queued]; h != nil {
			queued.Merge(h)
		}
	}
	return free, queued
}

// without is a distribution without a part of it.
func without(all, part *hdr.Histogram) *hdr.Histogram {
	counts, less := all.Export(), part.Export().Counts
	for i, n := range less {
		counts.Counts[i] -= n
	}
	return hdr.Import(counts)
}

// wide is a histogram that takes every time that is recorded.
func wide() *hdr.Histogram { return hdr.New(1, int64(latency.Highest), 3) }
