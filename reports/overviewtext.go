package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// warnings writes what comes before all figures: data that is wrong or lost, verdicts
// that are not ok, and doubts that change how figures are read.
func (t *text) warnings(r *results.Run, o *Overview) {
	wrong := slices.ContainsFunc(r.Audits, func(a results.Audit) bool { return a.Wrong() })
	if wrong || len(o.Verdicts)+len(o.Doubts) > 0 {
		t.line("")
	}
	for i := range r.Audits {
		if a := &r.Audits[i]; a.Wrong() {
			t.styled(red, func() { t.audit(a) })
		}
	}
	for i := range o.Verdicts {
		style := yellow
		if o.Verdicts[i].Verdict == results.Failed {
			style = red
		}
		t.styled(style, func() { t.wrap("! ", 4, o.Verdicts[i].String()) })
	}
	t.list("doubts", o.Doubts)
}

func (t *text) overview(o *Overview) {
	for i := range o.Parts {
		if p := &o.Parts[i]; len(p.Rows) > 0 {
			t.overviewPart(p)
		}
	}
}

// figureWidth fits the longest name of a figure.
const figureWidth = len("examined") + 1

func (t *text) overviewPart(p *OverviewPart) {
	t.line("")
	head := p.Phase + ": best 1.0×, ≈ within 10%, ? cannot be told; " + p.Load
	if p.Trials > 1 {
		head += fmt.Sprintf("; medians of %d trials", p.Trials)
	}
	t.heading("OVERVIEW  ", head+"; durability "+p.Durability)
	table, widths, titles := t.overviewWidths(p)
	if table {
		t.line("%s", titles)
	}
	for i := range p.Rows {
		row := &p.Rows[i]
		if table {
			t.overviewRow(p, row, widths)
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
	name := words.OneLine(p.Columns[i].Name)
	if p.Columns[i].Verdict != results.OK && slices.ContainsFunc(p.Columns, func(c OverviewColumn) bool {
		return c.Verdict == results.OK
	}) {
		name = "!" + name
	}
	return name
}

// overviewRow writes an operation as lines of a table. Marks have a column of their own
// behind the values.
func (t *text) overviewRow(p *OverviewPart, row *OverviewRow, widths []int) {
	op := words.OneLine(row.Op)
	for _, l := range row.Lines {
		s := fmt.Sprintf("%-*s%-*s", opWidth, op, figureWidth-1, l.Figure)
		for i := range l.Values {
			value, mark := row.value(p, &l, i)
			s += t.paint(row.style(&l, i), fmt.Sprintf("%*s", widths[i]-1, value)) + cmp.Or(mark, " ")
		}
		t.line("%s", s)
		op = ""
	}
}

// overviewList writes an operation if there is no room for a table: a list of columns for
// each figure, the best first.
func (t *text) overviewList(p *OverviewPart, row *OverviewRow) {
	op := words.OneLine(row.Op)
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
			value, mark := row.value(p, &l, i)
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
func (row *OverviewRow) value(p *OverviewPart, l *OverviewLine, i int) (value, mark string) {
	m := &row.Marks[i]
	if m.NotOffered {
		return "n/a", ""
	}
	mark = cmp.Or(p.marksApart(l.Figure, i), m.Text())
	if v := &l.Values[i]; v.Known && v.Ratio == 0 {
		return l.Figure.Text(v.Median), mark // it is the only one of its durability
	}
	return RatioText(&l.Values[i]), mark
}

// style marks the best values. Values that are not known are faint.
func (row *OverviewRow) style(l *OverviewLine, i int) string {
	switch v := &l.Values[i]; {
	case !v.Known:
		return faint
	case v.Best || v.Same || v.Ratio > 0 && v.Ratio < tellRatio:
		return green
	}
	return ""
}

// legend explains the marks, and names what the table leaves out.
func (t *text) legend(p *OverviewPart) {
	var l legend
	var names []string
	for i := range p.Columns {
		names = append(names, p.Columns[i].Name)
	}
	timed := false
	for i := range p.Rows {
		row := &p.Rows[i]
		l.add(row.Op, names, row.Marks)
		timed = timed || len(row.Lines) > 0 && !row.Lines[0].Figure.Counted()
	}
	for _, line := range l.lines() {
		t.wrap("  "+line[0]+" ", 4, line[1])
	}
	if timed && p.Apart() {
		t.wrap("  "+MarkApart+" ", 4, "the durability is not that of "+p.Columns[0].Name+
			", and the time is ranked with its like only")
	}
	for _, a := range p.Alone {
		t.wrap("    ", 4, "only "+a.Column+": "+strings.Join(a.Ops, ", "))
	}
	if !timed {
		t.wrap("    ", 4, "no times are compared: the verdicts are not ok, there are too few operations, or the client's "+
			"own timer is in them")
	}
}

// overviewWidths are the widths of the overview's columns and their titles, and whether a line has
// room for them.
func (t *text) overviewWidths(p *OverviewPart) (table bool, widths []int, titles string) {
	need := opWidth + figureWidth - 1 // values begin with a space
	titles = fmt.Sprintf("%*s", need, "")
	for i := range p.Columns {
		name := p.title(i)
		w := max(utf8.RuneCountInString(name), len("1000×")+2) + 2
		need += w
		widths, titles = append(widths, w), titles+fmt.Sprintf("%*s ", w-1, name)
	}
	return need <= t.width, widths, titles
}
