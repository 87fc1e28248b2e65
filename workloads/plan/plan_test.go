package plan

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

func bundledForTest(t testing.TB, name string, overrides ...string) *workloads.Workload {
	t.Helper()
	w, err := workloads.Bundled(name, overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestPlanReplays holds the first operations of quick, and some far ones, to
// what they were when this was written: a change makes runs incomparable.
func TestPlanReplays(t *testing.T) {
	w := bundledForTest(t, "quick")
	c := censusOf(t, w)
	p := New(w, &w.Phases[3], c)
	var b strings.Builder
	var op Operation
	for _, n := range []uint64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1 << 20, 1 << 39} {
		p.Next(n, &op)
		fmt.Fprintf(&b, "%d %s user %d folder %d to %d pick %d of 100 deep %t on %t message %d recipients %v\n",
			op.N, op.Op, op.User, op.Folder, op.To, op.Choose(100), op.Deep, op.On, op.Message, op.Recipients)
	}
	fmt.Fprintf(&b, "users %d folders %d messages %d\n", c.Users(), c.Folders(), c.Messages())
	next := loadOf(t, c)
	for range 5 {
		a, _ := next()
		fmt.Fprintf(&b, "load %d user %d folder %d %s\n", a.N, a.User, a.Folder, a.Date.Format(time.RFC3339Nano))
	}
	for _, s := range []*scheduled{scheduleOf((&workloads.Phase{Rate: workloads.Rate{Count: 3, Per: time.Second}}), 1), scheduleOf((&workloads.Phase{Arrivals: workloads.Poisson, Rate: workloads.Rate{Count: 3, Per: time.Second}}), 1)} {
		for range 4 {
			due, _ := s.Next()
			fmt.Fprintf(&b, "due %d\n", due)
		}
	}
	want, err := os.ReadFile("testdata/replay.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("the plan differs from testdata/replay.txt; it is now\n%s", got)
	}
}

// TestPlanIsAFunction: an operation does not depend on those made before it.
func TestPlanIsAFunction(t *testing.T) {
	w := bundledForTest(t, "quick")
	p, q := New(w, &w.Phases[3], censusOf(t, w)), New(w, &w.Phases[3], censusOf(t, w))
	var a, b Operation
	for n := uint64(2000); n > 0; n-- {
		p.Next(n, &a)
		q.Next(2000-n, &b) // something else first
		q.Next(n, &b)
		b.how = a.how
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("operation %d is %+v and %+v", n, a, b)
		}
	}
	w.Seed++
	same := 0
	other := New(w, &w.Phases[3], censusOf(t, w))
	for n := range uint64(1000) {
		p.Next(n, &a)
		other.Next(n, &b)
		if a.User == b.User && a.Op == b.Op && a.Pick == b.Pick {
			same++
		}
	}
	if same > 200 { // deliveries of the same popular user have no pick
		t.Errorf("%d of 1000 operations are the same with another seed", same)
	}
}

func TestMixIsHonored(t *testing.T) {
	w := bundledForTest(t, "quick")
	p := New(w, &w.Phases[3], censusOf(t, w))
	const n = 100_000
	var counts [workloads.MaxOps]int
	var op Operation
	for i := range uint64(n) {
		p.Next(i, &op)
		counts[op.Op]++
	}
	for i, c := range counts {
		share := w.Phases[3].Mix.Share(workloads.Op(i))
		if sd := math.Sqrt(n * share * (1 - share)); math.Abs(float64(c)-n*share) > 5*sd {
			t.Errorf("%s: %d of %d, want %.0f ± %.0f", workloads.Op(i), c, n, n*share, sd)
		}
	}
}

func TestOperationsAreWhole(t *testing.T) {
	w := bundledForTest(t, "workday", "mail.recipients={zipf: {s: 0.5, max: 40}}", "population.users=25", "phases.measure.mix.label=50")
	c := censusOf(t, w)
	p := New(w, &w.Phases[3], c)
	messages := map[uint64]bool{}
	wide := 0
	var op Operation
	for n := range uint64(20_000) {
		p.Next(n, &op)
		if op.User < 0 || op.User >= c.Users() || op.Folder < 0 || op.Folder >= c.FolderCount(op.User) {
			t.Fatalf("operation %+v", op)
		}
		switch op.Op {
		case workloads.Move, workloads.Label:
			if op.To == op.Folder || op.To >= c.FolderCount(op.User) {
				t.Fatalf("%s from folder %d to %d of %d", op.Op, op.Folder, op.To, c.FolderCount(op.User))
			}
		case workloads.Deliver:
			if messages[op.Message] || op.Message < workloads.PhaseMessages {
				t.Fatalf("message %d twice, or of the load", op.Message)
			}
			messages[op.Message] = true
			sorted := slices.Sorted(slices.Values(op.Recipients))
			if op.Recipients[0] != op.User || len(slices.Compact(sorted)) != len(op.Recipients) {
				t.Fatalf("recipients %v of user %d", op.Recipients, op.User)
			}
			wide = max(wide, len(op.Recipients))
		}
	}
	if wide != 25 {
		t.Errorf("the widest delivery goes to %d of 25 users", wide)
	}
}

