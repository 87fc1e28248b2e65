package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/results"
)

// small is a workload of a few small mailboxes, to which a test adds phases.
const small = `
version: 1
name: test
mail: {body: 1KB, attachments: {share: 0.5, size: 100}}
population: {users: 5, folders: 3, messages: 10}
access: {users: zipf, messages: latest}
phases:
  - load: {}
`

func parse(t testing.TB, phases string) *workloads.Workload {
	t.Helper()
	w, err := workloads.Parse("test.yaml", []byte(small+phases))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// source is the mail of small, made once.
var source = sync.OnceValue(func() messages.Source {
	w, err := workloads.Parse("test.yaml", []byte(small+"  - measure: {clients: 1, operations: 1, mix: {list: 1}}\n"))
	if err != nil {
		panic(err)
	}
	return messages.NewGenerator(w)
})

func config(t testing.TB, d *fake, phases string) Config {
	return Config{
		Workload: parse(t, phases), Mail: source(), Workers: 8,
		Models: []models.Model{d.model("fake")}, Engines: []drivers.Engine{d.engine("memory")},
	}
}

// embedded is the embedded engine for tests that lose no power: unless a run says more, writes survive the
// process, and no write waits for the disk.
func embedded() drivers.Engine {
	e := pebble.Engine()
	open := e.Open
	e.Open = func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
		if o.Durability == drivers.DurabilityDefault {
			o.Durability = drivers.Process
		}
		return open(ctx, o)
	}
	return e
}

func runOK(t testing.TB, c Config) *results.Run {
	t.Helper()
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	judgeAgain(t, r)
	return r
}

// judgeAgain holds that a saved run that is judged again gets the same verdicts.
func judgeAgain(t testing.TB, r *results.Run) {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var saved results.Run
	if err := json.Unmarshal(b, &saved); err != nil {
		t.Fatal(err)
	}
	for i := range saved.Cells {
		c := &saved.Cells[i]
		again := *c
		if judge.Apply(&again, saved.Objectives); !reflect.DeepEqual(again, *c) {
			t.Errorf("%s judged again: %+v, saved: %+v", c.Key, again, c)
		}
	}
}

// why is the reason of the cell's verdict.
func why(c results.Cell) string {
	if c.Reason == nil {
		return ""
	}
	return c.Reason.Text
}

