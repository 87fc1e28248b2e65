package drive

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
)

// In virtual time, with more than ten million operations, response times are what
// theory says within 2%. The real workers, schedule and recorder run; only the clock is
// another.
func TestResponseAgreesWithTheory(t *testing.T) {
	const periodic, random = 1_200_000, 5_000_000 // operations; a stall repeats exactly, a queue takes more to average
	constant := func(rate uint64) workloads.Phase {
		return workloads.Phase{Arrivals: workloads.Constant, Rate: workloads.Rate{Count: rate, Per: second}}
	}
	poisson := func(rate uint64) workloads.Phase {
		return workloads.Phase{Arrivals: workloads.Poisson, Rate: workloads.Rate{Count: rate, Per: second}}
	}
	const instant = 10 * time.Microsecond
	for _, c := range []struct {
		name  string
		phase workloads.Phase
		store func(start time.Duration) time.Duration
		want  func(q float64) float64 // seconds
	}{
		{
			// Of 12 s one is a stall. Operations that are scheduled in it wait for its end.
			"a stall of 1 s in 12", constant(1000), stalls(12*second, second, instant),
			func(q float64) float64 { return max(instant.Seconds(), 1-12*(1-q)) },
		},
		{
			"a stall of 50 ms each second", constant(1000), stalls(second, 50*ms, instant),
			func(q float64) float64 { return max(instant.Seconds(), 0.05-(1-q)) },
		},
		{"M/M/1 at 70%", poisson(700), exponential(1, 1000), func(q float64) float64 { return mmc(1, 700, 1000, q) }},
		{"M/M/8 at 80%", poisson(6400), exponential(8, 1000), func(q float64) float64 { return mmc(8, 6400, 1000, q) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			operations := int64(periodic)
			if c.phase.Arrivals == workloads.Poisson {
				operations = random
			}
			c.phase.Kind, c.phase.Operations, c.phase.Mix = workloads.Measure, uint64(operations), workloads.Mix{workloads.List: 1}
			p := simulate(t, c.phase, 64, math.MaxInt64, c.store, span{})
			o := &p.recorder.Total[int(workloads.List)]
			response := &o.Times[latency.Response]
			if o.Counts[latency.OK] != operations || response.Count() != operations {
				t.Fatalf("%d operations", o.Counts[latency.OK])
			}
			for _, q := range []float64{0.5, 0.99, 0.999} {
				got, want := float64(response.At(100*q, 0))/1e9, c.want(q)
				t.Logf("p%g: %.6g s, by theory %.6g s (%+.2f%%)", 100*q, got, want, 100*(got/want-1))
				if math.Abs(got/want-1) > 0.02 {
					t.Errorf("p%g: %.6g s, by theory %.6g s", 100*q, got, want)
				}
			}
			if took := &o.Times[latency.Latency]; took.Count() != response.Count() || took.At(99, 0) != response.At(99, 0) {
				t.Errorf("a client that loses no time has other latencies than response times: %v", took.At(99, 0))
			}
		})
	}
}

// A client that stops for 1 s in 10 makes response times that a store would make,
// and the second course of events has none of it. Operations that it drops are its own fault, too.
func TestClientPausesInVirtualTime(t *testing.T) {
	phase := workloads.Phase{
		Kind: workloads.Measure, Arrivals: workloads.Constant, Rate: workloads.Rate{Count: 1000, Per: second}, Operations: 10000,
		Mix: workloads.Mix{workloads.List: 1},
	}
	store := func(start time.Duration) time.Duration { return start + 2*ms }
	near := func(got int64, want time.Duration) bool { return math.Abs(float64(got)/float64(want)-1) < 0.02 }

	// The 64 workers that wait when the pause begins start one more operation in time.
	c := simulate(t, phase, 64, math.MaxInt64, store, span{4 * second, 5 * second}).measurement()
	if all := c.AllOps; c.Evidence.Delays.Dropped != 0 || !near(all.Response.P99, 840*ms) || !near(all.OK().P99, 2*ms) {
		t.Errorf("the client stopped: %+v", all)
	}
	p := simulate(t, phase, 64, 500*ms, store, span{4 * second, 5 * second})
	dropped := p.recorder.Total[int(workloads.List)].Counts[latency.Dropped]
	if d := p.delays(); dropped < 400 || dropped > 500 || d.Dropped != dropped {
		t.Errorf("of %d operations that were dropped it is said to have dropped %d", dropped, d.Dropped)
	}

	stalled := stalls(10*second, second, 2*ms)
	if c := simulate(t, phase, 64, math.MaxInt64, stalled, span{}).measurement(); !near(c.AllOps.OK().P99, 900*ms) {
		t.Errorf("the store stopped: %+v", c.AllOps)
	}
	p = simulate(t, phase, 64, 500*ms, stalled, span{})
	if d := p.delays(); d.Dropped != 0 || p.recorder.Total[int(workloads.List)].Counts[latency.Dropped] == 0 {
		t.Errorf("the store made operations be dropped: %+v", d)
	}
}

