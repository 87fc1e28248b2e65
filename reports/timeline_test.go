package reports

import (
	"testing"

	"github.com/mailbench/mailbench/reports/results"
)

// A bar stands for as much time as any other, however long the intervals are.
func TestSketch(t *testing.T) {
	second := func(at float64, ok, failed int64) results.Interval {
		return results.Interval{At: at, Seconds: 1, OK: ok, Failed: failed}
	}
	for _, c := range []struct {
		name        string
		timeline    []results.Interval
		width       int
		bars, marks string
		most, each  float64
	}{
		{"even", []results.Interval{second(0, 8, 0), second(1, 4, 0), second(2, 0, 1), second(3, 8, 0)}, 60, "█▄ █", "  ! ", 8, 1},
		{"narrow", []results.Interval{second(0, 8, 0), second(1, 8, 0), second(2, 0, 1), second(3, 8, 0)}, 2, "█▄", " !", 8, 2},
		{"little is not nothing", []results.Interval{second(0, 1000, 0), second(1, 1, 0)}, 60, "█▁", "  ", 1000, 1},
		{"a late tick", []results.Interval{second(0, 4, 0), {At: 1, Seconds: 6, OK: 48, Unknown: 1}, second(7, 4, 0), second(8, 0, 0)}, 60, "▄██▂", " ?  ", 8, 2.25},
		{"nothing at all", []results.Interval{second(0, 0, 1)}, 60, " ", "!", 0, 1},
	} {
		cell := results.Cell{Timeline: c.timeline}
		bars, marks, most, each := sketch(&cell, c.width)
		if bars != c.bars || marks != c.marks || most != c.most || each != c.each {
			t.Errorf("%s: |%s|%s| at most %v, a bar for %v s; want |%s|%s|, %v, %v", c.name, bars, marks, most, each, c.bars, c.marks, c.most, c.each)
		}
	}
}

// A gap is told of where operations were missed in it, and not where there were
// none to miss.
func TestGap(t *testing.T) {
	for _, c := range []struct {
		name    string
		ok      int64
		seconds float64 // of the phase
		gap     results.Gap
		want    string
	}{
		{"a node that was down", 6000, 60, results.Gap{At: 14.2, Seconds: 10.53}, "longest gap without an operation that was ok: 10.5 s at 00:14"},
		{"after an hour", 6000, 6000, results.Gap{At: 3723, Seconds: 30}, "longest gap without an operation that was ok: 30.0 s at 1:02:03"},
		{"short", 60000, 60, results.Gap{At: 14, Seconds: 0.9}, ""},
		{"few operations", 10, 60, results.Gap{At: 14, Seconds: 10}, ""},
		{"none at all", 0, 60, results.Gap{At: 0, Seconds: 60}, "longest gap without an operation that was ok: 60.0 s at 00:00"},
	} {
		cell := results.Cell{Seconds: c.seconds, Gap: &c.gap, Timeline: []results.Interval{{OK: c.ok}}}
		if got := LongestGap(&cell); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		cell.Timeline = nil // of a phase that was broken off within its first interval
		if got := LongestGap(&cell); got != "" {
			t.Errorf("%s, without intervals: %q", c.name, got)
		}
	}
}
