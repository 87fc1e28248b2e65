package run

import (
	"strings"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// estimate tells how long a run still takes. A combination takes as long as those before
// it did. In the first one, phases take what the workload says or what their own
// progress promises.
type estimate struct {
	now     func() time.Time
	phases  []expected
	weights []float64 // seconds that each combination is expected to take, in order; nil: all alike

	started, began, phaseBegan time.Time // when the run, this combination and this phase began
	combination                int
	phase                      string
	took                       time.Duration // time of all combinations that have ended
}

// expected is a phase and how long it takes; 0: not known.
type expected struct {
	name   string
	length time.Duration
	load   bool
}

// is reports whether the expected phase is the named one, or the one of which it is a step.
func (x *expected) is(phase string) bool {
	return phase == x.name || strings.HasPrefix(phase, x.name+stepOf)
}

func newEstimate(w *workloads.Workload, now func() time.Time) *estimate {
	e := &estimate{now: now, started: now()}
	for i := range w.Phases {
		p := &w.Phases[i]
		length := p.Duration
		if length == 0 && p.Rate.Count > 0 {
			length = time.Duration(float64(p.Operations) * float64(p.Rate.Per) / float64(p.Rate.Count))
		}
		e.phases = append(e.phases, expected{p.Name, length, p.Kind == workloads.Load})
	}
	return e
}

// note adds to p how much of the run is done and how long the rest takes.
func (e *estimate) note(p *Progress) {
	now := e.now()
	if p.Combination != e.combination {
		if e.combination > 0 {
			e.took += now.Sub(e.began)
		}
		e.combination, e.began, e.phase = p.Combination, now, ""
	}
	if p.Phase != e.phase {
		e.phase, e.phaseBegan = p.Phase, now
	}
	if p.Combination == 0 { // shards meet before the first combination
		return
	}
	left, known := e.rest(p, now)
	whole := now.Sub(e.began) + left
	this := e.weight(p.Combination-1, p.Combination)
	if ended := e.weight(0, p.Combination-1); ended > 0 {
		whole, known = time.Duration(float64(e.took)*this/ended), true
		left = max(left, whole-now.Sub(e.began))
	}
	if known {
		p.Left = left + time.Duration(float64(whole)*e.weight(p.Combination, p.Combinations)/this)
		elapsed := now.Sub(e.started)
		p.Done = float64(elapsed) / float64(max(elapsed+p.Left, 1))
	}
}

// weight adds up the weights of the combinations from..to-1, numbered from 0.
func (e *estimate) weight(from, to int) (sum float64) {
	for i := from; i < to; i++ {
		if i < len(e.weights) {
			sum += e.weights[i]
		} else {
			sum++
		}
	}
	return sum
}

// rest is how long this combination still takes by its phases. It returns false if the
// load has not begun or does not say how far it is.
func (e *estimate) rest(p *Progress, now time.Time) (left time.Duration, known bool) {
	ahead := true // no phase is under way
	for _, x := range e.phases {
		ahead = ahead && !x.is(p.Phase)
	}
	if ahead { // opening or closing the store
		return 0, false
	}
	for _, x := range e.phases {
		switch {
		case x.is(p.Phase):
			ahead = true
			left = max(0, x.length-now.Sub(e.phaseBegan))
			if p.ETA > 0 {
				left = p.ETA
			} else if x.load && !p.Finished {
				return 0, false
			}
		case ahead:
			left += x.length
		}
	}
	return left, true
}
