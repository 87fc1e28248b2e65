package run

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
)

// A phase that is interrupted while the engine is late was overloaded: what was
// scheduled and not started counts as offered.
func TestInterruptedOverloadIsOverloaded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := newFake()
	engine := make(chan struct{}, 1) // one operation at a time: 200/s at most
	var calls atomic.Int64
	d.before = func(call string) error {
		if call != "open" {
			return nil
		}
		engine <- struct{}{}
		time.Sleep(5 * time.Millisecond)
		<-engine
		if calls.Add(1) == 150 {
			cancel()
		}
		return nil
	}
	r, err := Run(ctx, config(t, d, "  - measure: {rate: 2000/s, duration: 1h, mix: {open: 1}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := phaseOf(t, r, "measure")
	if o := m.Offered; o.Rate < 1800 || o.Rate > 2200 || o.Achieved > 400 || o.Span > m.Seconds {
		t.Errorf("offered %+v in a phase of %.1f s, want 2000/s, and at most 200/s achieved", o, m.Seconds)
	}
	if !judge.Overloaded(&m) { // a busy machine may make it invalid, too
		t.Errorf("verdict %s: %s", m.Verdict, why(m))
	}
}

// A warm-up that ends early because it is steady was offered its whole rate until
// then.
func TestSteadyWarmupTellsItsRate(t *testing.T) {
	d := newFake()
	d.before = pause(3*time.Millisecond, "list")
	w := phaseOf(t, runOK(t, config(t, d, `
  - warmup: {rate: 500/s, duration: 5s, mix: {list: 1}}
  - measure: {clients: 1, operations: 5, mix: {list: 1}}
`)), "warmup")
	if o := w.Offered; o.Rate < 450 || o.Rate > 550 {
		t.Errorf("offered %+v in a warm-up of %.1f s, want 500/s", o, w.Seconds)
	}
}

// A closed loop in which the model supports no operation ends immediately.
func TestClosedLoopOfNothingOfferedEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := Run(ctx, config(t, newFake(), "  - measure: {clients: 2, duration: 1h, mix: {recount: 1, label: 1}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if m := phaseOf(t, r, "measure"); r.Interrupted || m.Verdict != results.Empty || !strings.Contains(why(m), "supports no operation") {
		t.Errorf("interrupted %v, verdict %s: %s", r.Interrupted, m.Verdict, why(m))
	}
}

// Temporary data that cannot be removed costs no result.
func TestTemporaryDataThatStaysIsTold(t *testing.T) {
	c := config(t, newFake(), "  - measure: {clients: 1, operations: 5, mix: {list: 1}}\n")
	unremovable := newFake().model("no\x00folder") // no system can make or remove a folder of that name
	c.Models = append([]models.Model{unremovable}, c.Models...)
	r := runOK(t, c)
	if m := phaseOf(t, r, "measure"); m.Model != "fake" || m.Ops["list"].Count != 5 {
		t.Errorf("%s: verdict %s: %s", m.Model, m.Verdict, why(m))
	}
	if len(r.Left) != 1 || !strings.Contains(r.Left[0], "temporary data") {
		t.Errorf("left %q, want the folder", r.Left)
	}
}
