package reports

import (
	"slices"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
)

// StreamHeads are the titles of StreamRow's Figures. Percentiles are of everything that was
// due; offered and achieved are rates a second.
var StreamHeads = []string{"scheduled", "offered", "achieved", "late", "dropped", "p50", "p99", "p99.9"}

// StreamRow is a stream of one model on one engine, or one operation of it. Over several
// trials it has sums of counts, and medians of times and rates.
type StreamRow struct {
	Stream, Op string // Op is "" for all operations of the stream
	Model      string
	Bad        bool // the verdict of a trial is not ok
	Figures    []string
}

// Name is the stream, with its operation: readers, or readers/list.
func (r *StreamRow) Name() string {
	if r.Op == "" {
		return r.Stream
	}
	return r.Stream + "/" + r.Op
}

// Streams are the rows of a section whose phase runs several streams at once: each stream,
// and below it its operations.
func (s *Section) Streams(n Names) (rows []StreamRow) {
	columns := trials.Columns(s.Cells)
	var names []string
	for _, c := range s.Cells {
		for i := range c.Streams {
			if name := c.Streams[i].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range names {
		var alone []trials.Column
		var all []*results.Cell
		late := map[*results.Cell]int64{}
		for _, cs := range columns {
			var own trials.Column
			for _, c := range cs {
				if s := c.Stream(name); s != nil {
					one := c.Alone(s)
					one.Ops = map[string]results.Op{"": allOf(s)}
					for op, o := range s.Ops {
						one.Ops[op] = o
					}
					late[one] = s.Late + s.Queued
					own = append(own, one)
				}
			}
			if len(own) > 0 {
				alone, all = append(alone, own), append(all, own...)
			}
		}
		ops := slices.DeleteFunc(results.OpsOf(all), func(op string) bool { return op == "" })
		for _, op := range append([]string{""}, ops...) {
			for _, cs := range alone {
				if row, ok := cs.Row(op); ok && row.Op.Offered() {
					rows = append(rows, StreamRow{
						name, op, n.Part(cs[0].Model, cs[0].Engine), row.Bad,
						streamFigures(&row, cs, late, op),
					})
				}
			}
		}
	}
	return rows
}

// streamFigures are the figures of a stream or of one of its operations. Cs are the cells of
// the stream. Started says how many operations of each cell started late.
func streamFigures(r *trials.Row, cs trials.Column, started map[*results.Cell]int64, op string) []string {
	due, offered, achieved, late := integer(r.Op.Attempted()+r.Op.NoTarget), "", "", ""
	if op == "" {
		var rates, done []float64
		all, behind := int64(0), int64(0)
		for _, c := range cs {
			rates, done = append(rates, c.Offered.Rate), append(done, c.Offered.Achieved)
			all, behind = all+c.Offered.Due-c.Offered.Skipped, behind+started[c]
		}
		due, offered, achieved, late = integer(all), "-", words.Amount(results.Median(done)), "-"
		if cs[0].Arrivals != "closed" {
			offered, late = words.Amount(results.Median(rates)), integer(behind)
		}
	}
	times := make([]string, 0, 3)
	for _, f := range []struct {
		p  float64
		of func(l *results.Latency) int64
	}{
		{0.5, func(l *results.Latency) int64 { return l.P50 }},
		{0.99, func(l *results.Latency) int64 { return l.P99 }},
		{0.999, func(l *results.Latency) int64 { return l.P999 }},
	} {
		times = append(times, dueOf(r, f.p, f.of))
	}
	return append([]string{due, offered, achieved, late, integer(r.Op.Dropped)}, times...)
}

// dueOf writes a percentile of everything that was due, or a dash if a trial has too few
// operations for it.
func dueOf(r *trials.Row, p float64, of func(l *results.Latency) int64) string {
	for _, o := range r.Used {
		if o.Attempted() < results.EnoughFor(p) {
			return "-"
		}
	}
	return ended(of(r.Cell.Due(&r.Op)))
}

// allOf is all operations of the stream as one.
func allOf(s *results.Stream) results.Op {
	var all results.Op
	offered := false
	for _, o := range s.Ops {
		all.Add(&o)
		offered = offered || o.Offered()
	}
	all.Fallback, all.Missing, all.Support = "", "", results.NotOffered
	if offered {
		all.Support = results.Native
	}
	if s.AllOps != nil {
		all.Latency, all.Response, all.Service = s.AllOps.Latency, s.AllOps.Response, s.AllOps.Service
		all.Lag, all.Due = s.AllOps.Lag, s.AllOps.Due
	}
	return all
}
