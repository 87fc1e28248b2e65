package search

import (
	"fmt"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
)

// lacking is the share of the operations that may find no existing message to work on.
// With more, the load is lighter than the rate.
const lacking = 0.02

// A step does not hold if its last operation started later after its scheduled time than both of
// these. A queue that grows for some seconds means a rate above the limit, also if bounds are
// wide. A pause at the end of a step does not count twice: it is not in the next measurement.
const (
	behindShare = 0.01 // share of the step's length
	behindLeast = 0.05 // seconds
)

// Judge says what a step showed. The cell has its verdict and what became of the objectives.
func Judge(c *results.Cell) (results.StepVerdict, string) {
	reason := ""
	if c.Reason != nil {
		reason = c.Reason.Text
	}
	switch c.Verdict {
	case results.Invalid:
		if !decided(c) {
			return results.StepClient, reason
		}
	case results.Failed:
		return results.StepBroken, reason
	case results.Empty:
		return results.StepUnclear, reason
	}
	for _, a := range c.Objectives {
		if a.Verdict == results.Missed {
			return results.StepBroken, a.Objective + " is " + a.Shown
		}
	}
	if c.Verdict == results.Overloaded {
		return results.StepBroken, reason
	}
	if o := c.Offered; o != nil && o.LastStart-o.Span > max(behindShare*o.Span, behindLeast) {
		if c.Verdict == results.Invalid {
			return results.StepClient, reason
		}
		return results.StepBroken, fmt.Sprintf("operations were late by %s at the end",
			words.Duration(1e9*(o.LastStart-o.Span)))
	}
	for _, a := range c.Objectives {
		if a.Code == judge.CodeClientDecides {
			return results.StepClient, a.Objective + " is " + a.Shown + ", and " + a.Text
		}
	}
	if o := c.Offered; o != nil && float64(o.NoTarget) > lacking*float64(o.Due) {
		return results.StepUnclear, fmt.Sprintf("%d of %d operations found no live message to work on: the load was "+
			"lighter than the rate", o.NoTarget, o.Due)
	}
	for _, a := range c.Objectives {
		if a.Verdict == results.Unclear {
			return results.StepUnclear, a.Objective + ": " + a.Text
		}
	}
	return results.StepHeld, ""
}

// decided reports whether an invalid cell keeps all its bounds all the same, or misses one: see
// judge.Objectives.
func decided(c *results.Cell) bool {
	met := 0
	for _, a := range c.Objectives {
		switch a.Verdict {
		case results.Missed:
			return true
		case results.Met:
			met++
		}
	}
	return met > 0 && met == len(c.Objectives)
}

// Found is the result of a search.
func Found(s *results.Search) results.SearchResult {
	all := tallies(s.Steps)
	low, high := bracket(all)
	var f results.SearchResult
	if low != nil {
		f.Rate, f.Low = low.rate, sureLow(all, low)
	}
	_, more := Next(s)
	least := "at least " + perSecond(f.Rate)
	if f.Rate == 0 {
		least = "no rate passed"
	}
	switch {
	case s.Unfinished != "" || more || len(all) == 0:
		f.Limit, f.Text = results.LimitUnfinished, least+" (the search did not end)"
		if s.Unfinished != "" {
			f.Text = least + " (the search did not end: " + s.Unfinished + ")"
		}
	case high == nil && low.verdict() == results.StepHeld:
		f.Limit, f.Text = results.LimitMaxRate, least+": the search ends at --max-rate"
	case low != nil && low.verdict() == results.StepUnclear:
		f.Limit, f.Text = results.LimitUnclear, fmt.Sprintf("inconclusive: nothing was missed at %s, but %s",
			perSecond(low.rate), last(s, low.rate, results.StepUnclear))
	case sharedMachine(s, high.rate):
		f.Limit = results.LimitMachine
		f.Text = fmt.Sprintf("%s: at %s engine and client together fill the processors that they share (%s)", least,
			perSecond(high.rate), why(s, high))
	case high.verdict() == results.StepClient:
		f.Limit = results.LimitClient
		f.Text = fmt.Sprintf("%s: mailbench was the limit, not the model: at %s %s", least, perSecond(high.rate),
			why(s, high))
	case low == nil:
		f.Limit = results.LimitNone
		f.Text = fmt.Sprintf("no rate passed: at %s %s", perSecond(high.rate), why(s, high))
	default:
		f.Limit, f.High = results.LimitStore, max(high.rate, sureHigh(all, high))
		f.Text = fmt.Sprintf("%s ± %s: %s passed in %d of %d measurements; at %s %s", perSecond((f.Low+f.High)/2),
			words.Amount((f.High-f.Low)/2),
			perSecond(low.rate), low.good(), low.good()+low.bad(), perSecond(high.rate), why(s, high))
	}
	f.Text += partly(s, f.Rate)
	return f
}

