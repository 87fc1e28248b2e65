package plan

import (
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// timesOf draws how often a step is done.
func timesOf(s *workloads.Step, r *random.Rand) int {
	if s.Chance < 1 && !r.Chance(s.Chance) {
		return 0
	}
	if s.Times == nil {
		return 1
	}
	return int(min(max(1, s.Times.Draw(r)), workloads.MostSteps))
}

// visit is one session under way.
type visit struct {
	due    time.Duration // when its next operation is due
	number uint64
	rand   random.Rand
	at     int // index of the step to come
	now    int // index of the step under way
	times  int // how often step now is still to be done
	rounds int // rounds of the repetition that are left
	// Operations of the session so far; the value of done at the last open, 0: none; lists so far.
	done, opened, lists uint32
}

// begin starts session n. It returns false if the session has no operation.
func (v *visit) begin(s *workloads.Session, seed, stream, n uint64, due time.Duration) bool {
	*v = visit{number: n, due: due}
	v.rand.Seed(seed, streamSession+stream<<8, n)
	return v.next(s)
}

// next goes on to the next operation, or returns false at the end.
func (v *visit) next(s *workloads.Session) bool {
	for v.times == 0 && v.at < len(s.Steps) {
		switch step := &s.Steps[v.at]; step.Kind {
		case workloads.StepRepeat:
			if v.rounds = timesOf(step, &v.rand); v.rounds == 0 {
				v.at = step.Until
			}
		case workloads.StepEnd:
			if v.rounds--; v.rounds > 0 {
				v.at = step.Back
			}
		default:
			v.now, v.times = v.at, timesOf(step, &v.rand)
		}
		v.at++
	}
	if v.times == 0 || v.done == workloads.MostSteps {
		return false
	}
	v.times--
	v.done++
	switch s.Steps[v.now].Op {
	case workloads.Open:
		v.opened = v.done
	case workloads.List:
		v.lists++
	}
	return true
}

// think draws how long the user takes before the operation.
func (v *visit) think(s *workloads.Session, usual random.Dist) time.Duration {
	d := usual
	if own := s.Steps[v.now].Think; own != nil {
		d = own
	}
	if d == nil {
		return 0
	}
	return time.Duration(d.Draw(&v.rand))
}

// visits are the sessions under way in an open loop: a heap with the one that is due
// first on top. If two are due at the same time, the one that began first comes first.
type visits []visit

func (h visits) before(i, j int) bool {
	return h[i].due < h[j].due || h[i].due == h[j].due && h[i].number < h[j].number
}

func (h *visits) push(v *visit) {
	*h = append(*h, *v)
	a := *h
	for i := len(a) - 1; i > 0 && a.before(i, (i-1)/2); i = (i - 1) / 2 {
		a[i], a[(i-1)/2] = a[(i-1)/2], a[i]
	}
}

// fix moves the top down to its place, or removes it.
func (h *visits) fix(remove bool) {
	a := *h
	if remove {
		a[0] = a[len(a)-1]
		a = a[:len(a)-1]
		*h = a
	}
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(a); c++ {
			if a.before(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		a[i], a[least] = a[least], a[i]
		i = least
	}
}
