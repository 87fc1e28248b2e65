package reports

import (
	"math"
	"slices"
	"strconv"

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

// counted is the row's line of a counted figure; nil if it has none.
func (row *OverviewRow) counted() *OverviewLine {
	for i := range row.Lines {
		if row.Lines[i].Figure.Counted() {
			return &row.Lines[i]
		}
	}
	return nil
}

// ends are the columns of the least and the greatest value. Worst is -1 if the noise hides all
// differences, or if there are none.
func (l *OverviewLine) ends() (best, worst int) {
	best, worst = -1, -1
	for i := range l.Values {
		switch v := &l.Values[i]; {
		case !v.Known:
		case v.Best && best < 0:
			best = i
		case !v.Best && !v.Same && v.Ratio >= tellRatio && (worst < 0 || v.Median > l.Values[worst].Median):
			worst = i
		}
	}
	return best, worst
}

// tellRatio is the least ratio that is not written as 1.0×.
const tellRatio = 1.05

// equals names column i, and then the columns with about the same value.
func (l *OverviewLine) equals(p *OverviewPart, i int) []string {
	all := []string{p.Columns[i].Name}
	for at := range l.Values {
		if v := &l.Values[at]; at != i && v.Known && v.Ratio < 1.005 && !slices.Contains(all, p.Columns[at].Name) {
			all = append(all, p.Columns[at].Name)
		}
	}
	return all
}
