package reports

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/reports/mix"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// answerColumn is a column of the table of models.
type answerColumn struct {
	title string
	keep  int // importance: the column with the least is left out first
	best  string
	cells []string // by row
	style []string
}

// answerKeeps says how important a figure is.
var answerKeeps = map[results.Figure]int{
	results.Calls: 9, results.P50: 9, results.BytesRead: 8, results.Examined: 8, results.BytesWritten: 7, results.P99: 6,
	results.Stored: 6, results.ClientCPU: 2, results.EngineCPU: 3,
}

// answerColumns are the columns of the answer's table. With full, values stand beside ratios.
func (a *Answer) columns(full bool) []answerColumn {
	var all []answerColumn
	for i := range a.Lines {
		l := &a.Lines[i]
		c := answerColumn{title: string(l.Figure), keep: answerKeeps[l.Figure]}
		for k := range l.Values {
			v := &l.Values[k]
			cell, style := RatioText(v), ""
			switch {
			case !v.Known:
				style = faint
			case !l.Ranked || v.Ratio == 0:
				cell = l.Figure.Text(v.Median)
			case full:
				cell = l.Figure.Text(v.Median) + " " + cell
			case v.Best && c.best == "": // of several durabilities the first row's
				c.best = l.Figure.Text(v.Median)
			}
			if l.Ranked && v.Known && (v.Best || v.Same) {
				style = green
			}
			if v.Known && (l.Figure == results.P50 || l.Figure == results.P99) &&
				a.Rows[k].Durability != a.Rows[0].Durability {
				cell += MarkApart
			}
			c.cells, c.style = append(c.cells, cell), append(c.style, style)
		}
		all = append(all, c)
		if l.Figure == results.Stored {
			all = append(all, a.mailColumn())
		}
	}
	if full {
		return all
	}
	return append(all, a.countColumn("lacks", 5, func(s *Standing) int { return len(s.Lacks) }),
		a.countColumn("lint", 4, func(s *Standing) int { return len(s.Lint) }),
		a.countColumn("best", 3, func(s *Standing) int { return len(s.Best) }),
		a.countColumn("worst", 3, func(s *Standing) int { return len(s.Worst) }))
}

// mailColumn is how much is stored for a byte of mail.
func (a *Answer) mailColumn() answerColumn {
	c := answerColumn{title: "÷mail", keep: 5, style: make([]string, len(a.Rows))}
	for i := range a.Rows {
		cell := "-"
		if a.Rows[i].Mail > 0 {
			cell = words.Digits(a.Rows[i].Mail)
		}
		c.cells = append(c.cells, cell)
	}
	return c
}

func (a *Answer) countColumn(title string, keep int, of func(s *Standing) int) answerColumn {
	c := answerColumn{title: title, keep: keep, style: make([]string, len(a.Rows))}
	for i := range a.Standings {
		c.cells = append(c.cells, fmt.Sprint(of(&a.Standings[i])))
	}
	return c
}

// answerTable writes a row a model. Above them stand the best figures, unless values stand beside the
// ratios.
func (t *text) answerTable(a *Answer, full bool) {
	columns := a.columns(full)
	names := len("best")
	for i := range a.Rows {
		names = max(names, utf8.RuneCountInString(a.title(i)))
	}
	widths := func() (all []int, sum int) {
		for _, c := range columns {
			w := max(utf8.RuneCountInString(c.title), utf8.RuneCountInString(c.best))
			for _, cell := range c.cells {
				w = max(w, utf8.RuneCountInString(cell))
			}
			all, sum = append(all, w+1), sum+w+1
		}
		return all, sum + names
	}
	all, sum := widths()
	for sum > t.width && len(columns) > 1 {
		least := 0
		for i := range columns {
			if columns[i].keep < columns[least].keep {
				least = i
			}
		}
		columns = append(columns[:least:least], columns[least+1:]...)
		all, sum = widths()
	}
	head, best, known := strings.Repeat(" ", names), fmt.Sprintf("%-*s", names, "best"), false
	for i, c := range columns {
		head += pad(c.title, all[i])
		best += pad(c.best, all[i])
		known = known || c.best != ""
	}
	t.line("%s", head)
	if known {
		t.styled(faint, func() { t.line("%s", best) })
	}
	for i := range a.Rows {
		s := fmt.Sprintf("%-*s", names, a.title(i))
		for k, c := range columns {
			s += t.paint(c.style[i], pad(c.cells[i], all[k]))
		}
		t.line("%s", s)
		if full {
			t.styled(faint, func() { t.wrap("    ", 4, a.Standings[i].Text()) })
		}
	}
}

// title is the name of a row. It is marked if its verdict is not ok, and that of another row is.
func (a *Answer) title(i int) string {
	name := words.OneLine(a.Rows[i].Name)
	if !a.Rows[i].OK && slices.ContainsFunc(a.Rows, func(r mix.Row) bool { return r.OK }) {
		return "!" + name
	}
	return name
}

// pad puts spaces before a cell.
func pad(cell string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(cell))) + cell
}

// answers writes the answers with all their figures.
func (t *text) answers(all []Answer) {
	for i := range all {
		a := &all[i]
		t.line("")
		t.heading("ANSWER  ", a.Phase+": "+a.Scope())
		t.answerTable(a, true)
		t.answerNotes(a)
	}
}

// answerNotes writes the sentences, and what is not in the figures.
func (t *text) answerNotes(a *Answer) {
	for _, s := range a.Says {
		t.wrap("  ", 2, s)
	}
	if left := a.LeftOut(); left != "" {
		t.wrap("  ", 2, "Left out of the mix, as not all offer them: "+left+".")
	}
	if len(a.Out) > 0 {
		t.wrap("  ", 2, "No operation was ok: "+strings.Join(a.Out, ", ")+".")
	}
	if l := a.Line(results.ClientCPU); l != nil && !l.Ranked && len(a.Rows) > 1 {
		t.wrap("  ", 2, fmt.Sprintf("Processor time is of %d of all operations that a model carried out, and these differ.",
			mix.Operations))
	}
}
