// Package search finds the highest rate at which objectives are kept. It has no clock and no
// store. From the steps that were measured, Next says which rate to measure now, and Found says
// what the result is. Both are pure functions of a saved search.
//
// The rate is doubled until a step breaks. Then the bracket between the highest rate that held
// and the lowest that broke is halved. Both ends are measured a second time. If two measurements
// differ, a third decides. So a disturbance of the machine, or luck, is not taken for a limit.
package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
)

const (
	// grow is the factor between two steps as long as nothing broke. shrink is that factor as
	// long as nothing held. It is larger, because steps at low rates last long.
	grow, shrink = 2, 4
	// lowest is the least rate that the search tries if the first rate breaks, as a share of the
	// first rate.
	lowest = 1.0 / 64
	// mostSteps ends a search that comes to no end and says no other number.
	mostSteps = 60
	// twice is how often each end of the bracket is measured.
	twice = 2
)

// tally has the measurements at one rate: those that did not break, and those that did.
type tally struct {
	rate      float64
	good, bad []*results.SearchStep
}

// last is the last measurement of those that decide: of the kind of most measurements.
func (t *tally) last() *results.SearchStep {
	if n := len(t.good); n > len(t.bad) {
		return t.good[n-1]
	}
	return t.bad[len(t.bad)-1]
}

// tallies returns a tally for each rate, the lowest rate first.
func tallies(steps []results.SearchStep) (all []tally) {
	for i := range steps {
		s := &steps[i]
		at, found := slices.BinarySearchFunc(all, s.Rate, func(t tally, rate float64) int {
			return cmp.Compare(t.rate, rate)
		})
		if !found {
			all = slices.Insert(all, at, tally{rate: s.Rate})
		}
		if t := &all[at]; s.Verdict == results.StepHeld || s.Verdict == results.StepUnclear {
			t.good = append(t.good, s)
		} else {
			t.bad = append(t.bad, s)
		}
	}
	return all
}

// bracket returns high, the lowest rate that broke, and low, the highest rate below it that
// held. Each is nil if there is none.
func bracket(all []tally) (low, high *tally) {
	for i := range all {
		t := &all[i]
		if len(t.bad) >= len(t.good) {
			return low, t
		}
		low = t
	}
	return low, nil
}

// Next returns the rate to measure now; ok is false if the search has ended.
func Next(s *results.Search) (rate float64, ok bool) {
	if len(s.Steps) == 0 {
		return s.From, true
	}
	if len(s.Steps) >= cmp.Or(s.Most, mostSteps) {
		return 0, false
	}
	all := tallies(s.Steps)
	for _, t := range all {
		if len(t.good) == len(t.bad) {
			return t.rate, true
		}
	}
	low, high := bracket(all)
	switch {
	case high == nil:
		rate = min(rounded(grow*low.rate), s.Max)
	case low == nil:
		rate = max(rounded(high.rate/shrink), rounded(s.From*lowest))
	case high.rate/low.rate-1 > precision(s, low):
		rate = rounded(math.Sqrt(low.rate * high.rate))
	default:
		rate = high.rate
	}
	if !slices.ContainsFunc(all, func(t tally) bool { return t.rate == rate }) {
		return rate, true
	}
	for _, end := range []*tally{high, low} {
		if end != nil && max(len(end.good), len(end.bad)) < twice {
			return end.rate, true
		}
	}
	return 0, false
}

// precision is the width to which the bracket is halved, as a share of the rate. It is no less
// than what chance changes in arrivals and service times of that many operations.
func precision(s *results.Search, low *tally) float64 {
	operations := max(1, cmp.Or(low.last().Cell.Offered, &results.Offered{}).Due)
	return max(s.Precision, 2/math.Sqrt(float64(operations)))
}

// rounded cuts a rate to three digits.
func rounded(rate float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 3, 64), 64)
	return v
}

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

// decided are verdicts on a cell that decide its step.
var decided = map[results.Verdict]results.StepVerdict{
	results.Invalid: results.StepClient, results.Failed: results.StepBroken, results.Empty: results.StepUnclear,
}

