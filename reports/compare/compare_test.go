package compare

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/workloads/results"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// pairOf are two sides of n trials that take turns. Both are equal, each trial a little
// slower than the one before.
func pairOf(n int) (base, new Side) {
	b, f := run("base"), run("new")
	for t := range n {
		slower := int64(1000 * t)
		for i, r := range []*results.Run{b, f} {
			c := cell(t+1, 2*t+(t+i)%2)
			c.Ops["list"] = op(1000, 200_000+slower, 2_000_000+slower)
			c.Ops["open"] = op(400, 300_000+slower, 3_000_000+slower)
			c.Ops["recount"] = op(4, 900_000, 900_000)
			r.Cells = append(r.Cells, c)
		}
	}
	return Side{Name: "old", Runs: []*results.Run{b}}, Side{Name: "fresh", Runs: []*results.Run{f}}
}

// change applies a change to an operation of all trials.
func change(s Side, name string, to func(o *results.Op)) {
	for _, r := range s.Runs {
		for i := range r.Cells {
			o := r.Cells[i].Ops[name]
			to(&o)
			r.Cells[i].Ops[name] = o
		}
	}
}

func slower(factor float64) func(o *results.Op) {
	return func(o *results.Op) {
		o.Response.P50 = int64(factor * float64(o.Response.P50))
		o.Response.P99 = int64(factor * float64(o.Response.P99))
	}
}

func gatesOf(t *testing.T, text string) []Gate {
	t.Helper()
	gates, err := ParseGates(text)
	if err != nil {
		t.Fatal(err)
	}
	return gates
}

