package compare

import (
	"fmt"
	"math"

	"github.com/mailbench/mailbench/reports/results"
)

// searched is the operation that the highest rate is of: all operations of the phase together.
var searched = operation{op: "all"}

// maxRate is the middle of the bracket that a search for the highest rate ended with, and half
// of its width, in operations a second. If engine and load generator filled the machine that
// they share, it is the highest rate that held. It is NaN if the search found no rate, or only
// that the store holds more.
func maxRate(r *results.SearchResult) (rate, uncertain float64) {
	switch {
	case r.Limit == results.LimitStore && r.High > 0:
		return (r.Low + r.High) / 2, (r.High - r.Low) / 2
	case r.Limit == results.LimitMachine && r.Rate > 0:
		return r.Rate, 0
	}
	return math.NaN(), math.NaN()
}

// found is the result of the trial's search; nil if there was no search.
func (t *trial) found() *results.SearchResult {
	for i := range t.run.Searches {
		if s := &t.run.Searches[i]; s.Key == t.cell.Key {
			return s.Found
		}
	}
	return nil
}

func (t *trial) maxRate() (rate, uncertain float64) {
	if r := t.found(); r != nil {
		return maxRate(r)
	}
	return math.NaN(), math.NaN()
}

// isSearched reports whether some trial searched for the highest rate. Its operations then ran
// at the rate that was found, which differs from trial to trial.
func isSearched(trials []trial) bool {
	for i := range trials {
		if trials[i].found() != nil {
			return true
		}
	}
	return false
}

func (p *pair) searched() bool { return isSearched(p.base) || isSearched(p.new) }

// has reports whether the figure is compared for the operation. If the highest rate was
// searched, that rate is compared, and times and errors at that rate are not.
func (s operation) has(f *figure, search bool) bool {
	switch {
	case s == searched || f.found != nil:
		return s == searched && f.found != nil
	case search:
		return f.count != nil && f.name != "errors"
	}
	return true
}

// uncertainty is the median over trials of half the bracket of the highest rate.
func uncertainty(trials []trial) float64 {
	var all []float64
	for i := range trials {
		if !trials[i].out {
			_, u := trials[i].maxRate()
			all = append(all, u)
		}
	}
	return median(all)
}

// searches says what was found on both sides, each search by itself.
func (p *pair) searches() (notes []string) {
	for _, side := range []struct {
		name   string
		trials []trial
	}{{"base", p.base}, {"new", p.new}} {
		if !isSearched(side.trials) {
			continue
		}
		if rate := figureNamed("max-rate").value(side.trials, searched); !math.IsNaN(rate) {
			note := fmt.Sprintf("max-rate of %s: %s", side.name, perSecond(rate))
			if u := uncertainty(side.trials); u > 0 {
				note += fmt.Sprintf(" ± %s by each search alone", perSecond(u))
			}
			notes = append(notes, note)
		}
		none, why := 0, ""
		for i := range side.trials {
			if rate, _ := side.trials[i].maxRate(); math.IsNaN(rate) {
				none++
				if r := side.trials[i].found(); r != nil && why == "" {
					why = ": " + r.Text
				}
			}
		}
		if none > 0 {
			notes = append(notes, fmt.Sprintf("%d of %d trials of %s did not find the highest rate, so it is not compared%s",
				none, len(side.trials), side.name, why))
		}
	}
	return notes
}
