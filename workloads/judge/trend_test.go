package judge

import (
	"math"
	"math/rand/v2"
	"testing"
)

// noise is the random part of the service times of windows: it is normal in their logarithm,
// neighbors are correlated, and one window in twenty is slow.
type noise struct{ deviation, correlation float64 }

// windows are n of them, with so much more at the end than at the beginning, by a straight
// line or by a step half way.
func (v noise) windows(r *rand.Rand, n int, more float64, step bool) []float64 {
	all, x := make([]float64, n), r.NormFloat64()
	for i := range all {
		if i > 0 {
			x = v.correlation*x + math.Sqrt(1-v.correlation*v.correlation)*r.NormFloat64()
		}
		at := float64(i) / float64(n-1)
		if step {
			at = math.Floor(2 * float64(i) / float64(n))
		}
		all[i] = 1e6 * (1 + more*at) * math.Exp(v.deviation*x)
		if r.IntN(20) == 0 {
			all[i] *= 1.5
		}
	}
	return all
}

// found is the share of simulated phases that are called unsteady, and in which the
// interval holds the true change.
func (v noise) found(n int, more float64, step bool) (found, holds float64) {
	const phases = 400
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for range phases {
		t, _ := Trend(v.windows(r, n, more, step))
		if Drifts(t) {
			found += 1. / phases
		}
		if t.Low <= more && more <= t.High {
			holds += 1. / phases
		}
	}
	return found, holds
}

// A steady phase is called unsteady in at most 5%, whatever its noise. Beyond a correlation
// of 0.5 the test only prints how many.
func TestTrendOfSteadyPhases(t *testing.T) {
	for _, n := range []int{8, 10, 20, 30, 60} {
		for _, v := range []noise{{0.05, 0}, {0.05, 0.5}, {0.2, 0}, {0.2, 0.3}, {0.2, 0.5}, {0.2, 0.7}} {
			found, holds := v.found(n, 0, false)
			t.Logf("%d windows, noise %.0f%%, correlation %.1f: %.1f%% unsteady; the interval holds in %.1f%%",
				n, 100*v.deviation, v.correlation, 100*found, 100*holds)
			if found > 0.05 && v.correlation <= 0.5 {
				t.Errorf("%d windows, %+v: %.1f%% unsteady", n, v, 100*found)
			}
		}
	}
}

// A drift is found in at least 95%.
func TestTrendOfDrifts(t *testing.T) {
	for _, c := range []struct {
		windows int
		noise   noise
		more    float64
		step    bool
		least   float64 // 0: only printed
	}{
		{10, noise{0.02, 0.3}, 0.3, false, 0},
		{10, noise{0.02, 0.3}, 1, false, 0},
		{10, noise{0.02, 0.3}, 2, false, 0},
		{20, noise{0.02, 0.3}, 0.3, false, 0.95},
		{20, noise{0.05, 0.3}, 0.3, false, 0},
		{30, noise{0.02, 0.3}, 0.2, false, 0.95},
		{30, noise{0.05, 0.3}, 0.2, false, 0},
		{30, noise{0.05, 0.3}, 0.4, false, 0.95},
		{60, noise{0.05, 0.3}, 0.2, false, 0.95},
		{60, noise{0.05, 0.5}, 0.3, false, 0.95},
		{60, noise{0.10, 0.3}, 0.5, false, 0.95},
		{30, noise{0.02, 0}, 0.3, true, 0},
		{60, noise{0.05, 0}, 0.3, true, 0.95},
	} {
		found, holds := c.noise.found(c.windows, c.more, c.step)
		shape := "line"
		if c.step {
			shape = "step"
		}
		t.Logf("%d windows, noise %.0f%%, correlation %.1f, a %s of %.0f%%: found in %.1f%%; the interval holds it in %.1f%%",
			c.windows, 100*c.noise.deviation, c.noise.correlation, shape, 100*c.more, 100*found, 100*holds)
		if found < c.least {
			t.Errorf("%+v: found in %.1f%%", c, 100*found)
		}
	}
}

// The line through windows without noise is exact, and so is the one through few.
func TestTrendOfLines(t *testing.T) {
	line := make([]float64, 300) // 60 batches
	for i := range line {
		line[i] = 100 * math.Pow(2, float64(i)/299)
	}
	got, ok := Trend(line)
	if !ok || math.Abs(got.Change-1) > 0.03 || math.Abs(got.To/got.From-1-got.Change) > 1e-9 || !Drifts(got) || Steady(got) {
		t.Errorf("%+v", got)
	}
	same, ok := Trend([]float64{5, 5, 5, 5, 5, 5, 5, 5})
	if want := (Line{From: 5, To: 5}); !ok || same.Change != 0 || same.Low != 0 || same.High != 0 || math.Abs(same.From-5) > 1e-9 {
		t.Errorf("%+v, want %+v", same, want)
	}
	if _, ok := Trend(line[:7]); ok {
		t.Error("a trend of seven windows")
	}
	if got, ok := Trend([]float64{1, 2, 1, 2, 1, 2, 0, 1e12}); !ok || Drifts(got) || Steady(got) || got.High > trendHighest {
		t.Errorf("%+v", got)
	}
}
