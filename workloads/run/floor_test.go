package run

import (
	"context"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
)

// Between two operations the harness allocates nothing: not in the schedule, the
// choice of operation and key, nor the recorder.
func TestHarnessAllocatesNothing(t *testing.T) {
	w, err := newFloorWorker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	step := func() {
		n, due, _ := w.claim(w.last)
		if err := w.step(t.Context(), t.Context(), n, due); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 { // the first make the histograms
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations an operation", n)
	}
	w.recorder.Tick()
	if done := w.recorder.Total(int(w.op.Op)).Counts[latency.OK]; done == 0 {
		t.Error("nothing was recorded")
	}
}

// BenchmarkHarness is the harness floor: due time, choice of operation and key,
// two readings of the clock, and recording, over a mailbox that does nothing.
func BenchmarkHarness(b *testing.B) {
	w, err := newFloorWorker(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.ReportAllocs()
	cpu := processUsage().cpu
	for b.Loop() {
		n, due, _ := w.claim(w.last)
		if err := w.step(ctx, ctx, n, due); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(processUsage().cpu-cpu)/float64(b.N), "cpu-ns/op") // of a machine that does other things too
}

func TestFloorIsPublished(t *testing.T) {
	engine := null.Engine()
	c := config(t, newDesk(), everyOp)
	c.Models, c.Engines = []models.Model{elasticinbox.Model()}, nil
	c.Null = &engine
	floors := map[[2]string]reports.Floor{}
	for _, f := range runOK(t, c).Floor {
		floors[[2]string{f.Model, f.Op}] = f
	}
	if f := floors[[2]string{}]; f.NS <= 0 || f.Allocs != 0 {
		t.Errorf("bare harness: %+v", f)
	}
	for _, op := range []string{"deliver", "list", "open", "raw", "flag", "move", "delete"} {
		f, ok := floors[[2]string{"elasticinbox", op}]
		if !ok || f.NS <= 0 {
			t.Errorf("%s: %+v, %v", op, f, ok)
		}
		t.Logf("%s: %.0f ns, %.0f allocations", op, f.NS, f.Allocs)
	}
}

// BenchmarkOpenLoop runs 20,000 operations a second on the null engine and
// reports how late they started.
func BenchmarkOpenLoop(b *testing.B) {
	for b.Loop() {
		c := config(b, newDesk(), `
  - measure: {rate: 20000/s, duration: 5s, arrivals: poisson, mix: {list: 40, open: 40, deliver: 10, flag: 10}}
`)
		c.Workers = 0
		c.Models, c.Engines = []models.Model{elasticinbox.Model()}, []drivers.Engine{null.Engine()}
		r, err := Run(context.Background(), c)
		if err != nil {
			b.Fatal(err)
		}
		m := phaseOf(b, r, "measure")
		var dropped int64
		for name, o := range m.Ops {
			dropped += o.Dropped
			b.ReportMetric(float64(o.Lag.P999)/1e6, name+"-p99.9-lag-ms")
			b.ReportMetric(float64(o.Lag.P50)/1e6, name+"-p50-lag-ms")
		}
		b.ReportMetric(float64(dropped), "dropped")
		b.ReportMetric(m.Client.CPUShare, "cpu-share")
		b.Logf("%s %s %q", m.Verdict, m.Reason, m.Doubts)
	}
}
