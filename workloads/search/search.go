// Package search finds the highest rate at which objectives are kept. It has no clock and no
// store. From the steps that were measured, Next says which rate to measure now, and Found says
// what the result is. Both are pure functions of a saved search.
//
// The rate is doubled until a step breaks. Then the bracket between the highest rate that held
// and the lowest that broke is halved. Both ends are measured a second time. If two measurements
// differ, others decide. So a disturbance of the machine, or luck, is not taken for a limit.
package search

import (
	"cmp"
	"fmt"
	"iter"
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
	// first rate. lowestClient is the same if the client was at its limit.
	lowest, lowestClient = 1.0 / 64, 1.0 / 4
	// mostSteps ends a search that comes to no end and says no other number.
	mostSteps = 60
	// twice is how many measurements at each end of the bracket must agree.
	twice = 2
	// mostOfOne bounds the measurements of one rate.
	mostOfOne = 7
)

// tally is what the measurements at one rate showed.
type tally struct {
	rate       float64
	of         map[results.StepVerdict]int    // measurements
	text       map[results.StepVerdict]string // of the last of them
	operations float64                        // scheduled operations in the last measurement
	known      int                            // measurements with evidence about the client
	full       int                            // those in which engine and client filled the processors that they share
	partly     *results.Offered               // of the first measurement with unsupported operations
	cell       *results.Cell                  // the last one that held, else the last one
}

// good is how many of the measurements did not break, bad is how many did.
func (t *tally) good() int { return t.of[results.StepHeld] + t.of[results.StepUnclear] }
func (t *tally) bad() int  { return t.of[results.StepBroken] + t.of[results.StepClient] }

// contested reports whether measurements differed.
func (t *tally) contested() bool { return t.good() > 0 && t.bad() > 0 }

// verdict is the verdict of most measurements; "" if as many held as broke.
func (t *tally) verdict() results.StepVerdict {
	switch good, bad := t.good(), t.bad(); {
	case good > bad && t.of[results.StepHeld] > t.of[results.StepUnclear]:
		return results.StepHeld
	case good > bad:
		return results.StepUnclear
	case bad > good && t.of[results.StepBroken] > t.of[results.StepClient]:
		return results.StepBroken
	case bad > good:
		return results.StepClient
	}
	return ""
}

// tallies returns a tally for each rate, the lowest rate first.
func tallies(steps []results.SearchStep) []tally {
	var all []tally
	for i := range steps {
		s, c := &steps[i], &steps[i].Cell
		at, found := slices.BinarySearchFunc(all, s.Rate, func(t tally, rate float64) int {
			return cmp.Compare(t.rate, rate)
		})
		if !found {
			of, text := map[results.StepVerdict]int{}, map[results.StepVerdict]string{}
			all = slices.Insert(all, at, tally{rate: s.Rate, of: of, text: text})
		}
		t := &all[at]
		held := t.good() > 0
		t.of[s.Verdict]++
		t.text[s.Verdict] = s.Text
		if o := c.Offered; o != nil {
			if t.operations = float64(o.Due); o.Skipped > 0 && t.partly == nil {
				t.partly = o
			}
		}
		if c.Evidence != nil && c.Client != nil {
			if t.known++; judge.Full(c) {
				t.full++
			}
		}
		if good := s.Verdict == results.StepHeld || s.Verdict == results.StepUnclear; good || !held {
			t.cell = c
		}
	}
	return all
}

// bracket returns high, the lowest rate that broke, and low, the highest rate below it that
// held. Each is nil if there is none.
func bracket(all []tally) (low, high *tally) {
	for i := range all {
		t := &all[i]
		if t.bad() >= t.good() {
			return low, t
		}
		low = t
	}
	return low, nil
}

// Next returns the rate to measure now; ok is false if the search has ended.
func Next(s *results.Search) (rate float64, ok bool) {
	all := tallies(s.Steps)
	if len(all) == 0 {
		return s.From, true
	}
	if len(s.Steps) >= cmp.Or(s.Most, mostSteps) {
		return 0, false
	}
	for i := range all { // others decide if measurements differ, until there are two more of one kind than of the other
		t := &all[i]
		n, lead := t.good()+t.bad(), t.good()-t.bad()
		if t.contested() && lead < twice && -lead < twice && n < mostOfOne {
			return t.rate, true
		}
	}
	low, high := bracket(all)
	switch {
	case high == nil && low.rate < s.Max:
		return min(rounded(grow*low.rate), s.Max), true
	case high == nil:
		return low.rate, low.good() < twice
	case low == nil:
		end := s.From * lowest
		if high.verdict() == results.StepClient {
			end = s.From * lowestClient
		}
		if next := rounded(high.rate / shrink); next >= 0.99*end {
			return next, true
		}
		return high.rate, high.bad() < twice
	}
	if between := rounded(math.Sqrt(low.rate * high.rate)); high.rate/low.rate-1 > precision(s, low) &&
		between > low.rate && between < high.rate {
		return between, true
	}
	switch {
	case high.bad() < twice:
		return high.rate, true
	case low.good() < twice:
		return low.rate, true
	}
	// If measurements at an end of the bracket differ, the limit is near that end. The next rate, just outside of the
	// bracket, shows how near.
	factor := 1 + precision(s, low)
	if next := rounded(low.rate / factor); low.contested() && sureLow(all, low) < next {
		return next, true
	}
	if next := min(rounded(high.rate*factor), s.Max); high.contested() && sureHigh(all, high) == 0 && next > high.rate {
		return next, true
	}
	return 0, false
}

