package ranking

import (
	"cmp"
	"math"
	"slices"

	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// leastDifference is the ratio up to which two models count as equal, whatever the trials say.
const leastDifference = 1.05

// Difference is how a metric of one model compares with that of another. Ratio is the geometric mean
// of the ratios of their trials.
type Difference struct {
	Ratio  float64
	Trials int
	// Significant says that the metric is larger: by more than 5%, and for a latency the 95% interval of
	// Student's t of the log ratios, trial by trial, is above 1. One trial has no interval, and so no
	// significance.
	Significant bool
}

// Larger reports whether the metric is larger: significantly, or by more than 5% if one trial leaves
// significance unknown.
func (d Difference) Larger() bool { return d.Significant || d.Trials == 1 && d.Ratio > leastDifference }

// Compare compares b with a, trial by trial. Trials are interleaved, so trials of one number ran at
// nearly the same time. It returns false if they have no trial in common.
func Compare(a, b results.Series, timed bool) (d Difference, ok bool) {
	var logs []float64
	for i := range min(len(a), len(b)) {
		if !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			logs = append(logs, math.Log(max(b[i], 1e-9))-math.Log(max(a[i], 1e-9)))
		}
	}
	if d.Trials = len(logs); d.Trials == 0 {
		return d, false
	}
	mean, half := growth.Mean(logs, 0.05)
	d.Ratio = math.Exp(mean)
	d.Significant = d.Ratio > leastDifference && (!timed || mean > half)
	return d, true
}

// Leading says which of the values are best or level with the best. They are the least value, and in
// ascending order those after it, up to the first that is significantly larger. With one trial
// nothing is significant, and those within 5% of the best lead with it.
func Leading(all []results.Series, timed bool) []bool {
	leads := make([]bool, len(all))
	var order []int
	for i := range all {
		if m := all[i].Median(); !math.IsNaN(m) && !math.IsInf(m, 1) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a].Median(), all[b].Median()) })
	for n, i := range order {
		if n > 0 {
			d, ok := Compare(all[order[0]], all[i], timed)
			if !ok || d.Larger() {
				break
			}
		}
		leads[i] = true
	}
	return leads
}
