package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/reports/units"
)

// warnings writes what comes before all figures: data that is wrong or lost, verdicts
// that are not ok, and doubts that change how figures are read.
func (t *text) warnings(r *Run, o *Overview) {
	if len(o.Verdicts)+len(o.Doubts) > 0 || slices.ContainsFunc(r.Audits, func(a Audit) bool { return a.Wrong() }) {
		t.line("")
	}
	for i := range r.Audits {
		if a := &r.Audits[i]; a.Wrong() {
			t.styled(red, func() { t.audit(a) })
		}
	}
	for i := range o.Verdicts {
		style := yellow
		if o.Verdicts[i].Verdict == Failed {
			style = red
		}
		t.styled(style, func() { t.wrap("! ", 4, o.Verdicts[i].String()) })
	}
	t.list("doubts", o.Doubts)
}

// These marks are written behind the overview's values. The legend explains them.
const (
	markEmulated = "*"
	markLacks    = "°"
)

func (t *text) overview(o *Overview) {
	for i := range o.Parts {
		if p := &o.Parts[i]; len(p.Rows) > 0 {
			t.overviewPart(p)
		}
	}
}

// figureWidth fits the longest name of a figure.
const figureWidth = len("calls") + 1

func (t *text) overviewPart(p *OverviewPart) {
	t.line("")
	head := p.Phase + ": best 1.0×, ≈ as good within the noise; " + p.Load
	if p.Trials > 1 {
		head += fmt.Sprintf("; medians of %d trials", p.Trials)
	}
	t.heading("OVERVIEW  ", head+"; durability "+p.Durability)
	widths, need := make([]int, len(p.Columns)), opWidth+figureWidth
	titles := fmt.Sprintf("%*s", need, "")
	for i := range p.Columns {
		name := p.title(i)
		widths[i] = max(utf8.RuneCountInString(name), len("1000×")+2) + 2
		need += widths[i]
		titles += fmt.Sprintf("%*s ", widths[i]-1, name)
	}
	table := need <= t.width
	if table {
		t.line("%s", titles)
	}
	for i := range p.Rows {
		row := &p.Rows[i]
		if table {
			t.overviewRow(row, widths)
		} else {
			t.overviewList(p, row)
		}
		if row.Why != "" {
			t.styled(faint, func() { t.wrap("    ", 4, row.Why) })
		}
	}
	t.legend(p)
}

// title is the name of a column. It is marked if its verdict is not ok, and that of another
// column is.
func (p *OverviewPart) title(i int) string {
	name := units.OneLine(p.Columns[i].Name)
	if p.Columns[i].Verdict != OK && slices.ContainsFunc(p.Columns, func(c OverviewColumn) bool {
		return c.Verdict == OK
	}) {
		name = "!" + name
	}
	return name
}

// overviewRow writes an operation as lines of a table. Marks have a column of their own
// behind the values.
func (t *text) overviewRow(row *OverviewRow, widths []int) {
	op := units.OneLine(row.Op)
	for _, l := range row.Lines {
		s := fmt.Sprintf("%-*s%-*s", opWidth, op, figureWidth, l.Figure)
		for i := range l.Values {
			value, mark := row.value(&l, i)
			s += t.paint(row.style(&l, i), fmt.Sprintf("%*s", widths[i]-1, value)) + cmp.Or(mark, " ")
		}
		t.line("%s", s)
		op = ""
	}
}

// overviewList writes an operation if there is no room for a table: a list of columns for
// each figure, the best first.
func (t *text) overviewList(p *OverviewPart, row *OverviewRow) {
	op := units.OneLine(row.Op)
	for _, l := range row.Lines {
		order := make([]int, len(l.Values))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			x, y := &l.Values[a], &l.Values[b]
			if x.Known != y.Known {
				if x.Known {
					return -1
				}
				return 1
			}
			return cmp.Compare(x.Ratio, y.Ratio)
		})
		var words, lacking []string
		for _, i := range order {
			if row.Marks[i].NotOffered {
				lacking = append(lacking, p.title(i))
				continue
			}
			value, mark := row.value(&l, i)
			words = append(words, p.title(i)+" "+value+mark)
		}
		if len(lacking) > 0 {
			words = append(words, "n/a: "+strings.Join(lacking, ", "))
		}
		t.wrap(fmt.Sprintf("%-*s%-*s", opWidth, op, figureWidth, l.Figure), opWidth+figureWidth, strings.Join(words, ", "))
		op = ""
	}
}

// value writes how a column compares, and its mark.
func (row *OverviewRow) value(l *OverviewLine, i int) (value, mark string) {
	m := &row.Marks[i]
	if m.NotOffered {
		return "n/a", ""
	}
	switch {
	case m.Emulated != "":
		mark = markEmulated
	case m.Lacks != "":
		mark = markLacks
	}
	return l.Values[i].String(), mark
}

// style marks the best values. Values that are not known are faint.
func (row *OverviewRow) style(l *OverviewLine, i int) string {
	switch v := &l.Values[i]; {
	case !v.Known:
		return faint
	case v.Best || v.Same || v.Ratio < tellRatio:
		return green
	}
	return ""
}

// legend explains the marks, and names what the table leaves out.
func (t *text) legend(p *OverviewPart) {
	var emulated, lacking []string
	timed := false
	for i := range p.Rows {
		row := &p.Rows[i]
		var e, l []string
		for c, m := range row.Marks {
			if m.Emulated != "" {
				e = append(e, p.Columns[c].Name+" ("+m.Emulated+")")
			}
			if m.Lacks != "" {
				l = append(l, p.Columns[c].Name+" ("+m.Lacks+")")
			}
		}
		if len(e) > 0 {
			emulated = append(emulated, row.Op+" of "+strings.Join(e, ", "))
		}
		if len(l) > 0 {
			lacking = append(lacking, row.Op+" of "+strings.Join(l, ", "))
		}
		timed = timed || len(row.Lines) > 0 && !row.Lines[0].Figure.Counted()
	}
	if len(emulated) > 0 {
		t.wrap("  "+markEmulated+" ", 4, "emulated: "+strings.Join(emulated, "; "))
	}
	if len(lacking) > 0 {
		t.wrap("  "+markLacks+" ", 4, "less to read, for the answer lacks fields: "+strings.Join(lacking, "; "))
	}
	for _, a := range p.Alone {
		t.wrap("    ", 4, "only "+a.Column+": "+strings.Join(a.Ops, ", "))
	}
	if !timed {
		t.wrap("    ", 4, "no times are compared: the verdicts are not ok, there are too few operations, or the client's "+
			"own timer is in them")
	}
}
