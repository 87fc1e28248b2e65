package reports

import (
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// interrupted has a table for each operation that was interrupted at each of its writes.
func (v *run) interrupted() (all []document.Section) {
	for i := range v.Cells {
		c := &v.Cells[i]
		for j := range c.Interrupted {
			left := &c.Interrupted[j]
			lead := fmt.Sprintf("%s: %s of %s, interrupted", c.Where(), left.Op, words.Plural(left.Messages, "message"))
			at := slices.IndexFunc(all, func(s document.Section) bool { return s.Lead == lead })
			if at < 0 {
				at, all = len(all), append(all, document.Section{
					ID: "interrupted", Title: "Interrupted", Lead: lead, Table: &document.Table{Columns: []document.Column{
						{Title: "model", Left: true},
						{Title: "writes", Rank: 2},
						{Title: "points", Rank: 1, Help: "interruption points, one after each write but the last"},
						{Title: "not\napplied"},
						{Title: "partially\napplied"},
						{Title: "applied"},
						{Title: "duplicated"},
						{Title: "lost"},
					}},
				})
			}
			cells := []document.Cell{document.Text(v.names.Of(c))}
			for _, n := range []int{left.Writes, left.Places, left.None, left.Some, left.All, left.Twice, left.Lost} {
				cells = append(cells, countCell(int64(n)))
			}
			all[at].Table.Rows = append(all[at].Table.Rows, document.Row{Cells: cells, Remark: left.FaultsText()})
		}
	}
	if len(all) > 0 {
		all[0].Note(document.Faint, "",
			"points: interruption points, one after each write but the last, and which state they leave the messages in")
	}
	return all
}

// A gap is reported if it is at least gapLeast seconds long, and at least gapMissed operations
// would have ended in it at the phase's mean rate. If one operation ends in a minute, a minute
// without one says nothing.
const (
	gapLeast  = 2.0
	gapMissed = 20
)

// LongestGap describes the longest time in which no operation was ok. It is "" if the gap is
// too short to be reported, or if the client itself stopped for half of it.
func LongestGap(c *results.Cell) string {
	if c.Gap == nil || c.Gap.Seconds < gapLeast || len(c.Timeline) == 0 {
		return ""
	}
	if e := c.Evidence; e != nil && e.Hiccups != nil && float64(e.Hiccups.Lateness.Max) >= c.Gap.Seconds*1e9/2 {
		return ""
	}
	var ok int64
	for i := range c.Timeline {
		ok += c.Timeline[i].OK
	}
	if pace := float64(ok) / max(c.Seconds, 1e-9); ok > 0 && pace*c.Gap.Seconds < gapMissed {
		return ""
	}
	return fmt.Sprintf("longest gap without a successful operation: %.1f s at %s", c.Gap.Seconds, words.Clock(c.Gap.At))
}

// remarks are shown next to an operation's figures: operations that are not in the
// figures and have no column, errors, and what the model's answers lacked. If not all trials are in its figures, the
// last one says how many are.
func remarks(r *trials.Row) []string {
	var s []string
	o, cost := &r.Sum, r.Cost()
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
	if d := dueText(r); d != "" {
		s = append(s, d)
	}
	if cost.Retries > 0 {
		s = append(s, words.Amount(cost.Retries)+" retries per operation")
	}
	if cost.Throttled > 0 {
		s = append(s, fmt.Sprintf("throttled %s times per operation, waited %s", words.Amount(cost.Throttled),
			words.Duration(cost.Backoff)))
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
	if len(r.Best) < r.Trials {
		s = append(s, fmt.Sprintf("values of %d of %d trials", len(r.Best), r.Trials))
	}
	return s
}

// errorsShown is how many texts of errors are shown next to the figures.
const errorsShown = 2

// dueText writes the percentiles of all scheduled operations. It is "" if they are near those of
// the operations that succeeded, in all trials.
func dueText(r *trials.Row) string {
	if !slices.ContainsFunc(r.Best, (*results.Op).DueDiffers) {
		return ""
	}
	text := func(p float64) string { return results.TimeText(r.Scheduled(p)) }
	return fmt.Sprintf("of all scheduled: p50 %s, p99 %s, p99.9 %s", text(0.5), text(0.99), text(0.999))
}