// phaseOf returns the cell of that phase, which must be there once.
func phaseOf(t testing.TB, r *results.Run, phase string) results.Cell {
	t.Helper()
	var found []results.Cell
	for _, c := range r.Cells {
		if c.Phase == phase {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d cells of phase %s in %+v", len(found), phase, r.Cells)
	}
	return found[0]
}

const everyOp = `
  - measure:
      rate: 2000/s
      operations: 2000
      mix: {deliver: 20, list: 20, open: 20, raw: 5, attachment: 5, flag: 10, move: 10, delete: 10, counters: 5, login: 5, restore: 5, recount: 5}
`

func TestRun(t *testing.T) {
	d := newFake()
	r := runOK(t, config(t, d, everyOp))
	if load := phaseOf(t, r, "load"); load.Ops["deliver"].Count != 150 || load.Verdict != results.OK {
		t.Errorf("load = %+v, want 150 deliveries", load)
	}
	m := phaseOf(t, r, "measure")
	if m.Verdict == results.Failed {
		t.Fatalf("failed: %s", why(m))
	}
	var total int64
	for name, o := range m.Ops {
		if o.NotFound+o.Failed+o.Unknown+o.Dropped+o.TooLarge > 0 {
			t.Errorf("%s: %+v, want all ok", name, o)
		}
		if na := name == "restore" || name == "recount"; na != (o.Support == results.NotOffered) || na && o.Count > 0 {
			t.Errorf("%s: support %q, %d times", name, o.Support, o.Count)
		} else if !na && (o.Count == 0 || o.Service.P50 == 0 || o.Response.P50 < o.Service.P50) {
			t.Errorf("%s: %+v", name, o)
		}
		total += o.Count
	}
	// An operation that the model does not support is left out: no other takes its scheduled start.
	if total < 1750 || total > 1900 {
		t.Errorf("%d operations were ok, want 2000 but for a twelfth", total)
	}
	if got := m.Ops["list"].Missing; got != "size, seen" {
		t.Errorf("list lacks %q", got)
	}
	if r.Format != results.Format || r.Environment.Go == "" || r.Workload.SHA256 == "" || len(r.Schemas) != 1 || r.Schemas[0].SHA256 == "" || r.Config.Workers != 8 {
		t.Errorf("provenance is incomplete: %+v", r)
	}
}

// A phase of one client run twice does the same: same calls, same mailboxes,
// same ledger.
func TestReplay(t *testing.T) {
	once := func() (calls []string, ledger []byte, left map[string][]string) {
		d := newFake()
		d.before = func(call string) error { calls = append(calls, call); return nil }
		c := config(t, d, `
  - measure:
      clients: 1
      operations: 500
      mix: {deliver: 20, list: 20, open: 20, flag: 10, move: 10, delete: 10}
`)
		c.Workload.Phases[0].Clients = 1
		c.DataDir = filepath.Join(t.TempDir(), "data")
		runOK(t, c)
		ledger, err := os.ReadFile(filepath.Join(c.DataDir, "fake-memory", "ledger"))
		if err != nil {
			t.Fatal(err)
		}
		left = map[string][]string{}
		for f, ls := range d.folders {
			for _, l := range ls {
				left[f.Account.Address+"/"+f.Name] = append(left[f.Account.Address+"/"+f.Name], fmt.Sprintf("%x %v %x", l.handle, l.seen, l.raw))
			}
		}
		return calls, ledger, left
	}
	calls1, ledger1, left1 := once()
	calls2, ledger2, left2 := once()
	if !slices.Equal(calls1, calls2) || len(calls1) < 500 {
		t.Error("the two runs made different calls")
	}
	if !bytes.Equal(ledger1, ledger2) || len(ledger1) < 200*64 {
		t.Error("the two runs wrote different ledgers")
	}
	if !reflect.DeepEqual(left1, left2) {
		t.Error("the two runs left different mailboxes")
	}
}

// Every scheduled operation is in the result: started, or dropped.
func TestFrozenEngine(t *testing.T) {
	d := newFake()
	var frozen atomic.Bool
	d.before = func(call string) error {
		if call == "open" && frozen.CompareAndSwap(false, true) {
			d.mu.Lock() // no client gets past the freeze
			time.Sleep(400 * time.Millisecond)
			d.mu.Unlock()
		}
		return nil
	}
	r := runOK(t, config(t, d, `
  - measure: {rate: 1000/s, duration: 1s, mix: {open: 1}}
`))
	c := phaseOf(t, r, "measure")
	o := c.Ops["open"]
	if o.Count != 1000 || o.Dropped != 0 {
		t.Errorf("%d operations ok, %d dropped, want all 1000 of the schedule", o.Count, o.Dropped)
	}
	// 400 of 1000 operations were scheduled while the engine stalled, and waited
	// for 400 ms to 0: so 20% waited for more than 200 ms.
	if p90 := time.Duration(o.Response.P90); p90 < 200*time.Millisecond {
		t.Errorf("p90 of response = %v, want what waiting for the frozen engine took", p90)
	}
	if o.Service.P90 > o.Response.P90/2 {
		t.Errorf("p90 of service = %v, of response = %v, want the engine's own time in service", time.Duration(o.Service.P90), time.Duration(o.Response.P90))
	}
	// The queue after a freeze must not be taken for a pool that is too small.
	// A busy machine may make the phase invalid for another reason.
	if c.Reason != nil && c.Reason.Code == "few-workers" {
		t.Errorf("verdict %s: %s", c.Verdict, why(c))
	}
}

// The last progress of a phase has the rate of the whole phase, not of its last
// window. The phase took at least as long as from its first call to its last, and at
// most as long as from the end of the load to its own.
func TestFinishedPhaseTellsItsMeanRate(t *testing.T) {
	d := newFake()
	var n atomic.Int64
	var first, last, loaded, ended time.Time // one client calls, one goroutine reports progress
	d.before = func(call string) error {
		if call != "open" {
			return nil
		}
		if last = time.Now(); n.Add(1) == 1 {
			first = last
		}
		if n.Load() > 1000 { // 50/s at the end
			time.Sleep(20 * time.Millisecond)
		}
		return nil
	}
	c := config(t, d, `
  - measure: {clients: 1, operations: 1040, mix: {open: 1}}
`)
	var end Progress
	c.Progress = func(p Progress) {
		switch {
		case p.Phase == "load" && p.Finished:
			loaded = time.Now()
		case p.Phase == "measure" && p.Finished:
			end, ended = p, time.Now()
		}
	}
	runOK(t, c)
	least, most := 1040/ended.Sub(loaded).Seconds(), 1040/last.Sub(first).Seconds()
	if end.OK != 1040 || end.Rate < least || end.Rate > most {
		t.Errorf("%d operations at %.0f/s, want 1040 at %.0f/s to %.0f/s", end.OK, end.Rate, least, most)
	}
}

func TestTooLateIsDroppedAndCounted(t *testing.T) {
	d := newFake()
	d.before = pause(20*time.Millisecond, "open") // 8 workers: 400/s
	c := config(t, d, `
  - measure: {rate: 4000/s, operations: 2000, mix: {open: 1, recount: 1}}
`)
	c.MaxWait = 50 * time.Millisecond
	m := phaseOf(t, runOK(t, c), "measure")
	if o := m.Ops["recount"]; o.Dropped > 0 || o.Support != results.NotOffered {
		t.Errorf("recount, which the model does not offer: %+v", o)
	}
	o := m.Ops["open"]
	if all := o.Count + o.Dropped; o.Dropped == 0 || all < 900 || all > 1100 {
		t.Errorf("%d ok and %d dropped, want about 1000 together and some dropped", o.Count, o.Dropped)
	}
	if !slices.ContainsFunc(m.Doubts, func(d results.Doubt) bool {
		return d.Code == "dropped" && slices.Equal(d.Ops, []results.OpCount{{Op: "open", Count: o.Dropped}})
	}) {
		t.Errorf("doubts %v do not tell of the drops", m.Doubts)
	}
	// Whose fault it is depends on the machine here: TestVerdictBeyondCapacity checks it in virtual time.
	if !judge.Overloaded(&m) || m.Verdict != results.Invalid && m.Verdict != results.Overloaded {
		t.Errorf("verdict %s: %s", m.Verdict, why(m))
	}
}

func TestFailedCellDoesNotEndTheRun(t *testing.T) {
	bad, good := newFake(), newFake()
	bad.before = func(call string) error {
		if call == "deliver" {
			return errors.New("no space left on device")
		}
		return nil
	}
	c := config(t, good, "  - measure: {clients: 2, operations: 50, mix: {list: 1}}\n")
	c.Models = []models.Model{bad.model("bad"), good.model("good")}
	r := runOK(t, c)
	var failed, ok []string
	if len(r.Cells) != 3 {
		t.Errorf("%d cells, want a load that failed, and load and measure of good", len(r.Cells))
	}
	for _, cell := range r.Cells {
		if cell.Verdict == results.Failed {
			failed = append(failed, cell.Model+" "+cell.Phase+": "+why(cell))
		} else if cell.Phase == "measure" {
			ok = append(ok, cell.Model)
		}
	}
	if len(failed) != 1 || !strings.Contains(failed[0], "bad load: load message") || !strings.Contains(failed[0], "no space left") {
		t.Errorf("failed: %q, want the load of bad with its reason", failed)
	}
	if !slices.Equal(ok, []string{"good"}) {
		t.Errorf("measured %q, want good", ok)
	}
}

// A step that could not be executed has a durability that run.json's schema knows, also where
// there is no store.
func TestFailedStepHasADurability(t *testing.T) {
	trouble := errors.New("in trouble")
	d := newFake()
	audit := dataConfig(t, d, "  - measure: {clients: 2, operations: 50, mix: {list: 1}}\n")
	audit.Audit = AuditAfter
	audit.Progress = func(p Progress) {
		if p.Phase == "audit" {
			d.before = func(string) error { return trouble }
		}
	}
	open := config(t, newFake(), "  - measure: {clients: 2, operations: 50, mix: {list: 1}}\n")
	open.Engines = []drivers.Engine{{Name: "memory", Open: func(context.Context, drivers.Options) (drivers.Store, error) { return nil, trouble }}}
	for want, c := range map[string]Config{"memory": audit, "default": open} {
		r := runOK(t, c)
		last := r.Cells[len(r.Cells)-1]
		if last.Verdict != results.Failed || !strings.Contains(last.Error, "in trouble") || last.Durability != want {
			t.Errorf("%s: %s, %q, durability %q, want %q", last.Phase, last.Verdict, last.Error, last.Durability, want)
		}
	}
}

func TestPhaseInWhichAllFail(t *testing.T) {
	d := newFake()
	d.before = func(call string) error {
		if call == "list" {
			return errors.New("connection refused")
		}
		return nil
	}
	m := phaseOf(t, runOK(t, config(t, d, "  - measure: {clients: 2, operations: 50, mix: {list: 1}}\n")), "measure")
	if m.Verdict != results.Failed || !strings.Contains(why(m), "connection refused") || m.Ops["list"].Failed != 50 {
		t.Errorf("verdict %s: %s, %+v", m.Verdict, why(m), m.Ops["list"])
	}
}

func TestOutcomesApart(t *testing.T) {
	d := newFake()
	answers := []error{nil, models.ErrNotFound, drivers.ErrUnknown, drivers.ErrTooLarge, errors.New("refused")}
	n := 0
	d.before = func(call string) error {
		if call != "list" {
			return nil
		}
		n++
		return answers[n%len(answers)]
	}
	o := phaseOf(t, runOK(t, config(t, d, "  - measure: {clients: 1, operations: 50, mix: {list: 1}}\n")), "measure").Ops["list"]
	if got := [5]int64{o.Count, o.NotFound, o.Unknown, o.TooLarge, o.Failed}; got != [5]int64{10, 10, 10, 10, 10} {
		t.Errorf("ok, not found, unknown, too large, failed = %v, want 10 each", got)
	}
}

func TestInterrupted(t *testing.T) {
	d := newFake()
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	d.before = func(call string) error {
		if call == "list" && n.Add(1) == 100 {
			cancel()
		}
		return nil
	}
	c := config(t, d, "  - measure: {rate: 1000/s, duration: 1h, mix: {list: 1}}\n  - measure: {name: never, rate: 1/s, duration: 1h, mix: {list: 1}}\n")
	var hlog bytes.Buffer
	c.LatencyLog = &hlog
	r, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted {
		t.Error("the run is not marked as interrupted")
	}
	if o := phaseOf(t, r, "measure").Ops["list"]; o.Count < 100 || o.Count > 200 || o.Failed+o.Dropped > 0 {
		t.Errorf("list = %+v, want the hundred that were measured", o)
	}
	if len(r.Cells) != 2 {
		t.Errorf("%d cells, want load and measure", len(r.Cells))
	}
	if !strings.Contains(hlog.String(), "Tag=fake/memory/measure/1/1/list/response,") {
		t.Errorf("the last interval is not in the log: %q", hlog.String())
	}
}

// TestPlanningStops: the digests of many trials end with their context, before the first operation.
func TestPlanningStops(t *testing.T) {
	d := newFake()
	c := config(t, d, "  - measure: {clients: 1, operations: 10000, mix: {list: 1}}\n")
	c.Trials = 10_000
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	r, err := Run(ctx, c)
	if took := time.Since(began); r != nil || !errors.Is(err, context.DeadlineExceeded) || took > 5*time.Second {
		t.Errorf("%v after %s, want the end of the context", err, took)
	}
	if len(d.accounts) > 0 {
		t.Errorf("%d accounts made", len(d.accounts))
	}
}

// A population that does not fit into memory is refused before anything is made.
func TestPopulationBeyondMemory(t *testing.T) {
	d := newFake()
	c := config(t, d, "  - measure: {clients: 2, operations: 20, mix: {list: 1}}\n")
	census, err := plan.NewCensus(t.Context(), c.Workload)
	if err != nil {
		t.Fatal(err)
	}
	r := runner{config: &c, points: []point{{census: census}}}
	for memory, want := range map[int64]string{
		0:                    "",
		census.Bytes() * 3:   "",
		census.Bytes():       "population is too large: 15 folders and 150 messages in all need about ",
		census.Bytes() / 100: "population is too large: 15 folders",
	} {
		err := r.fits(memory)
		if want == "" && err != nil || want != "" && (!errors.Is(err, workloads.ErrPopulation) || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("with %d bytes of memory: %v, want %q", memory, err, want)
		}
	}
	// The run itself: a population of 10^9 messages in 10^4 folders, of 33 GB, which not every
	// machine has.
	big := *c.Workload
	big.Population.Users, big.Population.Folders, big.Population.Messages = 1000, random.Constant{Value: 10}, random.Constant{Value: 100_000}
	c.Workload = &big
	if memory := Environment(t.TempDir()).Memory; memory > 0 && memory/4*3 < 33e9 {
		if r, err := Run(t.Context(), c); r != nil || !errors.Is(err, workloads.ErrPopulation) || len(d.accounts) > 0 {
			t.Errorf("%v, %d accounts made", err, len(d.accounts))
		}
	}
}

// fullAfter is a file on a disk that is full after so many bytes.
type fullAfter struct{ left int }

func (f *fullAfter) Write(b []byte) (int, error) {
	n := min(len(b), f.left)
	if f.left -= n; n < len(b) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// A latency log that cannot be written costs none of the metrics, and every phase that has
// ended was handed out before the next began.
func TestLogThatCannotBeWritten(t *testing.T) {
	for _, left := range []int{0, 300, 700} {
		d := newFake()
		c := config(t, d, "  - measure: {clients: 2, operations: 20, mix: {list: 1}}\n  - measure: {name: again, clients: 2, operations: 30, mix: {list: 1}}\n")
		c.LatencyLog = &fullAfter{left}
		var saved []int
		c.Save = func(r *results.Run) {
			saved = append(saved, len(r.Cells))
			if !r.Interrupted || r.Ended == "" {
				t.Errorf("saved with %d cells: interrupted %v, ended %q", len(r.Cells), r.Interrupted, r.Ended)
			}
		}
		r, err := Run(t.Context(), c)
		if !errors.Is(err, syscall.ENOSPC) || r == nil {
			t.Fatalf("with %d bytes: error %v; want it beside the result", left, err)
		}
		for phase, want := range map[string]int64{"measure": 20, "again": 30} {
			if cell := phaseOf(t, r, phase); cell.Verdict == results.Failed || cell.Ops["list"].Count != want {
				t.Errorf("with %d bytes: %s is %s with %d operations, want %d", left, phase, cell.Verdict, cell.Ops["list"].Count, want)
			}
		}
		if want := []int{1, 2, 3, 3}; !slices.Equal(saved, want) || r.Interrupted {
			t.Errorf("saved with %v cells, want %v; interrupted %v", saved, want, r.Interrupted)
		}
	}
}

// The observations of all ticks add up to those of the cells.
func TestObserve(t *testing.T) {
	c := config(t, newFake(), "  - measure: {clients: 2, operations: 50, mix: {list: 1}}\n")
	got := map[string]int64{}
	c.Observe = func(cell results.Key, op func(int) string, ops []latency.Op) {
		for i := range ops {
			if n := ops[i].Counts[latency.OK]; n > 0 {
				got[cell.String()+"/"+op(i)] += n
			}
		}
	}
	runOK(t, c)
	if want := map[string]int64{"fake/memory/load/1/1/deliver": 150, "fake/memory/measure/1/1/list": 50}; !maps.Equal(got, want) {
		t.Errorf("observed %v, want %v", got, want)
	}
}

func TestProgress(t *testing.T) {
	c := config(t, newFake(), "  - measure: {clients: 2, operations: 50, mix: {list: 1}}\n")
	var got []Progress
	c.Progress = func(p Progress) { got = append(got, p) }
	runOK(t, c)
	var finished []string
	for _, p := range got {
		if p.Model != "fake" || p.Engine != "memory" || p.Combination != 1 || p.Combinations != 1 {
			t.Errorf("progress %+v does not say of what", p)
		}
		if p.Finished {
			finished = append(finished, fmt.Sprintf("%s %d", p.Phase, p.OK))
		}
	}
	if want := []string{"load 150", "measure 50"}; !slices.Equal(finished, want) {
		t.Errorf("finished %q, want %q", finished, want)
	}
}

// An operation that the model does not support makes its load lighter.
func TestMissingOperations(t *testing.T) {
	c := config(t, newFake(), "  - measure: {clients: 2, operations: 100, mix: {list: 1, label: 1}}\n")
	cell := phaseOf(t, runOK(t, c), "measure")
	o := cell.Offered
	if o.Skipped < 20 || o.Skipped > 80 || o.Due != 100 || cell.Ops["list"].Count != 100-o.Skipped {
		t.Errorf("%+v, %d of list", o, cell.Ops["list"].Count)
	}
	if !slices.ContainsFunc(cell.Doubts, func(d results.Doubt) bool { return d.Code == "lighter-load" }) {
		t.Errorf("doubts %v", cell.Doubts)
	}
}

func TestTrials(t *testing.T) {
	d := newFake()
	c := config(t, d, "  - measure: {clients: 2, operations: 50, mix: {list: 1}}\n")
	c.Trials = 2
	c.Engines = []drivers.Engine{{Name: "memory", Open: func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
		d.accounts = map[string]*models.Account{} // a fresh store
		return d.engine("memory").Open(ctx, o)
	}}}
	var trials []int
	r := runOK(t, c)
	if d := r.Phases[1]; len(d.Trials) != 2 || d.Trials[0] != d.SHA256 || d.Trials[1] == d.SHA256 {
		t.Errorf("digests of the trials: %+v", d)
	}
	for _, cell := range r.Cells {
		if cell.Phase == "measure" {
			trials = append(trials, cell.Trial)
		}
	}
	if !slices.Equal(trials, []int{1, 2}) {
		t.Errorf("trials %v, want 1 and 2", trials)
	}
}

// TestEndedBySteadyClock: a clock that is set while a run lasts does not move the end of the run.
func TestEndedBySteadyClock(t *testing.T) {
	r := &runner{started: time.Now()}
	*(*uint64)(unsafe.Pointer(&r.started)) -= 3600 << 30 // the clock is set an hour ahead (time.Time.wall)
	if at := time.Now().Round(0).Sub(r.started.Round(0)); at < time.Hour || at > 61*time.Minute {
		t.Fatalf("time.Time has another form: %v", at)
	}
	var result results.Run
	r.end(&result, false)
	if want := r.started.UTC().Format(time.RFC3339); result.Ended < want || result.Ended > r.started.Add(time.Minute).UTC().Format(time.RFC3339) {
		t.Errorf("ended %s after %g s, began %s", result.Ended, result.Seconds, want)
	}
}
