// Package trials puts the trials of a model on an engine together: the outcomes of an operation
// in all of them, the medians of its figures, how sure a figure is, and how it grows over a
// sweep. It adds up the outcomes of segments, too. Views, the runner and merge use it; it writes nothing.
package trials

import (
	"math"
	"slices"

	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// Row is one operation of a model on an engine. Its values are medians of the trials that count: those whose verdict
// is ok; if there are none, those whose times hold; else all.
type Row struct {
	Sum     results.Op    // the outcomes of all trials together, and the patterns that ran
	Ops     []*results.Op // of each trial; of one that does not count an operation that never came up
	Count   int64         // operations that succeeded in the trials that count
	Trials  int           // those that had the operation in their mix; 0: none
	Counted int           // those of them that count
	// Latency has the percentiles of the latency, by the P of results.Percentiles. It takes enough operations in all
	// trials together.
	Latency map[float64]Time
}

// worth orders trials by verdict. One counts if none is worth more.
var worth = map[results.Verdict]int{results.OK: 2, results.Overloaded: 1}

// Row puts the trials of an operation together.
func (cs Column) Row(op string) *Row {
	r, most := &Row{Latency: map[float64]Time{}}, 0
	for _, c := range cs {
		if o, ok := c.Ops[op]; ok {
			r.Trials++
			r.Sum.Add(&o)
			most = max(most, worth[c.Verdict])
		}
	}
	for _, c := range cs {
		o, ok := c.Ops[op]
		if ok = ok && worth[c.Verdict] == most; ok {
			r.Count, r.Counted = r.Count+o.Count, r.Counted+1
		} else {
			o = results.Op{}
		}
		r.Ops = append(r.Ops, &o)
	}
	for _, q := range results.Percentiles {
		all := r.Each(func(o *results.Op) float64 { return float64(q.Of(o.OK())) })
		r.Latency[q.P] = Time{all, results.Median(all), r.Count >= results.EnoughFor(q.P)}
	}
	return r
}

// Each has a value of each trial; NaN where it does not count, or the operation never succeeded.
func (r *Row) Each(of func(o *results.Op) float64) results.Series {
	all := make(results.Series, len(r.Ops))
	for i, o := range r.Ops {
		if all[i] = math.NaN(); o.Count > 0 {
			all[i] = of(o)
		}
	}
	return all
}

// Median is the median of Each; NaN if none is known.
func (r *Row) Median(of func(o *results.Op) float64) float64 { return results.Median(r.Each(of)) }

// Time is a percentile in nanoseconds.
type Time struct {
	Trials results.Series // as Each has it
	NS     float64        // the median of the trials; NaN if none is known
	Enough bool           // there are enough operations for the percentile
}

// String writes the time in ms, or a dash if there are too few operations for it.
func (t Time) String() string {
	if !t.Enough {
		return "-"
	}
	return results.MS(t.NS)
}

// Scheduled is a percentile of all scheduled operations, also of trials in which none succeeded. It takes enough
// operations in each trial.
func (r *Row) Scheduled(p float64) Time {
	var all results.Series
	enough := true
	for _, o := range r.Ops {
		if n := o.Attempted(); n > 0 {
			all, enough = append(all, o.Scheduled().At(p)), enough && n >= results.EnoughFor(p)
		}
	}
	return Time{all, results.Median(all), enough && len(all) > 0}
}

// Cost has the medians of what the operation costs the engine.
func (r *Row) Cost() (s results.StoreCost) {
	for i, x := range s.Means() {
		*x = r.Median(func(o *results.Op) float64 { return *o.Store.Means()[i] })
	}
	var best results.Op // of other trials they may be unknown
	for _, o := range r.Ops {
		best.Add(o)
	}
	if best.Store.RowsScanned != nil {
		s.RowsScanned = new(r.Median(func(o *results.Op) float64 { return o.Store.Of(results.Examined) }))
		s.Traced = best.Store.Traced
	}
	return s
}

// Column are the cells of a model on an engine, one a trial.
type Column []*results.Cell

// Columns sorts the cells of a section by model and engine.
func Columns(cells []*results.Cell) []Column {
	return results.Grouped(Column(cells), func(c *results.Cell) [2]string { return [2]string{c.Model, c.Engine} })
}

// Value is the figure of one column.
type Value struct {
	Trials int // those in which it is known; 0: none
	// Median is the median of the trials. Low to High is the range in which other trials are expected to be: that of the
	// trials, wider if these are few, and for a counter as far as its errors reach. One trial shows no range of a time:
	// Low is 0 and High infinite. A time is infinite where operations at that percentile never ended.
	Median, Low, High float64
	Error             float64 // of a counter: its standard error, as a share of Median
}

// These bounds say how large a difference must be before a sentence calls it one. That is no test of significance;
// mailbench compare is.
const (
	// The ranges of n trials of two equal stores lie apart with the probability 2/C(2n,n): of four trials once in 35
	// cases, of three once in 10. The range of fewer trials is made wider by knownFactor at each end.
	knownTrials = 4
	knownFactor = 1.25
	// A counter is a mean over drawn messages, and known within knownErrors standard errors. Fewer than knownOperations
	// operations do not show how far off their mean is: then it is known within standard deviations of a single one.
	knownErrors     = 3
	knownOperations = 30
)

// Value is a figure of an operation of the column. Of a time, trials whose verdict is not ok are left out.
func (cs Column) Value(op string, f results.Figure) Value {
	if !f.Counted() {
		var times []float64
		for _, c := range cs {
			if o, ok := c.Ops[op]; ok && c.Verdict == results.OK && o.Enough(f.Percentile()) {
				times = append(times, o.Scheduled().At(f.Percentile()))
			}
		}
		v := of(times)
		switch {
		case v.Trials == 1:
			v.Low, v.High = 0, math.Inf(1)
		case v.Trials < knownTrials:
			v.Low, v.High = v.Low/knownFactor, v.High*knownFactor
		}
		return v
	}
	var means []float64
	var squares, all float64
	for _, o := range cs.Row(op).Ops {
		if o.Count == 0 {
			continue
		}
		mean, deviation := o.Counted(f)
		if math.IsNaN(mean) {
			return Value{} // a trial whose rows scanned are unknown
		}
		n := float64(o.Count)
		if f == results.Examined && o.Store.Traced > 0 {
			n = float64(o.Store.Traced)
		}
		means, all, squares = append(means, mean), all+n, squares+deviation*deviation*n
	}
	v := of(means)
	deviation := math.Sqrt(squares / max(all, 1))
	err := deviation / math.Sqrt(max(all, 1))
	if v.Median > 0 {
		v.Error = err / v.Median
	}
	if all < knownOperations {
		err = deviation
	}
	v.Low, v.High = v.Median-knownErrors*err, v.Median+knownErrors*err
	return v
}

// of is a figure of the trials that have these values.
func of(values []float64) Value {
	if len(values) == 0 {
		return Value{}
	}
	return Value{
		Trials: len(values), Median: results.Median(values), Low: slices.Min(values), High: slices.Max(values),
	}
}

// Growths are how the figures of the run's measured phases grow over its sweep, in the order in which they are shown. A
// run without a sweep has none. They follow from the cells and the sweep's points.
func Growths(r *results.Run) []results.Growth {
	if r.Sweep == nil {
		return nil
	}
	var all []results.Growth
	figures := []results.Figure{results.P50, results.Examined, results.Requests, results.Rows, results.Bytes}
	swept := r.Select(func(c *results.Cell) bool { return c.Measured() && c.Point != "" })
	for _, cells := range results.Grouped(swept, func(c *results.Cell) string { return c.Phase }) {
		for _, op := range results.OpsOf(cells) {
			for _, f := range figures {
				for _, cs := range Columns(cells) {
					if g, ok := growthOf(r, cs, op, f); ok {
						all = append(all, g)
					}
				}
			}
		}
	}
	return append(all, partitionsOf(r)...)
}

// growthOf fits one figure of a column. It returns false if the figure is not known at any point.
func growthOf(r *results.Run, cs Column, op string, f results.Figure) (results.Growth, bool) {
	g := results.Growth{Model: cs[0].Model, Engine: cs[0].Engine, Phase: cs[0].Phase, Op: op, Figure: f}
	for i := range r.Sweep.Points {
		p := &r.Sweep.Points[i]
		var at Column
		for _, c := range cs {
			if o, ok := c.Ops[op]; ok && c.Point == p.Value && o.Offered() {
				at = append(at, c)
			}
		}
		v := at.Value(op, f)
		one := growth.Point{Name: p.Value, Size: p.Size, Value: v.Median}
		if f.Counted() {
			one.Error = &v.Error
		}
		if v.Trials > 0 && !math.IsInf(v.Median, 0) { // also a time of one trial
			g.Points = append(g.Points, one)
		}
	}
	g.Growth = growth.Of(g.Points)
	return g, len(g.Points) > 0
}

// partitionsOf are how the largest partitions of the forecasts grow.
func partitionsOf(r *results.Run) (all []results.Growth) {
	for i := range r.Sweep.Points {
		p := &r.Sweep.Points[i]
		for _, part := range p.Partitions {
			at := slices.IndexFunc(all, func(g results.Growth) bool { return g.Model == part.Model && g.Engine == part.Engine })
			if at < 0 {
				at, all = len(all), append(all, results.Growth{
					Model: part.Model, Engine: part.Engine, Op: results.PartitionOp, Figure: results.PartitionSize,
				})
			}
			one := growth.Point{Name: p.Value, Size: p.Size, Value: part.Bytes, Error: new(float64)}
			all[at].Points = append(all[at].Points, one)
		}
	}
	for i := range all {
		all[i].Growth = growth.Of(all[i].Points)
	}
	return all
}
