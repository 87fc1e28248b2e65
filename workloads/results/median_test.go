package results

import (
	"math"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{5, 1, 2}, 2},
		{[]float64{9, 1, 2, 3}, 2.5},
		{[]float64{math.Inf(1), 1, 2}, 2},
		{[]float64{math.Inf(1), 1, math.Inf(1), 2}, math.Inf(1)},
	} {
		before := slices.Clone(c.values)
		if got := Median(c.values); got != c.want || !slices.Equal(before, c.values) {
			t.Errorf("median of %v is %v, want %v; values are %v now", before, got, c.want, c.values)
		}
	}
	if got := Median([]int64{4, 1, 7, 2}); got != 3 {
		t.Errorf("median of whole numbers is %d, want 3", got)
	}
}

// Trials in which a value is not known have no part in the median.
func TestMedianOfSeries(t *testing.T) {
	unknown := math.NaN()
	if got := (Series{unknown, 3, 1, unknown, unknown}).Median(); got != 2 {
		t.Errorf("the median of 3 and 1 is %v", got)
	}
	if got := (Series{unknown}).Median(); !math.IsNaN(got) {
		t.Errorf("the median of no value is %v", got)
	}
}
