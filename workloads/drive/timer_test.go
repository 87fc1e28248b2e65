package drive

import (
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
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

// A timer is never early.
func TestTimerIsNotEarly(t *testing.T) {
	c, timer := startTimer(t)
	for range 20 {
		at := c.now() + 300*time.Microsecond
		if err := timer.sleep(300 * time.Microsecond); err != nil {
			t.Fatal(err)
		}
		if now := c.now(); now < at {
			t.Fatalf("woken %v early", at-now)
		}
	}
}

func TestTimerAllocatesNothing(t *testing.T) {
	_, timer := startTimer(t)
	if n := testing.AllocsPerRun(50, func() {
		if err := timer.sleep(50 * time.Microsecond); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a wait", n)
	}
}

// waiting is a phase that offers so many operations a second for two seconds.
func waiting(perSecond uint64) workloads.Phase {
	return workloads.Phase{
		Kind: workloads.Measure, Arrivals: workloads.Poisson, Rate: workloads.Rate{Count: perSecond, Per: time.Second},
		Duration: 2 * time.Second, Mix: workloads.Mix{workloads.List: 1},
	}
}

// TestWaitIsNotEarly: no operation starts before its time, also after an earlier one.
func TestWaitIsNotEarly(t *testing.T) {
	c, timer := startTimer(t)
	w := &worker{phase: &phase{clock: *c}, timer: timer}
	for range 50 {
		due := c.now() + 300*time.Microsecond
		if ok, err := w.wait(t.Context(), due); !ok || err != nil || c.now() < due {
			t.Fatalf("%v, %v, %v early", ok, err, due-c.now())
		}
	}
}

// BenchmarkTimerLateness reports how late a wait for 200 µs ends.
func BenchmarkTimerLateness(b *testing.B) {
	c, timer := startTimer(b)
	var late []time.Duration
	for b.Loop() {
		at := c.now() + 200*time.Microsecond
		if err := timer.sleep(at - c.now()); err != nil {
			b.Fatal(err)
		}
		late = append(late, c.now()-at)
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds()), "p50-late-µs")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds()), "p99-late-µs")
}
