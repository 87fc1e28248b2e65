package random

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// Dist is a distribution of sizes or counts.
type Dist interface {
	// Draw returns one value. It allocates nothing.
	Draw(r *Rand) int64
	// Mean is the distribution's expected value.
	Mean() float64
	// Max is the largest value that Draw returns, or math.MaxInt64.
	Max() int64
	// String returns the distribution as the language writes it.
	String() string
}

// Constant is always the same value.
type Constant struct{ Value Size }

// Draw implements Dist.
func (d Constant) Draw(*Rand) int64 { return int64(d.Value) }

// Mean implements Dist.
func (d Constant) Mean() float64 { return float64(d.Value) }

// Max implements Dist.
func (d Constant) Max() int64 { return int64(d.Value) }

func (d Constant) String() string { return d.Value.String() }

// Uniform draws every whole number from Low to High equally often.
type Uniform struct{ Low, High Size }

// Draw implements Dist.
func (d Uniform) Draw(r *Rand) int64 { return int64(d.Low) + int64(r.IntN(int(d.High-d.Low)+1)) }

// Mean implements Dist.
func (d Uniform) Mean() float64 { return (float64(d.Low) + float64(d.High)) / 2 }

// Max implements Dist.
func (d Uniform) Max() int64 { return int64(d.High) }

func (d Uniform) String() string {
	return fmt.Sprintf("{uniform: {min: %s, max: %s}}", d.Low, d.High)
}

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263478740408408

// Lognormal has a logarithm that is normally distributed: exp(mu + sigma Z)
// with mu = ln(median) and sigma = ln(p99/median) / z99. A value below 1 becomes 1.
type Lognormal struct{ Median, P99 Size }

// Draw implements Dist. Z is the inverse of the normal distribution at a
// uniform number, so that one draw is one number.
func (d Lognormal) Draw(r *Rand) int64 {
	z := math.Sqrt2 * math.Erfinv(2*r.open()-1)
	return max(1, int64(math.Round(float64(d.Median)*math.Exp(d.sigma()*z))))
}

func (d Lognormal) sigma() float64 { return math.Log(float64(d.P99)/float64(d.Median)) / z99 }

// Mean implements Dist.
func (d Lognormal) Mean() float64 { return float64(d.Median) * math.Exp(d.sigma()*d.sigma()/2) }

// Max implements Dist: Rand.open keeps Z below 8.3.
func (d Lognormal) Max() int64 {
	return int64(min(math.MaxInt64/2, math.Ceil(float64(d.Median)*math.Exp(8.3*d.sigma()))))
}

func (d Lognormal) String() string {
	return fmt.Sprintf("{lognormal: {median: %s, p99: %s}}", d.Median, d.P99)
}

// Pareto is the bounded Pareto distribution: density ~ x^-(alpha+1) between
// the bounds.
type Pareto struct {
	Low   Size
	Alpha float64
	High  Size
}

// Draw implements Dist: the inverse of F(x) = (1 - (l/x)^a) / (1 - (l/h)^a).
func (d Pareto) Draw(r *Rand) int64 {
	x := float64(d.Low) * math.Pow(1-r.Float64()*(1-d.ratio()), -1/d.Alpha)
	return min(int64(d.High), int64(math.Round(x)))
}

// ratio is (l/h)^a, the part of the unbounded tail that is cut off.
func (d Pareto) ratio() float64 { return math.Pow(float64(d.Low)/float64(d.High), d.Alpha) }

// Mean implements Dist.
func (d Pareto) Mean() float64 {
	l, h, a := float64(d.Low), float64(d.High), d.Alpha
	if math.Abs(a-1) < 1e-9 {
		return l * math.Log(h/l) / (1 - l/h)
	}
	return a * l / (a - 1) * (1 - math.Pow(l/h, a-1)) / (1 - d.ratio())
}

// Max implements Dist.
func (d Pareto) Max() int64 { return int64(d.High) }

func (d Pareto) String() string {
	return fmt.Sprintf("{pareto: {min: %s, alpha: %s, max: %s}}", d.Low, number(d.Alpha), d.High)
}

// Counts is Zipf's law over 1 … max: k has weight k^-s.
type Counts struct{ zipf Zipf }

// NewCounts returns Zipf's law with exponent s over 1 … most.
func NewCounts(s float64, most Size) Counts { return Counts{NewZipf(s, int(most))} }

// Draw implements Dist.
func (d Counts) Draw(r *Rand) int64 { return int64(d.zipf.Rank(r)) }

// Mean implements Dist.
func (d Counts) Mean() float64 {
	var sum, weights float64
	for k := d.zipf.n; k >= 1; k-- { // small weights first, which rounds less
		w := math.Pow(k, -d.zipf.s)
		weights += w
		sum += k * w
	}
	return sum / weights
}

// Max implements Dist.
func (d Counts) Max() int64 { return int64(d.zipf.n) }

func (d Counts) String() string {
	return fmt.Sprintf("{zipf: {s: %s, max: %s}}", number(d.zipf.s), Size(d.zipf.n))
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

// Draw implements Dist.
func (d Empirical) Draw(r *Rand) int64 {
	u := r.Float64()
	i := sort.Search(len(d)-2, func(i int) bool { return u < d[i+1].Fraction })
	a, b := d[i], d[i+1]
	t := (u - a.Fraction) / (b.Fraction - a.Fraction)
	return int64(math.Round(float64(a.Value) * math.Pow(float64(b.Value)/float64(a.Value), t)))
}

// Mean implements Dist: between a and b the mean of a log-uniform value is
// (b-a) / ln(b/a).
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

// Max implements Dist.
func (d Empirical) Max() int64 { return int64(d[len(d)-1].Value) }

func (d Empirical) String() string {
	points := make([]string, len(d))
	for i, p := range d {
		points[i] = fmt.Sprintf("[%s, %s]", p.Value, number(p.Fraction))
	}
	return "{empirical: [" + strings.Join(points, ", ") + "]}"
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
