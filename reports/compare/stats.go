package compare

import (
	"math"
	"math/rand/v2"
	"slices"
)

// sample is one figure of both sides: the logarithm of its value in each trial. It is NaN for
// a trial that was left out.
type sample struct{ base, new []float64 }

// estimate is the logarithm of the ratio new/base with the bounds of its interval.
// Bounds are infinite if there were too few trials.
type estimate struct {
	ratio, low, high float64
	spread           float64 // standard deviation of a side's trials
}

const (
	// oneIn is the rate of false alarms: one in 20 comparisons of equal builds may have a
	// figure that differs.
	oneIn = 20
	// mostArranged is how many arrangements of the trials are tried. If there are no more,
	// all of them are.
	mostArranged = 10_000
	// leastPaired is how many pairs it takes to tell a difference by swapping the trials of a
	// pair. Of 2⁶ arrangements 2 are as extreme as possible, which is less than one in 20.
	leastPaired = 6
	// slack is added to the standard error of each figure, as a share of the smallest
	// difference that matters. Without it the figure whose few trials happen to lie closest
	// decides for all figures.
	slack = 0.25
	// reach is how far from the median of its side a trial can count, in standard deviations.
	// A burst of another program spoils one trial, and must not hide what all others show.
	reach = 3
	// rounding is how much a sum may change if its terms are added in another order.
	rounding = 1e-9
)

// judgeAll estimates all samples together. Matters are the smallest differences that
// matter. Trials are exchangeable if the builds are equal, so the trials are arranged
// anew in both runs, and the largest deviation of any figure is noted each time. The
// intervals are as wide as the largest deviation of 95% of the arrangements. So they
// hold for all figures together, whatever the noise is like and however figures depend
// on each other (P. H. Westfall, S. S. Young, Resampling-Based Multiple Testing, 1993).
func judgeAll(samples []sample, limits []float64, paired bool, most int) []estimate {
	estimates := make([]estimate, len(samples))
	errors := make([]float64, len(samples))
	a := newArranger(samples, limits, paired, most)
	for i := range samples {
		estimates[i].ratio, errors[i] = a.deviation(i)
		estimates[i].spread = spread(a.values[i], a.base)
	}
	critical := a.critical()
	for i := range estimates {
		e := &estimates[i]
		width := critical * errors[i]
		if math.IsNaN(width) {
			width = math.Inf(1)
		}
		e.low, e.high = e.ratio-width, e.ratio+width
	}
	return estimates
}

// arranger arranges trials. Trials of the base come first. In each arrangement
// asNew says for each trial whether it counts as one of the new side.
type arranger struct {
	values    [][]float64 // by sample and trial
	limits    []float64
	paired    bool
	base, all int
	most      int // arrangements that are tried
	asNew     []bool
}

func newArranger(samples []sample, limits []float64, paired bool, most int) *arranger {
	a := &arranger{limits: limits, paired: paired, most: most}
	for _, s := range samples {
		a.values = append(a.values, clipped(s))
		a.base, a.all = len(s.base), len(s.base)+len(s.new)
	}
	a.asNew = make([]bool, a.all)
	for i := a.base; i < a.all; i++ {
		a.asNew[i] = true
	}
	return a
}

// clipped are the trials of both sides. Values that are far from all others are moved to a
// bound. Trials of both sides have the same bounds.
func clipped(s sample) []float64 {
	base, fresh := median(s.base), median(s.new)
	var apart []float64
	for _, v := range s.base {
		apart = append(apart, math.Abs(v-base))
	}
	for _, v := range s.new {
		apart = append(apart, math.Abs(v-fresh))
	}
	const normal = 1.4826 // standard deviations in a median absolute deviation
	room := reach * normal * median(apart)
	values := slices.Concat(s.base, s.new)
	for i, v := range values { // NaN stays
		values[i] = min(max(v, min(base, fresh)-room), max(base, fresh)+room)
	}
	return values
}

