package plan

import (
	"math"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// whenOf is the inverse of count: the time in seconds at which n operations were due.
func whenOf(p *workloads.Piece, n float64) float64 {
	slope := (p.To - p.From) / p.Length.Seconds()
	// This form of the solution does not lose digits where the slope is small.
	root := math.Sqrt(max(0, p.From*p.From+2*slope*n))
	if p.From+root == 0 {
		return 0
	}
	return min(2*n/(p.From+root), p.Length.Seconds())
}

// cursor finds times by counts that do not decrease.
type cursor struct {
	shape workloads.Shape
	at    int           // index of the piece
	began time.Duration // when the piece began
	n     float64       // operations due before the piece
}

// when returns when n operations were due: the inverse of Count.
func (c *cursor) when(n float64) time.Duration {
	for {
		p := &c.shape[c.at]
		if all := p.All(); n >= c.n+all {
			c.n += all
			c.began += p.Length
			c.at = (c.at + 1) % len(c.shape)
			continue
		}
		return c.began + time.Duration(whenOf(p, n-c.n)*1e9)
	}
}

// shaped is a schedule whose rate changes. Operation n is due when the rate's integral
// comes to n, or for a Poisson process to the sum of n unit exponentials.
type shaped struct {
	limit
	cursor
	poisson *poisson // draws the exponentials; nil: not a Poisson process
}

// Next implements Schedule.
func (s *shaped) Next() (time.Duration, bool) {
	n := float64(s.limit.n)
	if s.poisson != nil {
		n = s.poisson.step(s.limit.n)
	}
	return s.next(s.when(n))
}
