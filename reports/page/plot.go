package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
)

// chart is a picture of lines, in the units of its view box.
type chart struct {
	Title, Summary string
	Width, Height  float64
	Left, Right    float64 // Left to Bottom bound the area of the lines
	Top, Bottom    float64
	XLabel         string
	X, Y           []tick
	Bands          []band
	Marks          []mark
	Lines          []line
	Dots           []dot
	Said           []string // texts below the chart
}

// Drawn is the height of the area of the lines.
func (ch *chart) Drawn() float64 { return ch.Bottom - ch.Top }

type tick struct {
	At    float64
	Label string
}

// band marks a part of the horizontal axis.
type band struct{ From, Width float64 }

// mark is a vertical line with words beside its top.
type mark struct {
	At    float64
	Label string
}

// line is one line. It is interrupted where there is nothing to show.
type line struct {
	Name     string
	Series   int // colour and dashes
	Segments []string
}

// dot is one value of a line. It is a ring if it is a rate that did not hold.
type dot struct {
	X, Y   float64
	Series int
	Name   string
	Ring   bool
}

// Sizes of a chart: small, so that its letters can be read on a telephone.
const (
	chartWidth, chartHeight = 460, 250
	marginLeft, marginRight = 56, 16
	marginTop, marginBottom = 12, 36
)

func newChart(title, xLabel string, height float64) chart {
	return chart{
		Title: title, XLabel: xLabel, Width: chartWidth, Height: height,
		Left: marginLeft, Right: chartWidth - marginRight, Top: marginTop, Bottom: height - marginBottom,
	}
}

// numSeries is how many colours the style sheet has.
const numSeries = 8

// palette gives each name a colour of its own, the same in all charts.
type palette struct{ names []string }

func (p *palette) series(name string) int {
	for i, known := range p.names {
		if known == name {
			return i % numSeries
		}
	}
	p.names = append(p.names, name)
	return (len(p.names) - 1) % numSeries
}

// legend has the names so far, with their colours.
func (p *palette) legend() []line {
	var ls []line
	for i, name := range p.names {
		ls = append(ls, line{Name: name, Series: i % numSeries})
	}
	return ls
}

// logScale is a logarithmic axis of nanoseconds in whole decades.
type logScale struct{ low, high, from, to float64 }

// newLogScale has room for all values from least to most. Its ends are at from and to.
func newLogScale(least, most int64, from, to float64) logScale {
	low := math.Floor(math.Log10(float64(max(1, least))))
	high := math.Ceil(math.Log10(float64(max(1, most))))
	return logScale{low, max(high, low+1), from, to}
}

func (s logScale) at(ns float64) float64 {
	return s.from + (math.Log10(max(1, ns))-s.low)/(s.high-s.low)*(s.to-s.from)
}

func (s logScale) ticks() []tick {
	var ts []tick
	for e := s.low; e <= s.high; e++ {
		ts = append(ts, tick{s.at(math.Pow(10, e)), decade(int(e))})
	}
	return ts
}

// decade writes 10^e nanoseconds.
func decade(e int) string {
	units := []string{"ns", "µs", "ms", "s"}
	u := min(e/3, len(units)-1)
	return strconv.FormatFloat(math.Pow10(e-3*u), 'f', 0, 64) + " " + units[u]
}

// polyline gathers points into segments.
type polyline struct {
	segments []string
	points   strings.Builder
}

func (p *polyline) add(x, y float64) { fmt.Fprintf(&p.points, "%.1f,%.1f ", x, y) }

// lift ends a segment.
func (p *polyline) lift() {
	if p.points.Len() > 0 {
		p.segments = append(p.segments, strings.TrimSuffix(p.points.String(), " "))
		p.points.Reset()
	}
}

func (p *polyline) drawn() []string {
	p.lift()
	return p.segments
}

// letterWidth is about how wide a letter of a chart is.
const letterWidth = 7.2

// shortened is as much of a name as there is room for.
func shortened(name string, room float64) string {
	letters := []rune(words.OneLine(name))
	if most := int(room / letterWidth); len(letters) > most {
		letters = append(letters[:max(0, most-1)], '…')
	}
	return string(letters)
}

// nextStep is 1, 2, 5, 10, 20, 50 and so on.
func nextStep(step int) int {
	for n := step; ; n /= 10 {
		switch n {
		case 1, 5:
			return 2 * step
		case 2:
			return 5 * step / 2
		}
	}
}

// linearScale is an axis from 0 to a round number.
type linearScale struct{ step, top, from, to float64 }

// newLinearScale has room for all values up to most. 0 is at from, and the top is at to.
func newLinearScale(most, from, to float64) linearScale {
	if most <= 0 {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for most/step < 3 {
		step /= 2
	}
	return linearScale{step, math.Ceil(most/step) * step, from, to}
}

func (s linearScale) at(v float64) float64 { return s.from + v/s.top*(s.to-s.from) }

func (s linearScale) ticks(text func(float64) string) []tick {
	ts := []tick{{s.at(0), "0"}}
	for v := s.step; v <= s.top*1.001; v += s.step {
		ts = append(ts, tick{s.at(v), words.OneLine(text(v))})
	}
	return ts
}
