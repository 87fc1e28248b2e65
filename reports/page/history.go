package page

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/reports/glossary"
	"github.com/mailbench/mailbench/reports/history"
	"github.com/mailbench/mailbench/schemas/words"
)

// historyView shows series of runs: the runs, the changes of figures, and trends.
type historyView struct {
	*history.History
	Runs       int
	Count      string // of the runs, with its noun
	Parts      []historyPart
	Operations []glossary.Term
	Columns    []glossary.Term
}

type historyPart struct {
	*history.Series
	ID, Title string
	Changed   []historyChange
	Untested  string
	Legend    []line
	Charts    []chart
}

// Alone is what stands in place of changes if there is one run.
func (historyPart) Alone() string { return history.OneRun }

type historyChange struct {
	Run         string
	Figure      string
	Before, New string
	Worse       bool
	Why         string
}

// History writes the page of a history. Asked says that the user named figures: all are then
// drawn. Else p50, p99, highest rates and figures that changed are drawn.
func History(w io.Writer, h *history.History, asked bool) error {
	v := &historyView{History: h, Operations: glossary.Operations(), Columns: glossary.Columns()}
	for i := range h.Series {
		s := &h.Series[i]
		v.Runs += len(s.Runs)
		p := historyPart{
			Series: s, ID: anchor("series", i),
			Title: "Runs of workload " + s.Runs[0].Workload, Untested: s.Untested(),
		}
		if len(h.Series) > 1 {
			p.Title = fmt.Sprintf("Series %d: runs of workload %s", s.Number, s.Runs[0].Workload)
		}
		for f, c := range s.Changed {
			p.Changed = append(p.Changed, historyChange{
				strconv.Itoa(c.Run + 1), f.String(), f.Measure.Text(c.Before), f.Measure.Text(c.After), c.Worse(), c.Why(),
			})
		}
		if len(s.Runs) > 1 {
			p.draw(asked)
		}
		v.Parts = append(v.Parts, p)
	}
	v.Count = words.Plural(v.Runs, "run")
	return execute(w, "history", v)
}

// draw makes a chart of each figure of an operation, with a line for each model and engine.
func (p *historyPart) draw(asked bool) {
	type key struct{ phase, op, figure string }
	var order []key
	of := map[key][]*history.Figure{}
	several := false
	for i := range p.Figures {
		f := &p.Figures[i]
		if drawn := asked || f.Name == "p50" || f.Name == "p99" || f.Name == "max-rate" || len(f.Changes) > 0; !drawn {
			continue
		}
		k := key{f.Phase, f.Of(), f.Name}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], f)
		several = several || f.Engine != p.Figures[0].Engine
	}
	phases := slices.ContainsFunc(order, func(k key) bool { return k.phase != order[0].phase })
	var colours palette
	for _, k := range order {
		title := k.op + " " + k.figure
		if phases {
			title += ", " + k.phase
		}
		p.Charts = append(p.Charts, newTrendChart(title, of[k], len(p.Runs), func(f *history.Figure) string {
			if several {
				return f.Model + "/" + f.Engine
			}
			return f.Model
		}, colours.series))
	}
	p.Legend = colours.legend()
}

// newTrendChart draws figures from run to run, with an axis from 0 up and a mark where a figure
// changed.
func newTrendChart(
	title string, figures []*history.Figure, runs int, name func(*history.Figure) string, series func(string) int,
) chart {
	ch := newChart(title, "run", chartHeight)
	x := func(run int) float64 {
		return ch.Left + (float64(run)+0.5)/float64(runs)*(ch.Right-ch.Left)
	}
	most := 0.0
	for _, f := range figures {
		for i, v := range f.Values {
			if v != nil {
				most = max(most, *v)
				if f.Uncertainties != nil {
					most = max(most, *v+f.Uncertainties[i])
				}
			}
		}
	}
	y := newLinearScale(most, ch.Bottom, ch.Top)
	ch.Y = y.ticks(figures[0].Measure.Text)
	step := 1
	for runs/step > 8 {
		step = nextStep(step)
	}
	for n := step; n <= runs; n += step {
		ch.X = append(ch.X, tick{x(n - 1), strconv.Itoa(n)})
	}
	ch.Summary = "Trend of " + title + "."
	for _, f := range figures {
		var points polyline
		var brackets []string // upright lines that show how far values may be off
		n := name(f)
		for i, v := range f.Values {
			if v == nil {
				points.lift()
				continue
			}
			points.add(x(i), y.at(*v))
			ch.Dots = append(ch.Dots, dot{x(i), y.at(*v), series(n), fmt.Sprintf("%s, run %d: %s", n, i+1, f.Shown(i)), false})
			if f.Uncertainties != nil && f.Uncertainties[i] > 0 {
				var bracket polyline
				bracket.add(x(i), y.at(*v-f.Uncertainties[i]))
				bracket.add(x(i), y.at(*v+f.Uncertainties[i]))
				brackets = append(brackets, bracket.drawn()...)
			}
		}
		ch.Lines = append(ch.Lines, line{n, series(n), append(points.drawn(), brackets...)})
		for _, c := range f.Changes {
			ch.Marks = append(ch.Marks, mark{(x(c.Run-1) + x(c.Run)) / 2, ""})
			said := fmt.Sprintf("%s from run %d on: %s -> %s, %s.", n, c.Run+1, f.Measure.Text(c.Before),
				f.Measure.Text(c.After), c.Why())
			ch.Said = append(ch.Said, said)
			ch.Summary += " " + said
		}
	}
	return ch
}
