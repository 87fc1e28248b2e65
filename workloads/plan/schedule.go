package plan

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// schedule is how far a stream is in its schedule, which is a pure function of phase and seed. It neither sleeps nor
// looks at a clock.
type schedule struct {
	sum float64 // of all gaps of a Poisson process so far; a float64 holds whole nanoseconds up to 104 days

	// A rate with a shape.
	at     int           // index of the piece
	began  time.Duration // when the piece began
	before float64       // operations due before the piece
}

// streamOf is a number that no other stream of any phase has.
func streamOf(p *workloads.Phase) uint64 { return uint64(p.Number) | uint64(p.Stream)<<32 }

// start returns when operation n (0, 1, 2 … in that order) is scheduled after the start of the phase; ok is false when
// the phase has no more.
func (s *schedule) start(plan *Plan, n uint64) (due time.Duration, ok bool) {
	p := &plan.phase
	if p.Operations > 0 && n >= p.Operations {
		return 0, false
	}
	at, poisson := float64(n), p.Arrivals == workloads.Poisson
	if poisson {
		// The gaps between operations are exponentially distributed and independent of each other. Gap n is drawn from
		// (seed, n), and the gaps of other phases are others.
		mean := 1.0 // of a rate with a shape
		if p.Shape == nil {
			mean = 1e9 / p.Rate.PerSecond()
		}
		r := random.New(plan.seed, streamArrivals+plan.stream<<8, n)
		s.sum += mean * r.Exp()
		at = s.sum
	}
	switch {
	case p.Replay != nil:
		due, ok = p.Replay.Source.(Recorded).Due(n, p.Replay.Speed)
	case p.Shape != nil:
		due, ok = s.when(p.Shape, at), true
	case poisson:
		due, ok = time.Duration(at), true
	default: // n/rate, computed for each n, so that no errors add up
		hi, lo := bits.Mul64(n, uint64(p.Rate.Per))
		if ok = hi < p.Rate.Count; ok { // else it does not fit in 64 bits
			quotient, _ := bits.Div64(hi, lo, p.Rate.Count)
			due, ok = time.Duration(quotient), quotient <= math.MaxInt64
		}
	}
	if !ok || p.Duration > 0 && due >= p.Duration {
		return 0, false
	}
	return due, true
}

// when returns when n operations were scheduled by a rate with a shape: where the rate's integral comes to n. n does
// not decrease.
func (s *schedule) when(shape workloads.Shape, n float64) time.Duration {
	for {
		p := &shape[s.at]
		if all := p.All(); n >= s.before+all {
			s.before += all
			s.began += p.Length
			s.at = (s.at + 1) % len(shape)
			continue
		}
		// The rate's integral comes to left at seconds. This form of the solution does not lose digits where the slope
		// is small.
		left, seconds := n-s.before, 0.0
		slope := (p.To - p.From) / p.Length.Seconds()
		if root := math.Sqrt(max(0, p.From*p.From+2*slope*left)); p.From+root != 0 {
			seconds = min(2*left/(p.From+root), p.Length.Seconds())
		}
		return s.began + time.Duration(seconds*1e9)
	}
}

// AtRate returns an open loop with perSecond operations a second that lasts so long. A rate that changes becomes
// constant. Streams keep their shares.
func AtRate(p workloads.Phase, perSecond float64, length time.Duration) workloads.Phase {
	factor := perSecond / p.Rate.PerSecond()
	p.Streams = slices.Clone(p.Streams)
	for i := range p.Streams {
		s := &p.Streams[i]
		s.Rate, s.Shape = workloads.RateOf(factor*s.Rate.PerSecond()), nil
	}
	p.Rate, p.Shape, p.Duration, p.Operations = workloads.RateOf(perSecond), nil, length, 0
	return p
}
