package run

import (
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
)

// A run of three combinations: each loads for 20 s, settles for 5 s, warms up for 10 s
// and measures for 60 s, and opening and closing takes 1 s each.
func TestEstimate(t *testing.T) {
	phases := []PlanPhase{
		{Kind: workloads.Load.String(), Name: "load", Time: time.Hour},
		{Name: "settle"},
		{Name: "warmup", Time: 10 * time.Second},
		{Name: "measure", Time: time.Minute},
	}
	var now time.Time
	e := newTimeLeft(phases, func() time.Time { return now })
	for _, step := range []struct {
		at    int // seconds since the run began
		cell  int
		phase string
		eta   int
		left  int // seconds; 0: not known
	}{
		{0, 0, "waits for segment 1", 0, 0}, // before the first combination
		{0, 1, "open", 0, 0},
		{1, 1, "load", 0, 0},          // it has not said how far it is
		{11, 1, "load", 10, 80 + 182}, // 10 of its own, 70 of new mail; twice 21 and 70
		{21, 1, "settle", 0, 70 + 182},
		{26, 1, "warmup", 0, 70 + 192},
		{31, 1, "warmup", 0, 65 + 192},
		{36, 1, "measure", 60, 60 + 192},
		{96, 1, "close", 0, 0},
		{97, 2, "open", 0, 97 + 97}, // as long as the first
		{98, 2, "load", 0, 96 + 97},
		{118, 2, "settle", 0, 76 + 97},
		{133, 2, "measure", 60, 61 + 97},
		{143, 2, "measure", 90, 90 + 97}, // slower than before
		{233, 3, "open", 0, 116},         // the mean of 97 and 136
	} {
		now = time.Time{}.Add(time.Duration(step.at) * time.Second)
		p := Progress{Combination: step.cell, Combinations: 3, Phase: step.phase, Progress: drive.Progress{ETA: time.Duration(step.eta) * time.Second}}
		e.note(&p)
		if got := int(p.Left.Seconds()); got != step.left {
			t.Errorf("at %d s, %s of %d: %d s left, want %d", step.at, step.phase, step.cell, got, step.left)
		}
		if want := float64(step.at) / float64(step.at+step.left); step.left > 0 && (p.Done < want-0.01 || p.Done > want+0.01) {
			t.Errorf("at %d s: %v is done, want %v", step.at, p.Done, want)
		}
	}
}
