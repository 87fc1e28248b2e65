package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
)

// matrix is the overview of one phase: operations by models.
type matrix struct {
	Phase, Load, Durability string
	Trials                  int
	Columns                 []reports.OverviewColumn
	Rows                    []matrixRow
	Alone                   []reports.OverviewAlone
	Nobody                  string
	Apart                   bool // columns differ in durability
}

// Fits reports whether a wide window shows all of the table.
func (m *matrix) Fits() bool { return len(m.Columns) <= mostFitting/2 }

// Span is how many columns the table has.
func (m *matrix) Span() int { return len(m.Columns) + 2 }

type matrixRow struct {
	Op, Why string
	Lines   []matrixLine
}

// matrixLine compares the models by one figure. The first line of a row is the one to go by.
type matrixLine struct {
	Figure string
	First  bool
	Cells  []matrixCell
}

// matrixCell is a model's figure: its ratio to the best, and its value.
type matrixCell struct {
	Ratio, Text, Title string
	Marks              string
	Heat               int // shade, from 0 for the best to 4 for many times the best
	Best, None         bool
}

func newMatrix(p *reports.OverviewPart) matrix {
	m := matrix{
		Phase: p.Phase, Load: p.Load, Durability: p.Durability, Trials: p.Trials, Columns: p.Columns, Alone: p.Alone,
		Apart:  p.Apart(),
		Nobody: strings.Join(p.Nobody, ", "),
	}
	for i := range p.Rows {
		row := &p.Rows[i]
		mr := matrixRow{Op: row.Op, Why: row.Why}
		if len(row.Lines) == 0 {
			mr.Lines = append(mr.Lines, matrixLine{First: true, Cells: make([]matrixCell, len(p.Columns))})
			for c := range mr.Lines[0].Cells {
				mr.Lines[0].Cells[c] = newMatrixCell("", nil, &row.Marks[c], true)
			}
		}
		for l := range row.Lines {
			figure := row.Lines[l].Figure
			ml := matrixLine{Figure: string(figure), First: l == 0}
			for c := range row.Lines[l].Values {
				cell := newMatrixCell(figure, &row.Lines[l].Values[c], &row.Marks[c], l == 0)
				if !figure.Counted() && !cell.None && p.Columns[c].Durability != p.Columns[0].Durability {
					cell.Text += " " + reports.MarkApart
				}
				ml.Cells = append(ml.Cells, cell)
			}
			mr.Lines = append(mr.Lines, ml)
		}
		m.Rows = append(m.Rows, mr)
	}
	return m
}

// heats are the ratios to the best at which the shade of a cell becomes darker.
var heats = []float64{1.5, 3, 10, 30}

// newMatrixCell writes the marks of an operation in its first line only. Verdicts are in
// the head of the table.
func newMatrixCell(f results.Figure, v *trials.Value, marks *reports.OverviewMarks, first bool) matrixCell {
	var c matrixCell
	switch {
	case marks.NotOffered:
		return matrixCell{None: true, Text: "n/a", Title: "the model does not offer it"}
	case marks.None:
		return matrixCell{None: true, Text: "-", Title: "the operation was never ok"}
	case v == nil || !v.Known:
		return matrixCell{None: true, Text: "-"}
	}
	c.Best, c.Text = v.Best || v.Same, f.Text(v.Median)
	if v.Ratio > 0 { // else it is the only one of its durability
		c.Ratio = ratio(v.Ratio)
	}
	switch {
	case v.Best || !v.Same:
	case v.Exact:
		c.Ratio = reports.RatioText(v)
	default:
		c.Ratio = "≈" + c.Ratio
		c.Title = "differs from the best by less than a tenth"
	}
	if v.Unsure {
		c.Ratio = "?"
		c.Title = "nobody can tell whether it differs from the best"
	}
	if v.Low != v.High {
		if c.Title != "" {
			c.Title += "; "
		}
		c.Title += fmt.Sprintf("%s to %s", f.Text(v.Low), f.Text(v.High))
	}
	for _, from := range heats {
		if v.Ratio >= from && !c.Best && !v.Unsure {
			c.Heat++
		}
	}
	if first {
		var notes []string
		if marks.Emulated != "" {
			notes = append(notes, "emulated: "+marks.Emulated)
		}
		if marks.Lint != "" {
			notes = append(notes, "schema lint calls an error: "+marks.Lint)
		}
		if marks.Lacks != "" {
			notes = append(notes, "lacks "+marks.Lacks)
		}
		c.Marks = strings.Join(notes, "; ")
	}
	return c
}

// ratio writes how many times the best a value is.
func ratio(v float64) string {
	switch {
	case math.IsInf(v, 1) || math.IsNaN(v):
		return "∞"
	case v < 9.95:
		return fmt.Sprintf("%.1f×", v)
	}
	return words.Amount(math.Round(v)) + "×"
}
