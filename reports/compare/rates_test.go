package compare

import (
	"flag"
	"math"
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
		comparisons, permutations, sizes = *simulated, 4000, []int{10, 20, 5, 4, 3}
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

// The typical latency is not known if the median of an operation is one that never ended.
func TestTypicalOfDropped(t *testing.T) {
	ended := results.Op{Count: 100, Times: results.Times{Latency: &results.Latency{P50: 1e6}}}
	dropped := results.Op{Count: 100, Dropped: 200, Times: results.Times{Due: &results.Latency{P50: results.NeverEnded}}}
	o := trial{cell: &results.Cell{Ops: map[string]results.Op{"list": ended}}}
	c := &Cell{shares: map[string]float64{"list": 1}}
	if got := measures[0].time(c, &o, nil); got != 1e6 {
		t.Errorf("of operations that ended: %g", got)
	}
	o.cell.Ops["open"], c.shares = dropped, map[string]float64{"list": 0.5, "open": 0.5}
	if got := measures[0].time(c, &o, nil); !math.IsInf(got, 1) {
		t.Errorf("with operations that never ended: %g, want infinity", got)
	}
}