// Load beyond the store's capacity is not dropped by the client, also where the client
// stops for a fiftieth of the phase: that costs a fiftieth of the executed operations.
func TestOverloadInVirtualTime(t *testing.T) {
	phase := workloads.Phase{
		Kind: workloads.Measure, Arrivals: workloads.Constant, Rate: workloads.Rate{Count: 10_000, Per: second},
		Operations: 100_000, Mix: workloads.Mix{workloads.List: 1},
	}
	store := func(start time.Duration) time.Duration { return start + 8*ms } // 32 workers: 4,000/s
	for pause, most := range map[time.Duration]float64{0: 0.002, 200 * ms: 0.025} {
		p := simulate(t, phase, 32, 100*ms, store, span{4 * second, 4*second + pause})
		all := &p.recorder.Total[int(workloads.List)]
		c, started := p.measurement(), all.Counts[latency.OK]
		d := c.Evidence.Delays
		t.Logf("pause of %v: %d carried out, %d dropped, %d of them by the client", pause, started,
			all.Counts[latency.Dropped], d.Dropped)
		if all.Counts[latency.Dropped] < 50_000 || float64(d.Dropped) > most*float64(started) {
			t.Errorf("pause of %v: of %d carried out and %d dropped the client is said to have dropped %d", pause,
				started, all.Counts[latency.Dropped], d.Dropped)
		}
		if real, ideal := c.AllOps.Response.P50, c.AllOps.OK().P50; float64(real) > 1.05*float64(ideal) {
			t.Errorf("pause of %v: p50 %d, and %d without the client's delays", pause, real, ideal)
		}
	}
}

// A client that stopped for a tenth of the phase, with an unsaturated store, is late, however
// few of the operations one worker would have executed meanwhile.
func TestStoppedClientIsNotOverload(t *testing.T) {
	phase := workloads.Phase{
		Kind: workloads.Measure, Arrivals: workloads.Constant, Rate: workloads.Rate{Count: 10_000, Per: second},
		Operations: 100_000, Mix: workloads.Mix{workloads.List: 1},
	}
	for _, takes := range []time.Duration{ms, 2 * ms, 5 * ms} { // of 64 workers 10, 20 and 50 are busy
		store := func(start time.Duration) time.Duration { return start + takes }
		c := simulate(t, phase, 64, 10*ms, store, span{4 * second, 5 * second}).cell(phase)
		judge.Apply(c, nil)
		if c.Verdict != results.Invalid || c.Reason.Code != "client-delays" {
			t.Errorf("calls of %v: %s: %+v", takes, c.Verdict, c.Reason)
		}
	}
}

