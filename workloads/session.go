package workloads

import (
	"time"

	"github.com/mailbench/mailbench/workloads/random"
)

// Session is what one user does in one folder: steps, each some time after the one
// before. What is random of session n is drawn from (seed, n) alone.
//
// In an open loop sessions begin at the phase's rate, and each step is due at a time of
// its own, whether or not the step before is done. So a slow store is not asked for less.
type Session struct {
	Steps []Step
}

// Step is one instruction of a session.
type Step struct {
	Op     Op
	How    How
	Times  random.Dist // nil: once
	Chance float64
	Think  random.Dist // time before the step, in nanoseconds; nil: that of the session
	// Until is the index of the step that ends a repetition, in the step that begins it.
	Until int
	// Back is the index of the step that begins a repetition, in the step that ends it.
	Back int
	kind stepKind
}

type stepKind uint8

const (
	stepOp stepKind = iota
	stepRepeat
	stepEnd
)

// mostSteps is how many operations a session has at most.
const mostSteps = 1024

// times draws how often a step is done.
func (s *Step) times(r *random.Rand) int {
	if s.Chance < 1 && !r.Chance(s.Chance) {
		return 0
	}
	if s.Times == nil {
		return 1
	}
	return int(min(max(1, s.Times.Draw(r)), mostSteps))
}

// mean is how often a step is done on average.
func (s *Step) mean() float64 {
	if s.Times == nil {
		return s.Chance
	}
	return s.Chance * min(max(1, s.Times.Mean()), mostSteps)
}

// Expected returns how many operations of each kind a session has on average.
func (s *Session) Expected() (m Mix) {
	rounds := 1.0
	for i := range s.Steps {
		switch step := &s.Steps[i]; step.kind {
		case stepRepeat:
			rounds = step.mean()
		case stepEnd:
			rounds = 1
		default:
			m[step.Op] += rounds * step.mean()
		}
	}
	return m
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
func (v *visit) begin(s *Session, seed, stream, n uint64, due time.Duration) bool {
	*v = visit{number: n, due: due}
	v.rand.Seed(seed, streamSession+stream<<8, n)
	return v.next(s)
}

// next goes on to the next operation, or returns false at the end.
func (v *visit) next(s *Session) bool {
	for v.times == 0 && v.at < len(s.Steps) {
		switch step := &s.Steps[v.at]; step.kind {
		case stepRepeat:
			if v.rounds = step.times(&v.rand); v.rounds == 0 {
				v.at = step.Until
			}
		case stepEnd:
			if v.rounds--; v.rounds > 0 {
				v.at = step.Back
			}
		default:
			v.now, v.times = v.at, step.times(&v.rand)
		}
		v.at++
	}
	if v.times == 0 || v.done == mostSteps {
		return false
	}
	v.times--
	v.done++
	switch s.Steps[v.now].Op {
	case Open:
		v.opened = v.done
	case List:
		v.lists++
	}
	return true
}

// think draws how long the user takes before the operation.
func (v *visit) think(s *Session, usual random.Dist) time.Duration {
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
