package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/units"
)

// Codes say why an objective is not met. They are stable, as those of verdicts are.
const (
	CodeBeyondBound   reports.Code = "beyond-bound"
	CodeTooFew        reports.Code = "too-few"
	CodeClientDecides reports.Code = "client-decides"
	CodeNoFigure      reports.Code = "no-figure"
	CodeNoOperation   reports.Code = "no-operation"
)

// ObjectiveEntry describes one code of objectives.
type ObjectiveEntry struct {
	Code    reports.Code
	Verdict reports.Attainment // the attainment that it is a reason for
	Doc     string
}

// ObjectiveCodes returns the codes of objectives, in the order of docs/results.md.
func ObjectiveCodes() []ObjectiveEntry {
	return []ObjectiveEntry{
		{CodeBeyondBound, reports.Missed, "The figure does not keep its bound."},
		{CodeTooFew, reports.Unclear, "The figure keeps its bound, but rests on too few operations."},
		{CodeClientDecides, reports.Unclear, "The cell is invalid, or the figure would keep its bound without the load " +
			"generator's own delays."},
		{CodeNoFigure, reports.Unclear, "The cell has no such figure: for example, a closed loop has no lag."},
		{CodeNoOperation, reports.NoSuch, "The model does not offer the operation."},
	}
}

// Objectives says what became of the objectives that hold for a measured cell. It is
// a pure function of the cell with its verdict, and of the run's objectives.
func Objectives(c *reports.Cell, all []reports.Objective) []reports.Attained {
	var found []reports.Attained
	whole := c
	for i := range all {
		o := &all[i]
		c := whole
		if o.Stream != "" && o.Holds(c) && len(c.Ops) > 0 {
			s := c.Stream(o.Stream)
			if s == nil {
				continue // the phase does not have the stream
			}
			c = c.Alone(s)
		}
		replaced := slices.ContainsFunc(all[i+1:], func(p reports.Objective) bool {
			return p.Holds(c) && p.Name() == o.Name()
		})
		_, asked := c.Ops[o.Op]
		if !o.Holds(c) || replaced || o.Op != "" && !asked && len(c.Ops) > 0 {
			continue // a later objective replaces it, or the phase does not have the operation
		}
		a := attained(c, o)
		a.Objective, a.Bound = o.Name(), o.Text
		found = append(found, a)
	}
	return found
}

// attained judges one objective of a cell.
func attained(c *reports.Cell, o *reports.Objective) reports.Attained {
	op, ok := c.Ops[o.Op]
	switch {
	case c.Verdict == reports.Empty && c.Reason.Code == CodeNotOffered, ok && !op.Offered():
		return reports.Attained{Verdict: reports.NoSuch, Code: CodeNoOperation, Text: "the model does not offer it"}
	case c.Verdict == reports.Invalid:
		return unclear(CodeClientDecides, "the cell is invalid: its figures are the load generator's")
	case len(c.Ops) == 0:
		return unclear(CodeNoFigure, "the phase was not measured")
	}
	of := figuresOf(c, o.Op)
	switch o.Figure {
	case "errors":
		return of.share(o, of.failed+of.unknown+of.dropped)
	case "failed":
		return of.share(o, of.failed)
	case "unknown":
		return of.share(o, of.unknown)
	case "dropped":
		return of.share(o, of.dropped)
	case "not-found":
		return of.share(o, of.notFound)
	case "rate":
		return value(o, of.rate, units.Amount(of.rate)+"/s")
	case "achieved":
		return carriedOut(c, o)
	}
	return of.time(c, o)
}

func unclear(code reports.Code, format string, args ...any) reports.Attained {
	return reports.Attained{Verdict: reports.Unclear, Code: code, Text: fmt.Sprintf(format, args...)}
}

// value judges a figure that rests on enough operations.
func value(o *reports.Objective, v float64, shown string) reports.Attained {
	a := reports.Attained{Verdict: reports.Met, Value: v, Shown: shown}
	if !o.Keeps(v) {
		a.Verdict, a.Code, a.Text = reports.Missed, CodeBeyondBound, "it is "+shown
	}
	return a
}

// few makes an objective unclear that is met by a figure of n operations, if telling takes more.
func few(a reports.Attained, n, takes int64) reports.Attained {
	if a.Verdict == reports.Met && n < takes {
		a.Verdict, a.Code, a.Text = reports.Unclear, CodeTooFew,
			fmt.Sprintf("it takes %d operations to tell, and there were %d", takes, n)
	}
	return a
}

// figures are the figures of one operation of a cell, or of all together. A latency is nil if
// the cell does not have it.
type figures struct {
	ok, notFound, failed, unknown, dropped int64

	rate                              float64
	due, response, undelayed, service *reports.Latency
	lag                               *reports.Latency
}

