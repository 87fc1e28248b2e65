// Package trials puts the trials of a model on an engine together: the outcomes of an operation
// in all of them, the medians of its figures, how sure a figure is, and how it grows over a
// sweep. Views and the runner use it; it writes nothing.
package trials

import (
	"cmp"
	"math"
	"reflect"
	"slices"

	"github.com/mailbench/mailbench/workloads/results"
)

// Row is one operation of a model on an engine. It has the outcomes of all trials, and the medians of
// the figures of the best trials: those whose verdict is ok; if there are none, those whose times
// hold; else all.
type Row struct {
	Cell   *results.Cell // a trial whose figures are in it
	Op     results.Op
	Bad    bool // the verdict of a trial is not ok
	Used   []*results.Op
	Trials int
}

// Row puts the trials of an operation together. It returns false if no trial had it in
// its mix.
func (cs Column) Row(op string) (Row, bool) {
	var r Row
	best := cs.best(op)
	for _, c := range cs {
		o, ok := c.Ops[op]
		if !ok {
			continue
		}
		r.Trials++
		r.Bad = r.Bad || c.Verdict != results.OK
		if worth(c) == best {
			r.Cell = cmp.Or(r.Cell, c)
			r.Used = append(r.Used, &o)
		}
		if r.Trials == 1 {
			r.Op = o
		} else {
			r.Op.Add(&o)
		}
	}
	switch len(r.Used) {
	case 0:
		return r, false
	case 1:
		outcomes := r.Op
		r.Op = *r.Used[0]
		takeOutcomes(&r.Op, &outcomes)
	default:
		r.medians()
	}
	return r, true
}

// best is the worth of the best trials of the operation.
func (cs Column) best(op string) int {
	best := math.MaxInt
	for _, c := range cs {
		if _, ok := c.Ops[op]; ok {
			best = min(best, worth(c))
		}
	}
	return best
}

// worth orders trials, those first whose figures are of most worth.
func worth(c *results.Cell) int {
	switch {
	case c.Verdict == results.OK:
		return 0
	case c.Verdict == results.Overloaded:
		return 1
	}
	return 2
}

// takeOutcomes takes the outcomes of b and keeps the figures.
func takeOutcomes(o, b *results.Op) {
	o.Count, o.NotFound, o.Failed, o.Unknown, o.Dropped = b.Count, b.NotFound, b.Failed, b.Unknown, b.Dropped
	o.NoTarget, o.TooLarge, o.Clamped, o.Errors = b.NoTarget, b.TooLarge, b.Clamped, b.Errors
	o.Fallback, o.Missing, o.Support = b.Fallback, b.Missing, b.Support
}

// medians sets the figures of the row to the medians of its trials.
func (r *Row) medians() {
	o := &r.Op
	mid := func(of func(o *results.Op) float64) float64 { return results.Median(r.Values(of)) }
	o.Rate = mid(func(o *results.Op) float64 { return o.Rate })
	s := &o.Store
	costs := reflect.ValueOf(s).Elem()
	for i := range costs.NumField() {
		if costs.Type().Field(i).Tag.Get("add") == "mean" {
			costs.Field(i).SetFloat(mid(func(o *results.Op) float64 { return reflect.ValueOf(o.Store).Field(i).Float() }))
		}
	}
	if s.RowsExamined != nil {
		examined := mid(func(o *results.Op) float64 { return o.Store.Of(results.Examined) })
		s.RowsExamined = &examined
	}
	if o.Latency != nil {
		l := r.percentiles(func(o *results.Op) *results.Latency { return cmp.Or(o.Latency, &o.Response) })
		o.Latency = &l
	}
	o.Response = r.percentiles(func(o *results.Op) *results.Latency { return &o.Response })
	o.Service = r.percentiles(func(o *results.Op) *results.Latency { return &o.Service })
	o.Wait = r.percentiles(func(o *results.Op) *results.Latency { return &o.Wait })
	o.Due = nil
	if slices.ContainsFunc(r.Used, func(o *results.Op) bool { return o.Due != nil }) {
		due := r.percentiles(func(o *results.Op) *results.Latency {
			if o.Due != nil {
				return o.Due
			}
			return r.Cell.Latency(o)
		})
		o.Due = &due
	}
}

func (r *Row) percentiles(of func(o *results.Op) *results.Latency) results.Latency {
	mid := func(p func(l *results.Latency) int64) int64 {
		ns := results.Median(r.Values(func(o *results.Op) float64 {
			if ns := p(of(o)); ns != results.NeverEnded {
				return float64(ns)
			}
			return math.Inf(1)
		}))
		if math.IsInf(ns, 1) {
			return results.NeverEnded
		}
		return int64(ns)
	}
	return results.Latency{
		P50:  mid(func(l *results.Latency) int64 { return l.P50 }),
		P90:  mid(func(l *results.Latency) int64 { return l.P90 }),
		P99:  mid(func(l *results.Latency) int64 { return l.P99 }),
		P999: mid(func(l *results.Latency) int64 { return l.P999 }),
		Max:  mid(func(l *results.Latency) int64 { return l.Max }),
		Mean: results.Median(r.Values(func(o *results.Op) float64 { return of(o).Mean })),
	}
}

// Values are the values of the trials in which the operation was ok at least once.
func (r *Row) Values(of func(o *results.Op) float64) []float64 {
	var vs []float64
	for _, o := range r.Used {
		if o.Count > 0 {
			vs = append(vs, of(o))
		}
	}
	return vs
}

// Column are the cells of a model on an engine, one a trial.
type Column []*results.Cell

// Columns sorts the cells of a section by model and engine.
func Columns(cells []*results.Cell) []Column {
	var columns []Column
	for _, c := range cells {
		at := slices.IndexFunc(columns, func(cs Column) bool {
			return cs[0].Model == c.Model && cs[0].Engine == c.Engine
		})
		if at < 0 {
			at, columns = len(columns), append(columns, nil)
		}
		columns[at] = append(columns[at], c)
	}
	return columns
}
