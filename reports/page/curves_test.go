package page

import (
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// A curve needs samples enough for a p99, over all trials, and a cell of its model, engine and phase.
func TestCurvesOf(t *testing.T) {
	cell := func(phase string, n int64) *results.Cell {
		return &results.Cell{
			Key: results.Key{Model: "james", Engine: "embedded", Phase: phase},
			Ops: map[string]results.Op{"list": {Count: n}, "open": {Count: n - 1}},
		}
	}
	n := results.EnoughFor(0.99)
	cells := []*results.Cell{cell("measure", n-1), cell("measure", 1)}
	points := []results.Point{{Percentile: 50, Nanoseconds: 1}}
	var curves []results.Curve
	for _, c := range []results.Curve{
		{Phase: "measure", Op: "list", Points: points},
		{Phase: "measure", Op: "open", Points: points},
		{Phase: "other", Op: "list", Points: points},
		{Phase: "measure", Op: "list"},
	} {
		c.Model, c.Engine = "james", "embedded"
		curves = append(curves, c)
	}
	if drawn := curvesOf(cells, curves); len(drawn) != 1 || drawn[0].Op != "list" {
		t.Errorf("drawn %+v", drawn)
	}
}