// More load than the workers can execute is the fault of a pool that is too small if calls take no longer
// than they did before, and the store's if they do. It is reported whether operations wait or are dropped.
func TestVerdictBeyondCapacity(t *testing.T) {
	steady := func(start time.Duration) time.Duration { return start + 20*ms } // 8 workers: 400/s
	var free time.Duration
	oneByOne := func(start time.Duration) time.Duration { // 200/s from the second second on
		if start < second {
			return start + ms
		}
		free = max(free, start) + 5*ms
		return free
	}
	for _, c := range []struct {
		name    string
		rate    uint64
		maxWait time.Duration
		store   func(time.Duration) time.Duration
		verdict results.Verdict
		code    results.Code
	}{
		{"few workers, operations wait", 2000, time.Hour, steady, results.Invalid, "few-workers"},
		{"few workers, operations are dropped", 2000, 50 * ms, steady, results.Invalid, "few-workers"},
		{"slow store, operations wait", 1000, time.Hour, oneByOne, results.Overloaded, "behind"},
		{"slow store, operations are dropped", 1000, 50 * ms, oneByOne, results.Overloaded, "dropped"},
	} {
		free = 0
		phase := workloads.Phase{
			Kind: workloads.Measure, Arrivals: workloads.Constant, Rate: workloads.Rate{Count: c.rate, Per: second},
			Operations: 5000, Mix: workloads.Mix{workloads.List: 1},
		}
		cell := simulate(t, phase, 8, c.maxWait, c.store, span{}).cell(phase)
		judge.Apply(cell, nil)
		if cell.Verdict != c.verdict || cell.Reason.Code != c.code || !judge.Overloaded(cell) {
			t.Errorf("%s: %s: %+v", c.name, cell.Verdict, cell.Reason)
		}
		if !slices.ContainsFunc(cell.Doubts, func(d results.Doubt) bool { return d.Code == "queued" }) {
			t.Errorf("%s: doubts %v do not say that operations queued", c.name, cell.Doubts)
		}
	}
}

// In real time a store that stalls for 1 s in 5 gives what arithmetic says within
// 5%: of 5000 operations the 1000 that were scheduled meanwhile waited for the end. The
// slowest shows how long the store really stalled. On a busy machine the client
// delays operations too: the test waits for a quiet one. It fails if three runs are wrong
// in which nothing else took processors, or so wrong that no noise explains it.
func TestStallInRealTimeAlone(t *testing.T) {
	t.Parallel()
	s := situation{Rate: 1000, Length: 5 * second, Workers: 64, Store: store{Freeze: second}} // most find no free worker
	wrong := 0
	for deadline := time.Now().Add(time.Minute); ; {
		c := s.run(t)
		off := stallOff(&c.AllOps.Response)
		t.Logf("%.1f%% off; others %.2f, hiccups %v", 100*off, c.Client.OthersShare,
			time.Duration(c.Evidence.Hiccups.Total))
		if off <= 0.05 {
			return
		}
		if undisturbed(c) || off > 0.5 {
			wrong++
		}
		if wrong == 3 {
			t.Fatalf("%+v", c.AllOps.Response)
		}
		if !time.Now().Before(deadline) {
			t.Skip("the machine was never quiet")
		}
	}
}

// stallOff is how far the response times of TestStallInRealTimeAlone are from
// arithmetic. A stall that was shorter than configured is one that others made shorter:
// the process was stopped when it began.
func stallOff(r *results.Latency) (off float64) {
	for _, p := range []struct{ got, want int64 }{
		{r.Max, max(r.Max, int64(second))},
		{r.P90, r.Max - int64(500*ms)},
		{r.P99, r.Max - int64(50*ms)},
	} {
		off = max(off, math.Abs(float64(p.got)/float64(p.want)-1))
	}
	return off
}

// undisturbed reports whether other processes and machines took little of the processors,
// and this one could always run.
func undisturbed(c *results.Cell) bool {
	return c.Client.OthersShare < 0.1 && time.Duration(c.Evidence.Hiccups.Total) < 20*ms
}

// stalls is a store that answers immediately but for the beginning of each period. Any
// number of operations wait for the end of a stall.
func stalls(period, stall, takes time.Duration) func(time.Duration) time.Duration {
	return func(start time.Duration) time.Duration {
		if in := start % period; in < stall {
			start += stall - in
		}
		return start + takes
	}
}

// exponential is a store of so many servers with one queue in front of them. The
// service times are exponentially distributed, with the rate of each server in
// operations a second.
func exponential(servers int, rate float64) func(time.Duration) time.Duration {
	free := make([]time.Duration, servers) // when each server is
	var r random.Rand
	r.Seed(1, 99, 0)
	return func(start time.Duration) time.Duration {
		least := 0
		for i, at := range free {
			if at < free[least] {
				least = i
			}
		}
		free[least] = max(start, free[least]) + time.Duration(1e9*r.Exp()/rate)
		return free[least]
	}
}

