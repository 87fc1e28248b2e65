package page

import (
	"slices"

	"github.com/mailbench/mailbench/reports/results"
)

// severalCurves are the percentile curves of a phase of one model on one engine: a chart
// of each operation, with a line for each run.
type severalCurves struct {
	Title  string
	Legend []line
	Charts []chart
}

// newSeveralCurves draws the percentile curves of all runs in the same charts. Labels name the runs.
func newSeveralCurves(sources []Source, labels []string) (drawn []severalCurves) {
	type key struct{ model, engine, phase string }
	type of struct {
		results.Curve
		run int
	}
	var order []key
	ops, all := map[key][]string{}, map[key]map[string][]of{}
	engines := false
	for i := range sources {
		for _, c := range sources[i].Curves {
			if len(c.Points) == 0 || !measured(sources[i].Run, &c) {
				continue
			}
			k := key{c.Model, c.Engine, c.Phase}
			if all[k] == nil {
				order, all[k] = append(order, k), map[string][]of{}
			}
			if !slices.Contains(ops[k], c.Op) {
				ops[k] = append(ops[k], c.Op)
			}
			all[k][c.Op] = append(all[k][c.Op], of{c, i})
			engines = engines || k.engine != order[0].engine
		}
	}
	for _, k := range order {
		s := severalCurves{Title: k.model + ", " + k.phase}
		if engines {
			s.Title = k.model + "/" + k.engine + ", " + k.phase
		}
		var colours palette
		for _, label := range labels {
			colours.series(label) // a run keeps its colour in charts of operations that others lack
		}
		for _, op := range ops[k] {
			if len(all[k][op]) < 2 {
				continue // there is no other run to compare with
			}
			var curves []results.Curve
			nines := 2.0
			for _, c := range all[k][op] {
				nines = max(nines, ninesOf(c.Points[len(c.Points)-1].Percentile))
				curves = append(curves, c.Curve)
			}
			names := map[*results.Curve]string{}
			for i := range curves {
				names[&curves[i]] = labels[all[k][op][i].run]
			}
			name := func(c *results.Curve) string { return names[c] }
			s.Charts = append(s.Charts, newPercentileChart(op, curves, nines, name, colours.series))
		}
		if len(s.Charts) > 0 {
			s.Legend = colours.legend()
			drawn = append(drawn, s)
		}
	}
	return drawn
}

// measured reports whether the curve is of a phase that was measured.
func measured(r *results.Run, c *results.Curve) bool {
	return slices.ContainsFunc(r.Cells, func(o results.Cell) bool {
		return o.Model == c.Model && o.Engine == c.Engine && o.Where() == c.Phase && o.Measured()
	})
}
