// Package latency records how mail operations ended and how long they took.
//
// An operation that was ok has three times: response time, service time and wait. An
// operation that failed or whose outcome is unknown has one: how long it kept its
// caller waiting. Times are kept in HDR histograms of nanoseconds.
//
// Each worker records into histograms of its own. A collector takes these at
// ticks, writes them as an interval log that HdrHistogram's tools read, and adds
// them to the totals of the phase.
package latency

import (
	"math"
	"math/bits"
	"runtime"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// recorded is what one worker recorded of an operation since the last Tick. Its times are in
// counts. A Tick adds them to the histograms of Op.
type recorded struct {
	Op
	times [NumKinds]*counts
}

// record records a time. One beyond the histograms' range counts at its end; an operation that starts before it is
// due is on time. Latency and Queued are further times of an operation, which counts in Clamped already.
func (r *recorded) record(k Kind, d time.Duration) {
	c := r.times[k]
	if c == nil {
		c = newCounts(digitsOf(k, r.rough))
		r.times[k] = c
	}
	if d > Highest && k != Latency && k != Queued {
		r.Clamped++
	}
	c.add(uint64(min(max(d, 0), Highest)))
}

// moveTo adds what was recorded to o, and empties r.
func (r *recorded) moveTo(o *Op) {
	o.Add(&r.Op)
	r.Reset()
	for k, c := range r.times {
		if c == nil || c.total == 0 {
			continue
		}
		if o.Times[k] == nil {
			o.Times[k] = newHistogram(Kind(k), r.rough)
		}
		c.addTo(o.Times[k])
		clear(c.of)
		c.total = 0
		runtime.Gosched() // as Op.Add does
	}
}

// counts are how often each bucket of an HDR histogram was hit. Adding is faster than in the
// histogram itself, which checks again what the recorder has checked.
type counts struct {
	bits  int // each power of two has 1 << bits buckets
	total int64
	of    []int64 // by index, in the histogram's order
}

func newCounts(digits int) *counts {
	c := &counts{bits: bits.Len64(2*uint64(math.Pow10(digits))-1) - 1}
	c.of = make([]int64, c.index(uint64(Highest))+1)
	return c
}

func (c *counts) add(v uint64) {
	c.of[c.index(v)]++
	c.total++
}

// index is the bucket of a value. The first 2 << bits buckets have one value each. Then each
// power of two has half as many, of twice the width.
func (c *counts) index(v uint64) uint64 {
	width := max(0, bits.Len64(v)-c.bits-1) // logarithm to base 2 of the bucket's width
	return uint64(width)<<(c.bits&63) + v>>(width&63)
}

// addTo adds the counts to a histogram with the same buckets.
func (c *counts) addTo(h *hdr.Histogram) {
	for i, n := range c.of {
		if n > 0 {
			width := max(0, i>>c.bits-1)                         // as in index
			_ = h.RecordValues(int64(i-width<<c.bits)<<width, n) // every bucket is in the histogram's range
		}
	}
}

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
