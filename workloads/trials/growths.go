package trials

import (
	"math"
	"slices"

	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// growthFigures are the figures that are fitted, in the order in which they are shown.
var growthFigures = []results.Figure{results.P50, results.Examined, results.Calls, results.Rows, results.Bytes}

// Growths are how the figures of the run's measured phases grow over its sweep. A run without a
// sweep has none. They follow from the cells and the sweep's points.
func Growths(r *results.Run) []results.Growth {
	if r.Sweep == nil {
		return nil
	}
	var all []results.Growth
	for _, cells := range sweptPhases(r) {
		for _, op := range results.OpsOf(cells) {
			for _, f := range growthFigures {
				for _, cs := range Columns(cells) {
					if g, ok := growthOf(r, cs, op, f); ok {
						all = append(all, g)
					}
				}
			}
		}
	}
	return append(all, partitionsOf(r)...)
}

// sweptPhases are the cells of each measured phase at all points.
func sweptPhases(r *results.Run) (phases [][]*results.Cell) {
	for i := range r.Cells {
		c := &r.Cells[i]
		if !c.Measured() || c.Point == "" {
			continue
		}
		at := slices.IndexFunc(phases, func(cs []*results.Cell) bool { return cs[0].Phase == c.Phase })
		if at < 0 {
			at, phases = len(phases), append(phases, nil)
		}
		phases[at] = append(phases[at], c)
	}
	return phases
}

// growthOf fits one figure of a column. It returns false if the figure is not known at any point.
func growthOf(r *results.Run, cs Column, op string, f results.Figure) (results.Growth, bool) {
	g := results.Growth{Model: cs[0].Model, Engine: cs[0].Engine, Phase: cs[0].Phase, Op: op, Figure: f}
	for i := range r.Sweep.Points {
		p := &r.Sweep.Points[i]
		var at Column
		for _, c := range cs {
			if o, ok := c.Ops[op]; ok && c.Point == p.Value && o.Offered() {
				at = append(at, c)
			}
		}
		one := results.GrowthPoint{Point: p.Value, Size: p.Size}
		v := Value{}
		if f.Counted() {
			if v = at.Counted(op, f); v.Known {
				e := 0.0
				if v.Median > 0 {
					e = v.deviation / math.Sqrt(float64(v.n)) / v.Median
				}
				one.Error = &e
			}
		} else {
			v, _ = at.Times(op, f)
		}
		if one.Value = v.Median; v.Known && !math.IsInf(v.Median, 0) {
			g.Points = append(g.Points, one)
		}
	}
	fitGrowth(&g)
	return g, len(g.Points) > 0
}

// partitionsOf are how the largest partitions of the forecasts grow.
func partitionsOf(r *results.Run) []results.Growth {
	var all []results.Growth
	for i := range r.Sweep.Points {
		p := &r.Sweep.Points[i]
		for _, part := range p.Partitions {
			at := slices.IndexFunc(all, func(g results.Growth) bool { return g.Model == part.Model && g.Engine == part.Engine })
			if at < 0 {
				at, all = len(all), append(all, results.Growth{
					Model: part.Model, Engine: part.Engine,
					Op: results.PartitionOp, Figure: results.PartitionSize,
				})
			}
			none := 0.0
			all[at].Points = append(all[at].Points,
				results.GrowthPoint{Point: p.Value, Size: p.Size, Value: part.Bytes, Error: &none})
		}
	}
	for i := range all {
		fitGrowth(&all[i])
	}
	return all
}

// fitGrowth sets the class, the exponent and their bounds from the points.
func fitGrowth(g *results.Growth) {
	var points []growth.Point
	for _, p := range g.Points {
		one := growth.Point{Size: p.Size, Value: p.Value, Error: -1}
		if p.Error != nil {
			one.Error = *p.Error
		}
		points = append(points, one)
	}
	of := growth.Of(points)
	g.Class, g.From, g.Exponent, g.Exact = of.Class, of.From, of.Exponent, of.Exact
	g.Low, g.High = finite(of.Low), finite(of.High)
	g.PowerLow, g.PowerHigh = finite(of.PowerLow), finite(of.PowerHigh)
}

// finite is nil for NaN and infinities, which JSON does not have.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