// median is the median of the values that are not NaN.
func median(values []float64) float64 {
	there := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(there) == 0 {
		return math.NaN()
	}
	slices.Sort(there)
	n := len(there)
	return (there[(n-1)/2] + there[n/2]) / 2
}

// deviation is the difference of sample i in the arrangement, and its standard error.
func (a *arranger) deviation(i int) (difference, err float64) {
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
		if a.asNew[t] {
			side = 1
		}
		v -= origin
		n[side]++
		sum[side] += v
		squares[side] += v * v
	}
	floor := slack * a.limits[i]
	variance := floor * floor
	for side := range n {
		variance += max(0, squares[side]-sum[side]*sum[side]/n[side]) / (n[side] - 1) / n[side]
	}
	return sum[1]/n[1] - sum[0]/n[0], math.Sqrt(variance)
}

// spread is the standard deviation of trials from the mean of their side.
func spread(values []float64, base int) float64 {
	var squares, n float64
	for _, side := range [][]float64{values[:base], values[base:]} {
		there := slices.DeleteFunc(slices.Clone(side), math.IsNaN)
		if len(there) < 2 {
			continue
		}
		var sum float64
		for _, v := range there {
			sum += v
		}
		mean := sum / float64(len(there))
		for _, v := range there {
			squares += (v - mean) * (v - mean)
		}
		n += float64(len(there) - 1)
	}
	return math.Sqrt(squares / max(1, n))
}

// pairDeviation is deviation for the differences between the trials of each pair.
func (a *arranger) pairDeviation(i int) (difference, err float64) {
	var n, sum, squares float64
	for t := range a.base {
		d := a.values[i][a.base+t] - a.values[i][t]
		if math.IsNaN(d) {
			continue
		}
		if a.asNew[t] {
			d = -d
		}
		n++
		sum += d
		squares += d * d
	}
	floor := slack * a.limits[i]
	variance := max(0, squares-sum*sum/n)/(n-1)/n + floor*floor
	return sum / n, math.Sqrt(variance)
}

// critical is a number of standard errors: in no more than 5% of the arrangements some figure
// deviates by more.
func (a *arranger) critical() float64 {
	var largest []float64
	for range a.arrangements() {
		most := 0.0
		for i := range a.values {
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
	beyond := len(largest) / oneIn
	return largest[len(largest)-1-beyond] * (1 + rounding)
}

// arrangements yields each arrangement once, or a sample of them, the observed one
// among it. The sample is always the same.
func (a *arranger) arrangements() func(yield func() bool) {
	return func(yield func() bool) {
		observed := slices.Clone(a.asNew)
		defer copy(a.asNew, observed)
		switch {
		case a.paired && math.Pow(2, float64(a.base)) <= float64(a.most):
			for bits := range 1 << a.base {
				for t := range a.base {
					a.asNew[t] = bits>>t&1 == 1
				}
				if !yield() {
					return
				}
			}
			return
		case !a.paired && binomial(a.all, a.base) <= float64(a.most):
			combinations(a.asNew, a.all-a.base, yield)
			return
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range a.most {
			if !yield() {
				return
			}
			for t := range a.asNew[:a.base] {
				if a.paired {
					a.asNew[t] = random.IntN(2) == 1
				}
			}
			if !a.paired {
				random.Shuffle(a.all, func(i, j int) { a.asNew[i], a.asNew[j] = a.asNew[j], a.asNew[i] })
			}
		}
	}
}

// combinations sets n of the flags in every way.
func combinations(flags []bool, n int, yield func() bool) bool {
	if n == 0 || n == len(flags) {
		for i := range flags {
			flags[i] = n > 0
		}
		return yield()
	}
	for _, first := range []bool{false, true} {
		flags[0] = first
		rest := n
		if first {
			rest--
		}
		if !combinations(flags[1:], rest, yield) {
			return false
		}
	}
	return true
}

func binomial(n, k int) float64 {
	ways := 1.0
	for i := range k {
		ways *= float64(n-i) / float64(i+1)
	}
	return math.Round(ways)
}