// partly says how much of a rate the model executes, if it does not offer all operations.
func partly(s *results.Search, rate float64) string {
	for i := range s.Steps {
		if o := s.Steps[i].Cell.Offered; s.Steps[i].Rate == rate && o != nil && o.Skipped > 0 {
			return fmt.Sprintf("; the model does not support %s of the operations, and carries out %s of %s",
				results.Percent(float64(o.Skipped)/float64(max(1, o.Due))), perSecond(o.Achieved), perSecond(rate))
		}
	}
	return ""
}

// Cell is the cell that represents the search: the last measurement at the highest rate that
// held, else the last at the lowest rate of all. It is nil if there is none.
func Cell(s *results.Search) *results.Cell {
	var last *results.Cell
	rate := Found(s).Rate
	if all := tallies(s.Steps); rate == 0 && len(all) > 0 {
		rate = all[0].rate
	}
	held := false
	for i := range s.Steps {
		step := &s.Steps[i]
		good := step.Verdict == results.StepHeld || step.Verdict == results.StepUnclear
		if step.Rate == rate && (good || !held) {
			last, held = &step.Cell, held || good
		}
	}
	return last
}

// sureLow is the highest rate, up to the low end of the bracket, at which all measurements held.
// sureHigh is the lowest rate, from the high end on, at which all broke. They are 0 if there is
// none. They are the bounds of the limit, which may be where measurements differ.
func sureLow(all []tally, low *tally) float64 {
	sure := 0.0
	for i := range all {
		if t := &all[i]; t.rate <= low.rate && !t.contested() && t.good() > 0 {
			sure = t.rate
		}
	}
	return sure
}

func sureHigh(all []tally, high *tally) float64 {
	for i := range all {
		if t := &all[i]; t.rate >= high.rate && !t.contested() && t.bad() > 0 {
			return t.rate
		}
	}
	return 0
}

// why says what broke at a rate.
func why(s *results.Search, t *tally) string {
	if t.client >= t.broken && t.client > 0 {
		return last(s, t.rate, results.StepClient)
	}
	return last(s, t.rate, results.StepBroken)
}

// last is the text of the last step with that rate and verdict.
func last(s *results.Search, rate float64, v results.StepVerdict) string {
	text := ""
	for i := range s.Steps {
		if s.Steps[i].Rate == rate && s.Steps[i].Verdict == v {
			text = s.Steps[i].Text
		}
	}
	return text
}

// sharedMachine reports whether engine and load generator share processors that were
// full at that rate. It is unknown then which of them was at its limit.
func sharedMachine(s *results.Search, rate float64) bool {
	shared, n := 0, 0
	for i := range s.Steps {
		c := &s.Steps[i].Cell
		if s.Steps[i].Rate != rate || c.Evidence == nil || c.Client == nil {
			continue
		}
		n++
		if judge.Full(c) {
			shared++
		}
	}
	return 2*shared > n
}

func perSecond(rate float64) string { return words.Amount(rate) + "/s" }
