package results

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

// Values that are not known have no part in the median.
func TestMedian(t *testing.T) {
	unknown := math.NaN()
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, unknown},
		{[]float64{unknown}, unknown},
		{[]float64{3}, 3},
		{[]float64{5, 1, 2}, 2},
		{[]float64{9, 1, 2, 3}, 2.5},
		{[]float64{unknown, 3, 1, unknown, unknown}, 2},
		{[]float64{math.Inf(1), 1, 2}, 2},
		{[]float64{math.Inf(1), 1, math.Inf(1), 2}, math.Inf(1)},
	} {
		before := slices.Clone(c.values)
		if got := Median(c.values); cmp.Compare(got, c.want) != 0 || slices.Compare(c.values, before) != 0 {
			t.Errorf("median of %v is %v, want %v; values are %v now", before, got, c.want, c.values)
		}
	}
}
