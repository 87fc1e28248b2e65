package results

import "math"

// A percentile needs operations that are slower. Of n operations all are below the
// percentile p with the probability p^n. From n = ln 0.05 / ln p on, that is less
// than 5%: the least sample from which an upper bound of the percentile can be told
// with 95% confidence (W. J. Conover, Practical Nonparametric Statistics, tolerance
// limits).
// unbounded is that probability, 5%.
const unbounded = 0.05

// QuantileShares are the shares of operations, from 0 to 1, at which Op.Quantiles are.
var QuantileShares = []float64{
	0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95,
	0.97, 0.98, 0.99, 0.995, 0.999, 1,
}

// EnoughFor is how many operations it takes for the percentile p, 0 < p < 1.
func EnoughFor(p float64) int64 { return int64(math.Ceil(math.Log(unbounded) / math.Log(p))) }

// Percentiles are the percentiles that results have, the lowest first. P is from 0 to 1.
var Percentiles = []struct {
	Name string
	P    float64
	Of   func(*Latency) int64
}{
	{"p50", 0.5, func(l *Latency) int64 { return l.P50 }},
	{"p90", 0.9, func(l *Latency) int64 { return l.P90 }},
	{"p99", 0.99, func(l *Latency) int64 { return l.P99 }},
	{"p99.9", 0.999, func(l *Latency) int64 { return l.P999 }},
}

// Enough reports whether there are enough operations for the percentile p.
func (o *Op) Enough(p float64) bool { return o.Count >= EnoughFor(p) }
