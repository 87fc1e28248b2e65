package drive

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
)

// A situation is a phase in a process of its own, and the treatment of that process.
// The store is judged like one on another machine.
type situation struct {
	Name    string
	Rate    float64 // 0: a closed loop
	Workers int
	MaxWait time.Duration
	Length  time.Duration
	Store   store
	FindMax bool // Rate is the first of a search

	Procs    int  // GOMAXPROCS
	Garbage  bool // another part of the process makes garbage, under a tight memory limit
	Spinners int  // goroutines of the process that take its processors

	Stop, Every time.Duration // it is stopped so long, so often; Every 0: once
	Hogs        int           // other processes that take the one processor that it may use
	Quota       float64       // processors that its cgroup may use

	number int // of the phase, in a search
}

// store is how long a store takes. All zero: no time at all.
type store struct {
	Takes  time.Duration
	Serves int           // so many operations at a time; 0: any number
	Slow   time.Duration // every SlowOf-th operation takes so long
	SlowOf int64
	Freeze time.Duration // from a second on, the store answers nothing for so long
}

const (
	second = time.Second
	ms     = time.Millisecond
)

// guilty are situations in which the client is beyond its capacity, stopped, throttled
// or starved.
var guilty = []situation{
	{Name: "stopped 100 of 500 ms", Rate: 1000, Stop: 100 * ms, Every: 500 * ms},
	{Name: "stopped 100 of 500 ms, few operations", Rate: 50, Length: 4 * second, Stop: 100 * ms, Every: 500 * ms},
	{Name: "stopped 100 of 500 ms, many operations", Rate: 20000, Stop: 100 * ms, Every: 500 * ms},
	{Name: "stopped 100 of 500 ms, closed loop", Stop: 100 * ms, Every: 500 * ms},
	{Name: "stopped 100 of 500 ms, a store of 5 ms", Rate: 1000, Store: store{Takes: 5 * ms}, Stop: 100 * ms, Every: 500 * ms},
	{Name: "stopped 20 of 100 ms", Rate: 1000, Stop: 20 * ms, Every: 100 * ms},
	{Name: "stopped half of the time, closed loop", Stop: 50 * ms, Every: 100 * ms},
	{Name: "stopped half of the time", Rate: 1000, Stop: 50 * ms, Every: 100 * ms},
	{Name: "stopped once", Rate: 1000, Stop: 500 * ms},
	{Name: "stopped until operations are dropped", Rate: 1000, MaxWait: 50 * ms, Stop: 500 * ms},
	{Name: "beyond its capacity", Rate: 6e6, Length: 500 * ms},
	{Name: "beyond its capacity, one worker", Rate: 6e6, Length: 500 * ms, Workers: 1},
	{Name: "beyond its capacity, with drops", Rate: 6e6, Length: second, MaxWait: 100 * ms},
	{Name: "beyond its capacity on one processor", Rate: 2e6, Procs: 1},
	{Name: "too few workers for a store of 10 ms", Rate: 1000, Workers: 8, Store: store{Takes: 10 * ms}},
	{Name: "starved by its own goroutines", Rate: 100, Length: 500 * ms, Procs: 1, Spinners: 2},
	{Name: "starved by its own goroutines, closed loop", Length: 500 * ms, Procs: 1, Spinners: 2, Store: store{Takes: 2 * ms}},
	{Name: "starved by other processes", Rate: 1000, Hogs: 8},
	{Name: "starved by other processes, closed loop", Hogs: 8},
	{Name: "a store of 2 ms, starved by other processes", Rate: 500, Store: store{Takes: 2 * ms}, Hogs: 16},
	{Name: "garbage under a tight memory limit, on one processor", Rate: 20000, Procs: 1, Garbage: true},
	{Name: "a fifth of a processor by quota", Rate: 500_000, Quota: 0.2}, // it needs three times as much
	{Name: "half a processor by quota, closed loop", Quota: 0.5},
}

// innocent are situations in which the store is slow and the client has nothing to do.
var innocent = []situation{
	{Name: "a store of 300 ms", Rate: 50, Store: store{Takes: 300 * ms}},
	{Name: "a store of 300 ms that takes more workers than there are at first", Rate: 400, Store: store{Takes: 300 * ms}},
	{Name: "a store of 300 ms, closed loop", Workers: 8, Store: store{Takes: 300 * ms}},
	{Name: "a store that is slow once in 20", Rate: 200, Store: store{Takes: 100 * ms, Slow: 600 * ms, SlowOf: 20}},
	{Name: "a store that freezes", Rate: 200, Length: 4 * second, Store: store{Takes: 100 * ms, Freeze: second}},
	{Name: "a store at its limit", Rate: 200, Store: store{Takes: 100 * ms, Serves: 8}},
	{Name: "a store at its limit, with drops", Rate: 200, MaxWait: 500 * ms, Store: store{Takes: 100 * ms, Serves: 8}},
	{Name: "a store at its limit, one operation at a time", Rate: 20, Length: 800 * ms, Store: store{Takes: 200 * ms, Serves: 1}},
	{Name: "a store far beyond its limit", Rate: 2000, Length: 150 * ms, Store: store{Takes: 100 * ms, Serves: 8}},
}

