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
func Objectives(c *results.Cell, all []results.Objective) (found []results.Attained) {
	for i := range all {
		o, of := &all[i], c
		if len(c.Ops) > 0 {
			of = c.Alone(o.Stream)
		}
		replaces := func(p results.Objective) bool { return p.Holds(c) && p.Name() == o.Name() }
		if of == nil || !o.Holds(c) || slices.ContainsFunc(all[i+1:], replaces) {
			continue // the phase does not have the stream, or a later objective replaces it
		}
		if _, asked := of.Ops[o.Op]; o.Op != "" && !asked && len(of.Ops) > 0 {
			continue // the phase does not have the operation
		}
		a := attained(of, o)
		a.Objective, a.Bound = o.Name(), o.Text
		found = append(found, a)
	}
	return found
}

// attained judges one objective of a cell.
func attained(c *results.Cell, o *results.Objective) results.Attained {
	op, ok := c.Ops[o.Op]
	switch {
	case c.Verdict == results.Empty && c.Reason.Code == "not-offered", ok && !op.Offered():
		return results.Attained{Verdict: results.NoSuch, Code: CodeNoOperation, Text: "the model does not support it"}
	case c.Verdict == results.Invalid:
		return unclear(CodeClientDecides, "the result is invalid (client-bound)")
	case len(c.Ops) == 0:
		return unclear(CodeNoFigure, "the phase was not measured")
	}
	of := c.Op(o.Op)
	counts := map[string]int64{
		"errors": of.Failed + of.Unknown + of.Dropped, "failed": of.Failed, "unknown": of.Unknown, "dropped": of.Dropped,
		"not-found": of.NotFound,
	}
	if n, counted := counts[o.Figure]; counted {
		// The share is below the bound exactly if the percentile 1 - bound is an operation that is not among the n. So it
		// takes as many operations as that percentile.
		v, takes := share(n, supported(&of)), int64(1)
		if o.Bound > 0 && o.Bound < 1 {
			takes = results.EnoughFor(1 - o.Bound)
		}
		return few(value(o, v, results.Percent(v)), supported(&of), takes)
	}
	switch o.Figure {
	case "rate":
		return value(o, of.Rate, words.Amount(of.Rate)+"/s")
	case "achieved":
		if c.Offered == nil || c.Offered.Rate == 0 || c.Arrivals == "closed" {
			return unclear(CodeNoFigure, "no rate was offered: a closed loop has none")
		}
		v := c.Offered.Achieved / c.Offered.Rate
		if v < achievedLeast && o.Bound <= achievedLeast && !Overloaded(c) { // a pause at the very end is no fault
			v = achievedLeast
		}
		return value(o, v, results.Percent(v))
	}
	return timed(c, o, &of)
}

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

// timed judges a time of an operation, or of all together if the cell has that.
func timed(c *results.Cell, o *results.Objective, of *results.Op) results.Attained {
	l, n, known, which := of.Scheduled(), supported(of), o.Op != "" || c.AllOps != nil, o.Figure // latencies have no kind
	switch kind, rest, _ := strings.Cut(o.Figure, "."); kind {
	case "wait", "lag": // lag: of results before 2026-11-27
		l, n, known, which = &of.Wait, of.Count, known && c.Arrivals != "closed", rest
	case "service":
		l, n, which = &of.Service, of.Count, rest
	}
	if !known {
		return unclear(CodeNoFigure, "a %s loop does not have this metric", c.Arrivals)
	}
	v, need := float64(results.NeverEnded), int64(1) // a later mailbench wrote a figure that this one does not know
	switch which {
	case "max":
		v = float64(l.Max)
	case "mean":
		v = l.Mean
	}
	below := strings.HasPrefix(o.Sign, "<")
	surely := false // a lower percentile, which has enough operations, is beyond the bound already
	for _, q := range results.Percentiles {
		ns, enough := float64(q.Of(l)), results.EnoughFor(q.P)
		if q.Name == which {
			v, need = ns, enough
		}
		surely = surely || n >= enough && !o.Keeps(ns) && below
	}
	a := value(o, v, results.TimeText(v))
	if n < need && !surely {
		a.Verdict = results.Met
		return few(a, n, need)
	}
	return a
}