// TestDeliveriesOfPhases: a phase's deliveries go to as many mailboxes and are as large as it says, not
// as the mail says.
func TestDeliveriesOfPhases(t *testing.T) {
	w := bundledForTest(t, "recipients", "mail.recipients=3", "phases.large-one.mix.deliver.size={uniform: {min: 10, max: 20}}")
	c := censusOf(t, w)
	for name, want := range map[string]struct{ recipients, least, most int }{
		"one": {3, 4000, 4000}, "fifty": {50, 4000, 4000}, "large-one": {3, 10, 20}, "large-ten": {10, 500_000, 500_000},
	} {
		i := slices.IndexFunc(w.Phases, func(p workloads.Phase) bool { return p.Name == name })
		var op Operation
		for n := range uint64(50) {
			New(w, &w.Phases[i], c).Next(n, &op)
			if len(op.Recipients) != want.recipients || op.Size < want.least || op.Size > want.most {
				t.Errorf("phase %s: %d recipients, %d bytes, want %+v", name, len(op.Recipients), op.Size, want)
			}
		}
	}
}

// TestWindow: windows have their share of the messages on the mean, wherever those lie.
func TestWindow(t *testing.T) {
	const messages = 20_000
	for _, width := range []float64{0, 0.2, 1} {
		want := messages * cmp.Or(width, 0.01)
		for pick := range uint64(50) {
			op := Operation{Pick: pick, how: &how{How: workloads.How{Width: width}}}
			from, to := op.Window()
			n := 0
			for i := range messages {
				if d := arrival(float64(i+1) / (messages + 1)); !d.Before(from) && !d.After(to) {
					n++
				}
			}
			if math.Abs(float64(n)-want) > 2 {
				t.Errorf("window %v: %d messages, want %.0f, from %v to %v", width, n, want, from, to)
			}
		}
	}
}

func TestPlanAllocatesNothing(t *testing.T) {
	w := bundledForTest(t, "quick")
	p := New(w, &w.Phases[3], censusOf(t, w))
	s := scheduleOf(&w.Phases[3], w.Seed)
	op := Operation{Recipients: make([]int, 0, 5)}
	n := uint64(0)
	if a := testing.AllocsPerRun(1000, func() {
		s.Next()
		p.Next(n, &op)
		op.Choose(1000)
		n++
	}); a != 0 {
		t.Errorf("%v allocations an operation", a)
	}
}

// Trials draw operations and arrivals of their own, and so do phases; the first trial is
// what a run without trials draws.
func TestTrialsDrawDifferently(t *testing.T) {
	w := bundledForTest(t, "quick")
	c := censusOf(t, w)
	seen := map[string]int{}
	for trial := 1; trial <= 3; trial++ {
		p := w.OfTrial(w.Phases[3], trial)
		sum, _ := PlanDigest(w, &p, c)
		if again, _ := PlanDigest(w, &p, c); again != sum {
			t.Errorf("trial %d has two digests", trial)
		}
		other := w.OfTrial(w.Phases[2], trial)
		other.Arrivals, other.Rate, other.Mix, other.Operations = p.Arrivals, p.Rate, p.Mix, p.Operations
		otherSum, _ := PlanDigest(w, &other, c)
		seen[sum]++
		seen[otherSum]++
	}
	if len(seen) != 6 {
		t.Errorf("2 phases in 3 trials have %d digests", len(seen))
	}
	due := map[time.Duration]bool{}
	for _, p := range []workloads.Phase{{}, {Number: 1}, {Number: 2}} {
		p.Arrivals, p.Rate = workloads.Poisson, workloads.Rate{Count: 1, Per: time.Second}
		first, _ := scheduleOf(&p, 1).Next()
		due[first] = true
	}
	if len(due) != 3 {
		t.Errorf("the first operations are due at %v", due)
	}
}

