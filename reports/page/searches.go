package page

import (
	"fmt"
	"math"
	"strings"

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

// newGrowthCharts draws for each phase a chart of each operation: its first metric that grows.
func newGrowthCharts(r *results.Run, n reports.Names, colours *palette) (all [][]chart) {
	if r.Sweep == nil {
		return nil
	}
	tables := reports.GrowthTables(r)
	for i := range tables {
		var charts []chart
		last := ""
		for k := range tables[i].Rows {
			row := &tables[i].Rows[k]
			if row.Op == last {
				continue
			}
			last = row.Op
			if c := newGrowthChart(r.Sweep, row, n, colours); c != nil {
				charts = append(charts, *c)
			}
		}
		all = append(all, charts)
	}
	return all
}

// labelRoom is the least distance between two labels of the horizontal axis.
const labelRoom = 44

// newGrowthChart draws the curves of one figure. Both axes are logarithmic, so that a power is a
// straight line. The chart is nil if there is nothing to draw.
func newGrowthChart(s *results.Sweep, row *reports.Grown, n reports.Names, colours *palette) *chart {
	ch := newChart(row.Op+", "+string(row.Figure)+" by "+words.OneLine(s.Path), words.OneLine(s.Path), chartHeight)
	least, most := math.Inf(1), 0.0
	for _, m := range row.Models {
		for _, p := range m.Points {
			if p.Value > 0 {
				least, most = min(least, p.Value), max(most, p.Value)
			}
		}
	}
	first, last := s.Points[0].Size, s.Points[len(s.Points)-1].Size
	if most == 0 || last <= first {
		return nil
	}
	x := func(size float64) float64 {
		return ch.Left + math.Log(size/first)/math.Log(last/first)*(ch.Right-ch.Left)
	}
	low, high := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	high = max(high, low+1)
	y := func(v float64) float64 { return ch.Bottom + (math.Log10(v)-low)/(high-low)*(ch.Top-ch.Bottom) }
	for e := low; e <= high; e++ {
		ch.Y = append(ch.Y, tick{y(math.Pow(10, e)), row.Figure.Text(math.Pow(10, e))})
	}
	for i, p := range s.Points {
		label := words.OneLine(p.Value)
		if at := x(p.Size); i == 0 || at-ch.X[len(ch.X)-1].At >= labelRoom {
			ch.X = append(ch.X, tick{at, label})
		}
	}
	var said []string
	for i := range row.Models {
		m := &row.Models[i]
		name := n.Part(m.Model, m.Engine)
		of := line{Name: name + ": " + reports.GrowthText(m), Series: colours.series(name)}
		var points polyline
		for _, p := range m.Points {
			if p.Value <= 0 || p.Size < first || p.Size > last {
				points.lift()
				continue
			}
			points.add(x(p.Size), y(p.Value))
			ch.Dots = append(ch.Dots, dot{
				x(p.Size), y(p.Value), of.Series,
				name + " at " + words.OneLine(p.Point) + ": " + row.Figure.Text(p.Value), false,
			})
		}
		of.Segments = points.drawn()
		ch.Lines = append(ch.Lines, of)
		said = append(said, name+" "+reports.GrowthText(m))
	}
	ch.Summary = fmt.Sprintf("%s of %s against %s: %s.", row.Figure, row.Op,
		words.OneLine(s.Path), strings.Join(said, ", "))
	return &ch
}
