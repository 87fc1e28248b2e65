// Package random draws the random numbers of a workload. They are a pure function of
// (seed, stream, n). The package has the distributions of sizes, counts and keys that a
// workload file can name. It keeps no state between draws, so operation n is always the
// same, whichever worker makes it.
//
// In a workload file a distribution of sizes or counts ([Dist]) is one of
//
//	8KB                                              always this
//	{constant: 8KB}                                  the same
//	{uniform: {min: 1KB, max: 4KB}}                  every whole number alike
//	{lognormal: {median: 6KB, p99: 200KB}}           the body of mail sizes
//	{pareto: {min: 20KB, alpha: 1.2, max: 25MB}}     the tail of mail sizes
//	{zipf: {s: 1.5, max: 50}}                        1 … max, k with weight k^-s
//	{empirical: [[512B, 0], [2KB, 0.235], [4KB, 1]]} a measured CDF, log-linear between its points
//	{empirical: [[1, 0], [1, 0.7], [2, 0.7], [2, 1]]} seven times in ten 1, else 2: points above each other
//
// and a choice among keys ([Keys]) is one of
//
//	uniform                   every key alike
//	{zipf: {theta: 0.99}}     key of rank k with weight k^-theta, popular keys spread
//	{latest: {theta: 0.99}}   the same, rank 1 being the newest
//	{largest: {theta: 0.99}}  the same, rank 1 being the largest
//
// The last three without theta mean 0.99, as in YCSB.
package random

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Dist is a distribution of sizes or counts.
type Dist interface {
	// Draw returns one value. It allocates nothing.
	Draw(r *Rand) int64
	// Mean is the expected value.
	Mean() float64
}

// Constant is always the same value.
type Constant struct{ Value Size }

func (d Constant) Draw(*Rand) int64 { return int64(d.Value) }
func (d Constant) Mean() float64    { return float64(d.Value) }
func (d Constant) String() string   { return d.Value.String() }

// Uniform draws every whole number from Low to High equally often.
type Uniform struct{ Low, High Size }

func (d Uniform) Draw(r *Rand) int64 { return int64(d.Low) + int64(r.IntN(int(d.High-d.Low)+1)) }
func (d Uniform) Mean() float64      { return (float64(d.Low) + float64(d.High)) / 2 }

// Z99 is the 99th percentile of the standard normal distribution.
const Z99 = 2.3263478740408408

// Lognormal has a logarithm that is normally distributed: exp(mu + sigma Z)
// with mu = ln(median) and sigma = ln(p99/median) / Z99. A value below 1 becomes 1.
type Lognormal struct{ Median, P99 Size }

// Draw makes Z of one uniform number, by the inverse of the normal distribution.
func (d Lognormal) Draw(r *Rand) int64 {
	z := math.Sqrt2 * math.Erfinv(2*r.open()-1)
	return max(1, int64(math.Round(float64(d.Median)*math.Exp(d.sigma()*z))))
}

// sigma is the standard deviation of the logarithm.
func (d Lognormal) sigma() float64 { return math.Log(float64(d.P99)/float64(d.Median)) / Z99 }

func (d Lognormal) Mean() float64 { return float64(d.Median) * math.Exp(d.sigma()*d.sigma()/2) }

// Pareto is the bounded Pareto distribution: density ~ x^-(alpha+1) between
// the bounds.
type Pareto struct {
	Low   Size
	Alpha float64
	High  Size
}

// Draw inverts F(x) = (1 - (l/x)^a) / (1 - (l/h)^a).
func (d Pareto) Draw(r *Rand) int64 {
	x := float64(d.Low) * math.Pow(1-r.Float64()*(1-d.ratio()), -1/d.Alpha)
	return min(int64(d.High), int64(math.Round(x)))
}

// ratio is (l/h)^a, the part of the unbounded tail that is cut off.
func (d Pareto) ratio() float64 { return math.Pow(float64(d.Low)/float64(d.High), d.Alpha) }

func (d Pareto) Mean() float64 {
	l, h, a := float64(d.Low), float64(d.High), d.Alpha
	if d.Low == d.High {
		return l
	}
	if math.Abs(a-1) < 1e-9 {
		return l * math.Log(h/l) / (1 - l/h)
	}
	return a * l / (a - 1) * (1 - math.Pow(l/h, a-1)) / (1 - d.ratio())
}

// Point is one point of a measured CDF: Fraction of all values are at most Value.
type Point struct {
	Value    Size
	Fraction float64
}

// Empirical is a measured CDF. Points ascend in value and fraction, from fraction 0
// to fraction 1; between two of them the logarithm of the value is linear in the fraction,
// because sizes are published by powers of two. Two points may have the same value,
// which is drawn as often as their fractions differ; between two of the same fraction
// nothing is drawn.
type Empirical []Point

func (d Empirical) Draw(r *Rand) int64 {
	u := r.Float64()
	i := sort.Search(len(d)-2, func(i int) bool { return u < d[i+1].Fraction })
	a, b := d[i], d[i+1]
	t := (u - a.Fraction) / (b.Fraction - a.Fraction)
	return int64(math.Round(float64(a.Value) * math.Pow(float64(b.Value)/float64(a.Value), t)))
}

// Mean takes (b-a) / ln(b/a) between two points, which is the mean of a log-uniform value.
func (d Empirical) Mean() float64 {
	var m float64
	for i := 1; i < len(d); i++ {
		a, b := float64(d[i-1].Value), float64(d[i].Value)
		mean := a
		if b > a {
			mean = (b - a) / math.Log(b/a)
		}
		m += (d[i].Fraction - d[i-1].Fraction) * mean
	}
	return m
}

func (d Empirical) String() string {
	points := make([]string, len(d))
	for i, p := range d {
		points[i] = fmt.Sprintf("[%s, %s]", p.Value, strconv.FormatFloat(p.Fraction, 'f', -1, 64))
	}
	return "{empirical: [" + strings.Join(points, ", ") + "]}"
}

// Size is a number of bytes, or a plain count.
type Size = strict.Size

// Rand draws the numbers of one (seed, stream, n). Its zero value must be
// seeded before use; seeding it again costs no allocation.
type Rand struct{ rand.PCG }

// Seed starts the draws of n. Draws for different purposes at the same n have different
// streams.
func (r *Rand) Seed(seed, stream, n uint64) { r.PCG.Seed(mix(seed^mix(stream)), mix(n)) }

// New returns the draws of n.
func New(seed, stream, n uint64) (r Rand) {
	r.Seed(seed, stream, n)
	return r
}

// mix is one step of splitmix64 (Steele, Lea, Flood 2014): the increment and then the
// finalizer. It is a bijection that makes neighboring numbers unlike each other.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Float64 returns a number in [0, 1).
func (r *Rand) Float64() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// IntN returns a number in [0, n); n must be above 0. It takes the high half of a
// product and rejects none, so the bias is below n/2^64.
func (r *Rand) IntN(n int) int {
	hi, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int(hi)
}

// Chance returns true with probability p.
func (r *Rand) Chance(p float64) bool { return r.Float64() < p }

// Exp returns an exponentially distributed number with mean 1.
func (r *Rand) Exp() float64 { return -math.Log(r.open()) }

// open returns a number in (0, 1): 0 becomes 2^-54, half a step of Float64.
func (r *Rand) open() float64 { return max(r.Float64(), 1.0/(1<<54)) }
