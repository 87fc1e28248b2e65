package drive

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
)

// startTimer starts a clock and a timer for a test.
func startTimer(t testing.TB) (*clock, *timer) {
	t.Helper()
	c := startClock()
	timer, err := newTimer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { timer.close() })
	return &c, timer
}

// A timer is never early, and one for a time that is past returns immediately.
func TestTimerIsNotEarly(t *testing.T) {
	c, timer := startTimer(t)
	for range 20 {
		at := c.now() + 300*time.Microsecond
		if err := timer.until(c, at); err != nil {
			t.Fatal(err)
		}
		if now := c.now(); now < at {
			t.Fatalf("woken %v early", at-now)
		}
	}
	if err := timer.until(c, 0); err != nil {
		t.Fatal(err)
	}
}

func TestTimerAllocatesNothing(t *testing.T) {
	c, timer := startTimer(t)
	if n := testing.AllocsPerRun(50, func() {
		if err := timer.until(c, c.now()+50*time.Microsecond); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a wait", n)
	}
}

// TestSpinIsBounded: before all operations of a second workers spin for at most 5% of a processor, and
// not at all where the engine has no other processor.
func TestSpinIsBounded(t *testing.T) {
	for _, c := range []struct {
		rate, processors float64
		want             time.Duration
	}{
		{1, 2, 100 * time.Microsecond},
		{250, 64, 100 * time.Microsecond},
		{1000, 2, 50 * time.Microsecond},
		{10_000, 2, 5 * time.Microsecond},
		{1e8, 2, 0},
		{250, 1, 0},
		{250, 1.5, 0},
		{0, 8, 0},
	} {
		got := spinOf(c.rate, c.processors)
		if got != c.want || got.Seconds()*c.rate > spinShare {
			t.Errorf("%v/s on %v processors: %v, want %v", c.rate, c.processors, got, c.want)
		}
	}
}

// waiting is a phase that offers so many operations a second for two seconds.
func waiting(perSecond uint64) workloads.Phase {
	return workloads.Phase{
		Kind: workloads.Measure, Arrivals: workloads.Poisson, Rate: workloads.Rate{Count: perSecond, Per: time.Second},
		Duration: 2 * time.Second, Mix: workloads.Mix{workloads.List: 1},
	}
}

// waits executes a phase whose operations take no time, and returns the distribution of the time from
// the scheduled to the real start, and the share of a processor that was used.
func waits(tb testing.TB, perSecond uint64, spins bool) (wait *latency.Histogram, used float64) {
	target, stream := testTarget(tb, idleBound{})
	what := waiting(perSecond)
	p := newPhase(target, Spec{Phase: what, Stream: stream(&what), Workers: 32, MaxWait: time.Hour})
	if !spins {
		p.spin = 0
	}
	if err := p.run(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return &p.recorder.Total[int(workloads.List)].Times[latency.Wait], p.used.cpu.Seconds() / p.length.Seconds()
}

// TestSpinIsNotEarly: no operation starts before its time, also where several workers wait, of which one
// spins.
func TestSpinIsNotEarly(t *testing.T) {
	c, timer := startTimer(t)
	p := &phase{clock: *c, spin: spinMost}
	w, spinning := &worker{phase: p, timer: timer}, &p.pool.spins
	for _, busy := range []bool{false, true} {
		spinning.Store(busy) // another worker spins
		w.last = c.now()
		for range 50 {
			due := c.now() + 300*time.Microsecond
			if ok, err := w.wait(t.Context(), due); !ok || err != nil || c.now() < due {
				t.Fatalf("%v, %v, %v early", ok, err, due-c.now())
			}
			w.last = c.now()
		}
		if spinning.Load() != busy {
			t.Errorf("a worker spins: %v, want %v", !busy, busy)
		}
	}
	if n := testing.AllocsPerRun(50, func() {
		w.last = 0
		if ok, err := w.wait(t.Context(), c.now()+spinMost); !ok {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a wait", n)
	}
}

// BenchmarkWait compares waits that end in a spin with waits for the timer alone, two seconds of each in
// turn: the time from the scheduled to the real start, and processors used. Operations take no time.
func BenchmarkWait(b *testing.B) {
	for _, rate := range []uint64{250, 2000, 10_000} {
		b.Run(fmt.Sprintf("%d-a-second", rate), func(b *testing.B) {
			var wait [2]*latency.Histogram
			var used [2]float64
			for turn := range 2 * b.N {
				i := (turn + turn/2) % 2 // A B, B A
				h, cpu := waits(b, rate, i == 1)
				if used[i] += cpu / float64(b.N); wait[i] == nil {
					wait[i] = h
				} else {
					wait[i].Add(h)
				}
			}
			for i, name := range []string{"timer", "spin"} {
				for _, q := range []float64{50, 90, 99} {
					b.ReportMetric(float64(wait[i].At(q, 0))/1e3, fmt.Sprintf("%s-p%g-µs", name, q))
				}
				b.ReportMetric(used[i], name+"-processors")
			}
		})
	}
}

// BenchmarkTimerLateness reports how late a wait for 200 µs ends.
func BenchmarkTimerLateness(b *testing.B) {
	c, timer := startTimer(b)
	var late []time.Duration
	for b.Loop() {
		at := c.now() + 200*time.Microsecond
		if err := timer.until(c, at); err != nil {
			b.Fatal(err)
		}
		late = append(late, c.now()-at)
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds()), "p50-late-µs")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds()), "p99-late-µs")
}
