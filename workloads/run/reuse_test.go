package run

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
)

// Each trial goes through models and engines in the opposite order of the trial before.
func TestInterleaved(t *testing.T) {
	for _, tc := range []struct{ models, engines, want string }{
		{"A B C", "x", "Ax Bx Cx, Cx Bx Ax, Ax Bx Cx"},
		{"A B", "x y", "Ax Bx Ay By, By Ay Bx Ax, Ax Bx Ay By"},
		{"A", "x", "Ax, Ax, Ax"},
	} {
		var c Config
		for _, name := range strings.Fields(tc.models) {
			c.Models = append(c.Models, models.Model{Name: name})
		}
		for _, name := range strings.Fields(tc.engines) {
			c.Engines = append(c.Engines, drivers.Engine{Name: name})
		}
		c.Trials, c.Workload = 3, &workloads.Workload{}
		order := make([][]string, 3)
		for _, task := range c.tasks(make([]point, 1), &dataDir{}) {
			order[task.trial-1] = append(order[task.trial-1], task.model.Name+task.engine.Name)
		}
		var all []string
		for _, one := range order {
			all = append(all, strings.Join(one, " "))
		}
		if got := strings.Join(all, ", "); got != tc.want {
			t.Errorf("%s on %s: %s, want %s", tc.models, tc.engines, got, tc.want)
		}
	}
}

// reusing is the setting of a workload whose trials have one store.
const reusing = `
  - settle: {}
  - warmup: {clients: 1, operations: 20, mix: {list: 1}}
  - measure: {clients: 1, operations: 200, mix: {deliver: 2, list: 1, open: 1, move: 1, delete: 1, flag: 1, counters: 1}}
  - measure: {name: throughput, clients: 1, operations: 100, mix: {deliver: 1, list: 1}}
trials: {reuse: true}
`

// awake counts the embedded stores that are open and do not sleep.
type awake struct {
	*pebble.Store
	now *atomic.Int32
}

func (a awake) Sleep() error { a.now.Add(-1); return a.Store.Sleep() }
func (a awake) Wake() error  { a.now.Add(1); return a.Store.Wake() }

// Close implements drivers.Store: only a store that does not sleep is closed, unless the run is interrupted.
func (a awake) Close() error { a.now.Add(-1); return a.Store.Close() }

func reuseConfig(t *testing.T, now *atomic.Int32) Config {
	t.Helper()
	e := embedded()
	open := e.Open
	e.Open = func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
		s, err := open(ctx, o)
		if err != nil {
			return nil, err
		}
		now.Add(1)
		return awake{s.(*pebble.Store), now}, nil
	}
	w := parse(t, reusing)
	w.Phases[0].Clients = 1
	return Config{
		Workload: w, Mail: source(), Models: bundledModels()[:2], Engines: []drivers.Engine{e}, Trials: 3, Audit: AuditAfter,
	}
}

// countedIn has the counters of each trial of each model.
func countedIn(r *results.Run) map[results.Key]string {
	all := map[results.Key]string{}
	for i := range r.Cells {
		c := &r.Cells[i]
		text := ""
		for _, op := range []string{"deliver", "list", "open", "move", "delete", "flag", "counters"} {
			o := c.Ops[op]
			text += fmt.Sprintf("%s %d %v %v %v %v; ", op, o.Count, o.Store.Requests, o.Store.RowsRead, o.Store.BytesRead, o.Store.BytesWritten)
		}
		all[c.Key] = text
	}
	return all
}

