package significance

import (
	"math"
	"slices"
	"testing"
)

// A step that is larger than the limit is found where it is. Smaller ones are joined, the most alike first, so that a
// sum of them is one step.
func TestSteps(t *testing.T) {
	series := func(levels ...float64) (values []float64) {
		for _, level := range levels {
			for i := range 20 {
				values = append(values, level+0.001*float64(i%3))
			}
		}
		return values
	}
	for _, tc := range []struct {
		name          string
		levels        []float64
		limit         float64
		at            []int
		before, after float64 // of the last step
	}{
		{"no step", []float64{1, 1, 1}, 0.05, nil, 0, 0},
		{"one step", []float64{1, 1.2}, 0.05, []int{20}, 1.001, 1.201},
		{"a step below the limit", []float64{1, 1.04}, 0.05, nil, 0, 0},
		{"one below the limit, and one above", []float64{1, 1.02, 1.2}, 0.05, []int{40}, 1.011, 1.201},
		{"there and back", []float64{1, 1.2, 1}, 0.05, []int{20, 40}, 1.201, 1.001},
	} {
		steps := Steps(series(tc.levels...), 0.01, tc.limit)
		var at []int
		for _, s := range steps {
			at = append(at, s.At)
		}
		if len(at) != len(tc.at) {
			t.Errorf("%s: steps at %v, want %v", tc.name, at, tc.at)
			continue
		}
		for i := range at {
			if at[i] != tc.at[i] {
				t.Errorf("%s: steps at %v, want %v", tc.name, at, tc.at)
			}
		}
		if n := len(steps); n > 0 && (math.Abs(steps[n-1].Before-tc.before) > 0.0015 || math.Abs(steps[n-1].After-tc.after) > 0.0015) {
			t.Errorf("%s: from %g to %g, want %g to %g", tc.name, steps[n-1].Before, steps[n-1].After, tc.before, tc.after)
		}
	}
}

// Of a series most of whose values are equal, a later step is found.
func TestStepAfterEqualValues(t *testing.T) {
	values := slices.Concat(slices.Repeat([]float64{1}, 30), slices.Repeat([]float64{1.5}, 15))
	if steps := Steps(values, 0.01, 0.05); len(steps) != 1 || steps[0].At != 30 || steps[0].After != 1.5 {
		t.Errorf("steps %+v, want one at 30", steps)
	}
	if values[30] != 1.5 || values[29] != 1 {
		t.Error("the values changed their order")
	}
}
