package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// Interruption is what one operation leaves that was broken off: a row a model.
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
var InterruptionHeads = []string{"writes", "places", "undone", "some", "all", "twice", "lost"}

// InterruptionLegend explains the heads.
const InterruptionLegend = "places where it was broken off, one behind each write but the last: they leave all messages as before, " +
	"some or all done, one shown twice, or one lost"

// InterruptionsOf are the operations that a run has broken off.
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

// Title names what was broken off.
func (i *Interruption) Title() string {
	return fmt.Sprintf("%s: %s of %s, broken off", i.Phase, i.Op, words.Plural(i.Messages, "message"))
}

// interruptions writes a table for each operation.
func (t *text) interruptions(r *results.Run) {
	for n, one := range InterruptionsOf(r) {
		t.line("")
		head := one.Title()
		if n == 0 {
			head += "; " + InterruptionLegend
		}
		t.heading("INTERRUPTED  ", head)
		names := 0
		for _, row := range one.Rows {
			names = max(names, utf8.RuneCountInString(row.Name))
		}
		line := func(name string, cells []string) {
			s := fmt.Sprintf("%-*s", names, name)
			for k, cell := range cells {
				s += pad(cell, len(InterruptionHeads[k])+1)
			}
			t.line("%s", s)
		}
		line("", InterruptionHeads)
		for _, row := range one.Rows {
			line(words.OneLine(row.Name), row.Figures)
			if row.Faults != "" {
				t.styled(faint, func() { t.wrap("    ", 4, row.Faults) })
			}
		}
	}
}

// shortInterruptions writes in few lines in how many places each model's operation can break off, and in
// how many of them it shows or loses what it must not.
func (t *text) shortInterruptions(r *results.Run) {
	for _, one := range InterruptionsOf(r) {
		var parts []string
		for _, row := range one.Rows {
			s := row.Name + " " + row.Figures[1]
			for k, head := range InterruptionHeads[5:] { // twice and lost
				if n := row.Figures[5+k]; n != "0" {
					s += " (" + n + " " + head + ")"
				}
			}
			parts = append(parts, s)
		}
		t.cut("INTERRUPTED  ", 2, 2, one.Title()+" in places: "+strings.Join(parts, ", "))
	}
}

// interruptions writes a table for each operation.
func (m *markdown) interruptions() {
	for n, one := range InterruptionsOf(m.run) {
		said := one.Title()
		if n == 0 {
			said += "; " + InterruptionLegend
		}
		m.line("\n**Interrupted** %s", words.Markdown(said))
		m.titles(len(InterruptionHeads)-1, slices.Concat([]string{"model"}, InterruptionHeads, []string{"audits find"})...)
		for _, row := range one.Rows {
			m.row(slices.Concat([]string{row.Name}, row.Figures, []string{row.Faults})...)
		}
	}
}
