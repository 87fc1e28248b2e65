// Package significance finds differences that chance does not explain: between the trials of two sides (MaxT), and
// between the values of a series before and after a step (Steps). Values are logarithms, so that differences are
// ratios. It knows no runs and no metrics.
package significance

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/mailbench/mailbench/workloads/results"
)

// Sample is one metric of two sides: its logarithm in each trial. It is NaN in a trial that does not have it.
type Sample struct {
	Base, New results.Series
	Limit     float64 // the smallest difference that matters
}

// Estimate is the difference New - Base of a sample with the bounds of its interval. They are infinite if there are
// too few trials.
type Estimate struct {
	Base, New             float64 // means of the trials: Difference is their difference
	Difference, Low, High float64
	Deviation             float64 // standard deviation of the trials of a side; NaN if a side has fewer than two
	Trials                int     // that each side has at least
}

// LeastTrials is how many trials of each side it takes to find a difference. Eight trials have 70 permutations,
// which is enough.
const LeastTrials = 4

// LeastPairs is how many pairs it takes to find a difference by swapping the trials of a pair. Of 2⁶ permutations 2
// are as extreme as possible, which is less than 5%.
const LeastPairs = 6

// Permutations is how many random permutations of the trials MaxT needs: the share of false alarms is then 5% ± 0.2%.
// Few trials have few ways, each of which is then drawn about equally often.
const Permutations = 10_000

// MaxT estimates all samples together. Trials are exchangeable if the sides are equal, so they are permuted between
// both, and the largest deviation of any metric is noted each time. The intervals are as wide as the largest
// deviation of 95% of the permutations: of comparisons of equal sides 5% may have a metric that differs. So they hold
// for all metrics together, whatever the noise is like and however metrics depend on each other: maxT of P. H. Westfall
// and S. S. Young, Resampling-Based Multiple Testing, 1993. If trials are paired, those of one pair are swapped.
func MaxT(samples []Sample, paired bool, n int) []Estimate {
	base, fresh := 0, 0 // trials of a side
	for _, s := range samples {
		base, fresh = max(base, len(s.Base)), max(fresh, len(s.New))
	}
	all := permutations(base, fresh, paired, n)
	largest := make([]float64, len(all)) // deviation of any sample in each permutation, in standard errors
	estimates, errors := make([]Estimate, len(samples)), make([]float64, len(samples))
	for i, s := range samples {
		e := &estimates[i]
		permuted := contrast(s, base, fresh, paired, e)
		e.Difference, errors[i] = permuted(all[0])
		if e.Trials < LeastTrials { // it gets no verdict, and has no part in those of others
			continue
		}
		for p, isNew := range all {
			if difference, err := permuted(isNew); math.Abs(difference)/err > largest[p] { // false for NaN
				largest[p] = math.Abs(difference) / err
			}
		}
	}
	slices.Sort(largest)
	const rounding = 1e-9 // a sum may change by that much if its terms are added in another order
	critical := largest[len(largest)-1-int(0.05*float64(len(largest)))] * (1 + rounding)
	for i := range estimates {
		e, width := &estimates[i], critical*errors[i]
		if e.Trials < LeastTrials || math.IsNaN(width) {
			width = math.Inf(1)
		}
		e.Low, e.High = e.Difference-width, e.Difference+width
	}
	return estimates
}

// contrast notes in the estimate of a sample all that does not depend on permutations. It returns a function for the
// difference of both sides in a permutation, and its standard error: isNew says for each trial whether it counts as one
// of the new side, and for a pair whether its trials are swapped.
func contrast(s Sample, base, fresh int, paired bool, e *Estimate) func(isNew []bool) (difference, err float64) {
	sides, unknown := damped(s.Base, s.New), results.Series{math.NaN()}
	b := slices.Concat(sides[0], slices.Repeat(unknown, base-len(s.Base)))
	n := slices.Concat(sides[1], slices.Repeat(unknown, fresh-len(s.New)))
	values, middle := slices.Concat(b, n), results.Median(b)
	for t := range values {
		values[t] -= middle // sums of squares are more exact if numbers are small
	}
	if paired {
		values = values[:base] // the differences of the pairs
		for t := range values {
			if values[t] = n[t] - b[t]; math.IsNaN(values[t]) { // half a pair says nothing
				b[t], n[t] = math.NaN(), math.NaN()
			}
		}
	}
	b, n = b.Known(), n.Known()
	e.Base, e.New, e.Trials = stat.Mean(b, nil), stat.Mean(n, nil), min(len(b), len(n))
	free := [2]float64{float64(len(b) - 1), float64(len(n) - 1)}
	e.Deviation = math.Sqrt((free[0]*stat.Variance(b, nil) + free[1]*stat.Variance(n, nil)) / (free[0] + free[1]))
	// Part of the standard error is a share of the smallest difference that matters. Without it the metric whose few
	// trials happen to lie closest decides for all metrics. It is like s0 of SAM (V. G. Tusher, R. Tibshirani, G. Chu,
	// Significance analysis of microarrays applied to the ionizing radiation response, 2001).
	floor := 0.25 * s.Limit
	return func(isNew []bool) (difference, err float64) {
		var n, sum, squares [2]float64
		for t, v := range values {
			side := 0
			switch {
			case math.IsNaN(v):
				continue
			case isNew[t] && paired:
				v = -v
			case isNew[t]:
				side = 1
			}
			n[side]++
			sum[side] += v
			squares[side] += v * v
		}
		variance := func(side int) float64 { // of the mean
			return max(0, squares[side]-sum[side]*sum[side]/n[side]) / (n[side] - 1) / n[side]
		}
		if paired {
			return sum[0] / n[0], math.Sqrt(floor*floor + variance(0))
		}
		return sum[1]/n[1] - sum[0]/n[0], math.Sqrt(floor*floor + variance(0) + variance(1))
	}
}

