package page

import (
	"fmt"
	"math"
	"strconv"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// strip shows one model on one engine in one trial over time: its phases one after another, as
// outcomes a second and as latencies.
type strip struct {
	Name   string
	Gaps   []string
	Charts []chart
}

// timelineLeast is how many intervals a phase needs to be drawn. timelineMost is how many
// intervals a chart shows. In a longer timeline neighbors are put together.
const (
	timelineLeast = 3
	timelineMost  = 240
)

const timeChartHeight = 170

// between is the room between two phases, as a share of a chart's width.
const between = 0.02

// Colors of lines over time.
const (
	seriesOK, seriesFailed, seriesUnknown = 0, 1, 3
	seriesP50, seriesP99, seriesMax       = 2, 0, 7
)

var timeLegend = []line{
	{Name: "ok", Series: seriesOK},
	{Name: "failed", Series: seriesFailed},
	{Name: "of unknown outcome", Series: seriesUnknown},
}

var latencyLegend = []line{
	{Name: "p50", Series: seriesP50}, {Name: "p99", Series: seriesP99}, {Name: "slowest", Series: seriesMax},
}

// newStrips draws all models of the run over time, in the phases that of accepts. All strips have
// the same axes of values, so that they can be compared.
func newStrips(r *results.Run, n reports.Names, of func(*results.Cell) bool) []strip {
	type target struct {
		model, engine string
		trial, shard  int
	}
	var order []target
	phases := map[target][]phaseTime{}
	for i := range r.Cells {
		c := &r.Cells[i]
		if len(c.Timeline) < timelineLeast || !of(c) {
			continue
		}
		t := target{c.Model, c.Engine, c.Trial, c.Shard}
		if len(phases[t]) == 0 {
			order = append(order, t)
		}
		phases[t] = append(phases[t], phaseTime{cell: c, intervals: fewer(c.Timeline)})
	}
	var a axes
	for _, ps := range phases {
		a.include(ps)
	}
	var strips []strip
	for _, t := range order {
		ps := phases[t]
		place(ps)
		s := strip{Name: n.Of(ps[0].cell), Charts: []chart{a.outcomes(ps)}}
		s.Charts = append(s.Charts, a.latencies(ps))
		for _, p := range ps {
			if gap := reports.LongestGap(p.cell); gap != "" {
				s.Gaps = append(s.Gaps, p.cell.Where()+": "+gap)
			}
		}
		strips = append(strips, s)
	}
	return strips
}

// phaseTime is a phase on a strip's axis of time. From and width are where it begins and how much
// it takes, as shares of the axis.
type phaseTime struct {
	cell        *results.Cell
	intervals   []results.Interval
	from, width float64
}

func (p *phaseTime) seconds() float64 {
	last := &p.cell.Timeline[len(p.cell.Timeline)-1]
	return max(last.At+last.Seconds, 1e-3)
}

// at is the horizontal place of a second of the phase on the chart.
func (p *phaseTime) at(ch *chart, seconds float64) float64 {
	return ch.Left + (p.from+p.width*min(1, seconds/p.seconds()))*(ch.Right-ch.Left)
}

// phaseLeast is the least share of the axis that a phase gets, so that a short phase can be
// seen next to one of an hour.
const phaseLeast = 0.08

// place puts the phases one after another.
func place(ps []phaseTime) {
	total := 0.0
	for i := range ps {
		total += ps[i].seconds()
	}
	room, wide := 1-between*float64(len(ps)-1), 0.0
	for i := range ps {
		ps[i].width = max(phaseLeast, ps[i].seconds()/total)
		wide += ps[i].width
	}
	at := 0.0
	for i := range ps {
		ps[i].from, ps[i].width = at, ps[i].width/wide*room
		at += ps[i].width + between
	}
}

// fewer puts neighbors together until there are at most timelineMost intervals.
func fewer(all []results.Interval) []results.Interval {
	for len(all) > timelineMost {
		var half []results.Interval
		for i := 0; i < len(all); i += 2 {
			in := all[i]
			if i+1 < len(all) {
				in.Follow(&all[i+1])
			}
			half = append(half, in)
		}
		all = half
	}
	return all
}

// axes are the ranges of values of all strips.
type axes struct {
	rate        float64
	least, most int64
}

func (a *axes) include(ps []phaseTime) {
	if a.most == 0 {
		a.rate, a.least, a.most = 1, math.MaxInt64, 1
	}
	for i := range ps {
		for j := range ps[i].intervals {
			in := &ps[i].intervals[j]
			a.rate = max(a.rate, in.PerSecond(in.OK), in.PerSecond(in.Failed), in.PerSecond(in.Unknown))
			if in.OK > 0 {
				a.least, a.most = min(a.least, max(1, in.P50)), max(a.most, in.Max)
			}
		}
	}
	a.least = min(a.least, a.most)
}

// timeChart is a chart without lines. It has the marks, ticks and gaps of the phases.
func timeChart(title string, ps []phaseTime) chart {
	ch := newChart(title, "min:s in each phase", timeChartHeight)
	ch.Top += 10 // room for the names of phases
	for i := range ps {
		p, length := &ps[i], ps[i].seconds()
		ch.Marks = append(ch.Marks, mark{p.at(&ch, 0), p.label()})
		step := 1.0
		for _, s := range []float64{2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400} {
			if length/step > 7*p.width {
				step = s
			}
		}
		for at := 0.0; at <= length; at += step {
			if place := p.at(&ch, at); i == len(ps)-1 || place < p.at(&ch, length)-30 || at == 0 {
				ch.X = append(ch.X, tick{place, words.Clock(at)})
			}
		}
		if g := p.cell.Gap; reports.LongestGap(p.cell) != "" {
			ch.Bands = append(ch.Bands, band{p.at(&ch, g.At), p.at(&ch, g.At+g.Seconds) - p.at(&ch, g.At)})
		}
	}
	return ch
}

// label is the phase's name, as far as there is room for it.
func (p *phaseTime) label() string {
	return shortened(p.cell.Where(), p.width*(chartWidth-marginLeft-marginRight))
}

// trace draws a value of the intervals at the middle of each. A negative value and the end of a
// phase interrupt the line.
func trace(ch *chart, ps []phaseTime, y func(float64) float64, value func(*results.Interval) float64) []string {
	var points polyline
	for i := range ps {
		for j := range ps[i].intervals {
			in := &ps[i].intervals[j]
			if v := value(in); v < 0 {
				points.lift()
			} else {
				points.add(ps[i].at(ch, in.At+in.Seconds/2), y(v))
			}
		}
		points.lift()
	}
	return points.drawn()
}

func (a *axes) outcomes(ps []phaseTime) chart {
	ch := timeChart("operations a second", ps)
	scale := linearScale(a.rate, rateLabel, ch.Bottom, ch.Top)
	y := scale.at
	ch.Y = scale.ticks
	var failed, unknown int64
	for i := range ps {
		for _, in := range ps[i].intervals {
			failed, unknown = failed+in.Failed, unknown+in.Unknown
		}
	}
	ch.Lines = []line{{"ok", seriesOK, trace(&ch, ps, y, func(in *results.Interval) float64 {
		return in.PerSecond(in.OK)
	})}}
	if failed > 0 {
		ch.Lines = append(ch.Lines, line{"failed", seriesFailed, trace(&ch, ps, y, func(in *results.Interval) float64 {
			return in.PerSecond(in.Failed)
		})})
	}
	if unknown > 0 {
		ch.Lines = append(ch.Lines, line{
			"of unknown outcome", seriesUnknown,
			trace(&ch, ps, y, func(in *results.Interval) float64 { return in.PerSecond(in.Unknown) }),
		})
	}
	ch.Summary = fmt.Sprintf("Operations a second over time: %d failed, %d of unknown outcome.", failed, unknown)
	return ch
}

// rateLabel writes a rate in the room next to the axis.
func rateLabel(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func (a *axes) latencies(ps []phaseTime) chart {
	ch := timeChart("latency of successful operations", ps)
	y := newScale(&document.Axis{Scale: document.Log}, []float64{float64(a.least), float64(a.most)}, ch.Bottom, ch.Top)
	ch.Y = y.ticks
	value := func(of func(*results.Interval) int64) []string {
		return trace(&ch, ps, y.at, func(in *results.Interval) float64 {
			if in.OK == 0 {
				return -1
			}
			return float64(of(in))
		})
	}
	ch.Lines = []line{
		{"p50", seriesP50, value(func(in *results.Interval) int64 { return in.P50 })},
		{"p99", seriesP99, value(func(in *results.Interval) int64 { return in.P99 })},
		{"slowest", seriesMax, value(func(in *results.Interval) int64 { return in.Max })},
	}
	var slowest int64
	for i := range ps {
		for j := range ps[i].intervals {
			slowest = max(slowest, ps[i].intervals[j].Max)
		}
	}
	ch.Summary = fmt.Sprintf("Latency over time: slowest %s.", words.Duration(float64(slowest)))
	return ch
}
