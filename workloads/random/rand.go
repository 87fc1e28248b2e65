package random

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// Rand draws the numbers of one (seed, stream, n). Its zero value must be
// seeded before use; seeding it again costs no allocation.
type Rand struct{ pcg rand.PCG }

// Seed starts the draws of n. Draws for different purposes at the same n have different
// streams.
func (r *Rand) Seed(seed, stream, n uint64) { NewSource(seed, stream).Seed(r, n) }

// Source seeds the draws of one stream.
type Source uint64

// NewSource returns the source of a seed and a stream.
func NewSource(seed, stream uint64) Source { return Source(mix(seed ^ mix(stream))) }

// Seed starts the draws of n.
func (s Source) Seed(r *Rand, n uint64) { r.pcg.Seed(uint64(s), mix(n)) }

// mix is one step of splitmix64 (Steele, Lea, Flood 2014): the increment and then the
// finalizer. It is a bijection that makes neighbouring numbers unlike each other.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Uint64 returns 64 random bits.
func (r *Rand) Uint64() uint64 { return r.pcg.Uint64() }

// Float64 returns a number in [0, 1).
func (r *Rand) Float64() float64 { return unit(r.pcg.Uint64()) }

// unit makes a number in [0, 1) from 64 random bits.
func unit(bits uint64) float64 { return float64(bits>>11) / (1 << 53) }

// IntN returns a number in [0, n); n must be above 0. It takes the high half of a
// product and rejects none, so the bias is below n/2^64.
func (r *Rand) IntN(n int) int {
	hi, _ := bits.Mul64(r.pcg.Uint64(), uint64(n))
	return int(hi)
}

// Chance returns true with probability p.
func (r *Rand) Chance(p float64) bool { return r.Float64() < p }

// Exp returns an exponentially distributed number with mean 1.
func (r *Rand) Exp() float64 { return -math.Log(r.open()) }

// open returns a number in (0, 1): 0 becomes 2^-54, half a step of Float64.
func (r *Rand) open() float64 { return max(r.Float64(), 1.0/(1<<54)) }
