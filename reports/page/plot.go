package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
)

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
