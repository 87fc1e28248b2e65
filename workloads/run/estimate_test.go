package run

import (
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads/drive"
)

// A run of two combinations is planned to load for 20 s and measure for 79 s, with 1 s to open and close the store of
// each.
func TestTimeLeft(t *testing.T) {
	e := &Estimate{Phases: []PlanPhase{{Name: "load", Seconds: 20}, {Name: "settle"}, {Name: "measure", Seconds: 79}}}
	l := timeLeft{each: []*Estimate{e, e}, started: time.Unix(0, 0)}
	for _, step := range []struct {
		at       int // seconds since the run began
		cell     int
		phase    string
		fraction float64
		left     int // seconds; 0: not known
	}{
		{0, 0, "waits for segment 1", 0, 0}, // before the first combination
		{0, 1, "open", -1, 0},
		{10, 1, "load", 0.5, 190},
		{40, 1, "load", 1, 360}, // twice as slow as planned
		{40, 1, "settle", -1, 360},
		{99, 1, "measure", 1, 100},
		{100, 1, "measure, step 2 at 500/s", 0.1, 102}, // a search does not go back
		{110, 1, "close", -1, 112},
		{120, 2, "load", 1, 80},
		{198, 2, "measure", 1, 1},
	} {
		p := Progress{Combination: step.cell, Combinations: 2, Phase: step.phase, Progress: drive.Progress{Fraction: step.fraction}}
		l.note(&p, time.Unix(int64(step.at), 0))
		if got := int(p.Left.Seconds()); got < step.left-1 || got > step.left+1 {
			t.Errorf("at %d s, %s of %d: %d s left, want %d", step.at, step.phase, step.cell, got, step.left)
		}
	}
}
