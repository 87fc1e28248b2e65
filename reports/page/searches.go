package page

import (
	"fmt"
	"math"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// searchLegend explains the lines of the charts.
var searchLegend = []line{{Name: "p50", Series: seriesP50}, {Name: "p99", Series: seriesP99}}

// newSearchCharts has the chart of each search, if there is one.
func newSearchCharts(r *results.Run) (all [][]chart) {
	for i := range r.Searches {
		s := &r.Searches[i]
		var charts []chart
		if c := newSearchChart(s, reports.SearchCurve(s)); c != nil {
			charts = append(charts, *c)
		}
		all = append(all, charts)
	}
	return all
}

// newSearchChart draws latency against rate. The chart is nil if there are fewer than two steps to
// draw. A percentile that never ended is left out.
func newSearchChart(s *results.Search, steps []results.SearchStep) *chart {
	ch := newChart("latency of all scheduled operations, by rate", "operations per second", chartHeight)
	ch.Top += 10 // room for the label of the highest rate
	least, most, rate, drawn := int64(math.MaxInt64), int64(1), 0.0, 0
	for i := range steps {
		rate = max(rate, steps[i].Rate)
		if l := steps[i].Due(); l != nil {
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
			l := step.Due()
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