func compared(t *testing.T, base, new Side, gates string, force bool) *Comparison {
	t.Helper()
	c, err := Runs(base, new, Options{Gates: gatesOf(t, gates), Force: force})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func figureOf(t *testing.T, c *Comparison, op, name string) *Figure {
	t.Helper()
	for i := range c.Cells[0].Figures {
		if f := &c.Cells[0].Figures[i]; f.Op == op && f.Name == name {
			return f
		}
	}
	t.Fatalf("no figure %s.%s", op, name)
	return nil
}

// Each case is a difference of two sides of trials that take turns.
func TestVerdicts(t *testing.T) {
	calls := func(n float64) func(*results.Op) { return func(o *results.Op) { o.Store.Requests = n } }
	bytesRead := func(n float64) func(*results.Op) { return func(o *results.Op) { o.Store.BytesRead = n } }
	for _, tc := range []struct {
		name    string
		trials  int
		op      string
		change  func(*results.Op)
		figure  string
		want    Verdict
		gates   string
		failing int
	}{
		{"nothing", 10, "list", slower(1), "p50", Same, "*", 0},
		{"slower by more than matters", 10, "list", slower(1.10), "p50", Worse, "*", 3},
		{"slower, and only another is gated", 10, "list", slower(1.10), "p50", Worse, "open.p50,*.p99:50%", 0},
		{"slower by more than the gate's limit", 10, "list", slower(1.04), "p50", Worse, "james/list.p50:3%", 1},
		{"slower by less than matters", 10, "list", slower(1.02), "p50", Same, "*", 0},
		{"faster", 10, "list", slower(0.8), "p50", Better, "*", 0},
		{"slower with one trial", 1, "list", slower(3), "p50", CannotTell, "*", 0},
		{"slower with three trials", 3, "list", slower(3), "p50", CannotTell, "*", 0},
		{"slower with four trials", 4, "list", slower(1.5), "p50", Worse, "*", 3},
		{"one call more, one trial", 1, "list", calls(3), "requests", Worse, "*", 1},
		{"one call less, one trial", 1, "list", calls(1), "requests", Better, "*", 0},
		{"one call more of few operations", 1, "recount", calls(3), "requests", CannotTell, "*", 0},
		{"a third more bytes", 1, "list", bytesRead(650), "bytes", Worse, "*", 1},
		{"more bytes, by less than matters", 10, "list", bytesRead(505), "bytes", Same, "*", 0},
		{"more bytes, within chance", 1, "open", bytesRead(525), "bytes", CannotTell, "*", 0},
		{"some fail", 1, "list", func(o *results.Op) { o.Failed, o.Count = 100, o.Count-100 }, "errors", Worse, "*", 1},
		{"one fails", 1, "list", func(o *results.Op) { o.Failed, o.Count = 1, o.Count-1 }, "errors", CannotTell, "*", 0},
	} {
		base, fresh := pairOf(tc.trials)
		change(fresh, tc.op, tc.change)
		c := compared(t, base, fresh, tc.gates, false)
		if f := figureOf(t, c, tc.op, tc.figure); f.Verdict != tc.want {
			t.Errorf("%s: %s (%s), want %s", tc.name, f.Verdict, f.Why, tc.want)
		}
		if len(c.Regressions) != tc.failing {
			t.Errorf("%s: regressions %q, want %d", tc.name, c.Regressions, tc.failing)
		}
	}
}

// The command that decides repeats the base's run, since a workload may be a file or have overrides. A build that is
// compared with itself is named as such, first.
func TestUndecided(t *testing.T) {
	base, fresh := pairOf(3)
	for _, r := range []*results.Run{base.Runs[0], fresh.Runs[0]} {
		r.Workload.Name, r.Environment.Commit = "mine.yaml", "907c0066fb1d0a3c5c9c9d2f6f0b0b4c1d2e3f40"
	}
	c := compared(t, base, fresh, "*", false)
	first := c.Document().Sections[0].Says
	var said []string
	for _, s := range first[:3] {
		said = append(said, strings.TrimSpace(s.Lead+": "+s.Text))
	}
	want := []string{
		": INCONCLUSIVE: no regression, but latency has too few trials to show one.",
		"Next: run about 10 interleaved trials of each build:",
		": mailbench compare --base bin/old --new bin/new --trials 10 --run '--from old'",
	}
	if !slices.Equal(said, want) {
		t.Errorf("it says\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	if len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "the same build") {
		t.Errorf("the notes are %q", c.Notes)
	}
	fresh.Runs[0].Environment.Dirty = true
	if c = compared(t, base, fresh, "*", false); len(c.Notes) != 0 {
		t.Errorf("the notes on two builds are %q", c.Notes)
	}
}

// Metrics without an interval are counted by the reason.
func TestInconclusivePhases(t *testing.T) {
	base, fresh := pairOf(1)
	change(fresh, "recount", func(o *results.Op) { o.Store.Requests, o.Store.BytesRead = 3, 900 })
	for _, r := range []*results.Run{base.Runs[0], fresh.Runs[0]} {
		second := r.Cells[0]
		second.Phase = "second"
		r.Cells = append(r.Cells, second)
	}
	var b bytes.Buffer
	if err := text(compared(t, base, fresh, "*", false), &b, 300, true); err != nil {
		t.Fatal(err)
	}
	if want := "Inconclusive: 4 metrics: fewer than 30 operations\n"; !strings.Contains(b.String(), want) {
		t.Errorf("%s\nwant %q", b.String(), want)
	}
}

// The advice fits the trials: more of them, longer ones where too many would be needed, and interleaved ones after
// sequential runs.
func TestNext(t *testing.T) {
	for _, tc := range []struct {
		name       string
		varied     int64 // of trials, in ns
		factor     float64
		sequential bool
		requests   float64 // of open, if they changed
		want       string
		trials     int
	}{
		{name: "nothing to do", factor: 1},
		{name: "some trials more", varied: 30_000, factor: 1, want: "run about 11 interleaved trials of each build:", trials: 11},
		{
			name: "too noisy", varied: 90_000, factor: 1, trials: 20,
			want: "even 50 trials this short would not decide. Use a quiet machine, or longer ones (add --set phases.PHASE.duration=30s):",
		},
		{
			name: "more requests, too noisy", varied: 90_000, factor: 1, requests: 3,
			want: "find the cause, or accept the change with --threshold '*,james/embedded/open.requests:60%'",
		},
		{
			name: "sequential", factor: 1.5, sequential: true, trials: 10,
			want: "these runs were sequential: confirm the latency with interleaved trials:",
		},
		{name: "slower", factor: 1.13, want: "find the cause, or accept the change with --threshold '*,james/embedded/list.p99:20%'"},
	} {
		base, fresh := pairOf(10)
		for side, s := range []Side{base, fresh} {
			for i := range s.Runs[0].Cells {
				for name, o := range s.Runs[0].Cells[i].Ops {
					o.Response.P50 += int64((i*(side+1))%3) * tc.varied
					s.Runs[0].Cells[i].Ops[name] = o
				}
				if side == 1 && tc.sequential {
					s.Runs[0].Cells[i].Started = began.Add(time.Hour + time.Duration(i)*time.Second).Format(time.RFC3339Nano)
				}
			}
		}
		change(fresh, "list", slower(tc.factor))
		if tc.requests > 0 {
			change(fresh, "open", func(o *results.Op) { o.Store.Requests = tc.requests })
		}
		c := compared(t, base, fresh, "*", false)
		if text, trials := c.next(); text != tc.want || trials != tc.trials {
			t.Errorf("%s: %d trials:\n%s\nwant\n%s", tc.name, trials, text, tc.want)
		}
	}
}

// The first sentence says how large a slow-down the trials could hide.
func TestConclusion(t *testing.T) {
	wide := func(low, high float64) *Figure {
		f := Figure{Name: "typical", Verdict: CannotTell, Low: &low, High: &high, Limit: 0.05, Measure: measures[0]}
		f.cell = &Cell{Subject: Subject{"james", "embedded", "measure"}}
		return &f
	}
	worse := *wide(1.1, 1.3)
	worse.Verdict, worse.Base, worse.New, worse.Ratio = Worse, worse.Low, worse.High, worse.High
	gated := worse
	gated.Gate = true
	for _, tc := range []struct {
		c    Comparison
		all  []*Figure
		want string
	}{
		{Comparison{}, nil, "No regression."},
		{Comparison{}, []*Figure{wide(0.9, 1.2), wide(0.9, 1.3)}, "INCONCLUSIVE: no regression, but noise could hide up to +30% in " +
			"the typical latency of james/embedded/measure."},
		{Comparison{}, []*Figure{wide(0.8, 1.04)}, "No regression, but some metrics are inconclusive."},
		{Comparison{}, []*Figure{&worse}, "No confirmed regression in the metrics of --threshold."},
		{Comparison{}, []*Figure{&worse, wide(0.9, 1.2)}, "INCONCLUSIVE: no confirmed regression in the metrics of --threshold, but noise could hide " +
			"up to +20% in the typical latency of james/embedded/measure."},
		{Comparison{}, []*Figure{&gated}, "No confirmed regression in the metrics of --threshold."},
		{Comparison{Regressions: []string{gated.String()}}, []*Figure{&gated}, "REGRESSION (1). Worst: james/embedded/measure .typical +30% " +
			"(1ns to 1ns; +10% to +30% with 95% confidence)."},
		{Comparison{Regressions: []string{"a/b/c: new is overloaded"}}, []*Figure{wide(0.9, 1.2)}, "REGRESSION (1). Worst: a/b/c: new is overloaded."},
	} {
		tc.c.sorted = tc.all
		if got := tc.c.conclusion(); got != tc.want {
			t.Errorf("it says %q, want %q", got, tc.want)
		}
	}
}

// Of runs one after the other all of the interval must lie beyond the limit.
func TestOneAfterTheOther(t *testing.T) {
	for _, tc := range []struct {
		factor float64
		varied int64 // of trials, in ns
		want   Verdict
	}{{1, 0, Same}, {1.07, 0, CannotTell}, {1.3, 0, Worse}, {1.3, 60_000, CannotTell}, {1.8, 60_000, Worse}} {
		base, fresh := pairOf(10)
		for _, s := range []Side{base, fresh} {
			for i := range s.Runs[0].Cells {
				o := s.Runs[0].Cells[i].Ops["list"]
				o.Response.P50 += int64(i%2) * tc.varied
				s.Runs[0].Cells[i].Ops["list"] = o
			}
		}
		for i := range fresh.Runs[0].Cells {
			fresh.Runs[0].Cells[i].Started = began.Add(time.Hour + time.Duration(i)*time.Second).Format(time.RFC3339Nano)
		}
		change(fresh, "list", slower(tc.factor))
		c := compared(t, base, fresh, "*", false)
		if f := figureOf(t, c, "list", "p50"); c.Interleaved || f.Verdict != tc.want {
			t.Errorf("%g: interleaved %v, %s %s, want %s", tc.factor, c.Interleaved, f.Why, f.Verdict, tc.want)
		}
	}
}

// Trials are interleaved if trial N of both sides began before trial N+1 of either.
func TestInterleaved(t *testing.T) {
	for _, tc := range []struct {
		base, new []int // seconds at which the trials began
		want      bool
	}{
		{[]int{0, 3}, []int{1, 2}, true},
		{[]int{3, 0}, []int{1, 2}, true},
		{[]int{0}, []int{1}, false},
		{[]int{0, 1}, []int{2, 3}, false},
		{[]int{0, 3, 4}, []int{1, 2}, false},
		{[]int{0, 3, 4, 5}, []int{1, 2}, false},
		{[]int{1, 2}, []int{0, 1}, false},
	} {
		base, fresh := run("base"), run("new")
		for i, second := range tc.base {
			base.Cells = append(base.Cells, cell(i+1, second))
		}
		for i, second := range tc.new {
			fresh.Cells = append(fresh.Cells, cell(i+1, second))
		}
		c := compared(t, Side{Name: "old", Runs: []*results.Run{base}}, Side{Name: "fresh", Runs: []*results.Run{fresh}}, "*", false)
		if c.Interleaved != tc.want {
			t.Errorf("%v and %v: interleaved %v", tc.base, tc.new, c.Interleaved)
		}
	}
}

// The throughput of a closed loop is compared, and less is worse. Its service times are
// its latencies.
func TestClosedLoop(t *testing.T) {
	base, fresh := pairOf(10)
	for _, s := range []Side{base, fresh} {
		for i := range s.Runs[0].Cells {
			s.Runs[0].Cells[i].Arrivals = "closed"
		}
		change(s, "list", func(o *results.Op) { o.Rate = 1000 })
	}
	change(fresh, "list", func(o *results.Op) { o.Rate, o.Response.P50, o.Count = 800, o.Response.P50*2, o.Count-100 })
	c := compared(t, base, fresh, "*", false)
	for _, figure := range []string{"rate", "p50"} {
		if f := figureOf(t, c, "list", figure); f.Verdict != Worse {
			t.Errorf("%s: %s %s", figure, f.Why, f.Verdict)
		}
	}
	// All operations of a loop have one rate: it is shown once.
	change(base, "open", func(o *results.Op) { o.Rate = 400 })
	change(fresh, "open", func(o *results.Op) { o.Rate = 320 })
	var written bytes.Buffer
	if err := text(compared(t, base, fresh, "*", false), &written, 80, false); err != nil {
		t.Fatal(err)
	}
	if got := written.String(); strings.Count(got, " rate ") != 1 {
		t.Errorf("rates of one loop:\n%s", got)
	}
	// Another number of operations meets other messages.
	change(fresh, "list", func(o *results.Op) { o.Store.Requests = 2.1 })
	if f := figureOf(t, compared(t, base, fresh, "*", false), "list", "requests"); f.Verdict != CannotTell {
		t.Errorf("calls of other operations: %s", f.Verdict)
	}
}

// One client and a number of operations set in advance leave nothing to chance.
func TestSequentialRunsAreExact(t *testing.T) {
	base, fresh := pairOf(1)
	for _, s := range []Side{base, fresh} {
		c := &s.Runs[0].Cells[0]
		c.Arrivals, c.Clients = "closed", 1
		load := *c
		load.Kind, load.Phase, load.Arrivals = results.KindLoad, "load", "none"
		load.Client = &results.ClientInfo{Workers: 1}
		s.Runs[0].Cells = append(s.Runs[0].Cells, load)
	}
	change(fresh, "recount", func(o *results.Op) { o.Store.Requests = 2.25 })
	if f := figureOf(t, compared(t, base, fresh, "*", false), "recount", "requests"); f.Verdict != Worse || !f.Exact {
		t.Errorf("one call more in 4 operations: %s, exact %v", f.Verdict, f.Exact)
	}
	for _, s := range []Side{base, fresh} {
		for _, c := range slices.Clone(s.Runs[0].Cells) {
			c.Trial = 2
			s.Runs[0].Cells = append(s.Runs[0].Cells, c)
		}
	}
	if f := figureOf(t, compared(t, base, fresh, "*", false), "recount", "requests"); f.Verdict != Worse || !f.Exact {
		t.Errorf("one call more in 4 operations of two trials: %s, exact %v", f.Verdict, f.Exact)
	}
	base.Runs[0].Cells, fresh.Runs[0].Cells = base.Runs[0].Cells[:2], fresh.Runs[0].Cells[:2]
	fresh.Runs[0].Cells[0].Trial, fresh.Runs[0].Cells[1].Trial = 2, 2 // which draws other operations
	if f := figureOf(t, compared(t, base, fresh, "*", false), "recount", "requests"); f.Verdict != CannotTell {
		t.Errorf("in another trial: %s", f.Verdict)
	}
	fresh.Runs[0].Cells[0].Trial, fresh.Runs[0].Cells[1].Trial = 1, 1
	fresh.Runs[0].Cells[1].Client.Workers = 4 // loaders
	if f := figureOf(t, compared(t, base, fresh, "*", false), "recount", "requests"); f.Verdict != CannotTell {
		t.Errorf("with four loaders: %s", f.Verdict)
	}
	fresh.Runs[0].Cells[1].Client.Workers = 1
	fresh.Runs[0].Cells[1].Ops = map[string]results.Op{"deliver": op(9, 1, 1)}
	if f := figureOf(t, compared(t, base, fresh, "*", false), "recount", "requests"); f.Verdict != CannotTell {
		t.Errorf("after another load: %s", f.Verdict)
	}
}

// TestCountedInTurns has operations of unlike messages: their calls differ by 14, so 80 operations
// prove nothing by themselves. But each trial of one number draws the same ones.
func TestCountedInTurns(t *testing.T) {
	const trials = 4
	for _, tc := range []struct {
		name      string
		base, new [trials]float64
		want      Verdict
		exact     bool
	}{
		{"three times the calls, in each trial", [trials]float64{4.91, 4.91, 4.91, 4.91}, [trials]float64{15.03, 15.03, 15.03, 15.03}, Worse, true},
		{"eight times the calls, less than the threshold", [trials]float64{1, 1, 1, 1}, [trials]float64{8, 8, 8, 8}, Same, true},
		{"trials of unlike draws", [trials]float64{4.9, 5.2, 4.7, 5.1}, [trials]float64{14.9, 15.21, 14.7, 15.1}, Worse, false},
		{"one trial hardly differs", [trials]float64{4.9, 5.2, 4.7, 5.1}, [trials]float64{4.9, 5.2, 4.7, 5.1001}, CannotTell, false},
		{"as far apart as trials of one side", [trials]float64{4.9, 5.2, 4.7, 5.1}, [trials]float64{6.9, 5.3, 8.7, 5.4}, CannotTell, false},
	} {
		base, fresh := pairOf(trials)
		for side, s := range map[*[trials]float64]Side{&tc.base: base, &tc.new: fresh} {
			for i := range s.Runs[0].Cells {
				o := op(20, 900_000, 900_000)
				o.Store.Requests, o.Store.RequestsDeviation = side[i], 14
				s.Runs[0].Cells[i].Ops["recount"] = o
			}
		}
		gates := "*"
		if tc.want == Same {
			gates = "recount.requests:900%"
		}
		if f := figureOf(t, compared(t, base, fresh, gates, false), "recount", "requests"); f.Verdict != tc.want || f.Exact != tc.exact {
			t.Errorf("%s: %s, exact %v, want %s, %v: %s", tc.name, f.Verdict, f.Exact, tc.want, tc.exact, f.Why)
		}
		// Another number of operations: the pairs are not of the same plan.
		o := fresh.Runs[0].Cells[0].Ops["recount"]
		o.Count++
		fresh.Runs[0].Cells[0].Ops["recount"] = o
		if f := figureOf(t, compared(t, base, fresh, gates, false), "recount", "requests"); f.Verdict == Worse {
			t.Errorf("%s, of other operations: %s", tc.name, f.Verdict)
		}
	}
}

func TestTrialsThatAreNotOK(t *testing.T) {
	verdict := func(s Side, trials int, v results.Verdict) {
		for i := range trials {
			s.Runs[0].Cells[i].Verdict = v
			s.Runs[0].Cells[i].Reason = &results.Reason{Code: "x", Text: "the reason\nand more"}
		}
	}
	for _, tc := range []struct {
		name          string
		baseN, freshN int
		verdict       results.Verdict
		force         bool
		want          Verdict
		why           string
		failing       int
	}{
		{"two trials are invalid", 1, 1, results.Invalid, false, Same, "", 0},
		{"nearly all are", 7, 0, results.Invalid, false, CannotTell, "it needs at least 4 trials", 0},
		{"all are", 0, 10, results.Invalid, false, CannotTell, "it needs at least 4 trials", 0},
		{"all are, by force", 0, 10, results.Invalid, true, Same, "", 0},
		{"one of the base failed", 1, 0, results.Failed, false, CannotTell, "base is failed: the reason", 0},
		{"one of the new is overloaded", 0, 1, results.Overloaded, false, CannotTell, "new is overloaded: the reason", 1},
		{"one of both is empty", 1, 1, results.Empty, false, CannotTell, "base is empty: the reason", 0},
	} {
		base, fresh := pairOf(10)
		verdict(base, tc.baseN, tc.verdict)
		verdict(fresh, tc.freshN, tc.verdict)
		c := compared(t, base, fresh, "*", tc.force)
		if _, err := json.Marshal(c); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		f := &Figure{Verdict: CannotTell, Why: c.Cells[0].Why}
		if len(c.Cells[0].Figures) > 0 {
			f = figureOf(t, c, "list", "p50")
		}
		if f.Verdict != tc.want || !strings.HasPrefix(f.Why, tc.why) {
			t.Errorf("%s: %s (%s), want %s (%s)", tc.name, f.Verdict, f.Why, tc.want, tc.why)
		}
		next, _ := c.next()
		if len(c.Regressions) != tc.failing || tc.failing > 0 && next != "find the cause" {
			t.Errorf("%s: regressions %q, want %d, and next %q", tc.name, c.Regressions, tc.failing, next)
		}
	}
}

// TestInvalidTrialsGateNothing: the counters of an invalid trial are shown, and make no gate fail.
func TestInvalidTrialsGateNothing(t *testing.T) {
	base, new := pairOf(4)
	change(new, "list", func(o *results.Op) { o.Store.Requests = 9 })
	if c := compared(t, base, new, "list.requests", false); len(c.Regressions) != 1 {
		t.Fatalf("regressions %v, want one", c.Regressions)
	}
	new.Runs[0].Cells[2].Verdict = results.Invalid
	new.Runs[0].Cells[2].Reason = &results.Reason{Code: "client-delays", Text: "client-bound: it stood still; lower the rate"}
	c := compared(t, base, new, "list.requests", false)
	if want := "1 of 4 trials of new left out of latency (client-bound)"; !slices.Contains(c.Cells[0].Notes, want) {
		t.Errorf("notes %q; want %q", c.Cells[0].Notes, want)
	}
	if f := figureOf(t, c, "list", "requests"); f.Verdict != CannotTell || len(c.Regressions) > 0 {
		t.Errorf("with an invalid trial: %+v, regressions %v", f, c.Regressions)
	}
	var b bytes.Buffer
	if err := text(c, &b, 300, false); err != nil || !strings.Contains(b.String(), "gates ignore its counters") {
		t.Errorf("%v: the reason is not in\n%s", err, b.String())
	}
	new.Runs[0].Cells[1].Verdict = results.Invalid
	new.Runs[0].Cells[1].Reason = &results.Reason{Code: "client-delays", Text: "client-bound: 9%; lower the rate"}
	c = compared(t, base, new, "list.requests", false)
	if want := "2 of 4 trials of new left out of latency (client-bound)"; !slices.Contains(c.Cells[0].Notes, want) {
		t.Errorf("notes %q; want %q", c.Cells[0].Notes, want)
	}
}

// TestTrialWithoutSuccess: counters are those of operations that succeeded, so a trial without any has no part in them.
func TestTrialWithoutSuccess(t *testing.T) {
	base, new := pairOf(4)
	new.Runs[0].Cells[1].Ops["list"] = results.Op{Failed: 1000, Support: results.Native}
	c := compared(t, base, new, "*", false)
	if f := figureOf(t, c, "list", "requests"); f.Verdict != Same || *f.New != 2 {
		t.Errorf("requests: %s, %g", f.Verdict, *f.New)
	}
	if f := figureOf(t, c, "list", "errors"); f.Verdict != Worse || *f.New != 0.25 {
		t.Errorf("errors: %s, %g", f.Verdict, *f.New)
	}
	change(new, "list", func(o *results.Op) { *o = results.Op{Failed: 1000, Support: results.Native} })
	c = compared(t, base, new, "*", false)
	if f := figureOf(t, c, "list", "errors"); f.Verdict != Worse || *f.New != 1 || len(judged(c, Better)) > 0 {
		t.Errorf("errors of all trials: %s, %g; improvements %q", f.Verdict, *f.New, judged(c, Better))
	}
}

// A trial without a metric hides it in no other trial: the value of a run is the median of all that have it.
func TestTrialWithoutMetric(t *testing.T) {
	base, _ := pairOf(4)
	base.Runs[0].Cells[0].Ops["list"] = op(3, 1, 1)
	for _, f := range Cells(base.Runs[0])[0].Figures {
		if f.Op == "list" && f.Name == "p50" && (f.Base == nil || math.Round(*f.Base) != 202_000) {
			t.Errorf("p50 of list is %v, want the median of 201, 202 and 203 µs", f.Base)
		}
	}
}

// TestRowsScanned: rows that an engine read and did not return are compared, if all trials know
// them of all operations.
func TestRowsScanned(t *testing.T) {
	examined := func(n float64, traced int64) func(o *results.Op) {
		return func(o *results.Op) { o.Store.RowsScanned, o.Store.Traced = &n, traced }
	}
	base, new := pairOf(1)
	change(base, "list", examined(25, 0))
	change(new, "list", examined(3000, 0))
	if f := figureOf(t, compared(t, base, new, "*", false), "list", "scanned"); f.Verdict != Worse || *f.Ratio != 120 {
		t.Errorf("120 times as many rows examined: %+v", f)
	}
	change(new, "list", examined(3000, 5))
	for _, f := range compared(t, base, new, "*", false).Cells[0].Figures {
		if f.Name == "scanned" {
			t.Errorf("rows examined that one side knows of traced operations only: %+v", f)
		}
	}
}

// Runs that differ in more than the build are refused, and the difference is named.
func TestRefused(t *testing.T) {
	base, fresh := pairOf(4)
	base.Runs[0].Mail, fresh.Runs[0].Mail = &results.MailInfo{File: "a.mbox", SHA256: "12"}, &results.MailInfo{File: "./in/a.mbox", SHA256: "12"}
	if _, err := Runs(base, fresh, Options{}); err != nil {
		t.Errorf("the same mail under another path: %v", err)
	}
	other := base.Runs[0].Cells[0]
	other.Engine, other.Engines = "cassandra", &results.EngineInfo{Version: "5.0.9"}
	base.Runs[0].Cells = append(base.Runs[0].Cells, other)
	if _, err := Runs(base, fresh, Options{}); err != nil {
		t.Errorf("an engine that only one side has: %v", err)
	}
	for want, change := range map[string]func(r *results.Run){
		"workload: quick in old, churn in fresh":                   func(r *results.Run) { r.Workload.Name = "churn" },
		`line 3 of the workload: "" in old, "rate: 9" in fresh`:    func(r *results.Run) { r.Workload.Text += "rate: 9" },
		"seed: 1 in old, 2 in fresh":                               func(r *results.Run) { r.Seed = 2 },
		"the operations of phase measure are others":               func(r *results.Run) { r.Phases[0].SHA256 = "3" },
		"trace of phase measure: none in old, 0123abcdef in fresh": func(r *results.Run) { r.Phases[0].Trace = "0123abcdef" },
		`line 1 of the schema of james: "name: james" in old, "name: jim" in fresh`: func(r *results.Run) {
			r.Schemas[0].Text, r.Schemas[0].SHA256 = "name: jim", "4"
		},
		"version of embedded: pebble v2.1.7 in old, pebble v3 in fresh": func(r *results.Run) { r.Cells[0].Engines.Version = "pebble v3" },
		"setting memtables of embedded: 2 in old, 9 in fresh":           func(r *results.Run) { r.Cells[0].Engines.Settings["memtables"] = "9" },
		"machine: one in old, two in fresh":                             func(r *results.Run) { r.Machine.ID = "two" },
		"GOMAXPROCS: 2 in old, 4 in fresh":                              func(r *results.Run) { r.Environment.MaxProcs = 4 },
		"durability: default in old, memory in fresh":                   func(r *results.Run) { r.Config.Durability = "memory" },
		"durability of embedded: power in old, process in fresh":        func(r *results.Run) { r.Cells[0].Durability = "process" },
		"setting embedded.compression: snappy in old, none in fresh":    func(r *results.Run) { delete(r.Settings, "embedded.compression") },
		"mail file: none in old, a.mbox 123456789012 in fresh":          func(r *results.Run) { r.Mail = &results.MailInfo{File: "a.mbox", SHA256: "1234567890123456"} },
		"search for the highest rate: none in old, from the phase's rate up to 1.00M/s, within 5%, in steps of 5s in fresh": func(r *results.Run) {
			r.Config.FindMax = &results.FindMax{Max: 1e6, Precision: 0.05, Step: 5}
		},
		"fresh was interrupted": func(r *results.Run) { r.Interrupted = true },
	} {
		base, fresh := pairOf(4)
		change(fresh.Runs[0])
		gates, err := ParseGates("*")
		if err != nil {
			t.Fatal(err)
		}
		_, err = Runs(base, fresh, Options{Gates: gates})
		if err == nil || !strings.HasPrefix(err.Error(), "the runs cannot be compared: "+want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want only %q", err, want)
		}
		if c, err := Runs(base, fresh, Options{Gates: gates, Force: true}); err == nil && (len(c.Forced) == 0 || c.Forced[0] != want) {
			t.Errorf("by force: it says %q, want %q", c.Forced, want)
		}
		// The contents of builds are noted where builds are compared. All else is refused.
		held := strings.Contains(want, "schema") || strings.HasSuffix(strings.Split(want, ":")[0], " of embedded") && !strings.HasPrefix(want, "durability")
		c, err := Runs(base, fresh, Options{Gates: gates, Builds: true})
		if noted := err == nil && slices.Equal(c.Notes, []string{"the builds differ in " + want}); noted != held || held != (err == nil) {
			t.Errorf("of builds: %v, and held by a build is %v: %s", err, held, want)
		}
		// All runs of a side are of one commit.
		twice := Side{Name: base.Name, Runs: []*results.Run{base.Runs[0], fresh.Runs[0]}}
		if _, err := Runs(twice, base, Options{Gates: gates, Builds: true}); err == nil && held {
			t.Errorf("of builds: runs of one side differ in %s", want)
		}
	}
}

// The sides are compared by their first runs, and the others of a side with its first.
func TestDifferencesOfSeveralRuns(t *testing.T) {
	side := func(name string, kernels ...string) Side {
		s := Side{Name: name}
		for i, kernel := range kernels {
			r := run("base")
			r.Environment.Kernel, r.Interrupted, r.Seconds = kernel, kernel == "7", float64(i)
			if kernel == "copy" {
				r = s.Runs[0]
			}
			s.Runs = append(s.Runs, r)
		}
		return s
	}
	for _, tc := range []struct {
		base, new Side
		want      []string
	}{
		{side("old", "6", "6"), side("fresh", "6", "6"), nil},
		{side("old", "6", "6"), side("fresh", "7.1", "7.1"), []string{"kernel: 6 in old, 7.1 in fresh"}},
		{side("old", "6", ""), side("fresh", "6"), []string{"kernel: 6 in old, none in old (run 2)"}},
		{side("old", "6"), side("fresh", "6", "8", "7"), []string{
			"kernel: 6 in fresh, 8 in fresh (run 2)", "fresh (run 3) was interrupted", "kernel: 6 in fresh, 7 in fresh (run 3)",
		}},
		{side("old", "6", "copy"), side("fresh", "6"), []string{"old (run 2) is a copy of run 1"}},
	} {
		if got, _ := Differences(tc.base, tc.new, false); !slices.Equal(got, tc.want) {
			t.Errorf("differences %q, want %q", got, tc.want)
		}
	}
}

// TestApart: runs without anything in common are refused with the content of each side, also by force, and before
// other differences.
func TestApart(t *testing.T) {
	base, fresh := pairOf(4)
	for i := range fresh.Runs[0].Cells {
		fresh.Runs[0].Cells[i].Model = "oracle"
	}
	fresh.Runs[0].Seed = 9
	for _, force := range []bool{false, true} {
		_, err := Runs(base, fresh, Options{Force: force})
		want := "only old has james/embedded/measure; only fresh has oracle/embedded/measure (mailbench report old fresh"
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "--force") {
			t.Errorf("force %v: %v", force, err)
		}
	}
	fresh.Runs[0].Cells, base.Runs[0].Cells = nil, nil
	if _, err := Runs(base, fresh, Options{}); err == nil || !strings.Contains(err.Error(), "neither has a measured phase") {
		t.Error(err)
	}
}

func TestSegmentIsRefused(t *testing.T) {
	base, fresh := pairOf(4)
	fresh.Runs[0].Segment.Of = 3
	if _, err := Runs(base, fresh, Options{Force: true}); err == nil || !strings.Contains(err.Error(), "fresh is segment 1 of 3") {
		t.Error(err)
	}
}

func TestGates(t *testing.T) {
	for text, want := range map[string]string{
		"lst.p98":               `unknown metric "p98"; expected one of typical, p50, p99, p99.9, rate, max-rate, errors, requests, scanned, rows, bytes, or OP.METRIC`,
		"list.p99:10":           "expected a limit such as 10%",
		"list.p99:10ms":         "expected a limit such as 10%",
		"list.p99:-1%":          "expected a limit",
		"list.p99:NaN%":         "expected a limit",
		"a/b/c/list.p99":        "expected [MODEL/[ENGINE/]][OP.]METRIC[:LIMIT]",
		"":                      `unknown metric ""`,
		"[.p99":                 "is no pattern",
		"list.p50,open.nothing": `unknown metric "nothing"`,
		"*.nothing":             `unknown metric "nothing"`,
		"readers:list.p99":      "expected a limit such as 10% after the colon",
	} {
		if _, err := ParseGates(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	gates, err := ParseGates("*, p99.9:1%, *.p99.9:2%, list.p99.9:3%, james/*:4%, james@*/cassandra/open.rows:5%")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		model, engine, op, figure string
		want                      float64
	}{
		{"oracle", "embedded", "list", "p50", 0.07},
		{"oracle", "embedded", "open", "p99.9", 0.02},
		{"oracle", "embedded", "list", "p99.9", 0.03},
		{"james", "embedded", "list", "p99.9", 0.04},
		{"james@checked-flags", "cassandra", "open", "rows", 0.05},
		{"james@checked-flags", "hbase", "open", "rows", 0.07},
		{"", "", "any", "p50", 0.07},
	} {
		gates := gates
		if tc.op == "any" { // of all operations and metrics
			gates = gatesOf(t, "*.*")
		}
		f := Figure{Op: tc.op, Name: tc.figure, Measure: &Measure{Limit: 0.07}, known: true}
		cell := &Cell{Subject: Subject{tc.model, tc.engine, "measure"}, Figures: []Figure{f}}
		_ = (&Comparison{Cells: []*Cell{cell, {}}, options: Options{Gates: gates}}).measure() // without figures a gate may match none
		if f := &cell.Figures[0]; !f.Gate || math.Abs(f.Limit-tc.want) > 1e-9 {
			t.Errorf("%v: %+v", tc, f)
		}
	}
	base, fresh := pairOf(4)
	_, err = Runs(base, fresh, Options{Gates: []Gate{gates[0], {text: "opn.p50", pattern: "*/*/opn/p50"}}})
	if err == nil || !strings.Contains(err.Error(), "opn.p50 matches no metric") || !strings.Contains(err.Error(), `unknown operation "opn"; did you mean "open"?`) {
		t.Errorf("a gate of nothing: %v", err)
	}
}

// sample is a comparison in which everything happens.
func sampleComparison(t *testing.T) *Comparison {
	base, fresh := pairOf(10)
	base.Runs[0].Environment.Commit = "907c0066fb1d0a3c5c9c9d2f6f0b0b4c1d2e3f40"
	change(fresh, "list", slower(1.12))
	change(fresh, "open", func(o *results.Op) { o.Store.Requests, o.Response.P99 = 3, o.Response.P99*9/10 })
	for i, r := range []*results.Run{base.Runs[0], fresh.Runs[0]} {
		for j := range r.Cells {
			noisy := op(500, int64(400_000+(j*7+i*3)%10*60_000), 1)
			noisy.Count = 20
			r.Cells[j].Ops["move"] = noisy
			other := r.Cells[j]
			other.Model, other.Ops = "oracle", map[string]results.Op{"list": op(1000, 1_000_000, 9_000_000)}
			if i == 1 && j == 3 {
				other.Verdict, other.Reason = results.Overloaded, &results.Reason{Text: "achieved 300/s | <b> of 500/s"}
			}
			r.Cells = append(r.Cells, other)
		}
	}
	base.Runs[0].Cells[2].Verdict = results.Invalid
	fresh.Runs[0].Environment.Kernel = "6.18"
	only := fresh.Runs[0].Cells[0]
	only.Model = "datastax"
	fresh.Runs[0].Cells = append(fresh.Runs[0].Cells, only)
	return compared(t, base, fresh, "*,*.p99:20%", true)
}

func TestOutputs(t *testing.T) {
	c := sampleComparison(t)
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"text-60.txt":  func(b *bytes.Buffer) error { return text(c, b, 60, false) },
		"text-80.txt":  func(b *bytes.Buffer) error { return text(c, b, 80, false) },
		"text-all.txt": func(b *bytes.Buffer) error { return text(c, b, 100, true) },
		"comment.md":   func(b *bytes.Buffer) error { return document.WriteMarkdown(b, c.Document()) },
		"comparison.json": func(b *bytes.Buffer) error {
			e := json.NewEncoder(b)
			e.SetIndent("", " ")
			return e.Encode(c)
		},
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		if columns := map[string]int{"text-60.txt": 60, "text-80.txt": 80}[name]; columns > 0 {
			for line := range strings.Lines(got.String()) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > columns {
					t.Errorf("%d columns: %s", n, line)
				}
			}
		}
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("differs from %s (-update rewrites it):\n%s", file, got.String())
		}
	}
}

