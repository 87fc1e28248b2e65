package reports

import (
	"fmt"
	"math"

	"github.com/mailbench/mailbench/reports/units"
)

// A percentile needs operations that are slower. Of n operations all are below the
// percentile p with the probability p^n. From n = ln 0.05 / ln p on, that is less
// than 5%: the least sample from which an upper bound of the percentile can be told
// with 95% confidence (W. J. Conover, Practical Nonparametric Statistics, tolerance
// limits).
// unbounded is that probability, 5%.
const unbounded = 0.05

// EnoughFor is how many operations it takes for the percentile p, 0 < p < 1.
func EnoughFor(p float64) int64 { return int64(math.Ceil(math.Log(unbounded) / math.Log(p))) }

// Percentile writes a percentile of an operation's latencies, or a dash if there were
// too few operations for it.
func (o *Op) Percentile(ns int64, p float64) string {
	if o.Count < EnoughFor(p) {
		return "-"
	}
	return units.Duration(float64(ns))
}

// TooFew explains the dashes of a run's tables; "" if there are none.
func TooFew(all []Section) string {
	for _, s := range all {
		for _, c := range s.Cells {
			for _, o := range c.Ops {
				if o.Count > 0 && o.Count < EnoughFor(0.999) {
					return fmt.Sprintf("too few operations for that percentile: p50 takes %d, p90 %d, p99 %d, p99.9 %d",
						EnoughFor(0.5), EnoughFor(0.9), EnoughFor(0.99), EnoughFor(0.999))
				}
			}
		}
	}
	return ""
}
