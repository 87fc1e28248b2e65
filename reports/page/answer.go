package page

import (
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/mix"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// answerView is the table of models of one measured phase, with what its figures say.
type answerView struct {
	Phase, Scope, LeftOut string
	Several               bool // the run has several phases
	Says                  []string
	Figures               []head
	Rows                  []answerRow
	Out                   []string
}

type answerRow struct {
	Name, Trouble, Standing string
	Cells                   []matrixCell
}

// Span is how many columns the table has.
func (a *answerView) Span() int { return len(a.Figures) + 1 }

var answerTitles = map[results.Figure]string{
	results.Calls: "requests", results.Examined: "rows that the engine examined", results.BytesRead: "bytes read",
	results.BytesWritten: "bytes written", results.P50: "median time of everything that was due",
	results.P99:       "99th percentile of the times of everything that was due",
	results.Stored:    "bytes that a message takes in the engine's files, without the log",
	results.ClientCPU: "processor time of the client, and of an embedded engine",
	results.EngineCPU: "processor time of the engine",
}

func newAnswerViews(r *results.Run, o *reports.Overview) []answerView {
	all := reports.AnswersOf(r, o)
	var views []answerView
	for i := range all {
		a := &all[i]
		v := answerView{
			Phase: a.Phase, Scope: a.Scope(), LeftOut: a.LeftOut(), Several: len(all) > 1, Says: a.Says, Out: a.Out,
		}
		for k := range a.Rows {
			row := answerRow{Name: a.Rows[k].Name, Standing: a.Standings[k].Text()}
			if !a.Rows[k].OK {
				row.Trouble = "no verdict is ok"
			}
			v.Rows = append(v.Rows, row)
		}
		for k := range a.Lines {
			l := &a.Lines[k]
			times := l.Figure == results.P50 || l.Figure == results.P99
			v.Figures = append(v.Figures, head{string(l.Figure), answerTitles[l.Figure]})
			for n := range v.Rows {
				apart := times && a.Rows[n].Durability != a.Rows[0].Durability
				v.Rows[n].Cells = append(v.Rows[n].Cells, newAnswerCell(l, n, apart))
			}
			if l.Figure == results.Stored {
				v.Figures = append(v.Figures, head{"÷mail", "the same for a byte of mail"})
				for n := range v.Rows {
					cell := matrixCell{None: true, Text: "-"}
					if a.Rows[n].Mail > 0 {
						cell = matrixCell{Text: words.Digits(a.Rows[n].Mail)}
					}
					v.Rows[n].Cells = append(v.Rows[n].Cells, cell)
				}
			}
		}
		views = append(views, v)
	}
	return views
}

// newAnswerCell has a ratio only where values can be compared.
func newAnswerCell(l *mix.Line, row int, apart bool) matrixCell {
	v := l.Values[row]
	if v.Trials < 2 { // a single trial's range is that of its intervals, and may have no end
		v.Low, v.High = v.Median, v.Median
	}
	c := newMatrixCell(l.Figure, &v, &reports.OverviewMarks{}, false)
	if !l.Ranked || v.Ratio == 0 {
		c.Ratio, c.Heat = "", 0
	}
	if apart && !c.None {
		c.Text += " " + reports.MarkApart
	}
	return c
}

// doubtsShown is how many doubts stand above the figures. The others are folded.
const doubtsShown = 3