// Rates yields the rates to measure, one after another. The step at a rate must be in s when the next one is taken.
func Rates(s *results.Search) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		for rate, more := Next(s); more && yield(rate); rate, more = Next(s) {
		}
	}
}

// usual is how many measurements a search is expected to take until a step breaks.
const usual = 6

// Ahead are the rates of the measurements that are expected to come: those of a store that breaks in the middle of
// what is known of its limit. That is a guess as long as nothing broke.
func Ahead(s *results.Search) (rates []float64) {
	low, high := bracket(tallies(s.Steps))
	var limit float64
	switch {
	case high == nil && low == nil:
		limit = s.From * math.Pow(grow, usual-1.5)
	case high == nil:
		limit = low.rate * math.Pow(grow, max(1, float64(usual-len(s.Steps)))-0.5)
	case low == nil:
		limit = high.rate / math.Sqrt(shrink)
	default:
		limit = math.Sqrt(low.rate * high.rate)
	}
	next := results.SearchStep{Cell: results.Cell{Offered: &results.Offered{Due: math.MaxInt64}}}
	if n := len(s.Steps); n > 0 {
		next.Cell.Offered = s.Steps[n-1].Cell.Offered // each of those to come has about as many operations
	}
	guess := *s
	guess.Steps = slices.Clone(s.Steps)
	for rate := range Rates(&guess) {
		if next.Rate, next.Verdict = rate, results.StepHeld; rate > limit {
			next.Verdict = results.StepBroken
		}
		guess.Steps, rates = append(guess.Steps, next), append(rates, rate)
	}
	return rates
}

// precision is the width to which the bracket is halved, as a share of the rate. It is no less
// than what chance changes in arrivals and service times of that many operations.
func precision(s *results.Search, low *tally) float64 {
	return max(s.Precision, 2/math.Sqrt(max(1, low.operations)))
}

// rounded cuts a rate to three digits.
func rounded(rate float64) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 3, 64), 64)
	if err != nil {
		return rate // rate is NaN or infinite
	}
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

// Judge says what a step showed. The cell has its verdict and what became of the objectives.
func Judge(c *results.Cell) (results.StepVerdict, string) {
	reason := ""
	if c.Reason != nil {
		reason = c.Reason.Text
	}
	missed := slices.IndexFunc(c.Objectives, func(a results.Attained) bool { return a.Verdict == results.Missed })
	switch c.Verdict {
	case results.Invalid: // it may keep all its bounds all the same, or miss one: see judge.Objectives
		open := func(a results.Attained) bool { return a.Verdict != results.Met }
		if missed < 0 && (len(c.Objectives) == 0 || slices.ContainsFunc(c.Objectives, open)) {
			return results.StepClient, reason
		}
	case results.Failed:
		return results.StepBroken, reason
	case results.Empty:
		return results.StepUnclear, reason
	}
	if missed >= 0 {
		a := &c.Objectives[missed]
		return results.StepBroken, a.Objective + " is " + a.Shown
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
			perSecond(low.rate), low.text[results.StepUnclear])
	case 2*high.full > high.known: // it is unknown whether the engine or the load generator was at its limit
		f.Limit = results.LimitMachine
		f.Text = fmt.Sprintf("%s: at %s engine and client together fill the processors that they share (%s)", least,
			perSecond(high.rate), high.why())
	case high.verdict() == results.StepClient:
		f.Limit = results.LimitClient
		f.Text = fmt.Sprintf("%s: mailbench was the limit, not the model: at %s %s", least, perSecond(high.rate), high.why())
	case low == nil:
		f.Limit = results.LimitNone
		f.Text = fmt.Sprintf("no rate passed: at %s %s", perSecond(high.rate), high.why())
	default:
		f.Limit, f.High = results.LimitStore, max(high.rate, sureHigh(all, high))
		f.Text = fmt.Sprintf("%s ± %s: %s passed in %d of %d measurements; at %s %s", perSecond((f.Low+f.High)/2),
			words.Amount((f.High-f.Low)/2),
			perSecond(low.rate), low.good(), low.good()+low.bad(), perSecond(high.rate), high.why())
	}
	if low != nil && low.partly != nil {
		o := low.partly
		f.Text += fmt.Sprintf("; the model does not support %s of the operations, and carries out %s of %s",
			results.Percent(float64(o.Skipped)/float64(max(1, o.Due))), perSecond(o.Achieved), perSecond(low.rate))
	}
	return f
}

// Cell is the cell that represents the search: the last measurement at the highest rate that
// held, else the last at the lowest rate of all. It is nil if there is none.
func Cell(s *results.Search) *results.Cell {
	all := tallies(s.Steps)
	if low, _ := bracket(all); low != nil {
		return low.cell
	}
	if len(all) > 0 {
		return all[0].cell
	}
	return nil
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

// why says what broke at the rate.
func (t *tally) why() string {
	if client := t.of[results.StepClient]; client > 0 && client >= t.of[results.StepBroken] {
		return t.text[results.StepClient]
	}
	return t.text[results.StepBroken]
}

func perSecond(rate float64) string { return words.Amount(rate) + "/s" }
