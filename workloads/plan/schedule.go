package plan

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// Schedule has the scheduled starts of the operations of an open loop. It neither
// sleeps nor looks at a clock: it is a pure function of the phase and the seed.
// One goroutine calls it.
type Schedule interface {
	// Next returns when the next operation (0, 1, 2 …) is scheduled after the start
	// of the phase; ok is false when the phase has no more.
	Next() (due time.Duration, ok bool)
}

// ScheduleOf returns the phase's schedule from its first operation. A closed
// loop has none: nil.
func ScheduleOf(p *workloads.Phase, seed uint64) Schedule {
	if p.Replay != nil {
		return p.Replay.Source.(Recorded).Schedule(p)
	}
	end := limit{duration: p.Duration, operations: p.Operations}
	gaps := &poisson{limit: end, mean: 1, seed: seed, stream: streamArrivals + streamOf(p)<<8}
	switch constantly := p.Arrivals == workloads.Constant; {
	case p.Arrivals == workloads.Closed:
		return nil
	case p.Shape == nil && constantly:
		return &constant{limit: end, rate: p.Rate}
	case p.Shape == nil:
		gaps.mean = 1e9 / p.Rate.PerSecond()
		return gaps
	case constantly:
		gaps = nil
	}
	return &shaped{limit: end, shape: p.Shape, poisson: gaps}
}

// streamOf is a number that no other stream of any phase has.
func streamOf(p *workloads.Phase) uint64 { return uint64(p.Number) | uint64(p.Stream)<<32 }

// limit ends a schedule: at a duration, or after so many operations.
type limit struct {
	duration   time.Duration
	operations uint64
	n          uint64 // number of the next operation
}

func (l *limit) next(due time.Duration) (time.Duration, bool) {
	if l.ended(l.n, due) {
		return 0, false
	}
	l.n++
	return due, true
}

// ended reports whether operation n, which is scheduled at due, is after the end.
func (l *limit) ended(n uint64, due time.Duration) bool {
	return l.operations > 0 && n >= l.operations || l.duration > 0 && due >= l.duration
}

// constant is at n/rate, computed for each n: no errors add up.
type constant struct {
	limit
	rate workloads.Rate
}

// Next implements Schedule.
func (c *constant) Next() (time.Duration, bool) {
	due, ok := c.at(c.n)
	if ok {
		c.n++
	}
	return due, ok
}

// at returns when operation n is scheduled; false if that is after the end.
func (c *constant) at(n uint64) (time.Duration, bool) {
	hi, lo := bits.Mul64(n, uint64(c.rate.Per))
	if hi >= c.rate.Count { // the scheduled time would not fit in 64 bits
		return 0, false
	}
	due, _ := bits.Div64(hi, lo, c.rate.Count)
	if due > math.MaxInt64 || c.ended(n, time.Duration(due)) {
		return 0, false
	}
	return time.Duration(due), true
}

// poisson is a Poisson process: the gaps between operations are exponentially
// distributed and independent of each other. Gap n is drawn from (seed, n), and the
// gaps of other phases are others.
type poisson struct {
	limit
	mean, sum float64 // nanoseconds; a float64 holds whole ones up to 104 days
	seed      uint64
	stream    uint64
	r         random.Rand
}

// Next implements Schedule.
func (p *poisson) Next() (time.Duration, bool) {
	return p.next(time.Duration(p.step(p.n)))
}

// step draws gap n and returns the sum of all gaps so far.
func (p *poisson) step(n uint64) float64 {
	p.r.Seed(p.seed, p.stream, n)
	p.sum += p.mean * p.r.Exp()
	return p.sum
}

// shaped is a schedule whose rate changes. Operation n is scheduled when the rate's integral
// comes to n, or for a Poisson process to the sum of n unit exponentials.
type shaped struct {
	limit
	shape   workloads.Shape
	poisson *poisson      // draws the exponentials; nil: not a Poisson process
	at      int           // index of the piece
	began   time.Duration // when the piece began
	before  float64       // operations due before the piece
}

// Next implements Schedule.
func (s *shaped) Next() (time.Duration, bool) {
	n := float64(s.n)
	if s.poisson != nil {
		n = s.poisson.step(s.n)
	}
	return s.next(s.when(n))
}

// when returns when n operations were scheduled: the inverse of Count. n does not decrease.
func (s *shaped) when(n float64) time.Duration {
	for {
		p := &s.shape[s.at]
		if all := p.All(); n >= s.before+all {
			s.before += all
			s.began += p.Length
			s.at = (s.at + 1) % len(s.shape)
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

// AtRate returns the phase as an open loop of perSecond operations a second that lasts so
// long. A closed loop becomes a Poisson process, and a rate that changes becomes constant.
// Streams keep their shares. The error says why a phase has no rate to change.
func AtRate(p workloads.Phase, perSecond float64, length time.Duration) (workloads.Phase, error) {
	switch {
	case p.Replay != nil:
		return p, fmt.Errorf("phase %s replays a trace and has no rate to change", p.Name)
	case len(p.Streams) > 0 && p.Rate.Count == 0:
		return p, fmt.Errorf("phase %s has streams of clients only, and no rate to change", p.Name)
	}
	factor := 1.0
	if p.Rate.Count > 0 {
		factor = perSecond / p.Rate.PerSecond()
	}
	streams := make([]workloads.Phase, 0, len(p.Streams))
	for _, s := range p.Streams {
		s.Rate, s.Shape = workloads.RateOf(factor*s.Rate.PerSecond()), nil
		streams = append(streams, s)
	}
	if p.Arrivals == workloads.Closed {
		p.Arrivals, p.Think = workloads.Poisson, nil
	}
	if p.Rate, p.Shape = workloads.RateOf(perSecond), nil; len(streams) > 0 {
		p.Streams = streams
	} else {
		p.Clients = 0
	}
	p.Duration, p.Operations = length, 0
	return p, nil
}

// Timeline is when the messages of a data set arrived: those of its load, then those of each growth.
type Timeline []arrivals

// arrivals are the messages of one step. They arrived evenly from first to last.
type arrivals struct {
	first, last time.Time
	messages    int64
}

// Add adds the messages of the next step.
func (t *Timeline) Add(messages int64) {
	end, span := (&Growth{Step: len(*t)}).time()
	*t = append(*t, arrivals{end.Add(-span), end, messages})
}

// at returns when a share of the messages had arrived.
func (t Timeline) at(share float64) time.Time {
	var all int64
	for _, a := range t {
		all += a.messages
	}
	before := share * float64(all)
	for i, a := range t {
		if n := float64(a.messages); before <= n || i == len(t)-1 {
			return a.first.Add(time.Duration(min(1, before/max(1, n)) * float64(a.last.Sub(a.first))))
		}
		before -= float64(a.messages)
	}
	end, _ := new(Growth).time()
	return end
}
