package drive

import (
	"math"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// Operations that are overdue when a phase is stopped are counted, also where they are too many to look
// at each operation.
func TestOverdue(t *testing.T) {
	for rate, phase := range map[uint64]workloads.Phase{
		1000:        {Duration: time.Hour},
		100_000_000: {Duration: time.Hour},
		10_000_000:  {Operations: 50_000_000},
	} {
		phase.Kind, phase.Arrivals, phase.Rate = workloads.Measure, workloads.Constant, workloads.Rate{Count: rate, Per: second}
		phase.Mix = workloads.Mix{workloads.List: 2, workloads.Counters: 1, workloads.Flag: 1}
		at, stream := testTarget(t, idleBound{})
		at.Lacks[workloads.Counters] = true
		at.LacksFlag[workloads.FlagSeen] = true
		p := newPhase(at, Spec{Phase: phase, Stream: stream(&phase), Workers: 1, MaxWait: time.Hour})
		p.countOverdue(time.Minute)
		want := float64(60 * rate)
		if phase.Operations > 0 {
			want = float64(phase.Operations)
		}
		sum := p.stats.sum()
		if due := float64(sum.Due); math.Abs(due-want) > max(2, 1e-6*want) {
			t.Errorf("%d/s: %.0f operations were due, want %.0f", rate, due, want)
		}
		if share := float64(sum.Skipped) / float64(sum.Due); math.Abs(share-0.5) > 0.03 {
			t.Errorf("%d/s: the model lacks %.3f of them, want 0.5", rate, share)
		}
	}
}