func figuresOf(c *reports.Cell, op string) figures {
	var f figures
	for name, o := range c.Ops {
		if op != "" && op != name {
			continue
		}
		f.ok, f.notFound, f.failed = f.ok+o.Count, f.notFound+o.NotFound, f.failed+o.Failed
		f.unknown, f.dropped, f.rate = f.unknown+o.Unknown, f.dropped+o.Dropped, f.rate+o.Rate
		if op != "" {
			f.response, f.undelayed, f.service, f.lag, f.due = &o.Response, o.Undelayed, &o.Service, &o.Lag, o.Due
		}
	}
	if all := c.AllOps; all != nil && op == "" {
		f.response, f.service, f.lag, f.due = &all.Response, &all.Service, &all.Lag, all.Due
		if c.Evidence != nil && c.Evidence.Delays != nil {
			f.undelayed = &c.Evidence.Delays.Undelayed
		}
	}
	if f.due == nil {
		f.due = f.response
	}
	if c.Arrivals == "closed" {
		f.lag = nil
	}
	return f
}

// all is how many operations were due.
func (f *figures) all() int64 { return f.ok + f.notFound + f.failed + f.unknown + f.dropped }

// share judges the share of n operations in all. That share is below p exactly if the
// percentile 1-p is an operation that is not among the n. So it takes as many operations as
// that percentile.
func (f *figures) share(o *reports.Objective, n int64) reports.Attained {
	v := share(n, f.all())
	takes := int64(1)
	if o.Bound > 0 && o.Bound < 1 {
		takes = reports.EnoughFor(1 - o.Bound)
	}
	return few(value(o, v, reports.Percent(v)), f.all(), takes)
}

// carriedOut judges the achieved share of the offered rate. A pause at the very end is no
// fault, as for the verdict overloaded.
func carriedOut(c *reports.Cell, o *reports.Objective) reports.Attained {
	if c.Offered == nil || c.Offered.Rate == 0 || c.Arrivals == "closed" {
		return unclear(CodeNoFigure, "no rate was offered: a closed loop has none")
	}
	v := c.Offered.Achieved / c.Offered.Rate
	if v < achievedLeast && o.Bound <= achievedLeast && !Overloaded(c) {
		v = achievedLeast
	}
	return value(o, v, reports.Percent(v))
}

// percentiles are the percentiles that cells have, the lowest first.
var percentiles = []struct {
	name string
	p    float64
	of   func(*reports.Latency) int64
}{
	{"p50", 0.5, func(l *reports.Latency) int64 { return l.P50 }},
	{"p90", 0.9, func(l *reports.Latency) int64 { return l.P90 }},
	{"p99", 0.99, func(l *reports.Latency) int64 { return l.P99 }},
	{"p99.9", 0.999, func(l *reports.Latency) int64 { return l.P999 }},
}

// time judges a latency.
func (f *figures) time(c *reports.Cell, o *reports.Objective) reports.Attained {
	kind, which, ok := strings.Cut(o.Figure, ".")
	if !ok || kind != "lag" && kind != "service" {
		kind, which = "", o.Figure
	}
	l, n := f.due, f.all()
	switch kind {
	case "lag":
		l, n = f.lag, f.ok
	case "service":
		l, n = f.service, f.ok
	}
	if l == nil {
		return unclear(CodeNoFigure, "there is no such figure in a %s loop", c.Arrivals)
	}
	v, need := figureOf(l, which), takes(which)
	a := value(o, v, ended(v))
	if n < need && !surely(l, o, n) {
		a.Verdict = reports.Met
		return few(a, n, need)
	}
	if client := f.undelayed; a.Verdict == reports.Missed && kind == "" && client != nil &&
		!o.Keeps(figureOf(f.response, which)) && o.Keeps(figureOf(client, which)) {
		without := ended(figureOf(client, which))
		a.Verdict, a.Code, a.Text = reports.Unclear, CodeClientDecides,
			"without the load generator's own delays it would be "+without
	}
	return a
}

// surely reports whether a bound is missed although there are too few operations for the
// percentile: a lower percentile, which has enough operations, is beyond the bound already.
func surely(l *reports.Latency, o *reports.Objective, n int64) bool {
	for _, q := range percentiles {
		if n >= reports.EnoughFor(q.p) && !o.Keeps(float64(q.of(l))) && strings.HasPrefix(o.Sign, "<") {
			return true
		}
	}
	return false
}

func figureOf(l *reports.Latency, name string) float64 {
	switch name {
	case "max":
		return float64(l.Max)
	case "mean":
		return l.Mean
	}
	for _, q := range percentiles {
		if q.name == name {
			return float64(q.of(l))
		}
	}
	return reports.NeverEnded // a later mailbench wrote a figure that this one does not know
}

// takes is how many operations it takes to tell a figure of a distribution.
func takes(name string) int64 {
	for _, q := range percentiles {
		if q.name == name {
			return reports.EnoughFor(q.p)
		}
	}
	return 1
}

func ended(ns float64) string {
	if ns == reports.NeverEnded {
		return "never"
	}
	return units.Duration(ns)
}
