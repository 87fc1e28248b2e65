package run

import (
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
)

// The trials of quick have enough operations for a p99 of each that has 2% of the load, and the phases of five models
// take less than a minute.
func TestQuick(t *testing.T) {
	w, err := workloads.Bundled("quick")
	if err != nil {
		t.Fatal(err)
	}
	census, err := plan.NewCensus(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	var m *workloads.Phase
	for i := range w.Phases {
		if p := &w.Phases[i]; p.Name == "measure" {
			m = p
		}
	}
	var drawn [workloads.NumOps]int64
	for trial := 1; trial <= w.Trials.Count; trial++ {
		p := w.OfTrial(*m, trial)
		s := plan.StreamOf(w, &p, census)
		var o plan.Operation
		for {
			if _, ok := s.Next(0, &o); !ok {
				break
			}
			drawn[o.Op]++
		}
	}
	for op, n := range drawn {
		if share := m.Mix.Share(workloads.Op(op)); share >= 0.02 && n < results.EnoughFor(0.99) {
			t.Errorf("%d operations of %s, with %.1f%% of the load; a p99 needs %d", n, workloads.Op(op), 100*share, results.EnoughFor(0.99))
		}
	}
	c := Config{Workload: w, Models: bundledModels()[:5], Engines: []drivers.Engine{embedded()}, Trials: w.Trials.Count}
	p, err := DryRun(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Duration(p.Seconds * 1e9); w.Trials.Count < 3 || took > time.Minute {
		t.Errorf("%d trials take %v", w.Trials.Count, took)
	}
}
