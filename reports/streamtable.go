package reports

import (
	"cmp"
	"slices"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
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

// PatternHeads are the titles of PatternRow's Figures.
var PatternHeads = []string{"runs", "p50", "p99", "max"}

// PatternRow is an access pattern as one operation of a model ran it: how often in one operation,
// and how long it took.
type PatternRow struct {
	Op, Model, Engine, Pattern string
	Figures                    []string
}

// Patterns are the access patterns that the operations of a section ran, the longest median first.
// Those of cells whose verdict is not ok are left out.
func (s *Section) Patterns() (rows []PatternRow) {
	for _, op := range s.Ops {
		for _, cs := range trials.Columns(s.Cells) {
			row, ok := cs.Row(op)
			if !ok || row.Bad || row.Op.Count == 0 {
				continue
			}
			timed := slices.DeleteFunc(slices.Clone(row.Op.Patterns), func(p results.PatternCalls) bool {
				return p.Service == nil
			})
			slices.SortStableFunc(timed, func(a, b results.PatternCalls) int {
				return cmp.Compare(b.Service.P50, a.Service.P50)
			})
			for _, p := range timed {
				p50, p99, most := words.Duration(float64(p.Service.P50)), "-", words.Duration(float64(p.Service.Max))
				if p.Count >= results.EnoughFor(0.99) {
					p99 = words.Duration(float64(p.Service.P99))
				}
				rows = append(rows, PatternRow{op, cs[0].Model, cs[0].Engine, p.Name, []string{
					words.Digits(float64(p.Count) / float64(row.Op.Count)), p50, p99, most,
				}})
			}
		}
	}
	return rows
}

// lintErrors are the patterns of a model's schema that schema lint calls an error, also if the
// schema accepts that, with the rules.
func (e *explainer) lintErrors(model string) map[string]string {
	report, err := lint.Check(e.schemas[model], lint.Options{Engines: lint.EngineNames()})
	if err != nil {
		return nil
	}
	found := map[string]string{}
	for _, f := range report.Findings {
		if f.Rule.Severity == lint.Error && f.Pattern != "" && f.Engine == "" {
			found[f.Pattern] = f.Rule.ID
		}
	}
	return found
}

// explainer knows the schemas of a run, and which of their patterns schema lint calls an error.
type explainer struct {
	schemas map[string]*schemas.Schema
	errors  map[string]map[string]string // rules by model and pattern
}

func newExplainer(r *results.Run) *explainer {
	e := &explainer{schemas: map[string]*schemas.Schema{}, errors: map[string]map[string]string{}}
	for _, s := range r.Schemas {
		if parsed, err := schemas.Parse(s.Model, []byte(s.Text)); err == nil {
			e.schemas[s.Model] = parsed
			e.errors[s.Model] = e.lintErrors(s.Model)
		}
	}
	return e
}
