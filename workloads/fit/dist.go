package fit

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/mailbench/mailbench/workloads/random"
)

// candidate is a distribution that may fit a sample.
type candidate struct {
	name     string
	dist     random.Dist
	distance float64 // Kolmogorov-Smirnov distance from the sample
}

// A distribution fits if its shares differ from the sample's by at most near at every
// size, and its mean by at most nearMean of the sample's.
const (
	near     = 0.05
	nearMean = 0.1
)

// smallSample is the number of values below which hours and pauses say too little.
const smallSample = 100

// limit is the distance up to which a distribution fits n values: near, or below 740 values
// the distance that chance exceeds once in twenty (Kolmogorov 1933).
func limit(n int) float64 {
	return max(near, 1.36/math.Sqrt(float64(n)))
}

// off is how much the distribution's mean differs, as a share of the sample's.
func (c *candidate) off(s sample) float64 { return c.dist.Mean()/s.mean() - 1 }

// choose returns the distributions that may fit the sample. The first is the one to take: the
// nearest of those that fit, or else the measured one.
func choose(s sample) []candidate {
	if s.low() == s.high() {
		return []candidate{{"constant", random.Constant{Value: s.low()}, 0}}
	}
	all := []candidate{s.uniform(), s.lognormal(), s.pareto()}
	if s.high() <= mostZipf {
		all = append(all, s.zipf())
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	all = append(all, s.empirical())
	at := slices.IndexFunc(all, func(c candidate) bool {
		return c.distance <= limit(len(s)) && math.Abs(c.off(s)) <= nearMean
	})
	if at < 0 {
		at = len(all) - 1
	}
	taken := all[at]
	return slices.Insert(slices.Delete(all, at, at+1), 0, taken)
}

// sample is values in ascending order, none below 1, the least that the language draws.
type sample []int64

func sorted(values []int64) sample {
	s := slices.Clone(values)
	for i := range s {
		s[i] = max(1, s[i])
	}
	slices.Sort(s)
	return s
}

func (s sample) low() random.Size  { return random.Size(s[0]) }
func (s sample) high() random.Size { return random.Size(s[len(s)-1]) }

func (s sample) mean() float64 { return mean(s, s) }

// distance is the Kolmogorov-Smirnov distance between the sample and a distribution
// function. Draws are rounded, so a draw is at most v with the probability cdf(v+½).
func (s sample) distance(cdf func(x float64) float64) (worst float64) {
	for _, off := range s.offs(cdf) {
		worst = max(worst, off)
	}
	return worst
}

// offs yields the points of the sample's own distribution function, two for each value, and how far a distribution
// function is from each.
func (s sample) offs(cdf func(x float64) float64) iter.Seq2[random.Point, float64] {
	return func(yield func(random.Point, float64) bool) {
		n := float64(len(s))
		for i := 0; i < len(s); {
			j := i
			for j < len(s) && s[j] == s[i] {
				j++
			}
			v := float64(s[i])
			below, upTo := math.Abs(cdf(v-0.5)-float64(i)/n), math.Abs(cdf(v+0.5)-float64(j)/n)
			if !yield(s.point(s[i], i), below) || !yield(s.point(s[i], j), upTo) {
				return
			}
			i = j
		}
	}
}

func (s sample) uniform() candidate {
	d := random.Uniform{Low: s.low(), High: s.high()}
	return candidate{"uniform", d, s.distance(distuv.Uniform{Min: float64(d.Low) - 0.5, Max: float64(d.High) + 0.5}.CDF)}
}

// lognormal has the mean and the deviation of the values' logarithms.
func (s sample) lognormal() candidate {
	logs := make([]float64, len(s))
	for i, v := range s {
		logs[i] = math.Log(float64(v))
	}
	mu, sigma := stat.PopMeanStdDev(logs, nil)
	d := random.Lognormal{Median: round3(math.Exp(mu)), P99: round3(math.Exp(mu + random.Z99*sigma))}
	d.P99 = max(d.P99, d.Median+1)
	by := distuv.LogNormal{Mu: math.Log(float64(d.Median)), Sigma: d.Sigma()}
	return candidate{"lognormal", d, s.distance(func(x float64) float64 {
		if x < 1 { // a value below 1 becomes 1
			return 0
		}
		return by.CDF(x)
	})}
}

// pareto is the bounded Pareto distribution of the greatest likelihood (Aban, Meerschaert
// and Panorska 2006), between the least and the largest value.
func (s sample) pareto() candidate {
	low, high := float64(s.low()), float64(s.high())
	logs, r := 0.0, math.Log(low/high)
	for _, v := range s {
		logs += math.Log(float64(v)/low) / float64(len(s))
	}
	alpha := root(0.01, 20, func(a float64) float64 { return 1/a + r*math.Exp(a*r)/(1-math.Exp(a*r)) - logs })
	d := random.Pareto{Low: s.low(), Alpha: scalar.Round(alpha, 3), High: s.high()}
	by := distuv.Pareto{Xm: low, Alpha: d.Alpha}
	return candidate{"pareto", d, s.distance(func(x float64) float64 { return min(by.CDF(x)/by.CDF(high), 1) })}
}

// mostZipf bounds the largest value for which Zipf's law is tried.
const mostZipf = 100_000

// zipf is Zipf's law up to the largest value.
func (s sample) zipf() candidate {
	counts := make([]float64, s.high())
	for _, v := range s {
		counts[v-1]++
	}
	e, distance := zipfLaw(3, counts)
	return candidate{"zipf", random.NewZipf(e, len(counts)), distance}
}

// zipfLaw is the likeliest exponent of Zipf's law, of so many digits, for how often keys are used. Each group has the
// counts of its keys by rank. distance is how far all ranks together are from that law.
func zipfLaw(digits int, groups ...[]float64) (e, distance float64) {
	draws, logs, all := map[int]float64{}, 0.0, 0.0 // draws among so many ranks
	for _, g := range groups {
		for k, n := range g {
			draws[len(g)] += n
			logs += n * math.Log(float64(k+1))
			all += n
		}
	}
	law := func(n int, e float64) []float64 { // shares by rank
		shares := make([]float64, n)
		for k := range shares {
			shares[k] = math.Pow(float64(k+1), -e)
		}
		floats.Scale(1/floats.Sum(shares), shares)
		return shares
	}
	e = scalar.Round(root(0.01, 20, func(e float64) float64 {
		expected := 0.0
		for n, count := range draws {
			for k, share := range law(n, e) {
				expected += count * share * math.Log(float64(k+1))
			}
		}
		return expected - logs
	}), digits)
	off := make([]float64, slices.Max(slices.Collect(maps.Keys(draws)))) // by rank: how many draws more than the law has
	for n, count := range draws {
		floats.AddScaled(off[:n], -count, law(n, e))
	}
	for _, g := range groups {
		floats.Add(off[:len(g)], g)
	}
	floats.CumSum(off, off)
	return e, floats.Norm(off, math.Inf(1)) / all
}

// root returns where the falling function f is 0, or the nearer end if it never is.
func root(low, high float64, f func(float64) float64) float64 {
	for range 50 {
		if mid := (low + high) / 2; f(mid) > 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// A measured distribution has at most mostPoints points. It gets no more once its distance is a hundredth, or for few
// values less than half of the distance that chance makes, and its mean differs by at most enoughMean, as a share of
// the sample's.
const (
	mostPoints = 40
	enoughMean = 0.02
)

// empirical makes a measured distribution. It begins with the least and the largest value, and adds points where the
// distance is largest, until that is small enough, and then where it moves the mean most.
func (s sample) empirical() candidate {
	d := random.Empirical{{Value: s.low(), Fraction: 0}, {Value: s.high(), Fraction: 1}}
	enough := max(0.01, 0.5/math.Sqrt(float64(len(s))))
	for {
		share := func(x float64) float64 { return empiricalShare(d, x) }
		c := candidate{"empirical", d, s.distance(share)}
		fits := c.distance <= enough
		worst, p := 0.0, random.Point{}
		for q, off := range s.offs(share) {
			if fits {
				off *= float64(q.Value)
			}
			if off > worst && !slices.Contains(d, q) {
				worst, p = off, q
			}
		}
		if worst == 0 || len(d) >= mostPoints || fits && math.Abs(c.off(s)) <= enoughMean {
			return c
		}
		i, _ := slices.BinarySearchFunc(d, p, func(a, b random.Point) int {
			return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Fraction, b.Fraction))
		})
		d = slices.Insert(slices.Clone(d), i, p)
	}
}

// point is a point of the sample's own distribution function: v, with the share of n values.
func (s sample) point(v int64, n int) random.Point {
	return random.Point{Value: random.Size(v), Fraction: scalar.Round(float64(n)/float64(len(s)), 4)}
}

// empiricalShare is the distribution function of a measured distribution.
func empiricalShare(d random.Empirical, x float64) float64 {
	for i := 1; i < len(d); i++ {
		a, b := d[i-1], d[i]
		if x < float64(b.Value) {
			t := math.Log(x/float64(a.Value)) / math.Log(float64(b.Value)/float64(a.Value))
			return a.Fraction + max(0, t)*(b.Fraction-a.Fraction)
		}
	}
	return 1
}

// uneven reports whether counts differ by more than chance: whether chi-square is more than
// five standard deviations above its mean.
func uneven(counts []float64) bool {
	even, k := slices.Repeat([]float64{stat.Mean(counts, nil)}, len(counts)), float64(len(counts)-1)
	return stat.ChiSquare(counts, even) > k+5*math.Sqrt(2*k)
}

// round3 rounds to three digits.
func round3(v float64) random.Size {
	if v < 1000 {
		return random.Size(max(1, math.Round(v)))
	}
	p := math.Pow10(int(math.Log10(v)) - 2)
	return random.Size(math.Round(v/p) * p)
}
