package drive

import (
	"math/bits"
	"time"
)

// coarse is a histogram of times within an eighth: enough to compare two
// quantiles, in 4 KB and 3 ns a value.
type coarse [64 * 8]int64

func (c *coarse) add(d time.Duration) {
	v := uint64(max(d, 8))
	n := bits.Len64(v) // at least 4
	c[n*8+int(v>>(n-4))&7]++
}

func (c *coarse) merge(d *coarse) {
	for i, n := range d {
		c[i] += n
	}
}

func (c *coarse) total() (n int64) {
	for _, k := range c {
		n += k
	}
	return n
}

// quantile is the value that a part q of all is below, rounded down to an eighth.
func (c *coarse) quantile(q float64) time.Duration {
	left := int64(q * float64(c.total()))
	for i, k := range c {
		if left -= k; left < 0 {
			return time.Duration(8+i%8) << (i/8 - 4)
		}
	}
	return 0
}
