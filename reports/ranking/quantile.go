package ranking

import (
	"math"

	"github.com/mailbench/mailbench/reports/results"
)

// part is a distribution of latencies, as results.Op.Quantiles has it, and how much it weighs.
type part struct {
	quantiles []int64
	weight    float64
}

// quantile is the latency that a share p of all operations of the parts together does not exceed; NaN
// if a part has no quantiles, and infinite if it lies among operations that never ended.
func quantile(parts []part, p float64) float64 {
	var all float64
	low, high := math.Inf(1), 0.0
	for _, d := range parts {
		if len(d.quantiles) != len(results.QuantileShares) {
			return math.NaN()
		}
		all += d.weight
		low = min(low, float64(max(d.quantiles[0], 1)))
		for _, ns := range d.quantiles {
			high = max(high, float64(ns))
		}
	}
	if all == 0 {
		return math.NaN()
	}
	below := func(ns float64) float64 {
		var sum float64
		for _, d := range parts {
			sum += d.weight * shareBelow(d.quantiles, ns)
		}
		return sum / all
	}
	if below(high) < p {
		return math.Inf(1)
	}
	// Between low and high the share grows with the latency, so bisection finds it.
	for high/low > 1.0001 {
		if middle := math.Sqrt(low * high); below(middle) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// shareBelow is which share of the operations took at most ns. Between two quantiles it grows with the
// logarithm of the latency.
func shareBelow(quantiles []int64, ns float64) float64 {
	shares := results.QuantileShares
	for i, q := range quantiles {
		if q != results.NeverEnded && float64(q) <= ns {
			continue
		}
		switch {
		case i == 0:
			return 0
		case q == results.NeverEnded:
			return shares[i-1]
		}
		from, to := math.Log(float64(max(quantiles[i-1], 1))), math.Log(float64(q))
		return shares[i-1] + (shares[i]-shares[i-1])*(math.Log(ns)-from)/(to-from)
	}
	return 1
}
