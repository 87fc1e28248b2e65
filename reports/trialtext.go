package reports

import (
	"fmt"
	"math"
	"slices"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
)

// Trials are the trials of an operation put together, as the text shows them: the outcomes
// of all, and the medians of those whose verdict is ok.
type Trials struct {
	results.Op
	Used    []*results.Op // the trials that the medians are of
	Remarks []string
}

// TrialsOf puts the trials of an operation together. It returns false if no cell had it in
// its mix.
func TrialsOf(cells []*results.Cell, op string) (Trials, bool) {
	r, ok := trials.Column(cells).Row(op)
	if !ok {
		return Trials{}, false
	}
	return Trials{r.Op, r.Used, rowRemarks(&r)}, true
}

// timeText writes a percentile: the median of the trials, and behind it the distance of the
// farthest trial in percent. It writes a dash if a trial has too few operations for the
// percentile.
func timeText(r *trials.Row, p float64, of func(l *results.Latency) int64) string {
	for _, o := range r.Used {
		if !o.Tells(p) {
			return Percentile(o, 0, p)
		}
	}
	s := Percentile(&r.Op, of(r.Cell.Latency(&r.Op)), p)
	if len(r.Used) == 1 {
		return s
	}
	times := r.Values(func(o *results.Op) float64 { return float64(of(r.Cell.Latency(o))) })
	mid := results.Median(times)
	return s + fmt.Sprintf(" ±%.0f%%", 100*max(mid-slices.Min(times), slices.Max(times)-mid)/math.Max(mid, 1))
}

// rowRemarks are the remarks of the operation. If not all trials are in its figures, the last one
// says how many are.
func rowRemarks(r *trials.Row) []string {
	s := Remarks(&r.Op)
	if len(r.Used) < r.Trials {
		s = append(s, fmt.Sprintf("figures of %d of %d trials", len(r.Used), r.Trials))
	}
	return s
}
