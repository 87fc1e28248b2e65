package significance

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// A trial that a burst spoiled counts as one that is three standard deviations away, and what all
// others show is still found.
func TestOneSpoiledTrial(t *testing.T) {
	near := []float64{-0.02, -0.01, 0, 0.01, 0.02}
	s := Sample{Base: slices.Concat(near, near[:4], []float64{5}), Limit: 0.05}
	for _, v := range slices.Concat(near, near) {
		s.New = append(s.New, v+0.1)
	}
	got := slices.Concat(damped(s.Base, s.New)...)
	// Half of the trials deviate from the median of their side by 0.01 or less.
	if want := 0.1 + 3*1.4826*0.01; math.Abs(got[9]-want) > 1e-12 {
		t.Errorf("a trial of 5 counts as %g, want %g", got[9], want)
	}
	for i, v := range slices.Concat(s.Base, s.New) {
		if i != 9 && got[i] != v {
			t.Errorf("trial %d counts as %g, and is %g", i, got[i], v)
		}
	}
	for _, paired := range []bool{false, true} {
		if e := MaxT([]Sample{s}, paired, 2000)[0]; e.Low <= 0 || e.Difference > 0.1 {
			t.Errorf("paired %v: all trials but one are 0.1 more: %+v", paired, e)
		}
	}
}

// A trial without the metric takes its pair with it. Too few pairs have no part in the intervals of others.
func TestHalfPairs(t *testing.T) {
	whole := Sample{Base: []float64{1, 2, 3, 4, 5, 6}, New: []float64{1.1, 2.2, 3.1, 4.2, 5.1, 6.2}, Limit: 0.05}
	missing := Sample{Base: slices.Clone(whole.Base), New: slices.Clone(whole.New), Limit: 0.05}
	missing.Base[0], missing.New[1], missing.New[2] = math.NaN(), math.NaN(), math.NaN()
	alone := MaxT([]Sample{whole}, true, 100)
	both := MaxT([]Sample{whole, missing}, true, 100)
	if e := both[1]; e.Trials != 3 || e.Base != 5 || math.Abs(e.New-e.Base-e.Difference) > 1e-12 {
		t.Errorf("three pairs: %+v", e)
	}
	if alone[0] != both[0] {
		t.Errorf("alone %+v, with a sample of three pairs %+v", alone[0], both[0])
	}
}

// The observed way is the first of the permutations, and none changes the sizes of the sides.
func TestPermutations(t *testing.T) {
	for _, paired := range []bool{false, true} {
		all, ways := permutations(4, 4, paired, 500), map[string]bool{}
		if first := all[0]; slices.Contains(first[:4], true) || slices.Contains(first[4:], false) {
			t.Errorf("paired %v: the first permutation is %v", paired, first)
		}
		for _, isNew := range all {
			ways[fmt.Sprint(isNew)] = true
			if of := len(slices.DeleteFunc(slices.Clone(isNew), func(is bool) bool { return !is })); !paired && of != 4 {
				t.Errorf("%d trials are new in %v", of, isNew)
			}
		}
		if want := map[bool]int{false: 70, true: 16}[paired]; len(all) != 500 || len(ways) != want {
			t.Errorf("paired %v: %d permutations in %d ways, want %d", paired, len(all), len(ways), want)
		}
	}
}

// The deviation is that of both sides, each trial with the same weight.
func TestDeviation(t *testing.T) {
	s := Sample{Base: []float64{0, 1, 2}, New: []float64{10, 10, 10, 14}, Limit: 0.05} // variances of 1 and 4
	if e, want := MaxT([]Sample{s}, false, 10)[0], math.Sqrt(2.8); math.Abs(e.Deviation-want) > 1e-12 {
		t.Errorf("deviation %v, want %v", e.Deviation, want)
	}
}
