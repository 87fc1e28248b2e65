package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Measure is a metric that operations are compared by.
type Measure struct {
	Name string
	// Limit is the smallest difference that matters, if no gate says another: a share of
	// the base's value, for errors a share of all operations.
	Limit          float64
	HigherIsBetter bool
	Text           func(v float64) string
	// time is the logarithm of a timed metric, or NaN if a trial does not have it.
	time func(o *observed) float64
	// share is the share of operations below a percentile. It is 0 for other metrics.
	share float64
	// whole says that the metric is of all operations of a phase together.
	whole bool
	// count is a counter: its mean over operations, and its standard deviation. The mean is NaN if a trial does not
	// have it.
	count func(o *results.Op) (mean, deviation float64)
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

// measures are in the order in which they are shown. Typical is the p50 of each operation, weighted by its
// share, as in package ranking.
var measures = []*Measure{
	{Name: "typical", Limit: 0.05, share: 0.5, whole: true, Text: words.Duration, time: func(o *observed) float64 {
		sum := 0.0
		for _, op := range slices.Sorted(maps.Keys(o.shares)) { // the last digit of a sum depends on its order
			one := o.of.Ops[op]
			ns := one.Scheduled().At(0.5)
			if !one.Enough(0.5) || math.IsInf(ns, 1) {
				return math.NaN()
			}
			sum += o.shares[op] * ns
		}
		return math.Log(sum)
	}},
	wholeLoad("mean", 0.5, 0.05, func(l *results.Latency) float64 { return l.Mean }),
	percentile("p50", 0.5, 0.05),
	percentile("p99", 0.99, 0.10),
	wholeLoad("p99", 0.99, 0.10, func(l *results.Latency) float64 { return float64(l.P99) }),
	percentile("p99.9", 0.999, 0.20),
	{Name: "rate", Limit: 0.05, HigherIsBetter: true, Text: perSecond, time: func(o *observed) float64 {
		if o.of.Arrivals != "closed" || o.op.Rate <= 0 { // an open loop offers a rate of its own
			return math.NaN()
		}
		return math.Log(o.op.Rate)
	}},
	highestRate,
	{
		Name: "errors", Limit: 0.001, Text: func(v float64) string { return words.Amount(100*v) + "%" },
		count: func(o *results.Op) (mean, deviation float64) { // operations that did not succeed
			p := 1 - float64(o.Count+o.TooLarge)/float64(o.Attempted())
			return p, math.Sqrt(p * (1 - p))
		},
	},
	{Name: "requests", Text: words.Amount, count: counter(results.Requests)},
	// How often a request was sent: 1 and its retries. They depend on the machine, so they are judged as a time is.
	{Name: "attempts", Limit: 0.05, Text: words.Amount, time: func(o *observed) float64 {
		if o.op.Store.Requests <= 0 {
			return math.NaN()
		}
		return math.Log1p(o.op.Store.Retries / o.op.Store.Requests)
	}},
	{Name: "scanned", Limit: 0.05, Text: words.Amount, count: counter(results.Examined)},
	{Name: "rows", Limit: 0.05, Text: words.Amount, count: counter(results.Rows)},
	{Name: "bytes", Limit: 0.05, Text: words.Size, count: counter(results.Bytes)},
}

// Names are the names of all metrics.
func Names() []string { return results.Distinct(measures, func(m *Measure) string { return m.Name }) }

func perSecond(v float64) string { return words.Amount(v) + "/s" }

// wholeLoad is a metric of the latency of all operations of a phase together.
func wholeLoad(name string, share, limit float64, ns func(l *results.Latency) float64) *Measure {
	time := func(o *observed) float64 {
		if o.of.AllOps == nil {
			return math.NaN()
		}
		return math.Log(ns(o.of.AllOps.Scheduled()))
	}
	return &Measure{Name: name, Limit: limit, share: share, whole: true, Text: words.Duration, time: time}
}

// percentile is the metric for the percentile p, 0 to 1, of everything that was scheduled.
func percentile(name string, p, limit float64) *Measure {
	return &Measure{Name: name, Limit: limit, share: p, Text: words.Duration, time: func(o *observed) float64 {
		ns := o.op.Scheduled().At(p)
		if !o.op.Enough(p) || ns <= 0 || math.IsInf(ns, 1) { // too few, or it never ended
			return math.NaN()
		}
		return math.Log(ns)
	}}
}

// counter is a counter of the store. A few traced operations are no gate.
func counter(f results.Figure) func(o *results.Op) (mean, deviation float64) {
	return func(o *results.Op) (float64, float64) {
		if f == results.Examined && o.Store.Traced > 0 {
			return math.NaN(), 0
		}
		return o.Counted(f)
	}
}

// highestRate is the metric of a search for the highest rate.
var highestRate = &Measure{
	Name: "max-rate", Limit: 0.10, HigherIsBetter: true, Text: perSecond, time: func(o *observed) float64 {
		rate, _ := o.maxRate()
		return math.Log(rate)
	},
}

// maxRate is the middle of the bracket that a search for the highest rate ended with, and half
// of its width, in operations a second. If engine and load generator filled the machine that
// they share, it is the highest rate that held. It is NaN if the search found no rate, or only
// that the store holds more.
func (t *trial) maxRate() (rate, uncertain float64) {
	switch r := t.found; {
	case r == nil:
	case r.Limit == results.LimitStore && r.High > 0:
		return (r.Low + r.High) / 2, (r.High - r.Low) / 2
	case r.Limit == results.LimitMachine && r.Rate > 0:
		return r.Rate, 0
	}
	return math.NaN(), math.NaN()
}

// uncertainty is the median over trials of half the bracket of the highest rate.
func uncertainty(trials []observed) float64 {
	var all []float64
	for i := range trials {
		if !trials[i].out {
			_, u := trials[i].maxRate()
			all = append(all, u)
		}
	}
	return results.Series(all).Median()
}

// saySearches notes what was found on both sides, each search by itself.
func (c *Cell) saySearches(f *Figure) {
	for side, in := range f.of.in {
		if rate := math.Exp(f.times[side].Median()); !math.IsNaN(rate) {
			note := fmt.Sprintf("max-rate of %s: %s", sides[side], perSecond(rate))
			if u := uncertainty(in); u > 0 {
				note += fmt.Sprintf(" ± %s by each search alone", perSecond(u))
			}
			c.Notes = append(c.Notes, note)
		}
		none, why, searches := 0, "", false
		for i := range in {
			r := in[i].found
			searches = searches || r != nil
			if rate, _ := in[i].maxRate(); math.IsNaN(rate) {
				if none++; r != nil && why == "" {
					why = ": " + r.Text
				}
			}
		}
		if none > 0 && searches {
			c.Notes = append(c.Notes, fmt.Sprintf("%d of %d trials of %s did not find the highest rate, so it is not compared%s",
				none, len(in), sides[side], why))
		}
	}
}

// Point is one metric of one operation in one run. Times are nanoseconds.
type Point struct {
	Subject
	Operation
	*Measure
	Value     float64 // over the trials: the median of a time or rate, the mean of a counter
	Uncertain float64 // the value of a highest rate may be off by this; 0: not known
}

// Points are the metrics of a run, those of its first phase first. Phases that are not ok have
// none. Trials that are invalid have no times. With force all phases that did not fail have all metrics.
func Points(r *results.Run, force bool) (all []Point) {
	trials, order := Side{Runs: []*results.Run{r}}.trials()
	for _, k := range order {
		c := newCell(k, trials[k], trials[k], force)
		if c.Why != "" {
			continue
		}
		for i := range c.Figures {
			f := &c.Figures[i]
			p := Point{Subject: k, Operation: f.Operation, Measure: f.kind}
			if f.kind.Timed() {
				p.Value = math.Exp(f.times[0].Median())
			} else {
				p.Value = f.counts[0].mean
			}
			if f.BaseUncertainty != nil {
				p.Uncertain = *f.BaseUncertainty
			}
			if !math.IsNaN(p.Value) && f.Name != "attempts" && (p.Value > 0 || !f.kind.whole) {
				all = append(all, p)
			}
		}
	}
	return all
}

// Counted are the counters of a phase that differ between two runs by more than
// chance, however little that is. Errors must differ by their limit.
func Counted(base, new *results.Run, k Subject) (differ []Figure) {
	b, _ := Side{Runs: []*results.Run{base}}.trials()
	n, _ := Side{Runs: []*results.Run{new}}.trials()
	if len(b[k]) == 0 || len(n[k]) == 0 {
		return nil
	}
	c := newCell(k, b[k], n[k], false)
	if c.Why != "" {
		return nil
	}
	for _, f := range c.Figures {
		if f.kind.Timed() || !f.known {
			continue
		}
		if f.Name != "errors" {
			f.Limit = 0
		}
		if f.judgeCount(); f.Verdict == Worse || f.Verdict == Better {
			differ = append(differ, f)
		}
	}
	return differ
}