// damped are the values of all sides. Values that lie more than three standard deviations beyond the medians of all
// sides are moved to a bound: a burst of another program spoils one trial, and must not hide what all others show. NaN
// stays. It may return its arguments.
func damped(sides ...results.Series) (all []results.Series) {
	var medians, apart results.Series
	for _, side := range sides {
		middle := results.Median(side)
		medians = append(medians, middle)
		for _, v := range side {
			apart = append(apart, math.Abs(v-middle))
		}
	}
	const normal = 1.4826 // standard deviations in a median absolute deviation
	room := 3 * normal * results.Median(apart)
	if room == 0 { // most values are equal: it is unknown which of the others are far
		return sides
	}
	low, high := slices.Min(medians)-room, slices.Max(medians)+room
	for _, side := range sides {
		var bounded results.Series
		for _, v := range side {
			bounded = append(bounded, min(max(v, low), high))
		}
		all = append(all, bounded)
	}
	return all
}

// permutations are random ways to permute the trials of both sides, the same ones each time. The observed one, in
// which no trial changes sides, is the first.
func permutations(base, fresh int, paired bool, n int) (all [][]bool) {
	isNew := make([]bool, base+fresh)
	for t := base; t < len(isNew); t++ {
		isNew[t] = true
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		all = append(all, slices.Clone(isNew))
		if !paired {
			random.Shuffle(len(isNew), func(i, j int) { isNew[i], isNew[j] = isNew[j], isNew[i] })
			continue
		}
		for t := range base {
			isNew[t] = random.IntN(2) == 1
		}
	}
	return all
}

const (
	// fewest is the least number of values on each side of a step.
	fewest = 2
	// exceeding is how many random orders of the values may divide as well as the real order.
	exceeding = 3
)

// Step is a place at which the values of a series change.
type Step struct {
	At            int     // index of the first value after it
	P             float64 // share of random orders that divide as well
	Before, After float64 // medians of the values up to the steps next to it
}

// LeastValues is how many values it takes until the clearest step is rare enough among all orders of the values.
func LeastValues(level float64) int {
	orders := 1.0 // ways to divide n values into halves
	for n := 2; ; n++ {
		orders *= float64(n) / float64((n+1)/2)
		if n >= 2*fewest && 2/orders <= level/(exceeding+1) { // 2 orders are the best: halves may change places
			return n
		}
	}
}

// Steps finds the steps of a series that are unlikely to be chance: at most the part level of series without a step
// has one. Values that differ by less than limit are joined with those next to them, the most alike first, so that
// small steps add up.
func Steps(values []float64, level, limit float64) []Step {
	steps := divide(values, 0, level, rand.New(rand.NewPCG(1, uint64(len(values)))))
	for {
		from, smallest := 0, -1
		for i := range steps {
			s, to := &steps[i], len(values)
			if i+1 < len(steps) {
				to = steps[i+1].At
			}
			s.Before, s.After = results.Median(values[from:s.At]), results.Median(values[s.At:to])
			if from = s.At; smallest < 0 || s.size() < steps[smallest].size() {
				smallest = i
			}
		}
		if smallest < 0 || steps[smallest].size() >= limit {
			return steps
		}
		steps = slices.Delete(steps, smallest, smallest+1)
	}
}

func (s *Step) size() float64 { return math.Abs(s.After - s.Before) }

// divide is binary segmentation (A. Sen and M. S. Srivastava, On tests for detecting change in mean, 1975). The place
// where the means on both sides differ most is a step, if few random orders of the values have such a place. Then both
// sides are searched in the same way. The first value has the index from.
func divide(values []float64, from int, level float64, random *rand.Rand) []Step {
	shuffled, as := slices.Clone(damped(values)[0]), 0
	at, best := parted(shuffled)
	orders := int(math.Ceil((exceeding + 1) / level))
	for range orders {
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if _, difference := parted(shuffled); difference >= best {
			if as++; as > exceeding {
				return nil
			}
		}
	}
	p := float64(as+1) / float64(orders+1)
	if p > level {
		return nil
	}
	steps := append(divide(values[:at], from, level, random), Step{At: from + at, P: p})
	return append(steps, divide(values[at:], from+at, level, random)...)
}

// parted is the place where the means of the values before and after it differ most, and by how many standard errors,
// as a multiple of their deviation, which is the same in all orders.
func parted(values []float64) (at int, most float64) {
	mean, before := stat.Mean(values, nil), 0.0
	for i, v := range values {
		if m, n := float64(i), float64(len(values)-i); i >= fewest && n >= fewest {
			if difference := math.Abs(before) * math.Sqrt((m+n)/(m*n)); difference > most {
				at, most = i, difference
			}
		}
		before += v - mean
	}
	return at, most
}
