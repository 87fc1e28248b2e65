package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// trialRow is one operation of a model on an engine. It has the outcomes of all trials, and
// the medians of the figures of the trials whose verdict is ok. If no verdict is ok, the
// medians are those of all trials.
type trialRow struct {
	cell   *Cell // a trial whose figures are in it
	op     Op
	bad    bool // the verdict of a trial is not ok
	used   []*Op
	trials int
}

// row puts the trials of an operation together. It returns false if no trial had it in
// its mix.
func (cs columnCells) row(op string) (trialRow, bool) {
	var r trialRow
	good := slices.ContainsFunc(cs, func(c *Cell) bool { return c.Verdict == OK })
	for _, c := range cs {
		o, ok := c.Ops[op]
		if !ok {
			continue
		}
		r.trials++
		r.bad = r.bad || c.Verdict != OK
		if c.Verdict == OK || !good {
			r.cell = cmp.Or(r.cell, c)
			r.used = append(r.used, &o)
		}
		if r.trials == 1 {
			r.op = o
		} else {
			r.op.addOutcomes(&o)
		}
	}
	switch len(r.used) {
	case 0:
		return r, false
	case 1:
		outcomes := r.op
		r.op = *r.used[0]
		r.op.takeOutcomes(&outcomes)
	default:
		r.medians()
	}
	return r, true
}

// Trials are the trials of an operation put together, as the text shows them: the outcomes
// of all, and the medians of those whose verdict is ok.
type Trials struct {
	Op
	Used    []*Op // the trials that the medians are of
	Remarks []string
}

// TrialsOf puts the trials of an operation together. It returns false if no cell had it in
// its mix.
func TrialsOf(cells []*Cell, op string) (Trials, bool) {
	r, ok := columnCells(cells).row(op)
	if !ok {
		return Trials{}, false
	}
	return Trials{r.op, r.used, r.remarks()}, true
}

// addOutcomes adds what became of the operations of another trial.
func (o *Op) addOutcomes(b *Op) {
	o.Count += b.Count
	o.NotFound += b.NotFound
	o.Failed += b.Failed
	o.Unknown += b.Unknown
	o.Dropped += b.Dropped
	o.NoTarget += b.NoTarget
	o.TooLarge += b.TooLarge
	o.Clamped += b.Clamped
	o.Fallback = cmp.Or(o.Fallback, b.Fallback)
	o.Missing = cmp.Or(o.Missing, b.Missing)
	if o.Support == NotObserved || b.Support == EmulatedOp {
		o.Support = b.Support
	}
	errors := slices.Clone(o.Errors)
	for _, e := range b.Errors {
		if at := slices.IndexFunc(errors, func(have ErrorCount) bool { return have.Text == e.Text }); at >= 0 {
			errors[at].Count += e.Count
		} else {
			errors = append(errors, e)
		}
	}
	slices.SortStableFunc(errors, func(a, b ErrorCount) int { return cmp.Compare(b.Count, a.Count) })
	o.Errors = errors
}

// takeOutcomes takes the outcomes of b and keeps the figures.
func (o *Op) takeOutcomes(b *Op) {
	o.Count, o.NotFound, o.Failed, o.Unknown, o.Dropped = b.Count, b.NotFound, b.Failed, b.Unknown, b.Dropped
	o.NoTarget, o.TooLarge, o.Clamped, o.Errors = b.NoTarget, b.TooLarge, b.Clamped, b.Errors
	o.Fallback, o.Missing, o.Support = b.Fallback, b.Missing, b.Support
}

