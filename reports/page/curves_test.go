package page

import (
	"math"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// A curve needs samples enough for a p99 over all trials. It has the medians of the trials from 10% to its slowest
// operation, and ends where operations were dropped.
func TestCurveOf(t *testing.T) {
	shares := results.QuantileShares
	trial := func(n, ns int64) *results.Cell {
		o := results.Op{Count: n}
		for i := range shares {
			o.Quantiles = append(o.Quantiles, ns*int64(i))
		}
		return &results.Cell{Verdict: results.OK, Ops: map[string]results.Op{"list": o}}
	}
	n := results.EnoughFor(0.99)
	curve := func(cs ...*results.Cell) []document.Point { return curveOf(trials.Column(cs).Row("list")) }
	if got := curve(trial(n-1, 10)); len(got) > 0 {
		t.Errorf("too few operations have %v", got)
	}
	got := curve(trial(n, 10), trial(n, 20), trial(n, 900))
	last := got[len(got)-1]
	if want := (document.Point{X: -math.Log10(0.9), Y: 40}); got[0] != want {
		t.Errorf("it begins with %+v", got[0])
	}
	if want := (document.Point{X: -math.Log10(1 - (1 - 1/float64(3*n))), Y: float64(20 * (len(shares) - 1))}); last != want {
		t.Errorf("it ends with %+v, want %+v", last, want)
	}
	dropped := trial(n, 10)
	for i := slices.Index(shares, 0.9); i < len(shares); i++ {
		dropped.Ops["list"].Quantiles[i] = results.NeverEnded
	}
	if got = curve(dropped); math.Abs(got[len(got)-1].X+math.Log10(0.15)) > 1e-9 {
		t.Errorf("of dropped operations %v", got)
	}
	if got = curve(&results.Cell{Verdict: results.OK, Ops: map[string]results.Op{"list": {Count: n}}}); len(got) > 0 {
		t.Errorf("an earlier build has no quantiles: %v", got)
	}
}
