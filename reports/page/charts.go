package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// overTime draws the latencies of each model on each engine over time, in the measured phases of all trials one after
// another. All have the same axis of latencies, so that they can be compared.
func overTime(r *results.Run, n reports.Names) (all []document.Chart) {
	const least = 3 // intervals of a phase that is drawn
	drawn := r.Select(func(c *results.Cell) bool { return c.Measured() && len(c.Timeline) >= least })
	low, high := math.Inf(1), 1.0
	for _, c := range drawn {
		for j := range c.Timeline {
			if in := &c.Timeline[j]; in.OK > 0 {
				low, high = min(low, float64(max(1, in.P50))), max(high, float64(in.Slowest()))
			}
		}
	}
	low = min(low, high)
	y := document.Axis{Log: true, From: low, To: max(high, 10*low), Text: nanoseconds}
	name := func(c *results.Cell) string { return n.Part(c.Model, c.Engine) }
	for _, cs := range results.Grouped(drawn, name) {
		all = append(all, timeChart(name(cs[0]), cs, y))
	}
	return all
}

// timeChart has the latencies at the middle of each interval, the names of the cells' phases and trials where there is
// room, and gaps. The end of a phase interrupts the lines, and so does a latency of 0, where nothing succeeded.
func timeChart(title string, cs []*results.Cell, y document.Axis) document.Chart {
	ch := document.Chart{
		Title: title, Summary: "Latency of " + title + " over time.", Y: y,
		X:     document.Axis{Label: "seconds", Text: words.Amount},
		Lines: []document.Line{{Name: "p50"}, {Name: "p99"}, {Name: "slowest"}},
	}
	lasts := func(c *results.Cell) float64 {
		last := &c.Timeline[len(c.Timeline)-1]
		return max(last.At+last.Seconds, 1e-3)
	}
	for _, c := range cs {
		ch.X.To += lasts(c)
	}
	at := 0.0
	for _, c := range cs {
		name, trial := words.OneLine(c.Where()), ""
		if c.Trial > 1 {
			trial = "#" + strconv.Itoa(c.Trial)
			name += " " + trial
		}
		room := 54 * lasts(c) / ch.X.To // a chart is about 54 letters wide
		if float64(len(name)) > room {
			name = trial
		}
		if float64(len(name)) > room {
			name = ""
		}
		ch.Marks = append(ch.Marks, document.Tick{At: at, Label: name})
		if reports.LongestGap(c) != "" {
			ch.Bands = append(ch.Bands, [2]float64{at + c.Gap.At, min(at+c.Gap.At+c.Gap.Seconds, ch.X.To)})
		}
		add := func(x float64, values ...float64) {
			for i, y := range values {
				ch.Lines[i].Points = append(ch.Lines[i].Points, document.Point{X: x, Y: y})
			}
		}
		for _, in := range c.Timeline {
			add(at+in.At+in.Seconds/2, float64(in.P50), float64(in.P99), float64(in.Slowest()))
		}
		add(0, math.NaN(), math.NaN(), math.NaN())
		at += lasts(c)
	}
	return ch
}

// percentiles has a chart of each operation of a phase, with a line for each model.
func percentiles(cells []*results.Cell, n reports.Names) document.Section {
	p := document.Section{ID: "percentiles", Title: "Percentile curves, " + cells[0].Where(), Fold: true, Open: true}
	p.Lead = "How many scheduled operations took longer than a time: a curve that is lower is faster, and its right end is the " +
		"tail. A point is the median of the trials. " +
		fmt.Sprintf("Both axes are logarithmic. Operations of which there are at least %d.", results.EnoughFor(0.99))
	for _, op := range results.OpsOf(cells) {
		var curves []document.Line
		for _, cs := range trials.Columns(cells) {
			if points := curveOf(cs.Row(op)); len(points) > 0 {
				curves = append(curves, document.Line{Name: n.Part(cs[0].Model, cs[0].Engine), Points: points})
			}
		}
		if len(curves) > 0 {
			p.Charts = append(p.Charts, percentileChart(op, curves))
		}
	}
	return p
}

// curveOf has the times at results.QuantileShares: X is the number of nines, 1 for 90% and 2 for 99%. Its last point is
// the slowest operation. It ends where operations were dropped, and is empty if there are too few for a p99.
func curveOf(row *trials.Row) (points []document.Point) {
	if row.Count < results.EnoughFor(0.99) {
		return nil
	}
	for i, share := range results.QuantileShares {
		ns := row.Median(func(o *results.Op) float64 {
			switch {
			case len(o.Quantiles) != len(results.QuantileShares):
				return math.NaN() // of an earlier build
			case o.Quantiles[i] == results.NeverEnded:
				return math.Inf(1)
			}
			return float64(o.Quantiles[i])
		})
		if math.IsNaN(ns) || math.IsInf(ns, 1) {
			break
		}
		// The fastest tenth are operations that client delay covers nearly whole.
		if share = min(share, 1-1/float64(row.Count)); share >= 0.1 {
			points = append(points, document.Point{X: -math.Log10(1 - share), Y: max(1, ns)})
		}
	}
	return points
}

