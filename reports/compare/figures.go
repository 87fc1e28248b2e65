package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// figure is a figure that operations are compared by.
type figure struct {
	name string
	// limit is the smallest difference that matters, if no gate says another: a share of
	// the base's value, for errors a share of all operations.
	limit float64
	text  func(v float64) string
	// time is the logarithm of a timed figure, or NaN if a trial does not have it.
	time func(c *results.Cell, o *results.Op) float64
	// share is the share of operations below a percentile. It is 0 for other figures.
	share float64
	// whole says that the figure is of all operations of a phase together.
	whole bool
	// found is the figure of a search for the highest rate: see maxRate.
	found func(*results.SearchResult) (value, uncertain float64)
	// count is a counted figure: its mean over operations, its standard deviation, and the
	// number of operations. The mean is NaN if a trial does not have it.
	count func(o *results.Op) (mean, deviation, n float64)
}

func (f *figure) timed() bool { return f.count == nil }

// timeOf is the logarithm of the figure of an operation in a trial, or NaN.
func (f *figure) timeOf(t trial, s operation) float64 {
	if f.found != nil {
		rate, _ := t.maxRate()
		return math.Log(rate)
	}
	c, o := t.of(s)
	if f.share > 0 && c.Verdict == results.Invalid && !t.force {
		return math.NaN()
	}
	return f.time(c, &o)
}

// invalid reports whether a trial has operations enough for a percentile, and is client-bound.
func (f *figure) invalid(t trial, s operation) bool {
	c, o := t.of(s)
	return f.share > 0 && c.Verdict == results.Invalid && (f.whole || o.Enough(f.share))
}

// higherIsBetter is true only for rates.
func (f *figure) higherIsBetter() bool { return f.name == "rate" || f.found != nil }

// figures are in the order in which they are shown.
var figures = []*figure{
	percentile("p50", 0.5, 0.05, func(l *results.Latency) int64 { return l.P50 }),
	percentile("p99", 0.99, 0.10, func(l *results.Latency) int64 { return l.P99 }),
	percentile("p99.9", 0.999, 0.20, func(l *results.Latency) int64 { return l.P999 }),
	{name: "rate", limit: 0.05, text: perSecond, time: rate},
	{name: "max-rate", limit: 0.10, text: perSecond, found: maxRate},
	{name: "errors", limit: 0.001, text: func(v float64) string { return words.Amount(100*v) + "%" }, count: failures},
	{name: "calls", text: words.Amount, count: counted(func(s *results.StoreCost) (float64, float64) {
		return s.Calls, s.CallsDeviation
	})},
	{name: "attempts", limit: 0.05, text: words.Amount, time: attempts},
	{name: "examined", limit: 0.05, text: words.Amount, count: counted(examined)},
	{name: "rows", limit: 0.05, text: words.Amount, count: counted(func(s *results.StoreCost) (float64, float64) {
		return s.RowsRead + s.RowsWritten, s.RowsDeviation
	})},
	{name: "bytes", limit: 0.05, text: words.Size, count: counted(func(s *results.StoreCost) (float64, float64) {
		return s.BytesRead + s.BytesWritten, s.BytesDeviation
	})},
}

func figureNamed(name string) *figure {
	return figures[slices.IndexFunc(figures, func(f *figure) bool { return f.name == name })]
}

// wholeLoad are the latencies of the whole load: typical is the p50 of each of the operations, weighted by
// its share, as in package ranking.
func wholeLoad(shares map[string]float64) []*figure {
	ops := slices.Sorted(maps.Keys(shares)) // the last digit of a sum depends on its order
	typical := func(c *results.Cell, _ *results.Op) float64 {
		sum := 0.0
		for _, op := range ops {
			o := c.Ops[op]
			if !o.Enough(0.5) {
				return math.NaN()
			}
			sum += shares[op] * float64(c.Due(&o).P50)
		}
		return math.Log(sum)
	}
	of := func(value func(l *results.Latency) float64) func(c *results.Cell, _ *results.Op) float64 {
		return func(c *results.Cell, _ *results.Op) float64 {
			if c.AllOps == nil {
				return math.NaN()
			}
			return math.Log(value(c.AllOps.Reported()))
		}
	}
	return []*figure{
		{name: "typical", limit: 0.05, share: 0.5, whole: true, text: words.Duration, time: typical},
		{name: "mean", limit: 0.05, share: 0.5, whole: true, text: words.Duration, time: of(func(l *results.Latency) float64 {
			return l.Mean
		})},
		{name: "p99", limit: 0.10, share: 0.99, whole: true, text: words.Duration, time: of(func(l *results.Latency) float64 {
			return float64(l.P99)
		})},
	}
}

// everything is the operation that stands for all of a phase.
var everything = operation{op: WholeLoad}

// shares are the parts of the load that operations are, of those that all trials have often enough for a p50.
func (p *pair) shares() map[string]float64 {
	all, sum := map[string]float64{}, 0.0
	trials := slices.Concat(p.base, p.new)
	for _, s := range p.carriedOut("") {
		n := 0.0
		for _, t := range trials {
			_, o := t.of(s)
			if n += float64(o.Attempted()); !o.Enough(0.5) {
				n = math.NaN()
			}
		}
		if !math.IsNaN(n) {
			all[s.op], sum = n, sum+n
		}
	}
	for op := range all {
		all[op] /= sum
	}
	return all
}

func perSecond(v float64) string { return words.Amount(v) + "/s" }

func figureNames() (names []string) {
	for _, f := range append(wholeLoad(nil)[:2], figures...) {
		names = append(names, f.name)
	}
	return names
}

