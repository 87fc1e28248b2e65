package run

import (
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
)

// A run judges the thresholds of its workload. All metrics that the language has are known to
// the judge.
func TestExpectations(t *testing.T) {
	phases := `
  - measure: {clients: 2, operations: 700, mix: {list: 1, open: 1}}
expect: {list.p50: <30s, open.p50: <1ms, errors: <1%, open.errors: <0.1%, models: {other: {list.p50: <1ns}}}
`
	d := newFake()
	d.before = pause(2*time.Millisecond, "open")
	r := runOK(t, config(t, d, phases))
	c := phaseOf(t, r, "measure")
	c.Evidence, c.Client = nil, nil // of a machine that may be busy
	judge.Apply(&c, nil)
	var got []string
	for _, a := range judge.Objectives(&c, r.Objectives) {
		got = append(got, a.Objective+" "+string(a.Verdict))
	}
	want := []string{"list.p50 met", "open.p50 missed", "errors met", "open.errors unclear"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if saved := phaseOf(t, r, "measure").Objectives; len(saved) != len(want) {
		t.Errorf("the cell has %+v", saved)
	}

	c.Arrivals, c.Offered.Rate = "poisson", 1
	for _, f := range workloads.Metrics {
		a := judge.Objectives(&c, []results.Objective{{Figure: f, Sign: "<", Bound: 1e15}})
		if len(a) != 1 || a[0].Shown == "" || a[0].Value == results.NeverEnded {
			t.Errorf("the judge does not know %s: %+v", f, a)
		}
	}
}
