package run

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/reports"
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
// within steadyWithin of their median.
func warm(windows []float64) bool {
	if len(windows) < steadyWindows {
		return false
	}
	last := windows[len(windows)-steadyWindows:]
	m := median(last)
	for _, w := range last {
		if apart(m, w) > steadyWithin {
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
	first, second, ok := halves(windows)
	return warm(windows) || ok && apart(first, second) <= steadyWithin
}

// halves are the medians of the first and second half of the windows; false if
// there are too few to tell drift from noise.
func halves(windows []float64) (first, second float64, ok bool) {
	n := len(windows)
	if n < 2*steadyWindows {
		return 0, 0, false
	}
	return median(windows[:n/2]), median(windows[n-n/2:]), true
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// apart is the difference of two times as a share of the first.
func apart(a, b float64) float64 { return math.Abs(b-a) / a }

func rounded(ns float64) time.Duration {
	return time.Duration(ns).Round(10 * time.Nanosecond)
}

// naming lists the operations with a count, in order: "flag 3, open 12".
func naming(ops map[string]reports.Op, count func(reports.Op) int64) string {
	var parts []string
	for _, name := range sortedOps(ops) {
		if n := count(ops[name]); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, n))
		}
	}
	return strings.Join(parts, ", ")
}

func sortedOps(ops map[string]reports.Op) []string {
	names := make([]string, 0, len(ops))
	for name := range ops {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
