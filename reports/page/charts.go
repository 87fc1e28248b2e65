package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// timelineLeast is how many intervals a phase needs to be drawn. timelineMost is how many
// intervals a chart shows. In a longer timeline neighbors are put together.
const (
	timelineLeast = 3
	timelineMost  = 240
)

// lettersWide is about how many letters a chart is wide.
const timeChartHeight, lettersWide = 170, 54

// between is the room between two phases, and phaseLeast the least room of a phase, so that a short one can be
// seen next to one of an hour, as shares of a chart's width.
const between, phaseLeast = 0.02, 0.08

// phaseTime is a phase on the axis of time. From and width are where it begins and how much
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

// at is the place of a second of the phase on the axis.
func (p *phaseTime) at(seconds float64) float64 { return p.from + p.width*min(1, seconds/p.seconds()) }

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
		all = results.Halved(all)
	}
	return all
}

// overTime draws each model on each engine in each trial over time, its phases that of accepts one after another:
// outcomes a second, and latencies. All have the same axes of values, so that they can be compared.
func overTime(r *results.Run, n reports.Names, of func(*results.Cell) bool) (all []document.Chart) {
	var drawn []phaseTime
	rate, low, high := 1.0, math.Inf(1), 1.0
	for c := range r.All {
		if len(c.Timeline) < timelineLeast || !of(c) {
			continue
		}
		p := phaseTime{cell: c, intervals: fewer(c.Timeline)}
		for j := range p.intervals {
			in := &p.intervals[j]
			rate = max(rate, in.PerSecond(in.OK), in.PerSecond(in.Failed), in.PerSecond(in.Unknown))
			if in.OK > 0 {
				low, high = min(low, float64(max(1, in.P50))), max(high, float64(in.Slowest()))
			}
		}
		drawn = append(drawn, p)
	}
	decade := func(ns float64, round func(float64) float64) float64 { return math.Pow(10, round(math.Log10(ns))) }
	latency := document.Axis{Scale: document.Log, From: decade(min(low, high), math.Floor), To: decade(high, math.Ceil)}
	latency.To = max(latency.To, 10*latency.From)
	target := func(p phaseTime) results.Key {
		return results.Key{Model: p.cell.Model, Engine: p.cell.Engine, Trial: p.cell.Trial, Segment: p.cell.Segment}
	}
	for _, ps := range results.Grouped(drawn, target) {
		place(ps)
		name := n.Of(ps[0].cell)
		rates := timeChart(name+": operations a second", ps, document.Axis{To: rate, Text: words.Amount})
		times := timeChart(name+": latency of successful operations", ps, latency)
		trace(&rates, "ok", ps, func(in *results.Interval) float64 { return in.PerSecond(in.OK) })
		failed := trace(&rates, "failed", ps, func(in *results.Interval) float64 { return in.PerSecond(in.Failed) })
		unknown := trace(&rates, "unknown", ps, func(in *results.Interval) float64 { return in.PerSecond(in.Unknown) })
		rates.Lines = slices.DeleteFunc(rates.Lines, func(l document.Line) bool {
			return l.Name == "failed" && failed == 0 || l.Name == "unknown" && unknown == 0
		})
		trace(&times, "p50", ps, func(in *results.Interval) float64 { return float64(in.P50) })
		trace(&times, "p99", ps, func(in *results.Interval) float64 { return float64(in.P99) })
		slowest := trace(&times, "slowest", ps, func(in *results.Interval) float64 { return float64(in.Slowest()) })
		rates.Summary = fmt.Sprintf("Operations over time: up to %s failed and %s of unknown outcome a second.",
			words.Amount(failed), words.Amount(unknown))
		times.Summary = fmt.Sprintf("Latency over time: slowest %s.", words.Duration(slowest))
		for _, p := range ps {
			if gap := reports.LongestGap(p.cell); gap != "" {
				rates.Says = append(rates.Says, p.cell.Where()+": "+gap)
			}
		}
		all = append(all, rates, times)
	}
	return all
}

