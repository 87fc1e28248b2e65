package plan

import (
	"math"
	"math/bits"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// Schedule tells when the operations of an open loop are due. It neither
// sleeps nor looks at a clock: it is a pure function of the phase and the seed.
// One goroutine calls it.
type Schedule interface {
	// Next returns when the next operation (0, 1, 2 …) is due after the start
	// of the phase; ok is false when the phase has no more.
	Next() (due time.Duration, ok bool)
}

// ScheduleOf returns the phase's schedule from its first operation. A closed
// loop has none: nil.
func ScheduleOf(p *workloads.Phase, seed uint64) Schedule {
	s := limit{duration: p.Duration, operations: p.Operations}
	if p.Shape != nil && p.Arrivals != workloads.Closed {
		even := &shaped{limit: s, cursor: cursor{shape: p.Shape}}
		if p.Arrivals == workloads.Poisson {
			even.poisson = &poisson{mean: 1, seed: seed, stream: streamArrivals + streamOf(p)<<8}
		}
		return even
	}
	switch p.Arrivals {
	case workloads.Constant:
		return &constant{limit: s, rate: p.Rate}
	case workloads.Poisson:
		return &poisson{
			limit: s, mean: 1e9 / p.Rate.PerSecond(), seed: seed, stream: streamArrivals + streamOf(p)<<8,
		}
	}
	return nil
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

// ended reports whether operation n, which is due at due, is behind the end.
func (l *limit) ended(n uint64, due time.Duration) bool {
	return l.operations > 0 && n >= l.operations || l.duration > 0 && due >= l.duration
}

// constant is due at n/rate, computed anew for each n: no errors add up.
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

// at returns when operation n is due; false if that is behind the end.
func (c *constant) at(n uint64) (time.Duration, bool) {
	hi, lo := bits.Mul64(n, uint64(c.rate.Per))
	if hi >= c.rate.Count { // the due time would not fit in 64 bits
		return 0, false
	}
	due, _ := bits.Div64(hi, lo, c.rate.Count)
	if due > math.MaxInt64 || c.ended(n, time.Duration(due)) {
		return 0, false
	}
	return time.Duration(due), true
}

// last returns how many of the claimed numbers are operations of the phase, and when the last of
// them is due.
func (c *constant) last(claimed uint64) (operations uint64, due time.Duration) {
	if c.operations > 0 {
		claimed = min(claimed, c.operations)
	}
	if claimed > 0 {
		due, _ = c.at(claimed - 1)
	}
	return claimed, due
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
