package workloads

import "time"

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

// All is how many operations are due in the piece.
func (p *Piece) All() float64 { return (p.From + p.To) / 2 * p.Length.Seconds() }

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
		once += s[i].All()
	}
	length := s.Length()
	n = float64(t/length) * once
	t %= length
	for i := range s {
		if t < s[i].Length {
			return n + s[i].count(t.Seconds())
		}
		n += s[i].All()
		t -= s[i].Length
	}
	return n
}