// timeChart is a chart without lines. It has the names, ticks and gaps of the phases.
func timeChart(title string, ps []phaseTime, y document.Axis) document.Chart {
	ch := document.Chart{
		Title: title, Height: timeChartHeight, X: document.Axis{Label: "min:s in each phase", To: 1}, Y: y,
	}
	for i := range ps {
		p, length := &ps[i], ps[i].seconds()
		name := []rune(words.OneLine(p.cell.Where())) // as much of it as there is room for
		if most := int(p.width * lettersWide); len(name) > most {
			name = append(name[:max(0, most-1)], '…')
		}
		ch.Marks = append(ch.Marks, document.Tick{At: p.from, Label: string(name)})
		step := 1.0
		for _, s := range []float64{2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400} {
			if length/step > 7*p.width {
				step = s
			}
		}
		for at := 0.0; at <= length; at += step {
			if i == len(ps)-1 || p.at(at) < p.at(length)-phaseLeast || at == 0 { // room for the next phase
				ch.X.Ticks = append(ch.X.Ticks, document.Tick{At: p.at(at), Label: words.Clock(at)})
			}
		}
		if g := p.cell.Gap; reports.LongestGap(p.cell) != "" {
			ch.Bands = append(ch.Bands, [2]float64{p.at(g.At), p.at(g.At + g.Seconds)})
		}
	}
	return ch
}

// trace adds a line of a value of the intervals, at the middle of each, and returns the largest. The end of a phase
// interrupts the line, and so does a latency of 0, where nothing succeeded.
func trace(ch *document.Chart, name string, ps []phaseTime, value func(*results.Interval) float64) (most float64) {
	l := document.Line{Name: name}
	for i := range ps {
		for j := range ps[i].intervals {
			in := &ps[i].intervals[j]
			p := document.Point{X: ps[i].at(in.At + in.Seconds/2), Y: value(in)}
			if l.Points = append(l.Points, p); p.Y > most {
				most = p.Y
			}
		}
		l.Points = append(l.Points, document.Point{Y: math.NaN()})
	}
	ch.Lines = append(ch.Lines, l)
	return most
}

// opsTogether is how many operations of a single model share a chart.
const opsTogether = 6

// percentiles has a chart of each operation of a phase that two or more models support. If there
// is a single model, its operations share charts.
func percentiles(s *reports.Section, curves []results.Curve, n reports.Names) document.Section {
	p := document.Section{ID: "percentiles", Title: "Percentile curves, " + s.Cells[0].Where(), Fold: true, Open: true}
	curves, few := curvesOf(s, curves)
	if len(few) > 0 {
		p.Note(document.Faint, "", "Too few operations for a curve: "+strings.Join(few, ", ")+".")
	}
	if len(curves) == 0 {
		return p
	}
	p.Lead = "How many operations took longer than a time: a curve that is lower is faster, and its right end is the tail. " +
		"Both axes are logarithmic."
	name, last := func(c *results.Curve) string { return n.Part(c.Model, c.Engine) }, lastOf(curves)
	if !slices.ContainsFunc(curves, func(c results.Curve) bool { return name(&c) != name(&curves[0]) }) {
		op := func(c *results.Curve) string { return c.Op }
		for these := range slices.Chunk(curves, opsTogether) {
			var ops []string
			for i := range these {
				ops = append(ops, these[i].Op)
			}
			p.Charts = append(p.Charts, newPercentileChart(strings.Join(ops, ", "), these, last, op))
		}
		return p
	}
	var single []string // operations of one model, which have no chart
	for _, op := range s.Ops {
		drawn := slices.DeleteFunc(slices.Clone(curves), func(c results.Curve) bool { return c.Op != op })
		switch len(drawn) {
		case 0:
		case 1:
			single = append(single, op+" ("+name(&drawn[0])+")")
		default:
			p.Charts = append(p.Charts, newPercentileChart(op, drawn, last, name))
		}
	}
	if len(single) > 0 {
		p.Note(document.Faint, "", "Of one model only, and not drawn: "+strings.Join(single, ", ")+".")
	}
	return p
}

// curvesOf are the curves of a section that have samples enough for a p99, and the operations whose curves have not.
func curvesOf(s *reports.Section, curves []results.Curve) (drawn []results.Curve, few []string) {
	for _, c := range curves {
		var n int64
		in := false
		for _, cell := range s.Cells {
			if cell.Model == c.Model && cell.Engine == c.Engine && cell.Where() == c.Phase {
				n, in = n+cell.Ops[c.Op].Count, true
			}
		}
		switch {
		case !in || len(c.Points) == 0:
		case n >= results.EnoughFor(0.99):
			drawn = append(drawn, c)
		case !slices.Contains(few, c.Op):
			few = append(few, c.Op)
		}
	}
	return drawn, few
}

// lowestDrawn is where a curve begins. The fastest operations are those that client delay covers nearly whole.
const lowestDrawn = 10

