package latency

import (
	"math"
	"math/bits"
	"time"
)

// Histogram counts nanoseconds from 0 to Highest in the buckets of an HDR histogram: up to 2 << bits each value has
// a bucket of its own, and from there each power of two has 1 << bits. Recording and adding are faster than in the
// library's type, which checks again what the recorder has checked; the log has that type. A nil *Histogram
// has no values.
type Histogram struct {
	digits int // significant decimal digits
	bits   int
	count  int64
	of     []int64 // by bucket, in the order of the library's histogram
}

// NewHistogram returns an empty histogram that keeps so many significant decimal digits.
func NewHistogram(digits int) *Histogram {
	b := bits.Len64(2*uint64(math.Pow10(digits))-1) - 1
	return &Histogram{digits: digits, bits: b, of: make([]int64, (bits.Len64(uint64(Highest))-b+1)<<b)}
}

// Record adds a time that came n times. One beyond the range counts at its end, and one below 0 as 0.
func (h *Histogram) Record(d time.Duration, n int64) {
	v := uint64(min(max(d, 0), Highest))
	width := max(0, bits.Len64(v)-h.bits-1) // logarithm to base 2 of the bucket's width
	h.of[uint64(width)<<(h.bits&63)+v>>(width&63)] += n
	h.count += n
}

// Add adds the values of another histogram.
func (h *Histogram) Add(b *Histogram) {
	for bucket := range b.Buckets {
		h.Record(time.Duration(bucket.From), bucket.Count)
	}
}

// Count is the number of values.
func (h *Histogram) Count() int64 {
	if h == nil {
		return 0
	}
	return h.count
}

// Bucket is how many values are within From and To.
type Bucket struct{ From, To, Count int64 }

// Buckets yields the buckets that have values, the lowest first.
func (h *Histogram) Buckets(yield func(Bucket) bool) {
	if h.Count() == 0 {
		return
	}
	for i, n := range h.of {
		if n == 0 {
			continue
		}
		width := max(0, i>>h.bits-1) // as in Record
		from := int64(i-width<<h.bits) << width
		if !yield(Bucket{from, from + 1<<width - 1, n}) {
			return
		}
	}
}

// NeverEnded is the percentile that lies among operations that never ended.
const NeverEnded = -1

// At is a percentile in nanoseconds of the values and of so many operations that never ended, 0 <= percent <= 100:
// the least time that at least so many of them do not exceed. It is 0 if there are none.
//
// Its rank is the ceiling of percent × values, as in the definition and in Java's HdrHistogram
// (AbstractHistogram.getValueAtPercentile). hdrhistogram-go rounds the rank to the nearest, which
// is one too low half of the time.
func (h *Histogram) At(percent float64, neverEnded int64) int64 {
	all := h.Count() + neverEnded
	if all == 0 {
		return 0
	}
	below := math.Nextafter(percent, 0) // 99% of 100 is 99.00000000000001 in floating point
	rank := min(all, max(1, int64(math.Ceil(below*float64(all)/100))))
	for b := range h.Buckets {
		if rank -= b.Count; rank <= 0 {
			return b.To
		}
	}
	return NeverEnded
}

// Max is the longest time.
func (h *Histogram) Max() (longest int64) {
	for b := range h.Buckets {
		longest = b.To
	}
	return longest
}

// Mean is the mean of the times; 0 if there are none.
func (h *Histogram) Mean() (mean float64) {
	for b := range h.Buckets {
		mean += float64(b.Count) * float64((b.From+b.To+1)/2) / float64(h.count)
	}
	return mean
}
