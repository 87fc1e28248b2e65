package drive

import (
	"slices"
	"testing"
	"time"
)

// startTimer starts a clock and a timer for a test.
func startTimer(t testing.TB) (*clock, *timer) {
	t.Helper()
	c, err := startClock()
	if err != nil {
		t.Fatal(err)
	}
	timer, err := newTimer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { timer.close() })
	return &c, timer
}

// A timer is never early, and one for a time that is past returns at once.
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
