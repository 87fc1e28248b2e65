package random

import (
	"math"
	"math/bits"
)

// Keys says how often each of n keys is used.
type Keys struct {
	// Theta is the exponent of Zipf's law over ranks; 0 is uniform.
	Theta float64
	// Latest: rank k is key k-1, and key 0 is the newest. Otherwise ranks are spread over the
	// keys.
	Latest bool
	// Largest: rank 1 is the largest key. Latest is then set too, and the caller maps key 0
	// to the largest.
	Largest bool
}

// DefaultTheta is the exponent if a file names none: YCSB's.
const DefaultTheta = 0.99

// Chooser draws keys from 0 to n-1; for Latest, 0 is the newest.
type Chooser struct {
	keys Keys
	n    int
	zipf Zipf
	// Rank k, from 0, is key (k*step + start) mod n: a permutation, as step and n have
	// no common divisor. (YCSB hashes ranks instead. Some ranks then get the same
	// key, and a third of the keys is never used.)
	step, start uint64
	table       []slot // nil if n is above tableMost, or keys are uniform
}

// Chooser returns a chooser among n keys, 1 <= n < 2^32, for many draws.
func (k Keys) Chooser(n int) Chooser {
	c := Chooser{keys: k, zipf: NewZipf(k.Theta, n)}
	c.resize(n)
	if k.Theta > 0 && n <= tableMost {
		c.fill()
	}
	return c
}

// Among draws one key of n. It makes no table, so n may change each time.
func (c *Chooser) Among(n int, r *Rand) int {
	other := Chooser{keys: c.keys, zipf: c.zipf}
	other.resize(n)
	return other.Choose(r)
}

// resize makes c choose among n keys.
func (c *Chooser) resize(n int) {
	c.n = n
	if c.keys.Theta == 0 {
		return
	}
	c.zipf = c.zipf.Over(n)
	if c.keys.Latest {
		return
	}
	// The golden section of n spreads neighboring ranks most evenly.
	c.step = uint64(float64(n)*0.6180339887498949) | 1
	for GCD(c.step, uint64(n)) != 1 {
		c.step += 2
	}
	c.start = uint64(n) / 3
}

// GCD is the greatest common divisor of two numbers.
func GCD(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Choose draws one key.
func (c *Chooser) Choose(r *Rand) int {
	switch {
	case c.table != nil:
		i, part := bits.Mul64(r.Uint64(), uint64(len(c.table)))
		s := &c.table[i]
		key, alias := s.key, s.alias // both, to avoid an unpredictable branch
		if part >= s.keep {
			key = alias
		}
		return int(key)
	case c.keys.Theta == 0:
		return r.IntN(c.n)
	}
	return c.Key(int(c.zipf.Draw(r)) - 1)
}

// Key returns the key of a rank that counts from 0, the most popular.
func (c *Chooser) Key(rank int) int {
	if c.keys.Latest || c.keys.Theta == 0 {
		return rank
	}
	return int((uint64(rank)*c.step + c.start) % uint64(c.n))
}

// tableMost is the most keys for which a chooser has a table. The table then has 64 KiB
// and stays in a processor's cache. It saves three quarters of the time of a draw.
const tableMost = 4096

// slot i of n has a share of 1/n. The part of it below keep (of 2^64) is key's, and the
// rest is alias's.
type slot struct {
	keep       uint64
	key, alias uint32
}

// fill makes the table by the alias method (Walker 1977, as Vose 1991 fills
// it). Slots with less than their share are filled up from slots with more.
func (c *Chooser) fill() {
	shares := make([]float64, c.n)
	sum := 0.0
	for i := range shares {
		shares[i] = math.Pow(float64(i+1), -c.keys.Theta)
		sum += shares[i]
	}
	c.table = make([]slot, c.n)
	var small, large []int
	for i := range shares {
		shares[i] *= float64(c.n) / sum
		key := uint32(c.Key(i))
		c.table[i] = slot{keep: math.MaxUint64, key: key, alias: key}
		if shares[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		c.table[s].keep = uint64(math.Ldexp(shares[s], 64))
		c.table[s].alias = c.table[l].key
		if shares[l] -= 1 - shares[s]; shares[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
}

// Zipf draws ranks 1 … n, rank k with probability k^-s / Σ i^-s, exactly, for
// any s > 0: rejection-inversion after W. Hörmann and G. Derflinger,
// "Rejection-Inversion to Generate Variates from Monotone Discrete
// Distributions" (ACM TOMACS 6, 1996), in the form of Apache Commons RNG. With
// H(x) = ∫ t^-s dt, a point between H(1.5)-1 and H(n+½) is inverted and rounded
// to k. The point is kept at once if it is within k's own share, as more than 9 points in
// 10 are. It needs no table, so n may change from draw to draw.
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

func (z Zipf) Draw(r *Rand) int64 {
	for {
		h := z.lo + r.Float64()*z.span
		x := z.inverse(h)
		f := min(max(math.Floor(x+0.5), 1), z.n)
		if f-x <= z.sure || h >= z.integral(f+0.5)-math.Exp(-z.s*math.Log(f)) {
			return int64(f)
		}
	}
}

func (z Zipf) Mean() float64 {
	var sum, weights float64
	for k := z.n; k >= 1; k-- { // small weights first, which rounds less
		w := math.Pow(k, -z.s)
		weights += w
		sum += k * w
	}
	return sum / weights
}
