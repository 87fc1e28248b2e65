package reports

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
)

// Interruption is what one operation leaves that was interrupted: a row for each model.
type Interruption struct {
	Phase, Op string
	Messages  int
	Rows      []InterruptionRow
}

// InterruptionRow is what the operation of one model leaves.
type InterruptionRow struct {
	Name    string
	Figures []string // in the order of InterruptionHeads
	Faults  string   // what audits found, or ""
}

// InterruptionHeads are the heads of the figures.
var InterruptionHeads = []string{
	"writes", "points", "not\napplied", "partially\napplied", "applied", "duplicated", "lost",
}

// InterruptionLegend explains the heads.
const InterruptionLegend = "points: interruption points, one after each write but the last, and which state they leave the messages in"

// InterruptionsOf are the operations that a run has interrupted.
func InterruptionsOf(r *results.Run) []Interruption {
	var all []Interruption
	names := NamesIn(r)
	for i := range r.Cells {
		c := &r.Cells[i]
		for j := range c.Interrupted {
			left := &c.Interrupted[j]
			at := slices.IndexFunc(all, func(o Interruption) bool { return o.Phase == c.Where() && o.Op == left.Op })
			if at < 0 {
				at, all = len(all), append(all, Interruption{Phase: c.Where(), Op: left.Op, Messages: left.Messages})
			}
			row := InterruptionRow{Name: names.Of(c), Faults: left.FaultsText()}
			for _, n := range []int{left.Writes, left.Places, left.None, left.Some, left.All, left.Twice, left.Lost} {
				row.Figures = append(row.Figures, strconv.Itoa(n))
			}
			all[at].Rows = append(all[at].Rows, row)
		}
	}
	return all
}

// Title names what was interrupted.
func (i *Interruption) Title() string {
	return fmt.Sprintf("%s: %s of %s, interrupted", i.Phase, i.Op, words.Plural(i.Messages, "message"))
}

// interrupted has a table for each operation that was interrupted at each of its writes.
func (v *run) interrupted() (all []document.Section) {
	for n, one := range InterruptionsOf(v.Run) {
		t := &document.Table{Columns: []document.Column{{Title: "model", Left: true}}}
		for k, h := range InterruptionHeads {
			t.Columns = append(t.Columns, document.Column{Title: h, Rank: max(0, 2-k)})
		}
		for _, r := range one.Rows {
			row := document.Row{Cells: []document.Cell{document.Text(r.Name)}, Remark: r.Faults}
			for _, f := range r.Figures {
				row.Cells = append(row.Cells, document.Text(f))
			}
			t.Rows = append(t.Rows, row)
		}
		s := document.Section{ID: "interrupted", Title: "Interrupted", Lead: one.Title(), Table: t}
		if n == 0 {
			s.Note(document.Faint, "", InterruptionLegend)
		}
		all = append(all, s)
	}
	return all
}

// A gap is reported if it is at least gapLeast seconds long, and at least gapMissed operations
// would have ended in it at the phase's mean rate. If one operation ends in a minute, a minute
// without one tells nothing.
const (
	gapLeast  = 2.0
	gapMissed = 20
)

// LongestGap describes the longest time in which no operation was ok. It is "" if the gap is
// too short to be reported, or if the client itself stood still for half of it.
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
	return fmt.Sprintf("longest gap without an operation that was ok: %.1f s at %s", c.Gap.Seconds, words.Clock(c.Gap.At))
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
