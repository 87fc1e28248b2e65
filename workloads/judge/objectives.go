package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Codes say why an objective is not met. They are stable, as those of verdicts are.
// docs/results.md says what each means, in this order.
const (
	CodeBeyondBound   results.Code = "beyond-bound"
	CodeTooFew        results.Code = "too-few"
	CodeClientDecides results.Code = "client-decides"
	CodeNoFigure      results.Code = "no-figure"
	CodeNoOperation   results.Code = "no-operation"
)

// Objectives says what became of the objectives that hold for a measured cell. It is
// a pure function of the cell with its verdict, and of the run's objectives.
func Objectives(c *results.Cell, all []results.Objective) []results.Attained {
	var found []results.Attained
	whole := c
	for i := range all {
		o := &all[i]
		c := whole
		if o.Holds(c) && len(c.Ops) > 0 {
			if c = c.Alone(o.Stream); c == nil {
				continue // the phase does not have the stream
			}
		}
		replaced := slices.ContainsFunc(all[i+1:], func(p results.Objective) bool {
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
func attained(c *results.Cell, o *results.Objective) results.Attained {
	op, ok := c.Ops[o.Op]
	switch {
	case c.Verdict == results.Empty && c.Reason.Code == CodeNotOffered, ok && !op.Offered():
		return results.Attained{Verdict: results.NoSuch, Code: CodeNoOperation, Text: "the model does not support it"}
	case c.Verdict == results.Invalid:
		if a, ok := proven(c, o); ok {
			return a
		}
		return unclear(CodeClientDecides, "the result is invalid (client-bound)")
	case len(c.Ops) == 0:
		return unclear(CodeNoFigure, "the phase was not measured")
	}
	return byFigures(c, o)
}

// byFigures judges an objective by the cell's figures.
func byFigures(c *results.Cell, o *results.Objective) results.Attained {
	of := c.Op(o.Op)
	switch o.Figure {
	case "errors":
		return ofAll(o, &of, of.Failed+of.Unknown+of.Dropped)
	case "failed":
		return ofAll(o, &of, of.Failed)
	case "unknown":
		return ofAll(o, &of, of.Unknown)
	case "dropped":
		return ofAll(o, &of, of.Dropped)
	case "not-found":
		return ofAll(o, &of, of.NotFound)
	case "rate":
		return value(o, of.Rate, words.Amount(of.Rate)+"/s")
	case "achieved":
		return executed(c, o)
	}
	return timed(c, o, &of)
}

// proven judges an objective of an invalid cell, if the cell proves it. Lost time of the
// client makes times longer, errors more and rates lower. So a bound on these from the bad side that
// is kept with the client's delays is kept without. The cell must have executed what was offered.
// The client must have run.
func proven(c *results.Cell, o *results.Objective) (results.Attained, bool) {
	no := results.Attained{}
	if len(c.Ops) == 0 || c.Reason == nil || !slices.Contains(clientsOwn, c.Reason.Code) ||
		c.Evidence == nil || c.Evidence.Hiccups == nil || seconds(c.Evidence.Hiccups.Total) > stoppedMost*c.Seconds {
		return no, false
	}
	a, bad := byFigures(c, o), "<"
	switch o.Figure {
	case "not-found":
		return no, false // it follows from what was drawn
	case "rate", "achieved":
		bad = ">"
	}
	switch {
	case !strings.HasPrefix(o.Sign, bad):
		return no, false
	case a.Verdict == results.Met:
		return a, c.Offered != nil && c.Offered.Achieved >= provenLeast*c.Offered.Rate
	}
	return no, false
}

// clientsOwn are the reasons of invalid cells in which the client lost time of its own.
var clientsOwn = []results.Code{CodeClientDelays, CodeFewWorkers, CodeClientBusy, CodeClientCPU}

// provenLeast is the share of the offered rate that an invalid cell must have executed to prove
// an objective.
const provenLeast = 0.99

func unclear(code results.Code, format string, args ...any) results.Attained {
	return results.Attained{Verdict: results.Unclear, Code: code, Text: fmt.Sprintf(format, args...)}
}

// value judges a figure that rests on enough operations.
func value(o *results.Objective, v float64, shown string) results.Attained {
	a := results.Attained{Verdict: results.Met, Value: v, Shown: shown}
	if !o.Keeps(v) {
		a.Verdict, a.Code, a.Text = results.Missed, CodeBeyondBound, "it is "+shown
	}
	return a
}

// few makes an objective unclear that is met by a figure of n operations, if a decision takes more.
func few(a results.Attained, n, takes int64) results.Attained {
	if a.Verdict == results.Met && n < takes {
		a.Verdict, a.Code, a.Text = results.Unclear, CodeTooFew,
			fmt.Sprintf("needs %d operations, had %d", takes, n)
	}
	return a
}

// supported is how many operations were scheduled that the engine supports.
func supported(of *results.Op) int64 { return of.Attempted() - of.TooLarge }

// ofAll judges the share of n operations in all. That share is below p exactly if the
// percentile 1-p is an operation that is not among the n. So it takes as many operations as
// that percentile.
func ofAll(o *results.Objective, of *results.Op, n int64) results.Attained {
	v := share(n, supported(of))
	takes := int64(1)
	if o.Bound > 0 && o.Bound < 1 {
		takes = results.EnoughFor(1 - o.Bound)
	}
	return few(value(o, v, results.Percent(v)), supported(of), takes)
}

// executed judges the achieved share of the offered rate. A pause at the very end is no
// fault, as for the verdict overloaded.
func executed(c *results.Cell, o *results.Objective) results.Attained {
	if c.Offered == nil || c.Offered.Rate == 0 || c.Arrivals == "closed" {
		return unclear(CodeNoFigure, "no rate was offered: a closed loop has none")
	}
	v := c.Offered.Achieved / c.Offered.Rate
	if v < achievedLeast && o.Bound <= achievedLeast && !Overloaded(c) {
		v = achievedLeast
	}
	return value(o, v, results.Percent(v))
}

// timed judges a time of an operation, or of all together if the cell has that.
func timed(c *results.Cell, o *results.Objective, of *results.Op) results.Attained {
	kind, which := timeOf(o.Figure)
	l, n, known := of.Scheduled(), supported(of), o.Op != "" || c.AllOps != nil
	switch kind {
	case "wait", "lag": // lag: of results before 2026-11-27
		l, n, known = &of.Wait, of.Count, known && c.Arrivals != "closed"
	case "service":
		l, n = &of.Service, of.Count
	}
	if !known {
		return unclear(CodeNoFigure, "a %s loop does not have this metric", c.Arrivals)
	}
	v, need := figureOf(l, which)
	a := value(o, v, results.TimeText(v))
	if n < need && !surely(l, o, n) {
		a.Verdict = results.Met
		return few(a, n, need)
	}
	if a.Verdict == results.Met && strings.HasPrefix(o.Sign, "<") && c.Verdict == results.Invalid {
		a.Shown = "≤" + a.Shown
	}
	return a
}

// timeOf divides the figure of a time: latencies have no kind.
func timeOf(figure string) (kind, which string) {
	if kind, which, ok := strings.Cut(figure, "."); ok && (kind == "wait" || kind == "lag" || kind == "service") {
		return kind, which
	}
	return "", figure
}

// surely reports whether a bound is missed although there are too few operations for the
// percentile: a lower percentile, which has enough operations, is beyond the bound already.
func surely(l *results.Latency, o *results.Objective, n int64) bool {
	for _, q := range results.Percentiles {
		if n >= results.EnoughFor(q.P) && !o.Keeps(float64(q.Of(l))) && strings.HasPrefix(o.Sign, "<") {
			return true
		}
	}
	return false
}

// figureOf is a value of a distribution, and how many operations it needs.
func figureOf(l *results.Latency, name string) (v float64, takes int64) {
	for _, q := range results.Percentiles {
		if q.Name == name {
			return float64(q.Of(l)), results.EnoughFor(q.P)
		}
	}
	switch name {
	case "max":
		return float64(l.Max), 1
	case "mean":
		return l.Mean, 1
	}
	return results.NeverEnded, 1 // a later mailbench wrote a figure that this one does not know
}
