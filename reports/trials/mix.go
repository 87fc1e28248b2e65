package trials

import (
	"math"
	"slices"

	"github.com/mailbench/mailbench/reports/results"
)

// Share is how many of a mix's operations are of one kind.
type Share struct {
	Op     string
	Weight float64
}

// MixCounted is a counted figure of all operations of the mix together.
func (cs Column) MixCounted(mix []Share, f results.Figure) Value {
	v := Value{Known: true, Trials: len(cs)}
	var variance, squares float64 // of the sum, and for its degrees of freedom
	for _, s := range mix {
		one := cs.Counted(s.Op, f)
		if !one.Known {
			return Value{}
		}
		v.Median += s.Weight * one.Median
		v.n += one.n
		if one.deviation > 0 {
			part := s.Weight * s.Weight * one.deviation * one.deviation / float64(one.n)
			variance += part
			squares += part * part / float64(one.n-1)
		}
	}
	v.Low, v.High = v.Median, v.Median
	if variance > 0 {
		// A sum of means is known as well as one mean of so many operations (B. L. Welch, The
		// Generalization of Student's Problem, 1947; F. E. Satterthwaite, 1946).
		v.n = int64(variance*variance/squares) + 1
		v.deviation = math.Sqrt(variance * float64(v.n))
	}
	return v
}

// withheldMost is which part of the operations slower than a percentile may have no percentile that
// can be told.
const withheldMost = 0.1

// MixTimed is a percentile of the times of all operations of the mix together. Trials whose verdict is
// not ok are left out, and so are those in which times of too many operations are the client's.
func (cs Column) MixTimed(mix []Share, f results.Figure) Value {
	var times, low, high []float64
	v := Value{}
	p := f.Percentile()
	for _, c := range cs {
		if c.Verdict != results.OK || !mixTells(c, mix, p) {
			continue
		}
		at := mixQuantile(c, mix, p)
		if math.IsNaN(at) {
			continue
		}
		times = append(times, at)
		least, most := spreadOf(c, f)
		low, high = append(low, at*least), append(high, at*most)
		for _, s := range mix {
			v.n += c.Ops[s.Op].Count
		}
	}
	v.of(times)
	if v.Trials == 1 {
		v.Low, v.High = low[0], high[0]
	}
	return v
}

// mixTells reports whether a percentile of the mix can be told of the cell.
func mixTells(c *results.Cell, mix []Share, p float64) bool {
	var all, not float64
	var count int64
	for _, s := range mix {
		o := c.Ops[s.Op]
		all += s.Weight
		count += o.Count
		if o.Withholds(p) || timerShows(c, s.Op) {
			not += s.Weight
		}
	}
	return count >= results.EnoughFor(p) && not <= withheldMost*min(p, 1-p)*all
}

// mixQuantile is the time that a share p of the mix's operations does not exceed; NaN if the cell has
// no quantiles, and infinite if it lies among operations that never ended.
func mixQuantile(c *results.Cell, mix []Share, p float64) float64 {
	var all float64
	low, high := math.Inf(1), 0.0
	for _, s := range mix {
		q := c.Ops[s.Op].Quantiles
		if len(q) != len(results.QuantileShares) {
			return math.NaN()
		}
		all += s.Weight
		low = min(low, float64(max(q[0], 1)))
		for _, ns := range q {
			high = max(high, float64(ns))
		}
	}
	below := func(ns float64) float64 {
		var sum float64
		for _, s := range mix {
			sum += s.Weight * shareBelow(c.Ops[s.Op].Quantiles, ns)
		}
		return sum / all
	}
	if below(high) < p {
		return math.Inf(1)
	}
	// Between low and high the share grows with the time, so halves of halves find it.
	for high/low > 1.0001 {
		if middle := math.Sqrt(low * high); below(middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// shareBelow is which share of an operation's times is at most ns. Between two quantiles it grows with
// the logarithm of the time.
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

// spreadOf is how far the percentile of all operations of a cell lies below and above its own in the
// middle half of its intervals, as ratios. With too few intervals nobody knows.
func spreadOf(c *results.Cell, f results.Figure) (least, most float64) {
	var times []float64
	for i := range c.Timeline {
		in := &c.Timeline[i]
		if in.OK < results.EnoughFor(f.Percentile()) {
			continue
		}
		if f == results.P99 {
			times = append(times, float64(in.P99))
		} else {
			times = append(times, float64(in.P50))
		}
	}
	if len(times) < tellIntervals {
		return 0, math.Inf(1)
	}
	slices.Sort(times)
	middle := max(results.Median(times), 1)
	n := len(times)
	return times[n/4] / middle, times[n-1-n/4] / middle
}

// Of is a figure that a cell has as a whole, of the trials that have it.
func Of(values []float64) Value {
	var v Value
	v.of(values)
	return v
}
