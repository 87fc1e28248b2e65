package compare

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

var simulated = flag.Int("comparisons", 0, "simulate so many comparisons for each line of the table in docs/internals/comparing.md")

// Equal builds are reported to differ in at most one comparison of twenty, whatever the noise,
// and a slow-down of 10% is found. -comparisons makes the table of docs/internals/comparing.md;
// without it a few comparisons show that nothing is broken.
func TestRatesAgreeWithTheory(t *testing.T) {
	comparisons, permutations, sizes := 40, 200, []int{10}
	if *simulated > 0 {
		comparisons, permutations, sizes = *simulated, 1000, []int{10, 20, 5, 4, 3}
	}
	for _, w := range []struct {
		name string
		noise
	}{
		{"quiet", quiet},
		{"busy", busy},
		{"two modes", modal},
		{"virtual, 1.5 s", short},
		{"virtual, 10 s", long},
		{"quiet, streams", quietStreams},
		{"busy, streams", busyStreams},
	} {
		if *simulated == 0 && w.streams > 0 {
			w.ops = 4 // has as many metrics as the others have
		}
		t.Run(w.name, func(t *testing.T) {
			for _, turns := range []bool{true, false} {
				for _, n := range sizes {
					alarms, found, err := w.rates(1, comparisons, n, turns, permutations)
					if err != nil {
						t.Fatal(err)
					}
					if *simulated > 0 {
						t.Logf("%s\tturns %v\t%d trials\tfalse alarms %.1f%%\tfound %.1f%%", w.name, turns, n, 100*alarms, 100*found)
					}
					// Of 40 comparisons 7 would be too many with 5% only once in 300 seeds.
					if most := 0.05 + 0.12*math.Sqrt(40/float64(comparisons)); alarms > most {
						t.Errorf("turns %v, %d trials: %.1f%% false alarms", turns, n, 100*alarms)
					}
					if turns && n >= 10 && (w.name == "quiet" || w.name == "virtual, 10 s") && found < 0.95 {
						t.Errorf("turns %v, %d trials: a slow-down of 10%% was found in %.1f%%", turns, n, 100*found)
					}
				}
			}
		})
	}
}

// A trial that a burst spoiled counts as one that is three standard deviations away, and what all
// others show is still found.
func TestOneSpoiledTrial(t *testing.T) {
	near := []float64{-0.02, -0.01, 0, 0.01, 0.02}
	s := sample{base: slices.Concat(near, near[:4], []float64{5})}
	for _, v := range slices.Concat(near, near) {
		s.new = append(s.new, v+0.1)
	}
	got := winsorize(s)
	// Half of the trials deviate from the median of their side by 0.01 or less.
	if want := 0.1 + 3*1.4826*0.01; math.Abs(got[9]-want) > 1e-12 {
		t.Errorf("a trial of 5 counts as %g, want %g", got[9], want)
	}
	for i, v := range slices.Concat(s.base, s.new) {
		if i != 9 && got[i] != v {
			t.Errorf("trial %d counts as %g, and is %g", i, got[i], v)
		}
	}
	for _, paired := range []bool{false, true} {
		if e := maxT([]sample{s}, []float64{0.05}, paired, 2000)[0]; e.low <= 0 || e.ratio > 0.1 {
			t.Errorf("paired %v: all trials but one are 0.1 more: %+v", paired, e)
		}
	}
}

// Few trials are divided in every way, each once, and many in a sample that has the observed way.
func TestPermutations(t *testing.T) {
	for _, tc := range []struct {
		base, new, most, want int
		paired                bool
	}{{3, 4, 100, 35, false}, {3, 4, 35, 35, false}, {5, 5, 100, 100, false}, {6, 6, 100, 64, true}} {
		a := &permuter{base: tc.base, all: tc.base + tc.new, most: tc.most, paired: tc.paired}
		for i := range a.all {
			a.isNew = append(a.isNew, i >= a.base)
		}
		observed := slices.Clone(a.isNew)
		yielded, ways, found := 0, map[string]bool{}, false
		for range a.permutations() {
			yielded++
			way, of := fmt.Sprint(a.isNew), 0
			for _, is := range a.isNew {
				if is {
					of++
				}
			}
			if ways[way] = true; !tc.paired && of != tc.new {
				t.Errorf("%+v: %s", tc, way)
			}
			found = found || way == fmt.Sprint(observed)
		}
		if yielded != tc.want || tc.want != tc.most && len(ways) != tc.want || !tc.paired && !found || !slices.Equal(a.isNew, observed) {
			t.Errorf("%+v: %d permutations, %d ways, the observed one %v, then %v", tc, yielded, len(ways), found, a.isNew)
		}
	}
}

// The typical latency is not known if the median of an operation is one that never ended.
func TestTypicalOfDropped(t *testing.T) {
	ended := results.Op{Count: 100, Times: results.Times{Latency: &results.Latency{P50: 1e6}}}
	dropped := results.Op{Count: 100, Dropped: 200, Times: results.Times{Due: &results.Latency{P50: results.NeverEnded}}}
	o := observed{of: &results.Cell{Ops: map[string]results.Op{"list": ended}}, shares: map[string]float64{"list": 1}}
	if got := typical(&o); got != math.Log(1e6) {
		t.Errorf("of operations that ended: %g", got)
	}
	o.of.Ops["open"], o.shares = dropped, map[string]float64{"list": 0.5, "open": 0.5}
	if got := typical(&o); !math.IsNaN(got) {
		t.Errorf("with operations that never ended: %g, want NaN", got)
	}
}
