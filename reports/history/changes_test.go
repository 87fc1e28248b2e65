package history

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mailbench/mailbench/reports/compare"
)

var histories = flag.Int("histories", 100, "how many histories TestRates simulates of each kind")

// made is a metric of n runs whose logarithms vary by so much, with a heavy tail, and which takes
// as many times as long from run at on.
func made(random *rand.Rand, n, at int, vary, times float64) *Figure {
	f := &Figure{Name: "p50", Changes: []Change{}, Measure: &compare.Measure{Name: "p50", Limit: 0.05}}
	for i := range n {
		tail := math.Sqrt(2 / (random.ExpFloat64() + random.ExpFloat64())) // Student's t with 4 degrees of freedom
		v := 1e6 * math.Exp(vary*random.NormFloat64()*tail)
		if i >= at {
			v *= times
		}
		f.Values = append(f.Values, &v)
	}
	return f
}

// Of histories without a change few have one, and a change is found where it is. The histories are the
// same each time.
func TestRates(t *testing.T) {
	const figures = 20
	for _, tc := range []struct {
		runs, at    int
		vary, times float64
		found       float64 // at least
	}{
		{20, 10, 0.03, 1.10, 0.5},
		{30, 15, 0.03, 1.10, 0.9},
		{30, 25, 0.03, 1.20, 0.9},
		{60, 30, 0.03, 1.10, 0.95},
		{60, 55, 0.03, 1.20, 0.95},
	} {
		alarms, found, near := 0, 0, 0
		for h := range *histories {
			random := rand.New(rand.NewPCG(uint64(tc.runs*100+tc.at), uint64(h)))
			s := Series{}
			for range figures {
				s.Figures = append(s.Figures, made(random, tc.runs, tc.runs, tc.vary, 1))
			}
			s.changes()
			if len(s.changed) > 0 {
				alarms++
			}
			s.Figures[0] = made(random, tc.runs, tc.at, tc.vary, tc.times)
			s.Figures[0].search(falseAlarms / figures)
			for _, c := range s.Figures[0].Changes {
				if d := c.Run - tc.at; d >= -1 && d <= 1 {
					near++
					break
				}
			}
			if len(s.Figures[0].Changes) > 0 {
				found++
			}
		}
		n := float64(*histories)
		t.Logf("%d runs, %.0f%% more from run %d on: found in %.1f%%, within one run in %.1f%%; false alarms in %.1f%% of histories of %d figures",
			tc.runs, 100*(tc.times-1), tc.at+1, 100*float64(found)/n, 100*float64(near)/n, 100*float64(alarms)/n, figures)
		if p := float64(alarms) / n; p > falseAlarms+4*math.Sqrt(falseAlarms/n) {
			t.Errorf("%d runs: false alarms in %.1f%% of histories", tc.runs, 100*p)
		}
		if p := float64(found) / n; p < tc.found {
			t.Errorf("%d runs, %.2f times from run %d on: found in %.1f%%, want %.0f%%", tc.runs, tc.times, tc.at+1, 100*p, 100*tc.found)
		}
	}
}