// newPercentileChart draws curves on HdrHistogram's axis, on which 90, 99 and 99.9% are equally
// far apart. Last is the percentile at which the axis ends.
func newPercentileChart(
	title string, curves []results.Curve, last float64, name func(*results.Curve) string,
) document.Chart {
	ch := document.Chart{
		Title: title, X: document.Axis{Label: "percentile", Scale: document.Nines, To: last},
		Y: document.Axis{Scale: document.Log},
	}
	var ends []string
	for i := range curves {
		c := &curves[i]
		l := document.Line{Name: name(c)}
		for i, p := range c.Points {
			if p.Percentile < lowestDrawn && i < len(c.Points)-1 {
				continue
			}
			l.Points = append(l.Points, document.Point{X: p.Percentile, Y: float64(max(1, p.Nanoseconds))})
		}
		ch.Lines = append(ch.Lines, l)
		median, slowest := c.Points[0], c.Points[len(c.Points)-1]
		if at := slices.IndexFunc(c.Points, func(p results.Point) bool { return p.Percentile >= 50 }); at >= 0 {
			median = c.Points[at]
		}
		ends = append(ends, l.Name+": median "+words.Duration(float64(median.Nanoseconds))+
			", slowest "+words.Duration(float64(slowest.Nanoseconds)))
	}
	ch.Summary = "Latency of " + title + " by percentile. " + strings.Join(ends, "; ") + "."
	return ch
}

// lastOf is the highest percentile of curves, at least 99.
func lastOf(curves []results.Curve) float64 {
	last := 99.0
	for i := range curves {
		last = max(last, curves[i].Points[len(curves[i].Points)-1].Percentile)
	}
	return last
}

// chart is a chart of a document with its places, in the units of its view box.
type chart struct {
	*document.Chart
	Width, Height float64
	Left, Right   float64 // Left to Bottom bound the area of the lines
	Top, Bottom   float64
	Across, Up    scale
	Lines         []line
}

// Drawn is the height of the area of the lines.
func (ch *chart) Drawn() float64 { return ch.Bottom - ch.Top }

// line is one line. It is interrupted where there is nothing to show.
type line struct {
	Name     string
	Series   int // color and dashes
	Segments []string
	Dots     []document.Point // those with a text
}

// Sizes of a chart: small, so that its letters can be read on a telephone.
const (
	chartWidth, chartHeight = 460, 250
	marginLeft, marginRight = 56, 16
	marginTop, marginBottom = 12, 36
)

// numSeries is how many colors the style sheet has.
const numSeries = 8

// palette gives each name a color of its own, the same in all charts.
type palette struct{ names []string }

func (p *palette) series(name string) int {
	at := slices.Index(p.names, name)
	if at < 0 {
		at, p.names = len(p.names), append(p.names, name)
	}
	return at % numSeries
}

// scale is an axis of a chart: where a value is, and its ticks, which are places.
type scale struct {
	at    func(float64) float64
	Ticks []document.Tick
}

// Place is where a value is, and Wide how far apart two values are.
func (s scale) Place(v float64) float64    { return s.at(v) }
func (s scale) Wide(of [2]float64) float64 { return s.at(of[1]) - s.at(of[0]) }

// newScale is an axis that has room for all values. Its ends are at from and to.
func newScale(a *document.Axis, values []float64, from, to float64) scale {
	text := a.Text
	if text == nil {
		text = nanoseconds
	}
	low, high := a.From, a.To
	if low == high {
		low, high = math.Inf(1), 0
		for _, v := range values {
			if v > 0 && !math.IsInf(v, 1) {
				low, high = min(low, v), max(high, v)
			}
		}
		low = min(low, max(high, 1))
	}
	var s scale
	switch {
	case a.Scale == document.Linear && a.From == 0:
		s = linearScale(high, text, from, to)
	case a.Scale == document.Linear:
		s.at = func(v float64) float64 { return from + (v-low)/(high-low)*(to-from) }
	case a.Scale == document.Log:
		first, last := math.Log10(low), math.Log10(high)
		if a.From == a.To { // whole decades
			first = math.Floor(first)
			last = max(first+1, math.Ceil(math.Log10(max(high, low))))
		}
		s.at = func(v float64) float64 {
			return from + (max(math.Log10(max(v, math.SmallestNonzeroFloat64)), first)-first)/(last-first)*(to-from)
		}
		for e := math.Ceil(first); e <= last; e++ {
			s.Ticks = append(s.Ticks, document.Tick{At: s.at(math.Pow(10, e)), Label: words.OneLine(text(math.Pow(10, e)))})
		}
	case a.Scale == document.Nines:
		s.at = func(percentile float64) float64 { return from + ninesOf(percentile)/ninesOf(a.To)*(to-from) }
		for n := 0; float64(n) <= ninesOf(a.To)+1e-9; n++ {
			p := 100 * (1 - math.Pow(10, -float64(n)))
			// The label has as many digits as there are nines, because p may be 99.99…98.
			s.Ticks = append(s.Ticks, document.Tick{At: s.at(p), Label: strconv.FormatFloat(p, 'f', max(0, n-2), 64)})
		}
	}
	if a.Ticks != nil {
		s.Ticks = nil
		for i, t := range a.Ticks {
			if at := s.at(t.At); i == 0 || math.Abs(at-s.Ticks[len(s.Ticks)-1].At) >= labelRoom {
				s.Ticks = append(s.Ticks, document.Tick{At: at, Label: words.OneLine(t.Label)})
			}
		}
	}
	return s
}

