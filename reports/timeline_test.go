package reports

import (
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// A gap is reported where operations were missed in it, and not where there were
// none to miss.
func TestGap(t *testing.T) {
	for _, c := range []struct {
		name    string
		ok      int64
		seconds float64 // of the phase
		gap     results.Gap
		want    string
	}{
		{"a node that was down", 6000, 60, results.Gap{At: 14.2, Seconds: 10.53}, "longest gap without a successful operation: 10.5 s at 00:14"},
		{"after an hour", 6000, 6000, results.Gap{At: 3723, Seconds: 30}, "longest gap without a successful operation: 30.0 s at 1:02:03"},
		{"short", 60000, 60, results.Gap{At: 14, Seconds: 0.9}, ""},
		{"few operations", 10, 60, results.Gap{At: 14, Seconds: 10}, ""},
		{"none at all", 0, 60, results.Gap{At: 0, Seconds: 60}, "longest gap without a successful operation: 60.0 s at 00:00"},
	} {
		cell := results.Cell{Seconds: c.seconds, Gap: &c.gap, Timeline: []results.Interval{{OK: c.ok}}}
		if got := LongestGap(&cell); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		cell.Timeline = nil // of a phase that was interrupted within its first interval
		if got := LongestGap(&cell); got != "" {
			t.Errorf("%s, without intervals: %q", c.name, got)
		}
	}
}
