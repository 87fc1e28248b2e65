package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/units"
)

// timeChartHeight is less than chartHeight: a cell has two such charts, one above the
// other.
const timeChartHeight = 180

// timelineLeast is how many intervals a timeline needs to be drawn.
const timelineLeast = 3

// Colours of lines over time.
const (
	seriesOK, seriesFailed, seriesUnknown = 0, 1, 3
	seriesP99, seriesMax                  = 0, 7
)

// newTimeCharts draws a phase over time: what became of its operations, and the
// latencies of those that were ok.
func newTimeCharts(name string, c *Cell) []chart {
	if len(c.Timeline) < timelineLeast {
		return nil
	}
	return []chart{outcomeChart(name, c), latencyChart(name, c)}
}

// overTime makes a chart whose horizontal axis is time, and returns where a second is
// on it.
func overTime(title string, c *Cell) (ch chart, x func(seconds float64) float64) {
	ch = chart{
		Title: title, XLabel: "min:s", Width: chartWidth, Height: timeChartHeight,
		Left: marginLeft, Right: chartWidth - marginRight, Top: marginTop, Bottom: timeChartHeight - marginBottom,
	}
	last := &c.Timeline[len(c.Timeline)-1]
	length := max(last.At+last.Seconds, 1e-3)
	x = func(seconds float64) float64 { return ch.Left + seconds/length*(ch.Right-ch.Left) }
	step := 1.0
	for _, s := range []float64{2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400} {
		if length/step > 7 {
			step = s
		}
	}
	for at := 0.0; at <= length; at += step {
		ch.X = append(ch.X, tick{x(at), units.Clock(at)})
	}
	if c.LongestGap() != "" {
		ch.Band = &band{x(c.Gap.At), x(c.Gap.At+c.Gap.Seconds) - x(c.Gap.At)}
	}
	return ch, x
}

// line joins the values of intervals at their middles. A negative value interrupts
// the line.
func (c *Cell) line(x, y func(float64) float64, value func(*Interval) float64) []string {
	var segments []string
	var points strings.Builder
	end := func() {
		if points.Len() > 0 {
			segments = append(segments, strings.TrimSuffix(points.String(), " "))
		}
		points.Reset()
	}
	for i := range c.Timeline {
		in := &c.Timeline[i]
		if v := value(in); v < 0 {
			end()
		} else {
			fmt.Fprintf(&points, "%.1f,%.1f ", x(in.At+in.Seconds/2), y(v))
		}
	}
	end()
	return segments
}

func outcomeChart(name string, c *Cell) chart {
	ch, x := overTime(name+": operations a second", c)
	most := 1.0
	var failed, unknown int64
	for i := range c.Timeline {
		in := &c.Timeline[i]
		most = max(most, in.PerSecond(in.OK), in.PerSecond(in.Failed), in.PerSecond(in.Unknown))
		failed, unknown = failed+in.Failed, unknown+in.Unknown
	}
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for most/step < 3 {
		step /= 2
	}
	top := math.Ceil(most/step) * step
	y := func(v float64) float64 { return ch.Bottom - v/top*(ch.Bottom-ch.Top) }
	for v := 0.0; v <= top; v += step {
		ch.Y = append(ch.Y, tick{y(v), strconv.FormatFloat(v, 'g', 4, 64)})
	}
	ch.Lines = []chartLine{{"ok", seriesOK, c.line(x, y, func(in *Interval) float64 { return in.PerSecond(in.OK) })}}
	if failed > 0 {
		ch.Lines = append(ch.Lines, chartLine{"failed", seriesFailed, c.line(x, y, func(in *Interval) float64 { return in.PerSecond(in.Failed) })})
	}
	if unknown > 0 {
		ch.Lines = append(ch.Lines, chartLine{"of unknown outcome", seriesUnknown, c.line(x, y, func(in *Interval) float64 { return in.PerSecond(in.Unknown) })})
	}
	ch.Summary = fmt.Sprintf("%s over time: at most %s a second; %d failed, %d of unknown outcome. %s", ch.Title, units.Amount(most), failed, unknown, c.LongestGap())
	return ch
}

func latencyChart(name string, c *Cell) chart {
	ch, x := overTime(name+": latency of what was ok", c)
	least, most := int64(math.MaxInt64), int64(1)
	for i := range c.Timeline {
		if in := &c.Timeline[i]; in.OK > 0 {
			least, most = min(least, max(1, in.P99)), max(most, in.Max)
		}
	}
	low, high := math.Floor(math.Log10(float64(min(least, most)))), math.Ceil(math.Log10(float64(most)))
	high = max(high, low+1)
	y := func(ns float64) float64 {
		return ch.Bottom - (math.Log10(max(1, ns))-low)/(high-low)*(ch.Bottom-ch.Top)
	}
	for e := low; e <= high; e++ {
		ch.Y = append(ch.Y, tick{y(math.Pow(10, e)), decade(int(e))})
	}
	value := func(of func(*Interval) int64) func(*Interval) float64 {
		return func(in *Interval) float64 {
			if in.OK == 0 {
				return -1
			}
			return float64(of(in))
		}
	}
	ch.Lines = []chartLine{
		{"p99", seriesP99, c.line(x, y, value(func(in *Interval) int64 { return in.P99 }))},
		{"slowest", seriesMax, c.line(x, y, value(func(in *Interval) int64 { return in.Max }))},
	}
	ch.Summary = fmt.Sprintf("%s over time: slowest %s.", ch.Title, units.Duration(float64(most)))
	return ch
}