// waits reports whether the client of a situation takes next to no processor.
func (s situation) waits() bool { return s.Stop > 0 && s.Rate > 0 && s.Rate < 10000 }

// eachAlone runs a subtest for each situation that takes processors, one after another: they
// would starve each other.
func eachAlone(t *testing.T, all []situation, check func(*testing.T, situation)) {
	for _, s := range all {
		if !s.waits() {
			t.Run(s.Name, func(t *testing.T) { check(t, s) })
		}
	}
}

// eachBeside runs a subtest for each situation that takes no processor, together with other tests.
func eachBeside(t *testing.T, all []situation, check func(*testing.T, situation)) {
	t.Parallel()
	for _, s := range all {
		if s.waits() {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				check(t, s)
			})
		}
	}
}

// No run with the client beyond its capacity, stopped, throttled or starved is ever ok.
func TestGuiltyClientAlone(t *testing.T)  { eachAlone(t, guilty, notOK) }
func TestStoppedClientAlone(t *testing.T) { eachBeside(t, guilty, notOK) }

func notOK(t *testing.T, s situation) {
	c := s.run(t)
	t.Log(c.Verdict, why(c))
	if c.Verdict == results.OK {
		t.Errorf("ok: delays %+v, hiccups %+v", *c.Evidence.Delays, *c.Evidence.Hiccups)
	}
}

// No run is invalid in which only the store is slow. On a machine that is busy with
// something else, a client is not idle: the test waits for a quiet one. So two situations
// run at a time, together with other tests that mostly wait.
func TestInnocentClientAlone(t *testing.T) {
	t.Parallel()
	turns := make(chan struct{}, 2)
	for _, s := range innocent {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			turns <- struct{}{}
			defer func() { <-turns }()
			for deadline := time.Now().Add(time.Minute); ; {
				c := s.run(t)
				t.Log(c.Verdict, why(c))
				if c.Verdict != results.Invalid {
					return
				}
				if c.Client.OthersShare >= 0.1 {
					if time.Now().Before(deadline) {
						continue
					}
					t.Skip("the machine was never quiet")
				}
				t.Fatalf("invalid: delays %+v, hiccups %+v, client %+v", *c.Evidence.Delays, *c.Evidence.Hiccups, *c.Client)
			}
		})
	}
}

func why(c *results.Cell) string {
	if c.Reason == nil {
		return ""
	}
	return c.Reason.Text
}

// situationVariable has a situation for a process of this test binary.
const situationVariable = "MAILBENCH_TEST_SITUATION"

// run executes the situation in a process of its own.
func (s situation) run(t *testing.T) *results.Cell {
	t.Helper()
	var c results.Cell
	s.into(t, &c)
	return &c
}

// into is run for any result.
func (s situation) into(t *testing.T, result any) {
	t.Helper()
	if s.Length == 0 {
		s.Length = 1200 * ms
	}
	if s.Workers == 0 {
		s.Workers = 512
		if s.Rate == 0 {
			s.Workers = 32
		}
	}
	if s.MaxWait == 0 {
		s.MaxWait = 100 * second
	}
	spec, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSituation$")
	cmd.Env = append(os.Environ(), situationVariable+"="+string(spec))
	var out bytes.Buffer
	cmd.Stdout = &out
	began, err := cmd.StderrPipe() // a byte when the phase begins
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	undo := s.restrict(t, cmd.Process.Pid)
	if _, err := began.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the process did not begin: %v: %s", err, out.Bytes())
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); s.stopAndGo(cmd.Process, quit) }()
	err = cmd.Wait()
	close(quit)
	<-done
	undo()
	if err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	line, _, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	if err := json.Unmarshal(line, result); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
}

// stopAndGo stops the process now and then until quit is closed.
func (s situation) stopAndGo(p *os.Process, quit <-chan struct{}) {
	wait := func(d time.Duration) bool {
		select {
		case <-quit:
			return false
		case <-time.After(d):
			return true
		}
	}
	if s.Stop == 0 || !wait(200*ms) {
		return
	}
	for {
		if pause(p) != nil {
			return
		}
		wait(s.Stop)
		if resume(p) != nil || s.Every == 0 || !wait(s.Every-s.Stop) {
			return
		}
	}
}

