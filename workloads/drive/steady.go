package drive

import (
	"github.com/mailbench/mailbench/reports/judge"
	"github.com/mailbench/mailbench/reports/latency"
)

// windowScore is one window's service time in nanoseconds: the medians of its
// operations, weighted by their share of the mix, so that it does not change
// when chance brings more of one operation. Weights are by operation; an
// operation without values in the window is left out.
func windowScore(ops []latency.Op, weights []float64) (float64, bool) {
	var sum, weight float64
	for i := range ops {
		if h := ops[i].Times[latency.Service]; h != nil && h.TotalCount() > 0 && weights[i] > 0 {
			sum += weights[i] * float64(h.ValueAtQuantile(50))
			weight += weights[i]
		}
	}
	return sum / weight, weight > 0
}

// warm reports whether the last windows agree: as many as steadyWindows, each
// within judge.SteadyWithin of their median.
func warm(windows []float64) bool {
	if len(windows) < steadyWindows {
		return false
	}
	last := windows[len(windows)-steadyWindows:]
	m := judge.Median(last)
	for _, w := range last {
		if judge.Apart(m, w) > judge.SteadyWithin {
			return false
		}
	}
	return true
}

// steadyWindows is how many windows of a warm-up must agree.
const steadyWindows = 3

// steady reports whether a warm-up that has ended left nothing moving: its last
// windows agree, or its later half does not differ from the one before (windows
// with few operations scatter more than they agree on).
func steady(windows []float64) bool {
	first, second, ok := judge.Halves(windows)
	return warm(windows) || ok && judge.Apart(first, second) <= judge.SteadyWithin
}
