package reports

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/results"
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
