package latency

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestAt compares percentiles with the definition: the least value with at least p·n values that
// are not larger. Values below 2048 have a bucket each. Java's HdrHistogram has the same.
func TestAt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		h := NewHistogram(3)
		var all []int64
		for range 1 + r.IntN(2000) {
			v := 1 + r.Int64N(2000)
			all = append(all, v)
			h.Record(time.Duration(v), 1)
		}
		slices.Sort(all)
		for _, tenths := range []int{500, 900, 990, 999, 1000} { // of a percent, to count in integers
			rank := (tenths*len(all) + 999) / 1000
			if got, want := h.At(float64(tenths)/10, 0), all[rank-1]; got != want {
				t.Fatalf("p%v of %d values is %d, want %d: rank %d", float64(tenths)/10, len(all), got, want, rank)
			}
		}
	}
	if got := NewHistogram(3).At(50, 0); got != 0 {
		t.Errorf("a percentile of nothing is %d", got)
	}
}

// TestRank has ranks that floating point gets wrong.
func TestRank(t *testing.T) {
	for _, c := range []struct {
		percent float64
		n, want int64
	}{
		{99, 100, 99},
		{99, 101, 100},
		{99.9, 1000, 999},
		{99.9, 1513, 1512},
		{50, 1, 1},
		{50, 4, 2},
		{50, 5, 3},
		{90, 10, 9},
		{100, 7, 7},
		{99, 396, 393},
		{0, 5, 1},
		{55.00000000000001, 20, 11}, // 100 × 0.55 in floating point
	} {
		h := NewHistogram(3)
		for v := range c.n {
			h.Record(time.Duration(v+1), 1) // the value of a rank is the rank
		}
		if got := h.At(c.percent, 0); got != c.want {
			t.Errorf("rank of p%v of %d is %d, want %d", c.percent, c.n, got, c.want)
		}
	}
}

// The longest of many times is none of their high percentiles.
func TestMax(t *testing.T) {
	h := NewHistogram(digits)
	for v := range time.Duration(2001) {
		h.Record(v, 1)
	}
	if got := h.Max(); got != 2000 || new(Histogram).Max() != 0 {
		t.Errorf("max = %d, want 2000", got)
	}
}
