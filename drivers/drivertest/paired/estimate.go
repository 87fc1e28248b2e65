package paired

import "slices"

// Estimate is a median with an interval for it.
type Estimate struct {
	Median    float64
	Low, High float64
	// Confidence is the interval's: the least possible one of at least 0.95,
	// or what the whole range of fewer than six values reaches.
	Confidence float64
}

// estimate takes the interval from the order statistics: the number of values
// below the true median is binomial whatever the values' distribution, so that
// the k-th smallest and k-th largest enclose it with probability
// 1 - 2 P(Bin(n, 1/2) < k). The values must be independent, and no more.
func estimate(values []float64) Estimate {
	v := slices.Sorted(slices.Values(values))
	k := 1
	confidence := 1 - 2*below(k, len(v))
	for {
		c := 1 - 2*below(k+1, len(v))
		if c < 0.95 {
			break
		}
		k, confidence = k+1, c
	}
	return Estimate{Median: median(v), Low: v[k-1], High: v[len(v)-k], Confidence: max(confidence, 0)}
}

// below is P(Bin(n, 1/2) < k).
func below(k, n int) float64 {
	p := 1.0
	for range n {
		p /= 2
	}
	sum := 0.0
	for i := range k {
		sum += p
		p *= float64(n-i) / float64(i+1)
	}
	return sum
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
