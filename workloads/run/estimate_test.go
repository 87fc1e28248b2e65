package run

import (
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads/drive"
)

// A run of three combinations is planned to load for 20 s, warm up for 10 s and measure for 60 s, with 1 s to open and
// close the store of each.
func TestTimeLeft(t *testing.T) {
	e := &Estimate{Phases: []PlanPhase{{Name: "load", Seconds: 20}, {Name: "settle"}, {Name: "warmup", Seconds: 10}, {Name: "measure", Seconds: 60}}}
	l := timeLeft{each: []*Estimate{e, e, e}, started: time.Unix(0, 0)}
	for _, step := range []struct {
		at    int // seconds since the run began
		cell  int
		phase string
		eta   int
		left  int // seconds; 0: not known
	}{
		{0, 0, "waits for segment 1", 0, 0}, // before the first combination
		{0, 1, "open", 0, 90 + 182},
		{1, 1, "load", 0, 90 + 182},
		{11, 1, "load", 20, 90 + 182}, // slower than planned
		{31, 1, "settle", 0, 70 + 182},
		{36, 1, "warmup", 0, 70 + 182},
		{41, 1, "warmup", 0, 65 + 182},
		{46, 1, "measure", 60, 60 + 182},
		{76, 1, "measure, step 2 at 500/s", 0, 30 + 182},
		{106, 1, "close", 0, 182},
		{182, 2, "open", 0, 90 + 182}, // the first has taken twice as long
		{273, 3, "open", 0, 90},
		{303, 3, "measure", 0, 60},
		{363, 3, "close", 0, 0},
	} {
		p := Progress{Combination: step.cell, Combinations: 3, Phase: step.phase, Progress: drive.Progress{ETA: time.Duration(step.eta) * time.Second}}
		l.note(&p, time.Unix(int64(step.at), 0))
		if got := int(p.Left.Seconds()); got != step.left {
			t.Errorf("at %d s, %s of %d: %d s left, want %d", step.at, step.phase, step.cell, got, step.left)
		}
		if want := float64(step.at) / float64(step.at+step.left); step.left > 0 && (p.Done < want-0.01 || p.Done > want+0.01) {
			t.Errorf("at %d s: %v is done, want %v", step.at, p.Done, want)
		}
	}
}
