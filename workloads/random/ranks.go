package random

import "math"

// Ranks draws the same ranks from the same random numbers as the Zipf that it is made of,
// several times as fast. It is for many draws over one n.
type Ranks struct {
	zipf  Zipf
	ranks []uint16 // rank by the first bits of a random number; 0: the other bits count too
}

// rankBits is how many bits index the table. With n below 2^16, few draws need more.
const rankBits = 18

// NewRanks returns the distribution of a Zipf, whose n is below 2^16, as a table.
func NewRanks(z Zipf) Ranks {
	t := Ranks{z, make([]uint16, 1<<rankBits)}
	// entry is the table's place for the point that is inverted to x.
	entry := func(x float64) float64 { return (z.integral(x) - z.lo) / z.span * float64(len(t.ranks)) }
	const rounding = 1e-6 // far more than the error of the computation
	for k := 1.0; k <= z.n; k++ {
		from, to := entry(k-z.sure+rounding), entry(k+0.5-rounding)
		for i := int(max(math.Ceil(from), 0)); i < min(int(to), len(t.ranks)); i++ {
			t.ranks[i] = uint16(k)
		}
	}
	return t
}

// Rank draws a rank from 1 to n.
func (t *Ranks) Rank(r *Rand) int {
	u := r.Uint64()
	if k := t.ranks[u>>(64-rankBits)]; k > 0 {
		return int(k)
	}
	if k, kept := t.zipf.rank(unit(u)); kept {
		return k
	}
	return t.zipf.Rank(r)
}
