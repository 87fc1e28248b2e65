package run

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/oracle"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/search"
	"github.com/mailbench/mailbench/workloads/subject"
)

// A search measures a phase at many rates, on fresh operations, on a store that has the
// messages that it had. Its result follows from the saved run. Rates are bounded, so that
// no machine is too slow for the test.
func TestFindMax(t *testing.T) {
	d := newFake()
	c := config(t, d, `
  - warmup: {operations: 10}
  - measure: {rate: 50/s, duration: 1h, mix: {list: 10, delete: 60}}
  - measure: {name: closed, clients: 4, operations: 5, mix: {list: 1}}
expect: {p50: <30s}
`)
	c.FindMax = &results.FindMax{From: 100, Max: 300, Precision: 0.5, Step: 0.25}
	shorten(t, 20)
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Searches) != 1 || r.Config.FindMax == nil || r.Config.FindMax.Max != 300 {
		t.Fatalf("searches %+v, config %+v; want one of the phase with a rate", r.Searches, r.Config.FindMax)
	}
	loop := config(t, newFake(), "  - measure: {name: closed, clients: 4, operations: 5, mix: {list: 1}}\nexpect: {p50: <30s}\n")
	loop.FindMax = c.FindMax
	if err := loop.Check(); err == nil || !strings.Contains(err.Error(), "phases.measure.rate") {
		t.Errorf("of a closed loop alone: %v", err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var saved results.Run
	if err := json.Unmarshal(b, &saved); err != nil {
		t.Fatal(err)
	}
	for i := range saved.Searches {
		s := &saved.Searches[i]
		if f, _ := search.Found(s); !reflect.DeepEqual(&f, s.Found) {
			t.Errorf("%s judged again: %+v, saved %+v", s.Phase, f, s.Found)
		}
		if rate, more := search.Next(s); more {
			t.Errorf("%s goes on at %g", s.Phase, rate)
		}
		cell := phaseOf(t, r, s.Phase)
		if !slices.ContainsFunc(s.Steps, func(step results.SearchStep) bool { return step.Cell.Started == cell.Started && step.Rate == cell.Rate }) {
			t.Errorf("the cell of %s is no step", s.Phase)
		}
	}
	first := saved.Searches[0]
	if n := len(first.Steps); n < 3 || first.From != 100 || first.Default {
		t.Errorf("%d steps: %+v", n, first)
	}
	// 150 messages are there, and each step deletes up to some 50 of them.
	var refilled, deleted int64
	for _, s := range first.Steps {
		refilled, deleted = refilled+s.Refilled, deleted+s.Cell.Ops["delete"].Count
	}
	if deleted < 30 || refilled < deleted/4 {
		t.Errorf("%d messages were deleted, and %d delivered between steps", deleted, refilled)
	}
}

// A step executes as many operations as the default thresholds need, also if the model does not support some
// of the mix or messages were not found.
func TestStepLength(t *testing.T) {
	s := maxSearch{Search: &results.Search{Max: DefaultMaxRate}, on: &combination{target: &subject.Target{}}}
	s.phase = &workloads.Phase{Mix: workloads.Mix{workloads.List: 3, workloads.Label: 1}}
	s.begin(&results.FindMax{})
	s.Steps = []results.SearchStep{{Cell: results.Cell{Offered: &results.Offered{Due: 100, Skipped: 25}}}}
	least := func(carried float64) time.Duration { return time.Duration(2995 / carried * 1e9) }
	if got := s.length(100); got < least(100*0.75) {
		t.Errorf("%v for 100/s of which the model has three quarters", got)
	}
	if got := s.length(1e5); got != DefaultStep {
		t.Errorf("%v at a high rate, want %v", got, DefaultStep)
	}
	s.on.target.Caps.InProcess = true
	if s.begin(&results.FindMax{}); s.length(1e5) != InProcessStep || s.length(s.From) > 2*InProcessStep {
		t.Errorf("%v at a high rate in this process, want %v; %v at the first", s.length(1e5), InProcessStep, s.length(s.From))
	}
	s.Steps = []results.SearchStep{{Cell: results.Cell{Offered: &results.Offered{Due: 1000, Skipped: 250, NoTarget: 250}}}}
	if got := s.length(150); got < least(75) {
		t.Errorf("%v for 150/s of which half was carried out", got)
	}
	if got := s.length(1); got != longestStep {
		t.Errorf("%v for one a second, want %v", got, longestStep)
	}
}

// An interrupted search keeps its steps.
func TestFindMaxInterrupted(t *testing.T) {
	d := newFake()
	c := config(t, d, "\n  - measure: {rate: 50/s, duration: 1h, mix: {list: 1}}\n")
	c.FindMax = &results.FindMax{Max: 1e6, Precision: DefaultPrecision, Step: 0.5}
	shorten(t, 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Progress = func(p Progress) {
		if p.Finished && strings.Contains(p.Phase, stepOf) {
			cancel() // after the first step
		}
	}
	r, err := Run(ctx, c)
	if err != nil || !r.Interrupted || len(r.Searches) != 1 {
		t.Fatalf("%v, %+v", err, r)
	}
	s := &r.Searches[0]
	if len(s.Steps) > 1 || s.Unfinished != "interrupted" || s.Found == nil || s.Found.Limit != results.LimitUnfinished || !s.Default {
		t.Errorf("%+v", s)
	}
}

// shorten lets steps end after fewer operations.
func shorten(t *testing.T, operations float64) {
	was := stepOperations
	stepOperations = operations
	t.Cleanup(func() { stepOperations = was })
}

// A search of an engine in this process begins no step after its time, and its saved result says so.
func TestFindMaxEndsInTime(t *testing.T) {
	old := inProcessTime
	inProcessTime = 0
	t.Cleanup(func() { inProcessTime = old })
	c := config(t, newFake(), `
  - measure: {rate: 50/s, duration: 1h, mix: {list: 1}}
`)
	c.Models, c.Engines = []models.Model{oracle.Model()}, []drivers.Engine{embedded()}
	c.FindMax = &results.FindMax{From: 100, Max: 300, Precision: DefaultPrecision, Step: 0.1}
	shorten(t, 20)
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s := &r.Searches[0]
	if _, more := search.Next(s); more || len(s.Steps) != 1 || s.Most != 1 {
		t.Errorf("%d steps, at most %d, more: %v", len(s.Steps), s.Most, more)
	}
}

// A dry run leaves out the phases that a search does not measure.
func TestFindMaxPlanned(t *testing.T) {
	c := config(t, newFake(), `
  - measure: {rate: 50/s, duration: 1h, mix: {list: 1}}
  - measure: {name: closed, clients: 4, operations: 5, mix: {list: 1}}
`)
	c.FindMax = &results.FindMax{}
	p, err := DryRun(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	phases := p.Points[0].Phases
	if m := phases[len(phases)-1]; m.Name != "measure" || m.Operations != 0 || m.Seconds != searchSeconds {
		t.Errorf("%d phases, the last %+v", len(phases), m)
	}
}
