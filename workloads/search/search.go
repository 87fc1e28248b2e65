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
	"math"
	"slices"
	"strconv"

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

// tally counts what the measurements at one rate showed.
type tally struct {
	rate                          float64
	held, unclear, broken, client int
	operations                    float64 // scheduled operations in the last measurement
}

// good is how many of the measurements did not break, bad is how many did.
func (t *tally) good() int { return t.held + t.unclear }
func (t *tally) bad() int  { return t.broken + t.client }

// contested reports whether measurements differed.
func (t *tally) contested() bool { return t.good() > 0 && t.bad() > 0 }

// open reports whether measurements differ and others must decide. They have decided when there
// are two more of one kind than of the other.
func (t *tally) open() bool {
	n, lead := t.good()+t.bad(), t.good()-t.bad()
	return t.contested() && lead < twice && -lead < twice && n < mostOfOne
}

// verdict is the verdict of most measurements; "" if as many held as broke.
func (t *tally) verdict() results.StepVerdict {
	switch {
	case t.good() > t.bad() && t.held > t.unclear:
		return results.StepHeld
	case t.good() > t.bad():
		return results.StepUnclear
	case t.bad() > t.good() && t.client >= t.broken:
		return results.StepClient
	case t.bad() > t.good():
		return results.StepBroken
	}
	return ""
}

// tallies returns a tally for each rate, the lowest rate first.
func tallies(steps []results.SearchStep) []tally {
	var all []tally
	for i := range steps {
		s := &steps[i]
		at, found := slices.BinarySearchFunc(all, s.Rate, func(t tally, rate float64) int {
			return cmp.Compare(t.rate, rate)
		})
		if !found {
			all = slices.Insert(all, at, tally{rate: s.Rate})
		}
		t := &all[at]
		switch s.Verdict {
		case results.StepHeld:
			t.held++
		case results.StepUnclear:
			t.unclear++
		case results.StepClient:
			t.client++
		default:
			t.broken++
		}
		if s.Cell.Offered != nil {
			t.operations = float64(s.Cell.Offered.Due)
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
	for i := range all {
		if all[i].open() {
			return all[i].rate, true
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
	return outside(all, low, high, 1+precision(s, low), s.Max)
}

// usual is how many doublings a search is expected to take until a step breaks.
const usual = 6

// Ahead is how many measurements are expected to come. It is a guess as long as nothing broke.
func Ahead(s *results.Search) int {
	if _, more := Next(s); !more {
		return 0
	}
	return min(expected(s), cmp.Or(s.Most, mostSteps)-len(s.Steps))
}

// expected is how many measurements a search takes that is not cut short.
func expected(s *results.Search) int {
	all := tallies(s.Steps)
	low, high := bracket(all)
	switch {
	case high == nil:
		doublings := max(1, usual-len(s.Steps))
		if low != nil && s.Max > low.rate {
			doublings = min(doublings, int(math.Ceil(math.Log2(s.Max/low.rate))))
		}
		return doublings + halvings(grow, s.Precision) + 2*(twice-1)
	case low == nil:
		return 1 + halvings(shrink, s.Precision) + 2*(twice-1)
	}
	left := halvings(high.rate/low.rate, precision(s, low)) + max(0, twice-high.bad()) + max(0, twice-low.good())
	return max(1, left)
}

// halvings is how often a bracket of that ratio is halved until it is as narrow as the precision.
func halvings(ratio, precision float64) int {
	return max(0, int(math.Ceil(math.Log2(math.Log(ratio)/math.Log1p(precision)))))
}

// outside returns a rate just outside of the bracket, if measurements at an end of it differ. The
// limit is near that end, and the next rate shows how near.
func outside(all []tally, low, high *tally, factor, most float64) (float64, bool) {
	if next := rounded(low.rate / factor); low.contested() && sureLow(all, low) < next {
		return next, true
	}
	if next := min(rounded(high.rate*factor), most); high.contested() && sureHigh(all, high) == 0 && next > high.rate {
		return next, true
	}
	return 0, false
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
