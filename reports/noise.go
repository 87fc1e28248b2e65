package reports

import (
	"math"
	"slices"
)

// These bounds say how large a difference must be before the overview shows it as one. The
// overview is no test of significance; mailbench compare is.
const (
	// The ranges of n trials of two equal stores lie apart with the probability
	// 2/C(2n,n): of four trials once in 35 cases, of three once in 10.
	tellTrials = 4
	// With fewer trials than tellTrials one value must also be this many times the other,
	// because nobody knows how far off another trial would be.
	tellFactor = 1.5
	// A single trial needs this many intervals with enough operations. The middle half of
	// their values is its range.
	tellIntervals = 5
	// A counted figure is a mean over drawn messages. A difference must be more than
	// tellErrors standard errors, and each mean must be of at least tellOperations
	// operations, unless all operations have the same value.
	tellErrors     = 3
	tellOperations = 30
)

// differs reports whether b is more than a by more than the noise.
func (f Figure) differs(a, b *OverviewValue) bool {
	if f.Counted() {
		if a.deviation+b.deviation == 0 {
			return b.Median > a.Median
		}
		if min(a.n, b.n) < tellOperations {
			return false
		}
		variance := a.deviation*a.deviation/float64(a.n) + b.deviation*b.deviation/float64(b.n)
		return b.Median-a.Median > tellErrors*math.Sqrt(variance)
	}
	if b.Low <= a.High {
		return false
	}
	return min(a.trials, b.trials) >= tellTrials || b.Median >= tellFactor*a.Median
}

// spread sets the range of a single trial from its intervals. With too few of them the
// value is not known well enough to be compared.
func (v *OverviewValue) spread(intervals []float64) {
	if len(intervals) < tellIntervals {
		v.Known = false
		return
	}
	slices.Sort(intervals)
	n := len(intervals)
	v.Low, v.High = min(v.Median, intervals[n/4]), max(v.Median, intervals[n-1-n/4])
}

// One call weighs as much as this many rows or bytes, to choose the counted figure in which
// models differ most. The weights are no measurements: they only decide which of the figures
// is shown.
const (
	rowsACall  = 20
	bytesACall = 10_000
)

// weight is how much the columns differ in a counted figure, in calls.
func (l *OverviewLine) weight() float64 {
	least, most := math.Inf(1), 0.0
	for i := range l.Values {
		if v := &l.Values[i]; v.Known {
			least, most = min(least, v.Median), max(most, v.Median)
		}
	}
	return l.Figure.inCalls(max(most-least, 0))
}

// inCalls is how many calls weigh as much as the value v of a counted figure.
func (f Figure) inCalls(v float64) float64 {
	switch f {
	case Rows:
		return v / rowsACall
	case Bytes:
		return v / bytesACall
	}
	return v
}

// timerShows reports whether the times of an operation are largely the delays of the
// generator's own timer. A doubt of the cell says so.
func (c *Cell) timerShows(op string) bool {
	return slices.ContainsFunc(c.Doubts, func(d Doubt) bool {
		return d.Code == "client-lag" && (len(d.Ops) == 0 || slices.ContainsFunc(d.Ops, func(o OpCount) bool {
			return o.Op == op
		}))
	})
}