// medians sets the figures of the row to the medians of its trials.
func (r *trialRow) medians() {
	o := &r.op
	mid := func(of func(o *Op) float64) float64 { return median(r.values(of)) }
	o.Rate = mid(func(o *Op) float64 { return o.Rate })
	s := &o.Store
	for _, f := range []struct {
		to *float64
		of func(s *StoreCost) float64
	}{
		{&s.Calls, func(s *StoreCost) float64 { return s.Calls }},
		{&s.RowsRead, func(s *StoreCost) float64 { return s.RowsRead }},
		{&s.RowsWritten, func(s *StoreCost) float64 { return s.RowsWritten }},
		{&s.BytesRead, func(s *StoreCost) float64 { return s.BytesRead }},
		{&s.BytesWritten, func(s *StoreCost) float64 { return s.BytesWritten }},
	} {
		*f.to = mid(func(o *Op) float64 { return f.of(&o.Store) })
	}
	o.Response = r.percentiles(func(o *Op) *Latency { return &o.Response })
	o.Service = r.percentiles(func(o *Op) *Latency { return &o.Service })
	o.Lag = r.percentiles(func(o *Op) *Latency { return &o.Lag })
	o.Due = nil
	if slices.ContainsFunc(r.used, func(o *Op) bool { return o.Due != nil }) {
		due := r.percentiles(func(o *Op) *Latency {
			if o.Due != nil {
				return o.Due
			}
			return r.cell.Latency(o)
		})
		o.Due = &due
	}
}

func (r *trialRow) percentiles(of func(o *Op) *Latency) Latency {
	mid := func(p func(l *Latency) int64) int64 {
		ns := median(r.values(func(o *Op) float64 {
			if ns := p(of(o)); ns != NeverEnded {
				return float64(ns)
			}
			return math.Inf(1)
		}))
		if math.IsInf(ns, 1) {
			return NeverEnded
		}
		return int64(ns)
	}
	return Latency{
		P50: mid(func(l *Latency) int64 { return l.P50 }), P90: mid(func(l *Latency) int64 { return l.P90 }),
		P99: mid(func(l *Latency) int64 { return l.P99 }), P999: mid(func(l *Latency) int64 { return l.P999 }),
		Max: mid(func(l *Latency) int64 { return l.Max }), Mean: median(r.values(func(o *Op) float64 { return of(o).Mean })),
	}
}

// values are the values of the trials in which the operation was ok at least once.
func (r *trialRow) values(of func(o *Op) float64) []float64 {
	var vs []float64
	for _, o := range r.used {
		if o.Count > 0 {
			vs = append(vs, of(o))
		}
	}
	return vs
}

// median is the median of the values, which it sorts. Of no values it is 0.
func median(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	slices.Sort(vs)
	return (vs[(len(vs)-1)/2] + vs[len(vs)/2]) / 2
}

// time writes a percentile: the median of the trials, and behind it the distance of the
// farthest trial in percent. It writes a dash if a trial has too few operations for the
// percentile.
func (r *trialRow) time(p float64, of func(l *Latency) int64) string {
	for _, o := range r.used {
		if o.Count < EnoughFor(p) {
			return "-"
		}
	}
	s := r.op.Percentile(of(r.cell.Latency(&r.op)), p)
	if len(r.used) == 1 {
		return s
	}
	times := r.values(func(o *Op) float64 { return float64(of(r.cell.Latency(o))) })
	mid := median(times)
	return s + fmt.Sprintf(" ±%.0f%%", 100*max(mid-times[0], times[len(times)-1]-mid)/math.Max(mid, 1))
}

// remarks are the remarks of the operation. If not all trials are in its figures, the last one
// says how many are.
func (r *trialRow) remarks() []string {
	s := r.op.Remarks()
	if len(r.used) < r.trials {
		s = append(s, fmt.Sprintf("figures of %d of %d trials", len(r.used), r.trials))
	}
	return s
}

// columnsOf sorts the cells of a section by model and engine.
func columnsOf(cells []*Cell) []columnCells {
	var columns []columnCells
	for _, c := range cells {
		at := slices.IndexFunc(columns, func(cs columnCells) bool {
			return cs[0].Model == c.Model && cs[0].Engine == c.Engine
		})
		if at < 0 {
			at, columns = len(columns), append(columns, nil)
		}
		columns[at] = append(columns[at], c)
	}
	return columns
}
