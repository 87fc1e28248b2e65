package run

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/workloads/results"
)

func TestFloorIsPublished(t *testing.T) {
	engine := null.Engine()
	c := config(t, newFake(), everyOp)
	c.Models, c.Engines = []models.Model{elasticinbox.Model()}, nil
	c.Null, c.DataDir = &engine, filepath.Join(t.TempDir(), "data")
	t.Setenv("TMPDIR", filepath.Join(c.DataDir, "none")) // a run with a data folder needs no other
	floors := map[[2]string]results.Floor{}
	for _, f := range runOK(t, c).Floor {
		floors[[2]string{f.Model, f.Op}] = f
	}
	for _, op := range []string{"deliver", "list", "open", "raw", "flag", "move", "delete"} {
		f, ok := floors[[2]string{"elasticinbox", op}]
		if !ok || f.NS <= 0 {
			t.Errorf("%s: %+v, %v", op, f, ok)
		}
		t.Logf("%s: %.0f ns", op, f.NS)
	}
	if left, _ := filepath.Glob(filepath.Join(c.DataDir, "floor-*")); len(left) > 0 {
		t.Errorf("left in the data folder: %q", left)
	}
}

// Where the null engine fails, each model says so.
func TestFloorErrors(t *testing.T) {
	engine := newFake().engine("null")
	engine.Remote = true
	engine.Open = func(context.Context, drivers.Options) (drivers.Store, error) { return nil, errors.New("is down") }
	c := config(t, newFake(), "  - measure: {clients: 1, operations: 1, mix: {list: 1}}\n")
	c.Models, c.Null = append(c.Models, newFake().model("other")), &engine
	floors := runOK(t, c).Floor
	if len(floors) != 2 {
		t.Fatalf("%+v", floors)
	}
	for i, want := range []results.Floor{{Model: "fake", Error: "is down"}, {Model: "other", Error: "is down"}} {
		if f := floors[i]; f.Model != want.Model || !strings.Contains(f.Error, want.Error) {
			t.Errorf("%+v; want %+v", f, want)
		}
	}
}

// BenchmarkOpenLoop runs 20,000 operations a second on the null engine and
// reports how late they started.
func BenchmarkOpenLoop(b *testing.B) {
	for b.Loop() {
		c := config(b, newFake(), `
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
			b.ReportMetric(float64(o.Wait.P999)/1e6, name+"-p99.9-lag-ms")
			b.ReportMetric(float64(o.Wait.P50)/1e6, name+"-p50-lag-ms")
		}
		b.ReportMetric(float64(dropped), "dropped")
		b.ReportMetric(m.Client.CPUShare, "cpu-share")
		b.Logf("%s %s %v", m.Verdict, why(m), m.Doubts)
	}
}
