package random

// Keys says which of n keys are asked for how often.
type Keys struct {
	// Theta is the exponent of Zipf's law over ranks; 0 is uniform.
	Theta float64
	// Latest: rank 1 is the newest key, and so on; otherwise ranks are spread
	// over the keys.
	Latest bool
}

// DefaultTheta is the exponent where a file names none: YCSB's.
const DefaultTheta = 0.99

func (k Keys) String() string {
	switch {
	case k.Theta == 0:
		return "uniform"
	case k.Latest:
		return "{latest: {theta: " + number(k.Theta) + "}}"
	}
	return "{zipf: {theta: " + number(k.Theta) + "}}"
}

// Chooser draws keys from 0 to n-1; for Latest, 0 is the newest.
type Chooser struct {
	keys Keys
	n    int
	zipf Zipf
	// Rank k is key (k*step + start) mod n: a permutation, as step and n have
	// no common divisor. (YCSB hashes ranks instead, whereby ranks fall together
	// and a third of the keys is never asked for.)
	step, start uint64
}

// Chooser returns a chooser among n keys, 1 <= n < 2^32.
func (k Keys) Chooser(n int) Chooser {
	c := Chooser{keys: k, zipf: NewZipf(k.Theta, n)}
	return c.Among(n)
}

// Among returns a chooser of the same kind among n keys. There is no table to
// be made, so that n may change every time.
func (c Chooser) Among(n int) Chooser {
	c.n = n
	if c.keys.Theta == 0 {
		return c
	}
	c.zipf = c.zipf.Over(n)
	if c.keys.Latest {
		return c
	}
	// The golden section of n spreads neighbouring ranks most evenly.
	c.step = uint64(float64(n)*0.6180339887498949) | 1
	for gcd(c.step, uint64(n)) != 1 {
		c.step += 2
	}
	c.start = uint64(n) / 3
	return c
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Choose draws one key.
func (c *Chooser) Choose(r *Rand) int {
	if c.keys.Theta == 0 {
		return r.IntN(c.n)
	}
	return c.Key(c.zipf.Rank(r) - 1)
}

// Key returns the key of a rank that counts from 0, the most popular.
func (c *Chooser) Key(rank int) int {
	if c.keys.Latest {
		return rank
	}
	return int((uint64(rank)*c.step + c.start) % uint64(c.n))
}
