package compare

import (
	"fmt"
	"math"

	"github.com/mailbench/mailbench/workloads/results"
)

// highestRate is the metric of a search for the highest rate.
var highestRate = &Measure{
	Name: "max-rate", Limit: 0.10, HigherIsBetter: true, Text: perSecond, time: func(o *observed) float64 {
		rate, _ := o.maxRate()
		return math.Log(rate)
	},
}

// maxRate is the middle of the bracket that a search for the highest rate ended with, and half
// of its width, in operations a second. If engine and load generator filled the machine that
// they share, it is the highest rate that held. It is NaN if the search found no rate, or only
// that the store holds more.
func (t *trial) maxRate() (rate, uncertain float64) {
	switch r := t.found(); {
	case r == nil:
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

// uncertainty is the median over trials of half the bracket of the highest rate.
func uncertainty(trials []observed) float64 {
	var all []float64
	for i := range trials {
		if !trials[i].out {
			_, u := trials[i].maxRate()
			all = append(all, u)
		}
	}
	return results.Series(all).Median()
}

// saySearches notes what was found on both sides, each search by itself.
func (c *Cell) saySearches(all *series) {
	rates, _ := highestRate.sample(all)
	for side, in := range all.in {
		if rate := math.Exp(rates[side].Median()); !math.IsNaN(rate) {
			note := fmt.Sprintf("max-rate of %s: %s", sides[side], perSecond(rate))
			if u := uncertainty(in); u > 0 {
				note += fmt.Sprintf(" ± %s by each search alone", perSecond(u))
			}
			c.Notes = append(c.Notes, note)
		}
		none, why, searches := 0, "", false
		for i := range in {
			r := in[i].found()
			searches = searches || r != nil
			if rate, _ := in[i].maxRate(); math.IsNaN(rate) {
				if none++; r != nil && why == "" {
					why = ": " + r.Text
				}
			}
		}
		if none > 0 && searches {
			c.Notes = append(c.Notes, fmt.Sprintf("%d of %d trials of %s did not find the highest rate, so it is not compared%s",
				none, len(in), sides[side], why))
		}
	}
}
