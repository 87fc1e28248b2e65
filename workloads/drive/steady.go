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
			sum += weights[i] * float64(latency.At(h, 50))
			weight += weights[i]
		}
	}
	return sum / weight, weight > 0
}

// warmWindows is how many of a warm-up's last windows are looked at, at least, before it
// ends.
const warmWindows = 10

// lately is the later half of the windows, but no fewer than warmWindows if there are as
// many: what came before is what a warm-up is for.
func lately(windows []float64) []float64 {
	return windows[min(len(windows)/2, max(0, len(windows)-warmWindows)):]
}

// warm reports whether a warm-up may end before its time: the trend's bounds over the
// last windows are small.
func warm(windows []float64) bool {
	if len(windows) < warmWindows {
		return false
	}
	t, ok := judge.Trend(lately(windows))
	return ok && judge.Steady(t)
}

// steady reports whether a warm-up that has ended left nothing moving: its last windows
// show no trend. Too few windows tell nothing.
func steady(windows []float64) bool {
	t, ok := judge.Trend(lately(windows))
	return ok && !judge.Drifts(t)
}
