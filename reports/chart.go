package reports

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/units"
)

// chart is a picture of lines, in the units of its view box.
type chart struct {
	Title, Summary string
	Width, Height  int
	Left, Right    float64 // of the area of the curves
	Top, Bottom    float64
	XLabel         string
	X, Y           []tick
	Band           *band
	Lines          []chartLine
}

// Drawn is the height of the area of the curves.
func (c *chart) Drawn() float64 { return c.Bottom - c.Top }

// band marks a part of the horizontal axis.
type band struct{ From, Width float64 }

type tick struct {
	At    float64
	Label string
}

// chartLine is one line. It is interrupted where there is nothing to show.
type chartLine struct {
	Name     string
	Series   int // colour and dashes
	Segments []string
}

// Sizes of a chart: small, so that its letters can be read on a telephone.
const (
	chartWidth, chartHeight = 460, 280
	marginLeft, marginRight = 56, 20
	marginTop, marginBottom = 10, 40
)

// newChart draws one operation's curves. Its horizontal axis is HdrHistogram's: 90,
// 99 and 99.9% are equally far apart. Series numbers names so that a model has the
// same colour in all charts.
func newChart(op string, curves []Curve, name func(*Curve) string, series func(string) int) chart {
	ch := chart{
		Title: op, XLabel: "percentile", Width: chartWidth, Height: chartHeight,
		Left: marginLeft, Right: chartWidth - marginRight, Top: marginTop, Bottom: chartHeight - marginBottom,
	}
	nines, least, most := 2.0, int64(math.MaxInt64), int64(1)
	for i := range curves {
		for _, p := range curves[i].Points {
			nines = max(nines, ninesOf(p.Percentile))
			least, most = min(least, max(1, p.Nanoseconds)), max(most, p.Nanoseconds)
		}
	}
	low, high := math.Floor(math.Log10(float64(least))), math.Ceil(math.Log10(float64(most)))
	high = max(high, low+1)
	x := func(percentile float64) float64 { return ch.Left + ninesOf(percentile)/nines*(ch.Right-ch.Left) }
	y := func(ns float64) float64 {
		return ch.Bottom - (math.Log10(max(1, ns))-low)/(high-low)*(ch.Bottom-ch.Top)
	}
	for n := 0; float64(n) <= nines; n++ {
		p := 100 * (1 - math.Pow(10, -float64(n)))
		// Not 99.99…98: as many digits as there are nines.
		ch.X = append(ch.X, tick{x(p), strconv.FormatFloat(p, 'f', max(0, n-2), 64)})
	}
	for e := low; e <= high; e++ {
		ch.Y = append(ch.Y, tick{y(math.Pow(10, e)), decade(int(e))})
	}
	var ends []string
	for i := range curves {
		c := &curves[i]
		var points strings.Builder
		for _, p := range c.Points {
			fmt.Fprintf(&points, "%.1f,%.1f ", x(p.Percentile), y(float64(p.Nanoseconds)))
		}
		n := name(c)
		ch.Lines = append(ch.Lines, chartLine{n, series(n), []string{strings.TrimSuffix(points.String(), " ")}})
		median, last := c.Points[0], c.Points[len(c.Points)-1]
		if at := slices.IndexFunc(c.Points, func(p Point) bool { return p.Percentile >= 50 }); at >= 0 {
			median = c.Points[at]
		}
		ends = append(ends, fmt.Sprintf("%s: median %s, slowest %s", n, units.Duration(float64(median.Nanoseconds)), units.Duration(float64(last.Nanoseconds))))
	}
	ch.Summary = "Latency of " + op + " by percentile. " + strings.Join(ends, "; ") + "."
	return ch
}

// ninesOf is where a percentile lies on the axis: 0 at 0, 1 at 90, 2 at 99.
func ninesOf(percentile float64) float64 { return -math.Log10(1 - percentile/100) }

// decade writes 10^e nanoseconds.
func decade(e int) string {
	units := []string{"ns", "µs", "ms", "s"}
	u := min(e/3, len(units)-1)
	return strconv.FormatFloat(math.Pow10(e-3*u), 'f', 0, 64) + " " + units[u]
}
