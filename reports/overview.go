package reports

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
)

// Overview says which model does what best. It has a table of operations by models (and
// engines) for each measured phase, and the notices that a reader has to know.
type Overview struct {
	// Verdicts are the verdicts that are not ok, the worst first. Doubts are the doubts that
	// change how the figures are read. Further are the other doubts.
	Verdicts, Doubts, Further []Notice
	Parts                     []OverviewPart
}

// OverviewPart is the table of one measured phase. Cells with another load are in a part of their own,
// because they cannot be compared. Times of columns that differ in durability are ranked apart.
type OverviewPart struct {
	Phase, Load, Durability string
	Trials                  int
	Columns                 []OverviewColumn
	// Rows are the operations that two or more columns offer, the most frequent first.
	Rows []OverviewRow
	// Alone are the operations that only one column offers. Nobody are those that none offers.
	Alone  []OverviewAlone
	Nobody []string
}

// OverviewColumn is a model on an engine.
type OverviewColumn struct {
	Name          string // the model, and the engine if there are several
	Model, Engine string
	Durability    string
	Verdict       results.Verdict // the worst of its trials
}

// OverviewAlone names the operations that only one column offers.
type OverviewAlone struct {
	Column string
	Ops    []string
}

// OverviewRow is one operation. Its first line is the one to go by: a time if the times
// can be compared, else a counted figure.
type OverviewRow struct {
	Op    string
	Marks []OverviewMarks // by column
	Lines []OverviewLine
	Why   string // one sentence on where the difference comes from; may be empty
}

// OverviewMarks are what a reader must know about one operation of a column.
type OverviewMarks struct {
	NotOffered bool
	None       bool            // the operation was never ok
	Verdict    results.Verdict // verdict of the column
	Emulated   string          // patterns whose fallback ran
	Lint       string          // patterns that schema lint calls an error, with its rules
	Lacks      string          // fields that the answers lacked
}

// OverviewLine compares the columns by one figure.
type OverviewLine struct {
	Figure results.Figure
	Values []trials.Value // by column
}

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

// Apart reports whether columns differ in durability, so that their times are ranked apart.
func (p *OverviewPart) Apart() bool {
	return slices.ContainsFunc(p.Columns, func(c OverviewColumn) bool { return c.Durability != p.Columns[0].Durability })
}

// marksApart is the mark of a time whose column has another durability than the first column.
func (p *OverviewPart) marksApart(f results.Figure, column int) string {
	if f.Counted() || p.Columns[column].Durability == p.Columns[0].Durability {
		return ""
	}
	return MarkApart
}

// MarkApart stands behind a time that is ranked apart from those of the first column.
const MarkApart = "‡"

// leading is the line of the operation to go by when all columns are compared; nil if there is none.
func (p *OverviewPart) leading(r *OverviewRow) *OverviewLine {
	switch {
	case p.Apart():
		return r.counted()
	case len(r.Lines) > 0:
		return &r.Lines[0]
	}
	return nil
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

// RatioText writes how the value compares with the best: 1.0×, ≈ if they differ by less than a
// tenth and nobody can tell by how much, ? if nobody can tell at all, 2.3×; or a dash.
func RatioText(v *trials.Value) string {
	switch {
	case !v.Known:
		return "-"
	case v.Same && !v.Exact:
		return "≈"
	case v.Unsure:
		return "?"
	case math.IsInf(v.Ratio, 1):
		return "never"
	}
	if v.Same { // it is not the best
		return strconv.FormatFloat(v.Ratio, 'f', 2, 64) + "×"
	}
	return Ratio(v.Ratio)
}

// Ratio writes how many times the best a value is.
func Ratio(v float64) string {
	if v < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64) + "×"
	}
	return words.Amount(math.Round(v)) + "×"
}

func worse(a, b results.Verdict) results.Verdict {
	if slices.Index(severity, b) > slices.Index(severity, a) {
		return b
	}
	return a
}

// severity lists the verdicts from best to worst.
var severity = []results.Verdict{results.OK, results.Overloaded, results.Invalid, results.Empty, results.Failed}
