package compare

import (
	"maps"
	"math"
	"slices"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Measure is a metric that operations are compared by. It has either a time or rate, or a counter.
type Measure struct {
	Name string
	// Limit is the smallest difference that matters, if no gate says another: a share of
	// the base's value, for errors a share of all operations.
	Limit          float64
	HigherIsBetter bool
	Text           func(v float64) string
	load           bool // it is of all operations of a phase together, and not of each
	search         bool // it is of the search for the highest rate of a phase, in place of all others of the whole load
	// time is a time or rate: NaN if a trial does not have it, and infinite if it never ended.
	time func(t *trial) float64
	// count is a counter: its mean over operations, and its standard deviation. The mean is NaN if a trial does not
	// have it.
	count func(o *results.Op) (mean, deviation float64)
	// fraction says that the counter is a fraction of operations, as Limit is then. Each operation counts by itself.
	fraction bool
}

// Timed reports whether the metric is a time or a rate; else it is a counter.
func (m *Measure) Timed() bool { return m.count == nil }

// Verdict is that on a difference which is certain and matters.
func (m *Measure) Verdict(before, after float64) Verdict {
	if after > before != m.HigherIsBetter {
		return Worse
	}
	return Better
}

// measures are in the order in which they are shown.
var measures = []*Measure{
	{Name: "typical", Limit: 0.05, load: true, Text: words.Duration, time: typical},
	{Name: "p50", Limit: 0.05, Text: words.Duration, time: percentile(0.5)},
	{Name: "p99", Limit: 0.10, Text: words.Duration, time: percentile(0.99)},
	{Name: "p99", Limit: 0.10, load: true, Text: words.Duration, time: func(t *trial) float64 {
		if t.cell.AllOps == nil {
			return math.NaN()
		}
		return t.cell.AllOps.Scheduled().At(0.99)
	}},
	{Name: "p99.9", Limit: 0.20, Text: words.Duration, time: percentile(0.999)},
	{Name: "rate", Limit: 0.05, HigherIsBetter: true, Text: perSecond, time: func(t *trial) float64 {
		if t.cell.Arrivals != "closed" { // an open loop offers a rate of its own
			return math.NaN()
		}
		return t.op.Rate
	}},
	{Name: "max-rate", Limit: 0.10, HigherIsBetter: true, load: true, search: true, Text: perSecond, time: maxRate},
	{
		Name: "errors", Limit: 0.001, fraction: true, Text: func(v float64) string { return words.Amount(100*v) + "%" },
		count: func(o *results.Op) (mean, deviation float64) { // operations that did not succeed
			p := 1 - float64(o.Count+o.TooLarge)/float64(o.Attempted())
			return p, math.Sqrt(p * (1 - p))
		},
	},
	{Name: "requests", Text: words.Amount, count: counter(results.Requests)},
	{Name: "scanned", Limit: 0.05, Text: words.Amount, count: counter(results.Examined)},
	{Name: "rows", Limit: 0.05, Text: words.Amount, count: counter(results.Rows)},
	{Name: "bytes", Limit: 0.05, Text: words.Size, count: counter(results.Bytes)},
}

// Names are the names of all metrics.
var Names = results.Distinct(measures, func(m *Measure) string { return m.Name })

func perSecond(v float64) string { return words.Amount(v) + "/s" }

// typical is the p50 of each operation, weighted by its share, as in package ranking.
func typical(t *trial) float64 {
	sum := 0.0
	for _, op := range slices.Sorted(maps.Keys(t.shares)) { // the last digit of a sum depends on its order
		one := t.cell.Ops[op]
		if !one.Enough(0.5) {
			return math.NaN()
		}
		sum += t.shares[op] * one.Scheduled().At(0.5)
	}
	return sum
}

// percentile is the percentile p, 0 to 1, of everything that was scheduled.
func percentile(p float64) func(t *trial) float64 {
	return func(t *trial) float64 {
		if !t.op.Enough(p) {
			return math.NaN()
		}
		return t.op.Scheduled().At(p)
	}
}

// maxRate is the middle of the bracket that a search for the highest rate ended with, in operations a second. If
// engine and load generator filled the machine that they share, it is the highest rate that held. It is NaN if the
// search found no rate, or only that the store holds more.
func maxRate(t *trial) float64 {
	switch r := t.found; {
	case r == nil:
	case r.Limit == results.LimitStore && r.High > 0:
		return (r.Low + r.High) / 2
	case r.Limit == results.LimitMachine:
		return r.Rate
	}
	return math.NaN()
}

// counter is a counter of the store, of the operations that succeeded. A few traced operations are no gate.
func counter(f results.Figure) func(o *results.Op) (mean, deviation float64) {
	return func(o *results.Op) (float64, float64) {
		if o.Count == 0 || f == results.Examined && o.Store.Traced > 0 {
			return math.NaN(), 0
		}
		return o.Counted(f)
	}
}
