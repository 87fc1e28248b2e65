package results

import (
	"cmp"
	"math"
)

// Due is the distribution of the latencies of an operation of the cell over everything
// that was due. In a closed loop they are service times. A percentile is NeverEnded if it lies
// among operations that were dropped.
func (c *Cell) Due(o *Op) *Latency {
	if o.Due != nil {
		return o.Due
	}
	return c.Latency(o)
}

// Attempted is how many operations were due and offered, whatever became of them.
func (o *Op) Attempted() int64 { return o.Count + o.Others() }

// DueDiffers reports whether a percentile of everything that was due is not near that of the
// operations that were ok.
func (o *Op) DueDiffers() bool {
	l := cmp.Or(o.Latency, &o.Response)
	return o.Due != nil && !(near(o.Due.P50, l.P50) && near(o.Due.P99, l.P99) && near(o.Due.P999, l.P999))
}

// near reports whether two times differ by at most a tenth of b.
func near(a, b int64) bool { return math.Abs(float64(a-b)) <= 0.1*float64(b) }