// Judge says what a step showed. The cell has its verdict and what became of the objectives.
func Judge(c *results.Cell) (results.StepVerdict, string) {
	reason := cmp.Or(c.Reason, &results.Reason{}).Text
	if v, ok := decided[c.Verdict]; ok {
		return v, reason
	}
	for _, a := range c.Objectives {
		if a.Verdict == results.Missed {
			return results.StepBroken, a.Objective + " is " + a.Shown
		}
	}
	o := cmp.Or(c.Offered, &results.Offered{})
	switch late := o.LastStart - o.Span; {
	case c.Verdict == results.Overloaded:
		return results.StepBroken, reason
	case late > max(behindShare*o.Span, behindLeast):
		return results.StepBroken, "operations were late by " + words.Duration(1e9*late) + " at the end"
	case float64(o.NoTarget) > lacking*float64(o.Due):
		return results.StepUnclear, fmt.Sprintf("%d of %d operations found no existing message to work on: the load was "+
			"lighter than the rate", o.NoTarget, o.Due)
	}
	for _, a := range c.Objectives {
		if a.Verdict == results.Unclear {
			return results.StepUnclear, a.Objective + ": " + a.Text
		}
	}
	return results.StepHeld, ""
}

// Found is the result of a search, and the cell that represents it: the last measurement at the highest rate that held,
// else the last at the lowest rate of all; nil if there is none.
func Found(s *results.Search) (f results.SearchResult, cell *results.Cell) {
	all := tallies(s.Steps)
	low, high := bracket(all)
	_, more := Next(s)
	least, at := "no rate passed", ""
	if low != nil {
		f.Rate, f.Low = low.rate, low.rate
		least = "at least " + perSecond(f.Rate)
	}
	if high != nil {
		at = "at " + perSecond(high.rate) + " " + high.last().Text
	}
	switch {
	case s.Unfinished != "":
		f.Limit, f.Text = results.LimitUnfinished, least+" (the search did not end: "+s.Unfinished+")"
	case more || len(all) == 0:
		f.Limit, f.Text = results.LimitUnfinished, least+" (the search did not end)"
	case low != nil && low.last().Verdict == results.StepUnclear:
		f.Limit, f.Text = results.LimitUnclear, fmt.Sprintf("inconclusive: nothing was missed at %s, but %s",
			perSecond(low.rate), low.last().Text)
	case high == nil:
		f.Limit, f.Text = results.LimitMaxRate, least+": the search ends at --max-rate"
	case judge.Full(&high.last().Cell): // it is unknown whether the engine or the load generator was at its limit
		f.Limit = results.LimitMachine
		f.Text = fmt.Sprintf("%s: at %s engine and client together fill the processors that they share (%s)", least,
			perSecond(high.rate), high.last().Text)
	case high.last().Verdict == results.StepClient:
		f.Limit, f.Text = results.LimitClient, least+": mailbench was the limit, not the model: "+at
	case low == nil:
		f.Limit, f.Text = results.LimitNone, least+": "+at
	default:
		f.Limit, f.High = results.LimitStore, high.rate
		f.Text = fmt.Sprintf("%s ± %s: %s passed in %d of %d measurements; %s", perSecond((f.Low+f.High)/2),
			words.Amount((f.High-f.Low)/2), perSecond(low.rate), len(low.good), len(low.good)+len(low.bad), at)
	}
	if low != nil {
		cell = &low.last().Cell
		if o := cell.Offered; o != nil && o.Skipped > 0 {
			f.Text += fmt.Sprintf("; the model does not support %s of the operations, and carries out %s of %s",
				results.Percent(float64(o.Skipped)/float64(max(1, o.Due))), perSecond(o.Achieved), perSecond(low.rate))
		}
	} else if len(all) > 0 {
		cell = &all[0].last().Cell
	}
	return f, cell
}

func perSecond(rate float64) string { return words.Amount(rate) + "/s" }
