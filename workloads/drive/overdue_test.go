package drive

import (
	"math"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// Operations that are overdue when a phase is stopped are counted.
func TestOverdue(t *testing.T) {
	phase := workloads.Phase{
		Kind: workloads.Measure, Arrivals: workloads.Constant, Rate: workloads.Rate{Count: 1000, Per: second}, Duration: time.Hour,
		Mix: workloads.Mix{workloads.List: 2, workloads.Counters: 1, workloads.Flag: 1},
	}
	at, stream := testTarget(t, idleBound{})
	at.Lacks[workloads.Counters] = true
	at.LacksFlag[workloads.FlagSeen] = true
	p := newPhase(at, Spec{Phase: phase, Stream: stream(&phase), Workers: 1, MaxWait: time.Hour})
	p.countOverdue(time.Minute)
	sum := p.stats.sum()
	if math.Abs(float64(sum.Due)-60_000) > 2 {
		t.Errorf("%d operations were due, want 60000", sum.Due)
	}
	if share := float64(sum.Skipped) / float64(sum.Due); math.Abs(share-0.5) > 0.03 {
		t.Errorf("the model lacks %.3f of them, want 0.5", share)
	}
}
