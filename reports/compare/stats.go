package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/mailbench/mailbench/workloads/results"
)

// sample is one metric of both sides: the logarithm of its value in each trial. It is NaN for
// a trial that was left out.
type sample struct{ base, new []float64 }

// estimate is the logarithm of the ratio new/base with the bounds of its interval.
// Bounds are infinite if there were too few trials.
type estimate struct {
	base, new        float64 // means of the trials: ratio is their difference
	ratio, low, high float64
	spread           float64 // standard deviation of a side's trials
}

const (
	// alpha is the rate of false alarms: of comparisons of equal builds 5% may have a figure
	// that differs.
	alpha = 0.05
	// maxPermutations is how many permutations of the trials are tried. If there are no more,
	// all of them are.
	maxPermutations = 10_000
	// leastPaired is how many pairs it takes to find a difference by swapping the trials of a
	// pair. Of 2⁶ permutations 2 are as extreme as possible, which is less than alpha.
	leastPaired = 6
	// samConstant is added to the standard error of each figure, as a share of the smallest
	// difference that matters. Without it the figure whose few trials happen to lie closest
	// decides for all figures. It is like s0 of SAM (V. G. Tusher, R. Tibshirani, G. Chu,
	// Significance analysis of microarrays applied to the ionizing radiation response, 2001).
	samConstant = 0.25
	// winsorMost is how far from the median of its side a trial can count, in standard deviations.
	// A burst of another program spoils one trial, and must not hide what all others show.
	winsorMost = 3
	// rounding is how much a sum may change if its terms are added in another order.
	rounding = 1e-9
)

// maxT estimates all samples together. Limits are the smallest differences that matter. Trials are
// exchangeable if the builds are equal, so the trials are permuted between both runs, and the largest
// deviation of any figure is noted each time. The intervals are as wide as the largest deviation of
// 95% of the permutations. So they hold for all figures together, whatever the noise is like and
// however figures depend on each other: maxT of P. H. Westfall and S. S. Young, Resampling-Based
// Multiple Testing, 1993.
func maxT(samples []sample, limits []float64, paired bool, most int) []estimate {
	a := &permuter{limits: limits, paired: paired, most: most}
	for _, s := range samples {
		a.values = append(a.values, winsorize(s))
		a.base, a.all = len(s.base), len(s.base)+len(s.new)
	}
	a.isNew = make([]bool, a.all)
	for i := a.base; i < a.all; i++ {
		a.isNew[i] = true
	}
	estimates, criticalT := make([]estimate, len(samples)), a.criticalT()
	for i := range estimates {
		ratio, err := a.deviation(i)
		width := criticalT * err
		if math.IsNaN(width) {
			width = math.Inf(1)
		}
		base, fresh := a.means(i)
		estimates[i] = estimate{base, fresh, ratio, ratio - width, ratio + width, spread(a.values[i], a.base)}
	}
	return estimates
}

// permuter permutes trials. Trials of the base come first. In each permutation
// isNew says for each trial whether it counts as one of the new side.
type permuter struct {
	values    [][]float64 // by sample and trial
	limits    []float64
	paired    bool
	base, all int
	most      int // permutations that are tried
	isNew     []bool
}

// winsorize returns the trials of both sides. Values that are far from all others are moved to a
// bound. Trials of both sides have the same bounds.
func winsorize(s sample) []float64 {
	base, fresh := median(s.base), median(s.new)
	var apart []float64
	for _, v := range s.base {
		apart = append(apart, math.Abs(v-base))
	}
	for _, v := range s.new {
		apart = append(apart, math.Abs(v-fresh))
	}
	const normal = 1.4826 // standard deviations in a median absolute deviation
	room := winsorMost * normal * median(apart)
	values := slices.Concat(s.base, s.new)
	for i, v := range values { // NaN stays
		values[i] = min(max(v, min(base, fresh)-room), max(base, fresh)+room)
	}
	return values
}

// median is the median of the values that are not NaN, and NaN if there is none.
func median(values []float64) float64 {
	there := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(there) == 0 {
		return math.NaN()
	}
	return results.Median(there)
}

