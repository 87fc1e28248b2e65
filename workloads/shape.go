package workloads

import (
	"math"
	"time"
)

// Shape is a rate that changes with time: pieces, one after another, in each of which
// it changes evenly. After the last piece the shape begins anew.
type Shape []Piece

// Piece is a part of a shape. Rates are operations a second.
type Piece struct {
	Length   time.Duration
	From, To float64
}

// count is how many operations are due in the first t seconds of the piece.
func (p *Piece) count(t float64) float64 {
	return p.From*t + (p.To-p.From)*t*t/(2*p.Length.Seconds())
}

// all is how many operations are due in the piece.
func (p *Piece) all() float64 { return (p.From + p.To) / 2 * p.Length.Seconds() }

// when is the inverse of count: the time in seconds at which n operations were due.
func (p *Piece) when(n float64) float64 {
	slope := (p.To - p.From) / p.Length.Seconds()
	// This form of the solution does not lose digits where the slope is small.
	root := math.Sqrt(max(0, p.From*p.From+2*slope*n))
	if p.From+root == 0 {
		return 0
	}
	return min(2*n/(p.From+root), p.Length.Seconds())
}

// Length is how long the shape is until it begins anew.
func (s Shape) Length() (d time.Duration) {
	for i := range s {
		d += s[i].Length
	}
	return d
}

// Count is how many operations are due until t, as a real number: the integral of
// the rate.
func (s Shape) Count(t time.Duration) float64 {
	var n, once float64
	for i := range s {
		once += s[i].all()
	}
	length := s.Length()
	n = float64(t/length) * once
	t %= length
	for i := range s {
		if t < s[i].Length {
			return n + s[i].count(t.Seconds())
		}
		n += s[i].all()
		t -= s[i].Length
	}
	return n
}

// cursor finds times by counts that do not decrease.
type cursor struct {
	shape Shape
	at    int           // index of the piece
	began time.Duration // when the piece began
	n     float64       // operations due before the piece
}

// when returns when n operations were due: the inverse of Count.
func (c *cursor) when(n float64) time.Duration {
	for {
		p := &c.shape[c.at]
		if all := p.all(); n >= c.n+all {
			c.n += all
			c.began += p.Length
			c.at = (c.at + 1) % len(c.shape)
			continue
		}
		return c.began + time.Duration(p.when(n-c.n)*1e9)
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