// labelRoom is the least distance between two labels of the horizontal axis.
const labelRoom = 44

// linearScale is an axis from 0 to a round number.
func linearScale(most float64, text func(float64) string, from, to float64) scale {
	if most <= 0 {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for most/step < 3 {
		step /= 2
	}
	top := math.Ceil(most/step) * step
	s := scale{at: func(v float64) float64 { return from + v/top*(to-from) }}
	s.Ticks = []document.Tick{{At: s.at(0), Label: "0"}}
	for v := step; v <= top*1.001; v += step {
		s.Ticks = append(s.Ticks, document.Tick{At: s.at(v), Label: words.OneLine(text(v))})
	}
	return s
}

// ninesOf is the place of a percentile on the axis: 0 for 0%, 1 for 90%, 2 for 99%.
func ninesOf(percentile float64) float64 { return -math.Log10(1 - percentile/100) }

// nanoseconds writes a power of ten of nanoseconds.
func nanoseconds(ns float64) string {
	e, units := int(math.Round(math.Log10(ns))), []string{"ns", "µs", "ms", "s"}
	u := min(e/3, len(units)-1)
	return strconv.FormatFloat(math.Pow10(e-3*u), 'f', 0, 64) + " " + units[u]
}

// draw draws a chart as large as those of pages are. It returns nil if there is nothing to draw.
func draw(d *document.Chart, colors *palette) *chart {
	ch := &chart{
		Chart: d, Width: chartWidth, Height: cmp.Or(d.Height, chartHeight),
		Left: marginLeft, Right: chartWidth - marginRight, Top: marginTop,
	}
	ch.Bottom = ch.Height - marginBottom
	if slices.ContainsFunc(d.Marks, func(m document.Tick) bool { return m.Label != "" }) {
		ch.Top += 10
	}
	return ch.plot(colors)
}

// plot draws the lines within the bounds of the chart. It returns nil if there is nothing to draw.
func (ch *chart) plot(colors *palette) *chart {
	d := ch.Chart
	var xs, ys []float64
	for _, l := range d.Lines {
		for _, p := range l.Points {
			if !math.IsNaN(p.Y) {
				xs, ys = append(xs, p.X), append(ys, p.Y, p.Y+p.Error)
			}
		}
	}
	if len(xs) == 0 {
		return nil
	}
	x, y := newScale(&d.X, xs, ch.Left, ch.Right), newScale(&d.Y, ys, ch.Bottom, ch.Top)
	ch.Across, ch.Up = x, y
	for _, l := range d.Lines {
		of := line{Name: l.Name, Series: colors.series(l.Name)}
		segments := [][]string{nil} // the points of each
		var brackets []string       // upright lines that show how far values may be off
		place := func(at, value float64) string { return fmt.Sprintf("%.1f,%.1f", x.at(at), y.at(value)) }
		for _, p := range l.Points {
			if math.IsNaN(p.Y) || d.Y.Scale == document.Log && p.Y <= 0 {
				segments = append(segments, nil)
				continue
			}
			last := len(segments) - 1
			segments[last] = append(segments[last], place(p.X, p.Y))
			if p.Text != "" {
				of.Dots = append(of.Dots, p)
			}
			if p.Error > 0 {
				brackets = append(brackets, place(p.X, p.Y-p.Error)+" "+place(p.X, p.Y+p.Error))
			}
		}
		for _, points := range segments {
			if len(points) > 0 {
				of.Segments = append(of.Segments, strings.Join(points, " "))
			}
		}
		of.Segments = append(of.Segments, brackets...)
		ch.Lines = append(ch.Lines, of)
	}
	return ch
}