// deviation is the difference of sample i in the permutation, and its standard error.
func (a *permuter) deviation(i int) (difference, err float64) {
	if a.paired {
		return a.pairDeviation(i)
	}
	var n, sum, squares [2]float64
	origin := a.values[i][0] // sums of squares are more exact if numbers are small
	if math.IsNaN(origin) {
		origin = 0
	}
	for t, v := range a.values[i] {
		if math.IsNaN(v) {
			continue
		}
		side := 0
		if a.isNew[t] {
			side = 1
		}
		v -= origin
		n[side]++
		sum[side] += v
		squares[side] += v * v
	}
	floor := samConstant * a.limits[i]
	variance := floor * floor
	for side := range n {
		variance += max(0, squares[side]-sum[side]*sum[side]/n[side]) / (n[side] - 1) / n[side]
	}
	return sum[1]/n[1] - sum[0]/n[0], math.Sqrt(variance)
}

// means are the means of both sides, of the trials that deviation is of.
func (a *permuter) means(i int) (base, fresh float64) {
	var of [2][]float64
	for t, v := range a.values[i] {
		other := v // of the pair
		if a.paired {
			other = a.values[i][(t+a.base)%a.all]
		}
		if !math.IsNaN(v + other) {
			side := min(1, t/max(1, a.base))
			of[side] = append(of[side], v)
		}
	}
	return stat.Mean(of[0], nil), stat.Mean(of[1], nil)
}

// spread is the standard deviation of trials from the mean of their side.
func spread(values []float64, base int) float64 {
	var squares, n float64
	for _, side := range [][]float64{values[:base], values[base:]} {
		if there := slices.DeleteFunc(slices.Clone(side), math.IsNaN); len(there) > 1 {
			free := float64(len(there) - 1)
			squares, n = squares+free*stat.Variance(there, nil), n+free
		}
	}
	return math.Sqrt(squares / max(1, n))
}

// pairDeviation is deviation for the differences between the trials of each pair.
func (a *permuter) pairDeviation(i int) (difference, err float64) {
	var n, sum, squares float64
	for t := range a.base {
		d := a.values[i][a.base+t] - a.values[i][t]
		if math.IsNaN(d) {
			continue
		}
		if a.isNew[t] {
			d = -d
		}
		n++
		sum += d
		squares += d * d
	}
	floor := samConstant * a.limits[i]
	variance := max(0, squares-sum*sum/n)/(n-1)/n + floor*floor
	return sum / n, math.Sqrt(variance)
}

// criticalT is a number of standard errors: in no more than 5% of the permutations some figure
// deviates by more. Figures of too few trials get no verdict, and have no part in it.
func (a *permuter) criticalT() float64 {
	var judged []int
	for i, v := range a.values {
		if min(known(v[:a.base]), known(v[a.base:])) >= leastTrials {
			judged = append(judged, i)
		}
	}
	var largest []float64
	for range a.permutations() {
		most := 0.0
		for _, i := range judged {
			d, err := a.deviation(i)
			if z := math.Abs(d) / err; z > most { // false for NaN
				most = z
			}
		}
		largest = append(largest, most)
	}
	if len(largest) == 0 {
		return math.Inf(1)
	}
	slices.Sort(largest)
	beyond := int(alpha * float64(len(largest)))
	return largest[len(largest)-1-beyond] * (1 + rounding)
}

// permutations yields each permutation once, or a sample of them, the observed one
// among it. The sample is always the same.
func (a *permuter) permutations() func(yield func() bool) {
	return func(yield func() bool) {
		observed := slices.Clone(a.isNew)
		defer copy(a.isNew, observed)
		switch {
		case a.paired && math.Pow(2, float64(a.base)) <= float64(a.most):
			for bits := range 1 << a.base {
				for t := range a.base {
					a.isNew[t] = bits>>t&1 == 1
				}
				if !yield() {
					return
				}
			}
			return
		case !a.paired && combin.GeneralizedBinomial(float64(a.all), float64(a.base)) < float64(a.most)+0.5:
			chosen := make([]int, a.all-a.base)
			for g := combin.NewCombinationGenerator(a.all, len(chosen)); g.Next(); {
				clear(a.isNew)
				for _, t := range g.Combination(chosen) {
					a.isNew[t] = true
				}
				if !yield() {
					return
				}
			}
			return
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range a.most {
			if !yield() {
				return
			}
			for t := range a.isNew[:a.base] {
				if a.paired {
					a.isNew[t] = random.IntN(2) == 1
				}
			}
			if !a.paired {
				random.Shuffle(a.all, func(i, j int) { a.isNew[i], a.isNew[j] = a.isNew[j], a.isNew[i] })
			}
		}
	}
}
