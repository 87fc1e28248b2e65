// Package ranking ranks the models of a measured phase by one metric of the whole load, and says in
// sentences which is fastest, why, what speaks against it, and which models are not worth it. "mailbench help
// ranking" has the rule in words. Values of all trials are here, too, for the tables of reports.
package ranking

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// Metric is a property of the whole load by which models are compared: of the operations that all of
// them support, each weighted by its share. Less is better.
type Metric string

// Metrics. Latencies are in nanoseconds. The others are counted by the driver and the engine: per
// operation, and Disk per message of the load. KB are 1,000 bytes.
const (
	Typical    Metric = "typical"                    // p50 of each operation, weighted by its share
	Mean       Metric = "mean"                       // mean of all operations
	P99        Metric = "p99"                        // 99th percentile of all operations together
	Requests   Metric = Metric(results.Requests)     // requests that the driver sent to the engine
	Rows       Metric = Metric(results.Examined)     // rows and index entries that the engine scanned
	Read       Metric = Metric(results.BytesRead)    // bytes read
	Written    Metric = Metric(results.BytesWritten) // bytes written
	Disk       Metric = "disk"                       // bytes on disk per message, after compaction, without the log
	Throughput Metric = "throughput"                 // nanoseconds per operation, as fast as the store answers
)

// Metrics are all of them, in the order of reports.
var Metrics = []Metric{Typical, Mean, P99, Requests, Rows, Read, Written, Disk, Throughput}

// Counters are those of a single operation, too: what it costs the engine. They are figures of results.
var Counters = []Metric{Requests, Rows, Read, Written}

// Ranking are those by which models can be ranked: the metrics of the measured phase itself.
var Ranking = Metrics[:len(Metrics)-1]

// properties are how metrics are written. Counters do not depend on the machine; a timed metric does.
var properties = map[Metric]struct {
	timed  bool
	name   string // in a sentence
	unit   string // behind a number
	number func(v float64) string
	noun   string // behind a number that speaks against a model
	advice string // what it means to need more
}{
	Typical:  {true, "typical latency", "ms", fineMS, "", ""},
	Mean:     {true, "mean latency", "ms", fineMS, "", ""},
	P99:      {true, "p99 latency", "ms", fineMS, "ms at p99", ""},
	Requests: {false, "requests", "requests", Number, "requests/op", ", each is a network round trip"},
	Rows:     {false, "rows scanned", "rows scanned", Number, "rows/op scanned", ", slow as data grows"},
	Read:     {false, "bytes read", "KB", KB, "KB/op read", ", costly over networks"},
	Written:  {false, "bytes written", "KB", KB, "KB/op written", ", costly to compact"},
	Disk:     {false, "disk per message", "KB", KB, "KB stored per message", ", costly to keep"},
	// The time of an operation is written as a rate.
	Throughput: {true, "throughput", "operations/s", func(ns float64) string { return Number(1e9 / ns) }, "", ""},
}

// Timed reports whether the metric is measured by the clock. Other metrics do not depend on the machine.
func (m Metric) Timed() bool { return properties[m].timed }

// Of is a counter of an operation; NaN: not known.
func (m Metric) Of(o *results.Op) float64 { return o.Store.Of(results.Figure(m)) }

// Name is the metric in a sentence.
func (m Metric) Name() string { return properties[m].name }

// Number writes a value without its unit.
func (m Metric) Number(v float64) string { return properties[m].number(v) }

// fineMS is results.MS with a third digit below 1 ms, so that percentages agree with the values next to them.
func fineMS(ns float64) string {
	if ms := ns / 1e6; ms < 0.9995 {
		return strconv.FormatFloat(ms, 'f', 3, 64)
	}
	return results.MS(ns)
}

// KB writes bytes as units of 1,000.
func KB(bytes float64) string { return Number(bytes / 1000) }

// Number writes two or three digits that count.
func Number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case v == 0:
		return "0"
	case v < 99_950:
		return words.Digits(v)
	}
	return words.Amount(v)
}

