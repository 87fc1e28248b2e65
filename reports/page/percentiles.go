package page

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// opsTogether is how many operations of a single model share a chart.
const opsTogether = 6

// percentiles has a chart of each operation of a phase that two or more models support. If there
// is a single model, its operations share charts.
func percentiles(s *reports.Section, curves []results.Curve, n reports.Names) document.Section {
	p := document.Section{ID: "percentiles", Title: "Percentile curves, " + s.Cells[0].Where(), Fold: true}
	curves, few := carried(s, ofSection(s, curves))
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