// scheduled goes through the scheduled starts of a phase.
type scheduled struct {
	schedule
	plan Plan
	n    uint64
}

func scheduleOf(p *workloads.Phase, seed uint64) *scheduled {
	return &scheduled{plan: Plan{phase: *p, seed: seed, stream: streamOf(p)}}
}

// Next returns the next start.
func (s *scheduled) Next() (due time.Duration, ok bool) {
	s.n++
	return s.start(&s.plan, s.n-1)
}

func TestConstantSchedule(t *testing.T) {
	p := workloads.Phase{Rate: workloads.Rate{Count: 3, Per: time.Second}, Duration: 1000 * time.Second}
	s := scheduleOf(&p, 1)
	for n := range 3000 {
		due, ok := s.Next()
		if want := time.Duration(n) * time.Second / 3; !ok || due != want {
			t.Fatalf("operation %d is due at %d, want %d", n, due, want)
		}
	}
	if due, ok := s.Next(); ok {
		t.Errorf("an operation is due at %v, at the end of the phase", due)
	}
	p = workloads.Phase{Rate: workloads.Rate{Count: 1, Per: time.Second}, Operations: 2}
	s = scheduleOf(&p, 1)
	s.Next()
	s.Next()
	if _, ok := s.Next(); ok {
		t.Error("a third operation of two")
	}
	// A rate whose products pass 64 bits.
	s = scheduleOf((&workloads.Phase{Rate: workloads.Rate{Count: 99_999_999, Per: 999_999_937}}), 1)
	s.n = 1 << 55
	if due, ok := s.Next(); !ok || due < 0 {
		t.Errorf("operation 2^55 is due at %v, %t", due, ok)
	}
}

// TestPoissonSchedule: gaps have mean and standard deviation 1/rate, are not
// correlated, and go below half the mean as often as 1-e^-½.
func TestPoissonSchedule(t *testing.T) {
	const n, mean = 100_000, 1e6 // nanoseconds
	s := scheduleOf((&workloads.Phase{Arrivals: workloads.Poisson, Rate: workloads.Rate{Count: 1000, Per: time.Second}, Operations: n}), 7)
	var gaps []float64
	last := time.Duration(0)
	for {
		due, ok := s.Next()
		if !ok {
			break
		}
		if due < last {
			t.Fatalf("due at %v after %v", due, last)
		}
		gaps, last = append(gaps, float64(due-last)), due
	}
	if len(gaps) != n {
		t.Fatalf("%d operations, want %d", len(gaps), n)
	}
	var sum, squares, pairs float64
	short := 0
	for i, g := range gaps {
		sum += g
		squares += (g - mean) * (g - mean)
		if i > 0 {
			pairs += (g - mean) * (gaps[i-1] - mean)
		}
		if g < mean/2 {
			short++
		}
	}
	// Five standard errors each: 1/√n, √8/√n and 1/√n of the mean.
	tolerance := 5 / math.Sqrt(n)
	for what, off := range map[string]float64{
		"mean":               sum/n/mean - 1,
		"standard deviation": math.Sqrt(squares/n)/mean - 1,
		"correlation":        pairs / squares,
		"short gaps":         float64(short)/n - (1 - math.Exp(-0.5)),
	} {
		if math.Abs(off) > tolerance*1.5 {
			t.Errorf("%s is off by %.4f", what, off)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	w := bundledForTest(b, "quick")
	p := New(w, &w.Phases[3], censusOf(b, w))
	var op Operation
	b.ReportAllocs()
	for n := uint64(0); b.Loop(); n++ {
		p.Next(n, &op)
	}
}

func BenchmarkPick(b *testing.B) {
	w := bundledForTest(b, "quick")
	p := New(w, &w.Phases[3], censusOf(b, w))
	var op Operation
	p.Next(0, &op)
	for n := uint64(0); b.Loop(); n++ {
		op.Pick = n
		op.Choose(100_000)
	}
}

func BenchmarkSchedule(b *testing.B) {
	for _, a := range []workloads.Arrivals{workloads.Constant, workloads.Poisson} {
		b.Run(a.String(), func(b *testing.B) {
			s := scheduleOf((&workloads.Phase{Arrivals: a, Rate: workloads.Rate{Count: 20_000, Per: time.Second}}), 1)
			for b.Loop() {
				s.Next()
			}
		})
	}
}