// quantiles are the latencies that a part p of the operations with these shares does not exceed, of each trial; NaN
// if one of them has no quantiles, and infinite if it lies among operations that never ended.
func (m *Model) quantiles(shares []Share, p float64) (all results.Series) {
	for trial := range m.Cells {
		unknown := func(s Share) bool { return len(m.Ops[s.Op].Ops[trial].Quantiles) != len(results.QuantileShares) }
		below := func(ns float64) (sum float64) {
			for _, s := range shares {
				sum += s.Share * shareBelow(m.Ops[s.Op].Ops[trial].Quantiles, ns)
			}
			return sum
		}
		low, high := 1.0, 1e15 // 11 days
		if len(shares) == 0 || slices.ContainsFunc(shares, unknown) {
			all = append(all, math.NaN())
			continue
		}
		if below(high) < p {
			all = append(all, math.Inf(1))
			continue
		}
		// The share grows with the latency, so bisection finds it.
		for high/low > 1.0001 {
			if middle := math.Sqrt(low * high); below(middle) < p {
				low = middle
			} else {
				high = middle
			}
		}
		all = append(all, high)
	}
	return all
}

// shareBelow is which share of the operations took at most ns. Between two quantiles it grows with the
// logarithm of the latency.
func shareBelow(quantiles []int64, ns float64) float64 {
	shares := results.QuantileShares
	for i, q := range quantiles {
		if q != results.NeverEnded && float64(q) <= ns {
			continue
		}
		switch {
		case i == 0:
			return 0
		case q == results.NeverEnded:
			return shares[i-1]
		}
		from, to := math.Log(float64(max(quantiles[i-1], 1))), math.Log(float64(q))
		return shares[i-1] + (shares[i]-shares[i-1])*(math.Log(ns)-from)/(to-from)
	}
	return 1
}

// leastDifference is the ratio up to which two models count as equal, whatever the trials say.
const leastDifference = 1.05

// Difference is how a metric of one model compares with that of another. Ratio is the geometric mean
// of the ratios of their trials, and Low to High its 95% interval by Student's t of their logarithms, which holds for
// all other models together. That of one trial is from 0 to infinity.
type Difference struct {
	Ratio, Low, High float64
	Trials           int
	Significant      bool // the metric is larger: by more than 5%, and for a latency the interval is above 1
}

// Larger reports whether the metric is larger: significantly, or by more than 5% if one trial leaves
// significance unknown.
func (d Difference) Larger() bool { return d.Significant || d.Trials == 1 && d.Ratio > leastDifference }

// Compare compares b with a, trial by trial. Trials are interleaved, so trials of one number ran at
// nearly the same time. With so many others the best is compared, and the intervals of all of them hold together
// (Bonferroni): of several equal models one seems the best by chance more easily than of two. It returns false if they
// have no trial in common.
func Compare(a, b results.Series, timed bool, others int) (d Difference, ok bool) {
	var logs []float64
	for i := range min(len(a), len(b)) {
		if !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			logs = append(logs, math.Log(max(b[i], 1e-9))-math.Log(max(a[i], 1e-9)))
		}
	}
	if d.Trials = len(logs); d.Trials == 0 {
		return d, false
	}
	mean, half := growth.Mean(logs, 0.05/float64(others))
	d.Ratio, d.Low, d.High = math.Exp(mean), math.Exp(mean-half), math.Exp(mean+half)
	d.Significant = d.Ratio > leastDifference && (!timed || d.Low > 1)
	return d, true
}

// Leading says which of the values are best or level with the best. They are the least value, and in
// ascending order those after it, up to the first that is significantly larger. With one trial
// nothing is significant, and those within 5% of the best lead with it.
func Leading(all []results.Series, timed bool) []bool {
	leads := make([]bool, len(all))
	var order []int
	for i := range all {
		if m := results.Median(all[i]); !math.IsNaN(m) && !math.IsInf(m, 1) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(results.Median(all[a]), results.Median(all[b])) })
	for n, i := range order {
		if n > 0 {
			d, ok := Compare(all[order[0]], all[i], timed, len(order)-1)
			if !ok || d.Larger() {
				break
			}
		}
		leads[i] = true
	}
	return leads
}
