package workloads

import "github.com/mailbench/mailbench/workloads/random"

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
	Kind StepKind
}

// StepKind says what a step is.
type StepKind uint8

// Kinds of steps: an operation, and the begin and the end of a repetition.
const (
	StepOp StepKind = iota
	StepRepeat
	StepEnd
)

// MostSteps is how many operations a session has at most.
const MostSteps = 1024

// mean is how often a step is done on average.
func (s *Step) mean() float64 {
	if s.Times == nil {
		return s.Chance
	}
	return s.Chance * min(max(1, s.Times.Mean()), MostSteps)
}

// Expected returns how many operations of each kind a session has on average.
func (s *Session) Expected() (m Mix) {
	rounds := 1.0
	for i := range s.Steps {
		switch step := &s.Steps[i]; step.Kind {
		case StepRepeat:
			rounds = step.mean()
		case StepEnd:
			rounds = 1
		default:
			m[step.Op] += rounds * step.mean()
		}
	}
	return m
}
