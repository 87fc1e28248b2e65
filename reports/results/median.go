package results

import "slices"

// Median is the middle value, or the mean of the two in the middle, rounded down if values are
// whole numbers. Of no values it is 0.
func Median[N ~int64 | ~float64](values []N) N {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
