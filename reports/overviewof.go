package reports

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
)

// OverviewOf makes the overview of the run.
func OverviewOf(r *results.Run) *Overview {
	n := NamesIn(r)
	o := &Overview{Verdicts: verdictsOf(r, n)}
	for _, d := range DoubtsOf(r, n) {
		if changesReading[d.Code] {
			o.Doubts = append(o.Doubts, d)
		} else {
			o.Further = append(o.Further, d)
		}
	}
	e := newExplainer(r)
	for _, s := range together(Sections(r)) {
		o.Parts = append(o.Parts, newPart(e, &s, n))
	}
	return o
}

// together are the sections of measured phases. Those that differ in durability only are one.
func together(all []Section) []Section {
	var joined []Section
	for _, s := range all {
		first := s.Cells[0]
		if !first.Measured() {
			continue
		}
		at := slices.IndexFunc(joined, func(o Section) bool {
			return o.Cells[0].Where() == first.Where() && LoadLine(o.Cells[0]) == LoadLine(first)
		})
		if at < 0 {
			joined = append(joined, s)
			continue
		}
		cells := slices.Concat(joined[at].Cells, s.Cells)
		joined[at] = Section{Cells: cells, Ops: results.OpsOf(cells)}
	}
	return joined
}

func newPart(e *explainer, s *Section, n Names) OverviewPart {
	first := s.Cells[0]
	p := OverviewPart{Phase: first.Where(), Load: LoadLine(first)}
	var classes []string
	columns := trials.Columns(s.Cells)
	for _, cs := range columns {
		column := OverviewColumn{
			Name: n.Part(cs[0].Model, cs[0].Engine), Model: cs[0].Model,
			Engine: cs[0].Engine, Durability: cs[0].Durability, Verdict: results.OK,
		}
		for _, c := range cs {
			column.Verdict = worse(column.Verdict, c.Verdict)
		}
		classes = append(classes, column.Durability)
		if !slices.Contains(strings.Split(p.Durability, " and "), column.Durability) {
			p.Durability = strings.TrimPrefix(p.Durability+" and "+column.Durability, " and ")
		}
		p.Trials, p.Columns = max(p.Trials, len(cs)), append(p.Columns, column)
	}
	for _, op := range s.Ops {
		row := OverviewRow{Op: op}
		var offering []int
		for i, cs := range columns {
			marks := marks(cs, op, p.Columns[i].Verdict, e)
			if row.Marks = append(row.Marks, marks); !marks.NotOffered {
				offering = append(offering, i)
			}
		}
		switch len(offering) {
		case 0:
			p.Nobody = append(p.Nobody, op)
		case 1:
			p.alone(p.Columns[offering[0]].Name, op)
		default:
			row.Lines = linesOf(columns, op, classes)
			row.Why = e.why(&p, columns, &row)
			p.Rows = append(p.Rows, row)
		}
	}
	return p
}

func (p *OverviewPart) alone(column, op string) {
	at := slices.IndexFunc(p.Alone, func(a OverviewAlone) bool { return a.Column == column })
	if at < 0 {
		at, p.Alone = len(p.Alone), append(p.Alone, OverviewAlone{Column: column})
	}
	p.Alone[at].Ops = append(p.Alone[at].Ops, op)
}

func marks(cs trials.Column, op string, v results.Verdict, e *explainer) OverviewMarks {
	m := OverviewMarks{NotOffered: true, None: true, Verdict: v}
	for _, c := range cs {
		m.add(c, op, e)
	}
	return m
}

// linesOf compares the columns by times, as far as these can be compared, and by the counted
// figure in which they differ most. Times are compared within a class.
func linesOf(columns []trials.Column, op string, classes []string) []OverviewLine {
	var lines []OverviewLine
	for _, f := range []results.Figure{results.P50, results.P99} {
		l := OverviewLine{Figure: f}
		for _, cs := range columns {
			l.Values = append(l.Values, cs.Timed(op, f))
		}
		if trials.RankApart(f, l.Values, classes) {
			lines = append(lines, l)
		}
	}
	var counted *OverviewLine
	most := -1.0
	for _, f := range []results.Figure{results.Calls, results.Bytes, results.Examined, results.Rows} {
		l := OverviewLine{Figure: f}
		for _, cs := range columns {
			l.Values = append(l.Values, cs.Counted(op, f))
		}
		if w := l.weight(); l.rank() && w > most {
			counted, most = &l, w
		}
	}
	if counted != nil {
		lines = append(lines, *counted)
	}
	return lines
}

// rank compares the values with the best of them; false if there is nothing to compare.
func (l *OverviewLine) rank() bool { return trials.Rank(l.Figure, l.Values) }
