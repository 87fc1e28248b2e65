package trials

import (
	"math"
	"slices"

	"github.com/mailbench/mailbench/workloads/results"
)

// Value is the figure of one column.
type Value struct {
	Known bool
	// Median is the median of the trials, Low and High are the least and the most of them.
	// With one trial Low and High bound the middle half of the intervals of a time; they are
	// equal to Median for a counter. A time is infinite where operations at that
	// percentile never ended.
	Median, Low, High float64

	n         int64   // operations of all trials
	deviation float64 // standard deviation between operations, of a counter
	Trials    int
}

// Counted is a counter of an operation of the column.
func (cs Column) Counted(op string, f results.Figure) Value {
	v := Value{}
	var means []float64
	var squares float64
	row, _ := cs.Row(op)
	for _, o := range row.Used {
		if o.Count == 0 {
			continue
		}
		mean, deviation := o.Counted(f)
		if math.IsNaN(mean) {
			return Value{} // a trial whose rows scanned are unknown
		}
		n := o.Count
		if f == results.Examined && o.Store.Traced > 0 {
			n = o.Store.Traced
		}
		means = append(means, mean)
		v.n += n
		squares += deviation * deviation * float64(n)
	}
	v.of(means)
	v.deviation = math.Sqrt(squares / math.Max(float64(v.n), 1))
	return v
}

// Timed is a time of an operation of the column. Trials whose verdict is not ok are
// left out.
func (cs Column) Timed(op string, f results.Figure) Value {
	v, intervals := cs.Times(op, f)
	if v.Trials == 1 {
		v.spread(intervals)
	}
	return v
}

// Times is a time of an operation of the column, and that time in each interval of the last
// trial.
func (cs Column) Times(op string, f results.Figure) (v Value, intervals []float64) {
	var times []float64
	for _, c := range cs {
		o, ok := c.Ops[op]
		if !ok || c.Verdict != results.OK || !o.Enough(f.Percentile()) {
			continue
		}
		times = append(times, c.Time(&o, f))
		intervals = c.Times(op, f)
		if o.DueDiffers() { // intervals have only operations that were ok
			intervals = slices.Repeat(times[:1], knownIntervals)
		}
		v.n += o.Count
	}
	v.of(times)
	return v, intervals
}

// of sets the value from the values of the trials.
func (v *Value) of(trials []float64) {
	if len(trials) == 0 {
		return
	}
	v.Known, v.Trials, v.Median = true, len(trials), results.Median(trials)
	v.Low, v.High = slices.Min(trials), slices.Max(trials)
}

// These bounds say how large a difference must be before the overview shows it as one. The
// overview is no test of significance; mailbench compare is.
const (
	// The ranges of n trials of two equal stores lie apart with the probability
	// 2/C(2n,n): of four trials once in 35 cases, of three once in 10.
	knownTrials = 4
	// With fewer trials than knownTrials one value must also be this many times the other,
	// because the distance of another trial is unknown.
	knownFactor = 1.5
	// A single trial needs this many intervals with enough operations. The middle half of
	// their values is its range.
	knownIntervals = 5
	// A counter is a mean over drawn messages. A difference must be more than
	// knownErrors standard errors. Fewer than knownOperations operations do not show how far
	// off their mean is: the difference must be as many standard deviations of a single one.
	knownErrors     = 3
	knownOperations = 30
)

// Differs reports whether b is more than a by more than the noise.
func Differs(f results.Figure, a, b *Value) bool {
	if f.Counted() {
		return b.Median-a.Median > knownErrors*math.Hypot(a.err(), b.err())
	}
	if b.Low <= a.High {
		return false
	}
	return min(a.Trials, b.Trials) >= knownTrials || b.Median >= knownFactor*a.Median
}

// sameMost is by which share two values may differ that are called the same.
const sameMost = 0.1

// Same reports whether a difference of more than sameMost between a and b is excluded: by the ranges
// of trials, or by knownErrors standard errors of a counter.
func Same(f results.Figure, a, b *Value) bool {
	if !f.Counted() {
		return max(a.High, b.High) <= (1+sameMost)*min(a.Low, b.Low)
	}
	return math.Abs(b.Median-a.Median)+knownErrors*math.Hypot(a.err(), b.err()) <= sameMost*min(a.Median, b.Median)
}

// err is how far off the mean of a counter may be: its standard error, or with few operations
// the standard deviation of a single one.
func (v *Value) err() float64 {
	if v.n < knownOperations {
		return v.deviation
	}
	return v.deviation / math.Sqrt(float64(v.n))
}

// spread sets the range of a single trial from its intervals. With too few of them the
// value is not known well enough to be compared.
func (v *Value) spread(intervals []float64) {
	if len(intervals) < knownIntervals {
		v.Known = false
		return
	}
	slices.Sort(intervals)
	n := len(intervals)
	v.Low, v.High = min(v.Median, intervals[n/4]), max(v.Median, intervals[n-1-n/4])
}

// Of is a figure that a cell has as a whole, of the trials that have it.
func Of(values []float64) Value {
	var v Value
	v.of(values)
	return v
}
