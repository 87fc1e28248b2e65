package run

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// sweptConfig sweeps the messages of a folder with two models on the embedded engine, with phases after the load.
func sweptConfig(t *testing.T, phases string) Config {
	t.Helper()
	w, err := workloads.Parse("sweep.yaml", []byte(`version: 1
name: swept
mail: {body: 1KB}
population: {users: 2, messages: 1}
access: {messages: uniform}
phases:
  - load: {}
`+phases+`  - measure: {clients: 1, operations: 60, mix: {list: 1, open: 1}}
sweep: {population.messages: [5, 10, 20, 40]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return Config{Workload: w, Models: bundledModels()[:2], Engines: []drivers.Engine{embedded()}}
}

// Each point has a data set of its own, and every second trial goes from the last point to the first; what the growth is
// follows from the saved run.
func TestSweep(t *testing.T) {
	c := sweptConfig(t, "")
	c.Trials, c.Audit, c.DataDir = 2, AuditAfter, t.TempDir()+"/data"
	r := runOK(t, c)
	if s := r.Sweep; s == nil || s.Path != "population.messages" || len(s.Points) != 4 {
		t.Fatalf("%+v", r.Sweep)
	}
	for i, want := range []int{10, 20, 40, 80} {
		if p := r.Sweep.Points[i]; p.Messages != want || p.Size != float64(want/2) || len(p.Partitions) == 0 {
			t.Errorf("point %d: %+v, want %d messages", i, p, want)
		}
	}
	keys, order := map[results.Key]bool{}, map[int][]string{}
	for i := range r.Cells {
		cell := &r.Cells[i]
		if keys[cell.Key] || cell.Point == "" {
			t.Errorf("key %s", cell.Key)
		}
		keys[cell.Key] = true
		if cell.Kind == results.KindLoad {
			order[cell.Trial] = append(order[cell.Trial], cell.Point)
			want := map[string]int64{"5": 10, "10": 20, "20": 40, "40": 80}[cell.Point]
			if cell.Evidence.Load != "" {
				t.Errorf("%s: %q", cell.Key, cell.Evidence.Load)
			}
			if got := cell.Ops["deliver"].Count; got != want {
				t.Errorf("%s: %d messages were loaded, want %d", cell.Key, got, want)
			}
		}
	}
	if len(keys) != 2*2*4*2 {
		t.Errorf("%d cells, want those of 2 models, 2 trials, 4 points, 2 phases", len(keys))
	}
	if up, down := strings.Join(order[1][:4], " "), strings.Join(order[2][:4], " "); up != "5 10 20 40" || down != "40 20 10 5" {
		t.Errorf("the order of the points was %s and %s", up, down)
	}
	if len(r.Audits) != 2*2*4 || r.Audits[0].Point != "5" {
		t.Errorf("%d audits: %+v", len(r.Audits), r.Audits)
	}

	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var saved results.Run
	if err := json.Unmarshal(b, &saved); err != nil {
		t.Fatal(err)
	}
	if got := trials.Growths(&saved); !reflect.DeepEqual(got, saved.Sweep.Growth) || len(got) == 0 {
		t.Errorf("judged again: %+v, saved %+v", got, saved.Sweep.Growth)
	}
	for _, g := range saved.Sweep.Growth {
		if g.Figure == results.Requests && g.Op == "list" && (g.Class != growth.Flat || len(g.Points) != 4) {
			t.Errorf("calls of a list: %+v", g)
		}
		// A page has 25 entries: it grows up to there.
		if g.Figure == results.Rows && g.Op == "list" && g.Points[3].Value <= 3*g.Points[0].Value {
			t.Errorf("rows of a list: %+v", g)
		}
	}

	// The data sets are used again.
	c.Audit, c.Trials = NoAudit, 1
	again := runOK(t, c)
	for i := range again.Cells {
		if cell := &again.Cells[i]; cell.Kind == results.KindLoad {
			t.Errorf("%s: %d messages were loaded again", cell.Key, cell.Ops["deliver"].Count)
		}
	}

	// All of them, of both trials, are found by an audit that knows of no sweep, nor of trials.
	if c.Workload, err = workloads.Bundled("quick"); err != nil {
		t.Fatal(err)
	}
	c.Audit = AuditOnly
	audited := runOK(t, c)
	if len(audited.Audits) != 2*(4+4) || audited.Audits[0].Verified != 10 || audited.Audits[6].Verified != 80 {
		t.Errorf("an audit only: %+v", audited.Audits)
	}
}

// An interrupted sweep keeps the points that it came to.
func TestSweepInterrupted(t *testing.T) {
	c := sweptConfig(t, "")
	c.Models = c.Models[:1]
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Save = func(r *results.Run) {
		if n := len(r.Cells); n > 0 && r.Cells[n-1].Point == "10" && r.Cells[n-1].Measured() {
			cancel()
		}
	}
	r, err := Run(ctx, c)
	if err != nil || !r.Interrupted || r.Sweep == nil || len(r.Sweep.Points) != 4 {
		t.Fatalf("%v, %+v", err, r)
	}
	for _, g := range r.Sweep.Growth {
		if g.Phase == "measure" && (len(g.Points) != 2 && g.Figure.Counted() || g.Class != growth.Unclear && !g.Exact) {
			t.Errorf("of two points: %+v", g)
		}
	}
	if len(r.Sweep.Growth) == 0 {
		t.Error("nothing was kept")
	}
}

// A sweep goes with no search and no segments, and a dry run reports each point.
func TestSweepConfig(t *testing.T) {
	c := sweptConfig(t, "")
	var b bytes.Buffer
	if err := dryRun(t, c, &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"For each of 8 combinations", "With population.messages=5: 2 users, 2 folders, 10 messages", "With population.messages=40: 2 users, 2 folders, 80 messages", " at 40"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	for what, change := range map[string]func(c *Config){
		"a search": func(c *Config) { c.FindMax = &results.FindMax{} },
		"a sweep cannot be divided": func(c *Config) {
			c.Segment, c.Start = plan.Segment{Index: 1, Of: 2}, time.Now()
		},
	} {
		one := c
		change(&one)
		if _, err := Run(t.Context(), one); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The first warm-up of each model on each engine of a sweep lasts ten times as long, and no other.
func TestFirstWarmup(t *testing.T) {
	c := sweptConfig(t, "  - warmup: {clients: 1, operations: 4}\n")
	c.Trials = 2
	warm := map[string]int64{}
	for _, cell := range runOK(t, c).Select(func(cell *results.Cell) bool { return cell.Kind == results.KindWarmup }) {
		o := cell.Op("")
		if n := o.Count + o.Others(); warm[cell.Model] > 0 && n != 4 {
			t.Errorf("%s: %d operations, want 4", cell.Key, n)
		} else if warm[cell.Model] += n; warm[cell.Model] < 40 {
			t.Errorf("%s, the first: %d operations, want 40", cell.Key, n)
		}
	}
	if len(warm) != 2 {
		t.Errorf("warm-ups of %v", warm)
	}
	c = sweptConfig(t, "  - warmup: {clients: 1, duration: 100ms}\n")
	c.Models = c.Models[:1]
	for _, cell := range runOK(t, c).Select(func(cell *results.Cell) bool { return cell.Kind == results.KindWarmup }) {
		if first := warm[""] == 0; first != (cell.Seconds > 0.35) {
			t.Errorf("%s, the first %t: %v s", cell.Key, first, cell.Seconds)
		}
		warm[""]++
	}
}
