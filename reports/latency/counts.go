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

func (r *recorded) record(k Kind, d time.Duration) {
	c := r.times[k]
	if c == nil {
		c = newCounts(digitsOf(k, r.rough))
		r.times[k] = c
	}
	if uint64(d) > uint64(Highest) {
		d = r.clamp(d)
	}
	c.add(uint64(d))
}

// clamp returns the nearest time that the histograms have.
func (r *recorded) clamp(d time.Duration) time.Duration {
	if d < 0 { // an operation that starts before it is due is on time
		return 0
	}
	r.Clamped++
	return Highest
}

// recordAgain records a second time of an operation. It does not count in Clamped, because the
// operation was counted there already.
func (r *recorded) recordAgain(k Kind, d time.Duration) {
	clamped := r.Clamped
	r.record(k, d)
	r.Clamped = clamped
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
		c.moveTo(o.Times[k])
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

// value is the least value of bucket i.
func (c *counts) value(i int) int64 {
	width := max(0, i>>c.bits-1)
	return int64(i-width<<c.bits) << width
}

// addTo adds the counts to a histogram with the same buckets.
func (c *counts) addTo(h *hdr.Histogram) {
	for i, n := range c.of {
		if n > 0 {
			_ = h.RecordValues(c.value(i), n) // every bucket is in the histogram's range
		}
	}
}

// moveTo adds the counts to a histogram with the same buckets, and empties them.
func (c *counts) moveTo(h *hdr.Histogram) {
	c.addTo(h)
	clear(c.of)
	c.total = 0
}