// percentileChart draws curves on HdrHistogram's axis, on which 90, 99 and 99.9% are equally far apart.
func percentileChart(title string, curves []document.Line) document.Chart {
	ch := document.Chart{
		Title: title, Summary: "Latency of " + title + " by percentile.", Lines: curves,
		X: document.Axis{Label: "percentile", To: 2}, Y: document.Axis{Log: true, Text: nanoseconds},
	}
	for nines, label := range []string{"0", "90", "99", "99.9", "99.99", "99.999", "99.9999", "99.99999"} {
		ch.X.Ticks = append(ch.X.Ticks, document.Tick{At: float64(nines), Label: label})
	}
	for _, l := range curves {
		ch.X.To = max(ch.X.To, l.Points[len(l.Points)-1].X)
	}
	return ch
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

// palette gives each name a color of its own, the same in all charts.
type palette struct{ names []string }

func (p *palette) series(name string) int {
	at := slices.Index(p.names, name)
	if at < 0 {
		at, p.names = len(p.names), append(p.names, name)
	}
	return at % 8 // so many the style sheet has
}

// scale is an axis of a chart: where a value is, and its ticks, which are places.
type scale struct {
	At    func(float64) float64
	Ticks []document.Tick
}

// newScale is an axis that has room for all values. Its ends are at from and to.
func newScale(a *document.Axis, values []float64, from, to float64) scale {
	low, high := a.From, a.To
	if low == high {
		values = slices.DeleteFunc(values, func(v float64) bool { return v <= 0 || math.IsInf(v, 1) })
		low, high = slices.Min(append(values, math.Inf(1))), slices.Max(append(values, 0))
		low = min(low, high)
	}
	even := func(v float64) float64 { return v } // on which values that are equally far apart have even distances
	switch {
	case a.Log:
		if a.From == a.To { // whole decades
			low = math.Pow(10, math.Floor(math.Log10(max(low, 1e-9))))
			high = max(10*low, math.Pow(10, math.Ceil(math.Log10(max(high, 1e-9)))))
		}
		even = func(v float64) float64 { return math.Log10(max(v, low)) }
	case a.From == 0:
		if low = 0; high == 0 {
			high = 1
		}
	}
	s := scale{At: func(v float64) float64 { return from + (even(v)-even(low))/(even(high)-even(low))*(to-from) }}
	const labelRoom = 44 // the least distance between two labels of an axis that has its own
	for _, t := range ticksOf(a, low, high) {
		at := s.At(t.At)
		if last := len(s.Ticks) - 1; a.Ticks == nil || last < 0 || math.Abs(at-s.Ticks[last].At) >= labelRoom {
			s.Ticks = append(s.Ticks, document.Tick{At: at, Label: words.OneLine(t.Label)})
		}
	}
	return s
}

// ticksOf are the labels of an axis: its own that are on it, or round values.
func ticksOf(a *document.Axis, low, high float64) (ticks []document.Tick) {
	switch {
	case a.Ticks != nil:
		outside := func(t document.Tick) bool { return t.At < low || t.At > high*(1+1e-9) }
		return slices.DeleteFunc(slices.Clone(a.Ticks), outside)
	case a.Log:
		steps := []float64{1}
		if high < 100*low { // too few decades
			steps = []float64{1, 2, 5}
		}
		for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
			for _, step := range steps {
				if v := step * math.Pow(10, e); v >= low && v <= high*1.001 {
					ticks = append(ticks, document.Tick{At: v, Label: a.Text(v)})
				}
			}
		}
	default:
		step := math.Pow(10, math.Floor(math.Log10(high)))
		for high/step < 3 {
			step /= 2
		}
		for v := 0.0; v <= high*1.001; v += step {
			ticks = append(ticks, document.Tick{At: v, Label: a.Text(v)})
		}
	}
	return ticks
}

// nanoseconds writes a label of an axis.
func nanoseconds(ns float64) string {
	units := []string{"ns", "µs", "ms", "s"}
	u := min(max(0, int(math.Log10(ns)+1e-9)/3), len(units)-1)
	return strconv.FormatFloat(ns/math.Pow(1000, float64(u)), 'g', 6, 64) + " " + units[u]
}

// draw draws a chart of a size, with room for a title at its top. It returns nil if there is nothing to draw.
func draw(d *document.Chart, colors *palette, width, height, top float64) *chart {
	var xs, ys []float64
	for _, l := range d.Lines {
		for _, p := range l.Points {
			if !math.IsNaN(p.Y) {
				xs, ys = append(xs, p.X), append(ys, p.Y)
			}
		}
	}
	if len(xs) == 0 {
		return nil
	}
	ch := &chart{
		Chart: d, Width: width, Height: height,
		Left: marginLeft, Right: width - marginRight, Top: top, Bottom: height - marginBottom,
	}
	if slices.ContainsFunc(d.Marks, func(m document.Tick) bool { return m.Label != "" }) {
		ch.Top += 10
	}
	ch.Across, ch.Up = newScale(&d.X, xs, ch.Left, ch.Right), newScale(&d.Y, ys, ch.Bottom, ch.Top)
	for _, l := range d.Lines {
		of := line{Name: l.Name, Series: colors.series(l.Name)}
		var points []string // of a segment
		for _, p := range append(slices.Clone(l.Points), document.Point{Y: math.NaN()}) {
			if math.IsNaN(p.Y) || d.Y.Log && p.Y <= 0 {
				if len(points) > 0 {
					of.Segments, points = append(of.Segments, strings.Join(points, " ")), nil
				}
				continue
			}
			points = append(points, fmt.Sprintf("%.1f,%.1f", ch.Across.At(p.X), ch.Up.At(p.Y)))
			if p.Text != "" {
				of.Dots = append(of.Dots, p)
			}
		}
		ch.Lines = append(ch.Lines, of)
	}
	return ch
}
