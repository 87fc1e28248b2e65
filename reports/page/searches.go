package page

import (
	"fmt"
	"math"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// searchView is a search for the highest rate: what it found, and latency against rate.
type searchView struct {
	Title, Found, Expected, Grown string
	Bad                           bool // the search did not find the rate
	Steps                         []searchStep
	Chart                         *chart
}

type searchStep struct {
	reports.StepFigures
	Verdict results.StepVerdict
	Text    string
	Held    bool
}

// searchLegend explains the lines of the charts.
var searchLegend = []line{{Name: "p50", Series: seriesP50}, {Name: "p99", Series: seriesP99}}

func newSearchViews(r *results.Run, n reports.Names) []searchView {
	var views []searchView
	for i := range r.Searches {
		s := &r.Searches[i]
		v := searchView{Title: reports.SearchTitle(s, n), Expected: reports.SearchExpected(s), Grown: reports.SearchGrown(s)}
		if f := s.Found; f != nil {
			v.Found, v.Bad = f.Text, !f.OK()
		}
		steps := reports.SearchCurve(s)
		for i := range steps {
			step := &steps[i]
			held := step.Verdict == results.StepHeld
			v.Steps = append(v.Steps, searchStep{reports.FiguresOf(step), step.Verdict, step.Text, held})
		}
		v.Chart = newSearchChart(s, steps)
		views = append(views, v)
	}
	return views
}

// drawable are the times of a step; nil if it has none that hold.
func drawable(s *results.SearchStep) *results.Latency {
	if s.Cell.Untimed() {
		return nil
	}
	return s.Due()
}

// newSearchChart draws latency against rate. The chart is nil if there are fewer than two steps to
// draw. A percentile that never ended is left out.
func newSearchChart(s *results.Search, steps []results.SearchStep) *chart {
	ch := newChart("latency of all that was due, by rate", "operations a second", chartHeight)
	ch.Top += 10 // room for the label of the highest rate
	least, most, rate, drawn := int64(math.MaxInt64), int64(1), 0.0, 0
	for i := range steps {
		rate = max(rate, steps[i].Rate)
		if l := drawable(&steps[i]); l != nil {
			drawn++
			for _, ns := range []int64{l.P50, l.P99} {
				if ns > 0 {
					least, most = min(least, ns), max(most, ns)
				}
			}
		}
	}
	if drawn < 2 || least > most {
		return nil
	}
	x := newLinearScale(rate, ch.Left, ch.Right)
	y := newLogScale(least, most, ch.Bottom, ch.Top)
	ch.X, ch.Y = x.ticks(words.Amount), y.ticks()
	for _, of := range []struct {
		line
		ns func(*results.Latency) int64
	}{
		{searchLegend[0], func(l *results.Latency) int64 { return l.P50 }},
		{searchLegend[1], func(l *results.Latency) int64 { return l.P99 }},
	} {
		var points polyline
		for i := range steps {
			step := &steps[i]
			l := drawable(step)
			if l == nil || of.ns(l) <= 0 {
				points.lift()
				continue
			}
			at, height := x.at(step.Rate), y.at(float64(of.ns(l)))
			points.add(at, height)
			ch.Dots = append(ch.Dots, dot{
				at, height, of.Series,
				fmt.Sprintf("%s/s, %s %s: %s", words.Amount(step.Rate), of.Name, words.Duration(float64(of.ns(l))), step.Verdict),
				step.Verdict != results.StepHeld,
			})
		}
		of.Segments = points.drawn()
		ch.Lines = append(ch.Lines, of.line)
	}
	ch.Summary = fmt.Sprintf("Latency against rate of %s, %d measurements.", s.Model, len(steps))
	if f := s.Found; f != nil && f.Rate > 0 {
		ch.Marks = append(ch.Marks, mark{At: x.at(f.Rate)})
		ch.Summary += " " + f.Text
	}
	return &ch
}