// Trials that reuse a store load it once, run all other phases in each trial, count the same in every run, have one
// audit of all that they wrote, and at no time more than one embedded store is open.
func TestReuse(t *testing.T) {
	var now atomic.Int32
	c := reuseConfig(t, &now)
	most := int32(0)
	c.Progress = func(Progress) { most = max(most, now.Load()) }
	r := runOK(t, c)
	if most != 1 || now.Load() != 0 {
		t.Errorf("%d stores were open at once, and %d at the end, want 1 and 0", most, now.Load())
	}
	var order []string
	delivered := map[string]int64{}
	for i := range r.Cells {
		cell := &r.Cells[i]
		order = append(order, fmt.Sprintf("%s %s %d", cell.Model, cell.Phase, cell.Trial))
		if cell.Phase != "load" && cell.Phase != "settle" && (cell.Verdict == results.Failed || cell.Ops["list"].Count == 0) {
			t.Errorf("%s: %s %s", cell.Key, cell.Verdict, why(*cell))
		}
		delivered[cell.Model] += cell.Ops["deliver"].Count
	}
	var want []string
	for trial := range 3 {
		names := []string{c.Models[0].Name, c.Models[1].Name}
		phases := []string{"load", "settle", "warmup", "measure", "throughput"}
		if trial == 1 {
			slices.Reverse(names)
		}
		if trial > 0 {
			phases = phases[1:]
		}
		for _, name := range names {
			for _, phase := range phases {
				want = append(want, fmt.Sprintf("%s %s %d", name, phase, trial+1))
			}
		}
	}
	if !slices.Equal(order, want) {
		t.Errorf("phases %v,\nwant %v", order, want)
	}
	if len(r.Audits) != 2 {
		t.Fatalf("%d audits of 2 stores", len(r.Audits))
	}
	for _, a := range r.Audits {
		if a.Wrong() || a.Fault != "" || a.Trial != 0 || a.Delivered < delivered[a.Model] || a.Verified < 100 {
			t.Errorf("audit %+v, want one without faults, of %d deliveries", a, delivered[a.Model])
		}
	}
	again, first := countedIn(runOK(t, c)), countedIn(r)
	for k, text := range first {
		if again[k] != text {
			t.Errorf("%s counted\n%s, and in another run\n%s", k, text, again[k])
		}
	}
	c.Workload.Trials.Reuse = false
	fresh := countedIn(runOK(t, c))
	for _, m := range c.Models {
		k := results.Key{Model: m.Name, Engine: "embedded", Phase: "measure", Trial: 1, Segment: 1}
		if fresh[k] != first[k] || first[k] == "" {
			t.Errorf("%s counted %s, and on a store of its own %s", k, first[k], fresh[k])
		}
		if k.Trial = 2; fresh[k] == first[k] {
			t.Errorf("%s counted the same on a store of its own: it does not see what trial 1 wrote", k)
		}
	}
	if len(fresh) != len(first)+4 {
		t.Errorf("%d phases with stores of their own, %d without, want 4 loads more", len(fresh), len(first))
	}
}

// The stores of an interrupted run are closed and removed, also those that sleep.
func TestReuseInterrupted(t *testing.T) {
	var now atomic.Int32
	c := reuseConfig(t, &now)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithCancel(t.Context())
	c.Progress = func(p Progress) {
		if p.Trial == 2 && p.Phase == "measure" {
			cancel()
		}
	}
	r, err := Run(ctx, c)
	if err != nil || !r.Interrupted || len(r.Left) > 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
}

// A trial whose phase fails leaves no store: the next trial loads one.
func TestReuseAfterFailure(t *testing.T) {
	d := newFake()
	c := config(t, d, reusing)
	c.Trials = 3
	trial, failed := 0, false
	c.Progress = func(p Progress) { trial = p.Trial }
	d.before = func(call string) error {
		if trial == 2 && call == "open" && !failed {
			failed = true
			panic("a model that fails")
		}
		return nil
	}
	c.Engines = []drivers.Engine{{Name: "memory", Open: func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
		d.accounts = map[string]*models.Account{} // a fresh store
		return d.engine("memory").Open(ctx, o)
	}}}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var loads []int
	for _, cell := range r.Cells {
		if cell.Kind == results.KindLoad {
			loads = append(loads, cell.Trial)
		}
	}
	if !slices.Equal(loads, []int{1, 3}) {
		t.Errorf("trials %v loaded, want 1, and 3 after the failure of 2", loads)
	}
}