// TestSituation is the process of a situation.
func TestSituation(t *testing.T) {
	spec := os.Getenv(situationVariable)
	if spec == "" {
		t.Skip("for the tests of situations")
	}
	var s situation
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		t.Fatal(err)
	}
	if s.Procs > 0 {
		runtime.GOMAXPROCS(s.Procs)
	}
	for range s.Spinners {
		go func() {
			for x := uint64(1); ; x = x*x + 1 {
				sink.Store(x)
			}
		}()
	}
	if s.Garbage {
		debug.SetMemoryLimit(1)
		kept := make([][]*int, 1<<10)
		for i := range kept {
			kept[i] = make([]*int, 1<<10)
			for k := range kept[i] {
				kept[i][k] = new(int)
			}
		}
		defer runtime.KeepAlive(kept)
		go func() {
			for {
				_ = make([]byte, 1<<20)
			}
		}()
	}
	os.Stderr.WriteString("!")
	var result any
	if s.FindMax {
		result = s.search(t)
	} else {
		result = s.measure(t)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		t.Fatal(err)
	}
	os.Exit(0) // without the lines of the testing package
}

var sink atomic.Uint64

// measure executes the phase and judges it.
func (s situation) measure(t *testing.T) *results.Cell {
	target, stream := testTarget(t, sleepyBound{s.Store, time.Now(), new(atomic.Int64), make(chan struct{}, s.Store.Serves)})
	phase := workloads.Phase{
		Kind: workloads.Measure, Name: "measure", Number: s.number, Duration: s.Length,
		Mix: workloads.Mix{workloads.List: 50, workloads.Counters: 50}, Arrivals: workloads.Constant,
		Rate: workloads.Rate{Count: uint64(s.Rate), Per: second},
	}
	if s.Rate == 0 {
		phase.Arrivals, phase.Clients = workloads.Closed, s.Workers
	}
	m, err := executed(t.Context(), target, Spec{Phase: phase, Stream: stream(&phase), Workers: s.Workers, MaxWait: s.MaxWait})
	if err != nil {
		t.Fatal(err)
	}
	c := &results.Cell{
		Kind: results.KindMeasure, Seconds: m.Seconds, Arrivals: phase.Arrivals.String(),
		Offered: m.Offered, Ops: m.Ops, AllOps: m.AllOps, Client: m.Client, Evidence: m.Evidence,
	}
	judge.Apply(c, nil)
	return c
}

// sleepyBound is a store that takes its time.
type sleepyBound struct {
	store
	began time.Time
	calls *atomic.Int64
	busy  chan struct{} // holds a value for each operation that is served
}

func (b sleepyBound) Mailbox(drivers.Session) models.Mailbox { return sleepyMailbox{b, idleMailbox{}} }

type sleepyMailbox struct {
	sleepyBound
	idleMailbox
}

func (m sleepyMailbox) List(ctx context.Context, f *models.Folder, h models.Handle, n int, yield func(*models.Entry) error) error {
	m.take()
	return m.idleMailbox.List(ctx, f, h, n, yield)
}

func (m sleepyMailbox) Stats(ctx context.Context, f *models.Folder) (models.Stats, error) {
	m.take()
	return m.idleMailbox.Stats(ctx, f)
}

// served counts the operations that a store of so many servers did, and serving the
// nanoseconds that they took: a sleep is never as short as requested.
var served, serving atomic.Int64

// take takes the store's time. It is done at a moment, so that a process that was
// stopped meanwhile does not wait longer.
func (b sleepyBound) take() {
	if b.Serves > 0 {
		b.busy <- struct{}{}
		began := time.Now()
		defer func() {
			served.Add(1)
			serving.Add(int64(time.Since(began)))
			<-b.busy
		}()
	}
	d := b.Takes
	if b.SlowOf > 0 && b.calls.Add(1)%b.SlowOf == 0 {
		d = b.Slow
	}
	if at := time.Since(b.began) - second; b.Freeze > 0 && at >= 0 && at < b.Freeze {
		d += b.Freeze - at
	}
	if d > 0 {
		time.Sleep(d)
	}
}

// restrict gives the process one processor that others want too, or a quota.
func (s situation) restrict(t *testing.T, pid int) (undo func()) {
	undo = func() {}
	if s.Hogs > 0 {
		if err := pin(pid); err != nil {
			t.Skip("cannot choose a process' processor: ", err)
		}
		var hogs []*exec.Cmd
		for range s.Hogs {
			hog := exec.Command("sh", "-c", "while :; do :; done")
			if err := hog.Start(); err != nil {
				t.Fatal(err)
			}
			if err := pin(hog.Process.Pid); err != nil {
				t.Fatal(err)
			}
			hogs = append(hogs, hog)
		}
		undo = func() {
			for _, h := range hogs {
				_ = h.Process.Kill()
				_ = h.Wait()
			}
		}
		t.Cleanup(func() {
			for _, h := range hogs {
				_ = h.Process.Kill()
			}
		})
	}
	if s.Quota > 0 {
		if err := limit(t, pid, s.Quota); err != nil {
			t.Skip("cannot set a CPU quota here: ", err)
		}
	}
	return undo
}

func itoa(n int) []byte { return []byte(strconv.Itoa(n)) }