// mmc is the quantile q of the response time of M/M/c in seconds: an arrival waits with
// the probability that Erlang's C formula gives, and then for an exponential time of the
// rate cμ-λ (D. Gross et al., Fundamentals of Queueing Theory, 2.3).
func mmc(c int, lambda, mu, q float64) float64 {
	a := lambda / mu
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	last := term * float64(c) / (float64(c) - a)
	waits := last / (sum + last)
	theta := float64(c)*mu - lambda
	// P(response > t), of a service with the rate μ and, with the probability of
	// waiting, a wait with the rate θ before it.
	beyond := func(t float64) float64 {
		if math.Abs(theta-mu) < 1e-9 {
			return math.Exp(-mu*t) * (1 + waits*mu*t)
		}
		return (1-waits)*math.Exp(-mu*t) + waits*(theta*math.Exp(-mu*t)-mu*math.Exp(-theta*t))/(theta-mu)
	}
	low, high := 0.0, 1.0
	for range 100 {
		if mid := (low + high) / 2; beyond(mid) > 1-q {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// simulate executes a phase in virtual time. Store returns when an operation ends
// that starts at start; it is called in the order of starts. No worker runs during the
// pause.
func simulate(
	t *testing.T, what workloads.Phase, workers int, maxWait time.Duration, store func(start time.Duration) time.Duration, pause span,
) *phase {
	now := new(time.Duration)
	target, stream := testTarget(t, virtualBound{now, store})
	p := newPhase(target, Spec{Phase: what, Stream: stream(&what), Workers: workers, MaxWait: maxWait})
	p.clock = virtualClock(now)
	p.hiccups = &hiccups{clock: &p.clock}
	p.hiccups.beat.Store(math.MaxInt64 / 2)
	var queue byLast
	queue, err := p.add(workers)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range queue {
		defer w.close()
	}
	for n := 1; ; n++ {
		if n >= 64 && n&(n-1) == 0 { // a run does it each second
			p.recorder.Tick()
			p.learn()
		}
		w := queue[0] // the one that is free first takes the next operation
		if w.last >= pause.from && w.last < pause.to {
			w.last = pause.to
			heap.Fix(&queue, 0)
			continue
		}
		*now = max(0, w.last)
		due, ok := w.draw()
		if !ok {
			break
		}
		*now = max(*now, due) // so that waiting takes no real time
		if err := w.step(t.Context(), t.Context(), due); err != nil {
			t.Fatal(err)
		}
		heap.Fix(&queue, 0)
	}
	for _, w := range queue {
		p.stats.add(&w.stats)
	}
	p.recorder.Tick()
	return p
}

// virtualClock shows a time of the test.
func virtualClock(now *time.Duration) clock {
	return clock{read: func() time.Duration { return *now }}
}

// executed executes a phase of which nothing is known before.
func executed(ctx context.Context, t *subject.Target, s Spec) (results.Cell, error) {
	s.Cell = new(results.Cell)
	err := Drive(ctx, t, s)
	return *s.Cell, err
}

// measurement is the cell of the phase.
func (p *phase) measurement() results.Cell {
	p.Cell = cmp.Or(p.Cell, new(results.Cell))
	p.complete()
	return *p.Cell
}

// delays are what client delay changed.
func (p *phase) delays() *results.Delays { return p.measurement().Evidence.Delays }

// byLast is a heap of workers, the one that has been free for longest first.
type byLast []*worker

func (q byLast) Len() int           { return len(q) }
func (q byLast) Less(i, j int) bool { return q[i].last < q[j].last }
func (q byLast) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (byLast) Push(any)             {}
func (byLast) Pop() any             { return nil }

type virtualBound struct {
	now   *time.Duration
	store func(time.Duration) time.Duration
}

func (b virtualBound) Mailbox(drivers.Session) models.Mailbox {
	return virtualMailbox{idleMailbox{}, b}
}

type virtualMailbox struct {
	idleMailbox
	virtualBound
}

func (m virtualMailbox) List(context.Context, *models.Folder, models.Handle, int, func(*models.Entry) error) error {
	*m.now = m.store(*m.now)
	return nil
}
