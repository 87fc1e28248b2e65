package plan

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// several is a workload that has a phase with streams of their own, and one that users'
// sessions make.
var several = fileText("testdata/several.yaml")

func fileText(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func read(t testing.TB, text string, overrides ...string) *workloads.Workload {
	t.Helper()
	w, err := workloads.Parse("several.yaml", []byte(text), overrides...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// all returns the operations of an open phase, with their scheduled starts.
func all(t testing.TB, w *workloads.Workload, p *workloads.Phase) (ops []Operation, dues []time.Duration) {
	t.Helper()
	s := StreamOf(w, p, censusOf(t, w))
	for {
		var o Operation
		due, ok := s.Next(0, &o)
		if !ok {
			return ops, dues
		}
		ops, dues = append(ops, o), append(dues, due)
	}
}

// Each stream keeps its own rate and mix, and operations come in the order in which they
// are scheduled.
func TestStreams(t *testing.T) {
	w := read(t, several)
	p := &w.Phases[2]
	ops, dues := all(t, w, p)
	if !slices.IsSorted(dues) || dues[len(dues)-1] >= time.Minute {
		t.Error("operations are not in order, or due behind the end")
	}
	var counts [workloads.MaxOps]int
	messages := map[uint64]bool{}
	for i, o := range ops {
		counts[o.Op]++
		if o.N != uint64(i) {
			t.Fatalf("operation %d has number %d", i, o.N)
		}
		switch {
		case o.Op == workloads.Deliver && (messages[o.Message] || o.Timeout != 3*time.Second):
			t.Errorf("message %d, timeout %v", o.Message, o.Timeout)
		case o.Op == workloads.Delete && o.Messages != 30:
			t.Errorf("a delete of %d messages", o.Messages)
		case o.Op == workloads.List && o.Page != 100 && o.Page != workloads.DefaultPage:
			t.Errorf("a page of %d", o.Page)
		}
		messages[o.Message] = o.Op == workloads.Deliver
	}
	// A session has 1 login, 2 lists, 2 opens, 1 flag and 0.2 moves; some end after the
	// phase. Of the readers' mix, 40 of 105 are opens.
	readers := 60 * 200.0
	for op, want := range map[workloads.Op]float64{
		workloads.Deliver: 60 * 20, workloads.List: readers*60/105 + 60*5*2*0.96, workloads.Open: readers*40/105 + 60*5*2*0.9, workloads.Delete: readers * 5 / 105,
		workloads.Login: 60 * 5, workloads.Flag: 60 * 5 * 0.9, workloads.Move: 60 * 5 * 0.2 * 0.85,
	} {
		if got := float64(counts[op]); math.Abs(got-want) > 5*math.Sqrt(want)+0.02*want {
			t.Errorf("%d of %s, want about %.0f", counts[op], op, want)
		}
	}
	if sum := p.Rate.PerSecond(); math.Abs(sum-(20+200+5*6.2)) > 0.01 {
		t.Errorf("all streams together have %g/s", sum)
	}
	if share := p.Mix.Share(workloads.Deliver); math.Abs(share-20/251.0) > 1e-6 {
		t.Errorf("deliveries are %g of all", share)
	}
	if warm := w.Phases[1]; len(warm.Streams) != 3 || warm.Streams[1].Shape != nil || warm.Streams[1].Rate != p.Streams[1].Rate {
		t.Errorf("the warm-up is %+v", warm)
	}
	again, n := PlanDigest(w, p, censusOf(t, w))
	if other, _ := PlanDigest(read(t, several), p, censusOf(t, w)); other != again || n != 10_000 {
		t.Errorf("digests %s and %s of %d", again, other, n)
	}
	w.Seed++
	if other, _ := PlanDigest(w, p, censusOf(t, w)); other == again {
		t.Error("another seed has the same digest")
	}
}

// A session is of one user and one folder. Its lists go page by page, and the operations after
// an open are about the opened message. Its steps depend on its number alone.
func TestSessions(t *testing.T) {
	w := read(t, several)
	p := &w.Phases[2]
	p.Streams = p.Streams[2:]
	ops, dues := all(t, w, p)
	sessions := map[uint64][]int{}
	for i := range ops {
		sessions[ops[i].Session] = append(sessions[ops[i].Session], i)
	}
	if len(sessions) < 200 {
		t.Fatalf("%d sessions", len(sessions))
	}
	moved := 0
	for n, is := range sessions {
		skip, picks := 0, map[uint64]bool{}
		for k, i := range is {
			o := &ops[i]
			if o.User != ops[is[0]].User {
				t.Fatalf("session %d is of several users", n)
			}
			if k > 0 && dues[i] <= dues[is[k-1]] {
				t.Fatalf("session %d: no time between steps", n)
			}
			switch o.Op {
			case workloads.List:
				if o.Skip != skip || o.Deep {
					t.Errorf("session %d: a list skips %d, want %d", n, o.Skip, skip)
				}
				skip += workloads.DefaultPage
			case workloads.Open:
				picks = map[uint64]bool{o.Pick: true}
			case workloads.Flag, workloads.Move:
				if !picks[o.Pick] {
					t.Errorf("session %d: a %s is not of the message opened", n, o.Op)
				}
				if o.Op == workloads.Move {
					moved++
				}
			}
		}
	}
	if moved == 0 {
		t.Error("nothing was moved")
	}
	// The same session, begun at another time and among others, does the same.
	plan := New(w, &p.Streams[0], censusOf(t, w))
	var one, two []string
	for _, into := range []*[]string{&one, &two} {
		var v visit
		for more := v.begin(plan.phase.Session, plan.seed, plan.stream, 17, 0); more; more = v.next(plan.phase.Session) {
			var o Operation
			plan.step(&v, &o)
			*into = append(*into, fmt.Sprint(o.Op, o.User, o.Folder, o.Pick, o.Skip, v.think(plan.phase.Session, p.Streams[0].Think)))
		}
	}
	if !slices.Equal(one, two) || len(one) < 5 || !strings.HasPrefix(one[0], "login") {
		t.Errorf("session 17 is\n%v and\n%v", one, two)
	}
}

// Workers that take the operations of a constant rate at the same time get each once, when the
// schedule says, and the span ends with the last of them however often they check.
func TestConstantRateIsShared(t *testing.T) {
	const operations, workers = 300_000, 4
	w := read(t, several)
	p := workloads.Phase{Kind: workloads.Measure, Arrivals: workloads.Constant, Rate: workloads.RateOf(3), Operations: operations, Mix: workloads.Mix{workloads.List: 1}}
	s, schedule := StreamOf(w, &p, censusOf(t, w)), scheduleOf(&p, w.Seed)
	if s.Span() != 0 {
		t.Errorf("a span of %v before the first operation", s.Span())
	}
	due := make([]time.Duration, operations)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			var o Operation
			for {
				at, ok := s.Next(0, &o)
				if !ok {
					return
				}
				due[o.N] += at + 1
			}
		})
	}
	wg.Wait()
	for n, got := range due {
		if want, ok := schedule.Next(); !ok || got != want+1 {
			t.Fatalf("operation %d is due at %v, want %v once", n, got-1, want)
		}
	}
	if got, want := s.Span().Seconds(), operations/3.0; math.Abs(got-want) > 1e-6 {
		t.Errorf("the span is %g s, want %g", got, want)
	}
}

