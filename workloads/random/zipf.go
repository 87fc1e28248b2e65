package random

import "math"

// Zipf draws ranks 1 … n, rank k with probability k^-s / Σ i^-s, exactly, for
// any s > 0: rejection-inversion after W. Hörmann and G. Derflinger,
// "Rejection-Inversion to Generate Variates from Monotone Discrete
// Distributions" (ACM TOMACS 6, 1996), in the form of Apache Commons RNG. With
// H(x) = ∫ t^-s dt, a point between H(1.5)-1 and H(n+½) is inverted and rounded
// to k. The point is kept at once if it is within k's own share, as more than 9 points in
// 10 are. There is no table, so n may change from draw to draw.
type Zipf struct {
	s, p, q  float64 // exponent, 1-s, 1/(1-s)
	n        float64
	lo, span float64 // H(1.5)-1, and from there to H(n+½)
	sure     float64 // a point that rounding raises by at most this is always kept
}

// NewZipf returns the distribution over 1 … n, n >= 1.
func NewZipf(s float64, n int) Zipf {
	z := Zipf{s: s, p: 1 - s}
	if math.Abs(z.p) < 1e-6 { // for s so near to 1, the logarithm is more exact
		z.p = 0
	} else {
		z.q = 1 / z.p
	}
	z.lo = z.integral(1.5) - 1
	z.sure = 2 - z.inverse(z.integral(2.5)-math.Exp2(-s))
	return z.Over(n)
}

// Over returns the distribution with the same exponent over 1 … n.
func (z Zipf) Over(n int) Zipf {
	z.n = float64(n)
	z.span = z.integral(z.n+0.5) - z.lo
	return z
}

// integral is H(x) = (x^(1-s) - 1) / (1-s), and log x for s = 1.
func (z *Zipf) integral(x float64) float64 {
	if z.p == 0 {
		return math.Log(x)
	}
	return (math.Exp(z.p*math.Log(x)) - 1) * z.q
}

// inverse returns x with H(x) = h.
func (z *Zipf) inverse(h float64) float64 {
	if z.p == 0 {
		return math.Exp(h)
	}
	return math.Exp(math.Log(max(1+z.p*h, 0)) * z.q)
}

// Rank draws a rank from 1 to n.
func (z *Zipf) Rank(r *Rand) int {
	for {
		if k, kept := z.rank(r.Float64()); kept {
			return k
		}
	}
}

// rank is the rank of a random number in [0, 1), and whether it is kept.
func (z *Zipf) rank(u float64) (k int, kept bool) {
	h := z.lo + u*z.span
	x := z.inverse(h)
	f := min(max(math.Floor(x+0.5), 1), z.n)
	return int(f), f-x <= z.sure || h >= z.integral(f+0.5)-math.Exp(-z.s*math.Log(f))
}
