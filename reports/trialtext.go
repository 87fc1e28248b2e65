package reports

import (
	"fmt"
	"math"
	"slices"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
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

// Remarks are shown beside an operation's figures: operations that are not in the
// figures and have no column, errors, and what the model's answers lacked.
func Remarks(o *results.Op) []string {
	var s []string
	for _, n := range []struct {
		count int64
		what  string
	}{
		{o.Dropped, "dropped"},
		{o.NoTarget, "without a message to work on"},
		{o.NotFound, "not found"},
		{o.TooLarge, "too large"},
		{o.Clamped, "latencies beyond 100 s"},
	} {
		if n.count > 0 {
			s = append(s, fmt.Sprintf("%d %s", n.count, n.what))
		}
	}
	if d := dueText(o); d != "" {
		s = append(s, d)
	}
	if o.Store.Retries > 0 {
		s = append(s, words.Amount(o.Store.Retries)+" retries an operation")
	}
	if o.Store.Throttled > 0 {
		throttled := fmt.Sprintf("throttled %s times an operation", words.Amount(o.Store.Throttled))
		if !o.Untimed() {
			throttled += ", waited " + words.Duration(o.Store.Backoff)
		}
		s = append(s, throttled)
	}
	for i, e := range o.Errors {
		if i == errorsShown {
			s = append(s, "more errors in run.json")
			break
		}
		s = append(s, fmt.Sprintf("%d× %s", e.Count, e.Text))
	}
	if o.Count+o.Others()+o.NoTarget == 0 {
		s = append(s, "never came up")
	}
	if o.Support == results.EmulatedOp {
		s = append(s, "emulated: "+o.Fallback)
	}
	if o.Missing != "" {
		s = append(s, "lacks "+o.Missing)
	}
	return s
}

// errorsShown is how many texts of errors are shown beside the figures.
const errorsShown = 2

// dueText writes the percentiles of everything that was due. It is "" if they are near those of
// the operations that were ok.
func dueText(o *results.Op) string {
	if !o.DueDiffers() || o.Untimed() {
		return ""
	}
	write := func(p float64, ns int64) string {
		if o.Withholds(p) {
			return Withheld
		}
		return ended(ns)
	}
	return fmt.Sprintf("of all due: p50 %s, p99 %s, p99.9 %s", write(0.5, o.Due.P50), write(0.99, o.Due.P99),
		write(0.999, o.Due.P999))
}