// Users with large mailboxes are used most.
func TestLargestUsers(t *testing.T) {
	w := read(t, several, "population.users=200", "access.users=largest")
	c := censusOf(t, w)
	set := keysOf(&w.Keys, c)
	size := func(u int32) (n int) {
		for f := range c.FolderCount(int(u)) {
			n += c.FolderMessages(int(u), f)
		}
		return n
	}
	for i := 1; i < len(set.bySize); i++ {
		if size(set.bySize[i]) > size(set.bySize[i-1]) {
			t.Fatalf("user %d comes before a larger one", set.bySize[i-1])
		}
	}
	counts := make([]int, c.Users())
	ops, _ := all(t, w, &w.Phases[2])
	for _, o := range ops {
		counts[o.User]++
	}
	if most := slices.Index(counts, slices.Max(counts)); int32(most) != set.bySize[0] {
		t.Errorf("user %d is asked for most, but %d has the most messages", most, set.bySize[0])
	}
}

// Clients of a closed loop go through sessions, and wait between operations.
func TestClosedSessions(t *testing.T) {
	w := read(t, `
version: 1
name: closed
population: {users: 10, messages: 50}
phases:
  - load: {}
  - measure:
      operations: 3000
      streams:
        - {clients: 3, think_time: 2s, session: [list, open, {flag: {probability: 0.5}}]}
        - {clients: 1, think_time: {uniform: {min: 1s, max: 3s}}, mix: {counters: 1}}
`)
	p := &w.Phases[1]
	if p.Clients != 4 || p.Arrivals != workloads.Closed {
		t.Fatalf("the phase is %+v", p)
	}
	s := StreamOf(w, p, censusOf(t, w))
	clients := make([]Operation, 4)
	var did [4]string
	for n := range 3000 {
		o := &clients[n%4]
		if _, ok := s.Next(0, o); !ok {
			t.Fatalf("operation %d is not there", n)
		}
		did[n%4] += o.Op.String() + " "
		if n%4 < 3 && o.Think != 2*time.Second || o.Think < time.Second || o.Think > 3*time.Second {
			t.Errorf("client %d waits %v", n%4, o.Think)
		}
	}
	if _, ok := s.Next(0, &clients[0]); ok {
		t.Error("there are more operations than the phase has")
	}
	for i, d := range did[:3] {
		if rest := strings.NewReplacer("list open flag ", "", "list open ", "").Replace(d); len(rest) > len("list open ") {
			t.Errorf("client %d does %q", i, rest)
		}
		if i > 0 && d == did[0] {
			t.Error("two clients do the same")
		}
	}
	if strings.Trim(strings.ReplaceAll(did[3], "counters", ""), " ") != "" {
		t.Errorf("the fourth client does %s", did[3][:100])
	}
}

// Streams and sessions allocate nothing once they are under way.
func TestStreamsAllocateNothing(t *testing.T) {
	w := read(t, several, "phases.measure.duration=2h")
	s := StreamOf(w, &w.Phases[2], censusOf(t, w))
	o := Operation{Recipients: make([]int, 0, 5)}
	for range 20_000 {
		s.Next(0, &o)
	}
	if a := testing.AllocsPerRun(20_000, func() { s.Next(0, &o) }); a != 0 {
		t.Errorf("%v allocations an operation", a)
	}
}

func BenchmarkStreams(b *testing.B) {
	w := read(b, several, "phases.measure.duration=720h")
	s := StreamOf(w, &w.Phases[2], censusOf(b, w))
	var o Operation
	b.ReportAllocs()
	for b.Loop() {
		s.Next(0, &o)
	}
}
