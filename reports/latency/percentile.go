package latency

import (
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// At is a percentile of a histogram in nanoseconds, 0 < percent <= 100: the least time that at
// least so many of the values do not exceed. It is 0 if there are no values.
//
// Its rank is the ceiling of percent × values, as in the definition and in Java's HdrHistogram
// (AbstractHistogram.getValueAtPercentile). hdrhistogram-go rounds the rank to the nearest, which
// is one too low half of the time.
func At(h *hdr.Histogram, percent float64) int64 {
	n := h.TotalCount()
	if n == 0 {
		return 0
	}
	return AtRank(h, Rank(percent, n))
}

// Rank is the rank of a percentile among n values, from 1.
func Rank(percent float64, n int64) int64 {
	below := math.Nextafter(percent, 0) // 99% of 100 is 99.00000000000001 in floating point
	return min(n, max(1, int64(math.Ceil(below*float64(n)/100))))
}

// AtRank is the value of a rank, from 1 to the number of values.
func AtRank(h *hdr.Histogram, rank int64) int64 {
	return h.ValueAtPercentile(100 * float64(rank) / float64(h.TotalCount()))
}
