package page

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// percentileCharts are the curves of a phase.
type percentileCharts struct {
	Legend []line
	Charts []chart
	Single []string // operations of one model only, which have no chart of their own
	Few    []string // operations with too few samples for a curve
}

// opsTogether is how many operations of a single model share a chart.
const opsTogether = 6

// newPercentileCharts draws a chart of each operation that two or more models offer. If there is
// a single model, its operations share charts.
func newPercentileCharts(
	s *reports.Section, curves []results.Curve, n reports.Names, colours *palette,
) percentileCharts {
	var p percentileCharts
	if curves, p.Few = carried(s, ofSection(s, curves)); len(curves) == 0 {
		return p
	}
	name := func(c *results.Curve) string { return n.Part(c.Model, c.Engine) }
	several := slices.ContainsFunc(curves, func(c results.Curve) bool { return name(&c) != name(&curves[0]) })
	nines := 2.0
	for i := range curves {
		ps := curves[i].Points
		nines = max(nines, ninesOf(ps[len(ps)-1].Percentile))
	}
	if !several {
		var own palette
		for at := 0; at < len(curves); at += opsTogether {
			these := curves[at:min(at+opsTogether, len(curves))]
			var ops []string
			for i := range these {
				ops = append(ops, these[i].Op)
			}
			op := func(c *results.Curve) string { return c.Op }
			p.Charts = append(p.Charts, newPercentileChart(strings.Join(ops, ", "), these, nines, op, own.series))
		}
		p.Legend = own.legend()
		return p
	}
	for _, op := range s.Ops {
		var drawn []results.Curve
		for _, c := range curves {
			if c.Op == op {
				drawn = append(drawn, c)
			}
		}
		switch len(drawn) {
		case 0:
		case 1:
			p.Single = append(p.Single, op+" ("+name(&drawn[0])+")")
		default:
			p.Charts = append(p.Charts, newPercentileChart(op, drawn, nines, name, colours.series))
		}
	}
	p.Legend = colours.legend()
	return p
}

// carried are the curves that have samples enough for a p99, and the operations whose curves have not.
func carried(s *reports.Section, curves []results.Curve) (drawn []results.Curve, few []string) {
	for _, c := range curves {
		var n int64
		for _, cell := range s.Cells {
			if cell.Model == c.Model && cell.Engine == c.Engine {
				n += cell.Ops[c.Op].Count
			}
		}
		switch {
		case n >= results.EnoughFor(0.99):
			drawn = append(drawn, c)
		case !slices.Contains(few, c.Op):
			few = append(few, c.Op)
		}
	}
	return drawn, few
}

func ofSection(s *reports.Section, curves []results.Curve) []results.Curve {
	var of []results.Curve
	for _, c := range curves {
		if len(c.Points) > 0 && slices.ContainsFunc(s.Cells, func(o *results.Cell) bool {
			return o.Model == c.Model && o.Engine == c.Engine && o.Where() == c.Phase
		}) {
			of = append(of, c)
		}
	}
	return of
}

// newPercentileChart draws curves on HdrHistogram's axis, on which 90, 99 and 99.9% are equally
// far apart. Nines is where the axis ends: 2 is 99%, 3 is 99.9%.
func newPercentileChart(
	title string, curves []results.Curve, nines float64, name func(*results.Curve) string, series func(string) int,
) chart {
	ch := newChart(title, "percentile", chartHeight)
	ch.drawPercentiles(curves, nines, name, series)
	return ch
}

func (ch *chart) drawPercentiles(
	curves []results.Curve, nines float64, name func(*results.Curve) string, series func(string) int,
) {
	least, most := int64(math.MaxInt64), int64(1)
	for i := range curves {
		for _, p := range curves[i].Points {
			least, most = min(least, p.Nanoseconds), max(most, p.Nanoseconds)
		}
	}
	x := func(percentile float64) float64 { return ch.Left + ninesOf(percentile)/nines*(ch.Right-ch.Left) }
	y := newLogScale(least, most, ch.Bottom, ch.Top)
	ch.Y = y.ticks()
	for n := 0; float64(n) <= nines; n++ {
		p := 100 * (1 - math.Pow(10, -float64(n)))
		// The label has as many digits as there are nines, because p may be 99.99…98.
		ch.X = append(ch.X, tick{x(p), strconv.FormatFloat(p, 'f', max(0, n-2), 64)})
	}
	var ends []string
	for i := range curves {
		c := &curves[i]
		var points polyline
		for _, p := range c.Points {
			points.add(x(p.Percentile), y.at(float64(p.Nanoseconds)))
		}
		n := name(c)
		ch.Lines = append(ch.Lines, line{n, series(n), points.drawn()})
		median, last := c.Points[0], c.Points[len(c.Points)-1]
		if at := slices.IndexFunc(c.Points, func(p results.Point) bool { return p.Percentile >= 50 }); at >= 0 {
			median = c.Points[at]
		}
		ends = append(ends, n+": median "+words.Duration(float64(median.Nanoseconds))+
			", slowest "+words.Duration(float64(last.Nanoseconds)))
	}
	ch.Summary = "Latency of " + ch.Title + " by percentile. " + strings.Join(ends, "; ") + "."
}

// ninesOf is the place of a percentile on the axis: 0 for 0%, 1 for 90%, 2 for 99%.
func ninesOf(percentile float64) float64 { return -math.Log10(1 - percentile/100) }