// text writes a comparison as text.
func text(c *Comparison, w io.Writer, width int, all bool) error {
	return document.Terminal{Width: width, Full: all}.Write(w, c.Document())
}

// The ratio of a metric is that of the values next to it, of trials in pairs and not.
func TestRatioIsOfItsValues(t *testing.T) {
	base, fresh := pairOf(5) // too few for pairs
	change(fresh, "list", slower(1.2))
	for _, c := range []*Comparison{sampleComparison(t), compared(t, base, fresh, "*", false)} {
		for i := range c.Cells {
			for j := range c.Cells[i].Figures {
				f := &c.Cells[i].Figures[j]
				if f.Ratio != nil && math.Abs(*f.New / *f.Base / *f.Ratio - 1) > 1e-9 {
					t.Errorf("%s %s: %g to %g, ratio %g", f.Op, f.Name, *f.Base, *f.New, *f.Ratio)
				}
			}
		}
	}
}

// A counter that differs by more than chance has the bounds of its ratio; one that does not, or may, has none.
func TestIntervalOfCounter(t *testing.T) {
	for verdict, bytes := range map[Verdict]float64{Worse: 650, Better: 350, Same: 500, CannotTell: 525} {
		base, fresh := pairOf(1)
		change(fresh, "open", func(o *results.Op) { o.Store.BytesRead = bytes })
		f := figureOf(t, compared(t, base, fresh, "*", false), "open", "bytes")
		if f.Verdict != verdict || (f.Low != nil) != (verdict == Worse || verdict == Better) {
			t.Errorf("%g bytes: %s from %v on, want %s", bytes, f.Verdict, f.Low, verdict)
		}
		if f.Low != nil && (*f.Low >= *f.Ratio || *f.High <= *f.Ratio) {
			t.Errorf("%g bytes: %g from %g to %g", bytes, *f.Ratio, *f.Low, *f.High)
		}
	}
}

// A percentile that never ended in a valid trial is no metric: trials without it would flatter that side. In an invalid
// trial it is unknown.
func TestNeverEnded(t *testing.T) {
	base, fresh := pairOf(10)
	change(fresh, "list", func(o *results.Op) { o.Response.P99 = results.NeverEnded })
	has := func() bool {
		return slices.ContainsFunc(compared(t, base, fresh, "*", false).Cells[0].Figures, func(f Figure) bool {
			return f.Op == "list" && f.Name == "p99"
		})
	}
	if has() {
		t.Error("it is compared")
	}
	for i := range fresh.Runs[0].Cells {
		fresh.Runs[0].Cells[i].Verdict = results.Invalid
	}
	if !has() {
		t.Error("of invalid trials it is not named")
	}
}