// percentile is the figure for the percentile p, 0 to 1, of everything that was due.
func percentile(name string, p, limit float64, of func(*results.Latency) int64) *figure {
	time := func(c *results.Cell, o *results.Op) float64 {
		ns := of(c.Due(o))
		if !o.Enough(p) || ns <= 0 { // too few, or it never ended
			return math.NaN()
		}
		return math.Log(float64(ns))
	}
	return &figure{name: name, limit: limit, share: p, text: words.Duration, time: time}
}

// rate is the throughput of a closed loop. An open loop offers a rate of its own.
func rate(c *results.Cell, o *results.Op) float64 {
	if c.Arrivals != "closed" || o.Rate <= 0 {
		return math.NaN()
	}
	return math.Log(o.Rate)
}

// attempts is how often a request was sent: 1 and its retries. They depend on the machine, so they are
// judged as a time is.
func attempts(_ *results.Cell, o *results.Op) float64 {
	if o.Store.Calls <= 0 {
		return math.NaN()
	}
	return math.Log1p(o.Store.Retries / o.Store.Calls)
}

// retried reports whether a trial of the operation has retries.
func (p *pair) retried(s operation) bool {
	return slices.ContainsFunc(slices.Concat(p.base, p.new), func(t trial) bool {
		_, o := t.of(s)
		return o.Store.Retries > 0
	})
}

// examined are the rows that the engine read, if it tells of all measured operations. A few traced
// ones are no gate.
func examined(s *results.StoreCost) (mean, deviation float64) {
	if s.Traced > 0 {
		return math.NaN(), 0
	}
	return s.Of(results.Examined), s.ExaminedDeviation
}

// knows reports whether all trials have the figure of an operation, and it says something.
func (p *pair) knows(s operation, f *figure) bool {
	switch {
	case f.name == "attempts" && !p.retried(s):
		return false
	case f.timed():
		return has(p.base, s, f) && has(p.new, s, f)
	case f.name == "examined":
		return !math.IsNaN(pooled(p.base, s, f).mean) && !math.IsNaN(pooled(p.new, s, f).mean)
	}
	return true
}

// failures is the share of operations that were not ok.
func failures(o *results.Op) (mean, deviation, n float64) {
	n = float64(o.Attempted())
	p := 1 - float64(o.Count+o.TooLarge)/n
	return p, math.Sqrt(p * (1 - p)), n
}

func counted(of func(*results.StoreCost) (mean, deviation float64)) func(o *results.Op) (mean, deviation, n float64) {
	return func(o *results.Op) (float64, float64, float64) {
		mean, deviation := of(&o.Store)
		return mean, deviation, float64(o.Attempted())
	}
}

// searched is the operation that the highest rate is of: all operations of the phase together.
var searched = operation{op: "all"}

// maxRate is the middle of the bracket that a search for the highest rate ended with, and half
// of its width, in operations a second. If engine and load generator filled the machine that
// they share, it is the highest rate that held. It is NaN if the search found no rate, or only
// that the store holds more.
func maxRate(r *results.SearchResult) (rate, uncertain float64) {
	switch {
	case r.Limit == results.LimitStore && r.High > 0:
		return (r.Low + r.High) / 2, (r.High - r.Low) / 2
	case r.Limit == results.LimitMachine && r.Rate > 0:
		return r.Rate, 0
	}
	return math.NaN(), math.NaN()
}

// found is the result of the trial's search; nil if there was no search.
func (t *trial) found() *results.SearchResult {
	for i := range t.run.Searches {
		if s := &t.run.Searches[i]; s.Key == t.cell.Key {
			return s.Found
		}
	}
	return nil
}

func (t *trial) maxRate() (rate, uncertain float64) {
	if r := t.found(); r != nil {
		return maxRate(r)
	}
	return math.NaN(), math.NaN()
}

// isSearched reports whether some trial searched for the highest rate. Its operations then ran
// at the rate that was found, which differs from trial to trial.
func isSearched(trials []trial) bool {
	for i := range trials {
		if trials[i].found() != nil {
			return true
		}
	}
	return false
}

func (p *pair) searched() bool { return isSearched(p.base) || isSearched(p.new) }

// has reports whether the figure is compared for the operation. If the highest rate was
// searched, that rate is compared, and times and errors at that rate are not.
func (s operation) has(f *figure, search bool) bool {
	switch {
	case s == searched || f.found != nil:
		return s == searched && f.found != nil
	case search:
		return f.count != nil && f.name != "errors"
	}
	return true
}

// uncertainty is the median over trials of half the bracket of the highest rate.
func uncertainty(trials []trial) float64 {
	var all []float64
	for i := range trials {
		if !trials[i].out {
			_, u := trials[i].maxRate()
			all = append(all, u)
		}
	}
	return median(all)
}

// searches says what was found on both sides, each search by itself.
func (p *pair) searches() (notes []string) {
	for _, side := range []struct {
		name   string
		trials []trial
	}{{"base", p.base}, {"new", p.new}} {
		if !isSearched(side.trials) {
			continue
		}
		if rate := figureNamed("max-rate").value(side.trials, searched); !math.IsNaN(rate) {
			note := fmt.Sprintf("max-rate of %s: %s", side.name, perSecond(rate))
			if u := uncertainty(side.trials); u > 0 {
				note += fmt.Sprintf(" ± %s by each search alone", perSecond(u))
			}
			notes = append(notes, note)
		}
		none, why := 0, ""
		for i := range side.trials {
			if rate, _ := side.trials[i].maxRate(); math.IsNaN(rate) {
				none++
				if r := side.trials[i].found(); r != nil && why == "" {
					why = ": " + r.Text
				}
			}
		}
		if none > 0 {
			notes = append(notes, fmt.Sprintf("%d of %d trials of %s did not find the highest rate, so it is not compared%s",
				none, len(side.trials), side.name, why))
		}
	}
	return notes
}
