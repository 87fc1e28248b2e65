package plan

import (
	"math"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// shapesForTest are rates that change, with their value at each time by definition.
func shapesForTest(t *testing.T) map[string]struct {
	phase workloads.Phase
	rate  func(seconds float64) float64
} {
	t.Helper()
	type shape = struct {
		phase workloads.Phase
		rate  func(seconds float64) float64
	}
	read := func(rate string) workloads.Phase {
		w, err := workloads.Parse("shape.yaml", []byte(`
version: 1
name: shape
population: {users: 1, messages: 1}
phases: [{load: {}}, {measure: {duration: 40s, rate: `+rate+`, mix: {list: 1}}}]
`))
		if err != nil {
			t.Fatal(err)
		}
		return w.Phases[1]
	}
	pick := func(first, second float64, is bool) float64 {
		if is {
			return first
		}
		return second
	}
	return map[string]shape{
		"ramp up":   {read("{ramp: {from: 100/s, to: 2000/s}}"), func(s float64) float64 { return 100 + 1900*s/40 }},
		"ramp down": {read("{ramp: {from: 2000/s, to: 1/s}}"), func(s float64) float64 { return 2000 - 1999*s/40 }},
		"ramp and stay": {read("{ramp: {from: 60/min, to: 1000/s, over: 10s}}"), func(s float64) float64 {
			return min(1000, 1+999*s/10)
		}},
		"steps": {read("{steps: [100/s, 400/s, 50/s, 1000/s]}"), nil},
		"burst": {read("{burst: {base: 10/s, peak: 3000/s, every: 10s, for: 1s}}"), func(s float64) float64 {
			return pick(3000, 10, math.Mod(s, 10) >= 9)
		}},
		"burst from nothing": {read("{burst: {peak: 3000/s, every: 4s, for: 1s}}"), func(s float64) float64 {
			return pick(3000, 0, math.Mod(s, 4) >= 3)
		}},
	}
}

// TestShapes: how many operations are scheduled until any time is the integral of the rate,
// exactly for constant arrivals, and within five standard deviations for Poisson's.
func TestShapes(t *testing.T) {
	shapes := shapesForTest(t)
	steps := shapes["steps"]
	steps.rate = func(s float64) float64 { return []float64{100, 400, 50, 1000}[int(s/10)] }
	shapes["steps"] = steps
	for name, c := range shapes {
		t.Run(name, func(t *testing.T) {
			const parts = 400_000
			var integral [parts + 1]float64 // by the midpoint rule
			step := 40.0 / parts
			for i := range parts {
				integral[i+1] = integral[i] + step*c.rate((float64(i)+0.5)*step)
			}
			all := integral[parts]
			if mean := c.phase.Rate.PerSecond(); math.Abs(mean*40/all-1) > 1e-3 {
				t.Errorf("the mean rate is %g/s, want %g/s", mean, all/40)
			}
			for _, a := range []workloads.Arrivals{workloads.Constant, workloads.Poisson} {
				p := c.phase
				p.Arrivals = a
				s, n, last := scheduleOf(&p, 3), 0.0, time.Duration(0)
				for due, ok := s.Next(); ok; due, ok = s.Next() {
					if due < last || due >= 40*time.Second {
						t.Fatalf("%s: due at %v after %v", a, due, last)
					}
					want := integral[int(due.Seconds()/step)]
					if off := math.Abs(n - want); a == workloads.Constant && off > 1 || a == workloads.Poisson && off > 5*math.Sqrt(want+10) {
						t.Fatalf("%s: operation %.0f is due at %v, when %.2f have been by the integral", a, n, due, want)
					}
					n++
					last = due
				}
				if off := math.Abs(n - all); a == workloads.Constant && off > 1.5 || a == workloads.Poisson && off > 5*math.Sqrt(all) {
					t.Errorf("%s: %.0f operations, want %.0f", a, n, all)
				}
			}
		})
	}
}

// A Poisson process of a changing rate, seen on the scale of its integral, has gaps
// that are exponential with mean 1.
func TestShapedPoissonIsPoisson(t *testing.T) {
	p := shapesForTest(t)["ramp up"].phase
	p.Arrivals = workloads.Poisson
	s, last, n, short, squares := scheduleOf(&p, 5), 0.0, 0, 0, 0.0
	for due, ok := s.Next(); ok; due, ok = s.Next() {
		at := p.Shape.Count(due)
		gap := at - last
		last = at
		n++
		squares += (gap - 1) * (gap - 1)
		if gap < 0.5 {
			short++
		}
	}
	tolerance := 8 / math.Sqrt(float64(n))
	if off := math.Sqrt(squares/float64(n)) - 1; math.Abs(off) > tolerance {
		t.Errorf("the standard deviation is off by %.4f of %d gaps", off, n)
	}
	if off := float64(short)/float64(n) - (1 - math.Exp(-0.5)); math.Abs(off) > tolerance {
		t.Errorf("short gaps are off by %.4f", off)
	}
}

func TestShapeRepeats(t *testing.T) {
	s := workloads.Shape{{Length: time.Second, From: 0, To: 100}, {Length: time.Second, From: 50, To: 50}}
	if got := s.Count(5 * time.Second); math.Abs(got-250) > 1e-9 {
		t.Errorf("%g operations in 5 s, want 250", got)
	}
	var c schedule
	for n := 0.0; n < 1000; n += 7.3 {
		if back := s.Count(c.when(s, n)); math.Abs(back-n) > 1e-5 {
			t.Errorf("operation %g is due when there were %g", n, back)
		}
	}
}
