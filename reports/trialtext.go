package reports

import (
	"fmt"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
)

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
		s = append(s, words.Amount(o.Store.Retries)+" retries per operation")
	}
	if o.Store.Throttled > 0 {
		s = append(s, fmt.Sprintf("throttled %s times per operation, waited %s", words.Amount(o.Store.Throttled),
			words.Duration(o.Store.Backoff)))
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
		s = append(s, "runs a fallback pattern: "+o.Fallback)
	}
	if o.Missing != "" {
		s = append(s, "omits fields: "+o.Missing)
	}
	return s
}

// errorsShown is how many texts of errors are shown beside the figures.
const errorsShown = 2

// dueText writes the percentiles of all scheduled operations. It is "" if they are near those of
// the operations that succeeded.
func dueText(o *results.Op) string {
	if !o.DueDiffers() {
		return ""
	}
	return fmt.Sprintf("of all scheduled: p50 %s, p99 %s, p99.9 %s", ended(o.Due.P50), ended(o.Due.P99), ended(o.Due.P999))
}
