package compare

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// searchedPair are two sides whose trials searched for the highest rate: about 1000/s ± 25, times a
// factor in the new ones. Their times are those at the rates that held.
func searchedPair(n int, factor float64, limit results.Limit) (base, new Side) {
	base, new = pairOf(n)
	for _, s := range []Side{base, new} {
		r := s.Runs[0]
		r.Config.FindMax = &results.FindMax{Max: 1e6, Precision: 0.05, Step: 5}
		for i := range r.Cells {
			rate := 1000 + 10*float64(i%3)
			if s.Name == "fresh" {
				rate *= factor
			}
			found := results.SearchResult{Limit: limit, Rate: rate, Text: "said\nmore"}
			if limit == results.LimitStore {
				found.Low, found.High = rate-25, rate+25
			}
			r.Searches = append(r.Searches, results.Search{Key: r.Cells[i].Key, Found: &found})
		}
	}
	change(new, "list", slower(factor)) // at a higher rate
	return base, new
}

// The highest rate is compared, and less is worse; the times at that rate are not.
func TestMaxRate(t *testing.T) {
	for _, tc := range []struct {
		name   string
		trials int
		factor float64
		limit  results.Limit
		want   Verdict
	}{
		{"less", 10, 0.8, results.LimitStore, Worse},
		{"more", 10, 1.3, results.LimitStore, Better},
		{"equal", 10, 1, results.LimitStore, Same},
		{"less by a step of the search", 10, 0.95, results.LimitStore, Same},
		{"less, where the machine was full", 10, 0.8, results.LimitMachine, Worse},
		{"less, with few trials", 3, 0.8, results.LimitStore, CannotTell},
	} {
		base, fresh := searchedPair(tc.trials, tc.factor, tc.limit)
		c := compared(t, base, fresh, "*", false)
		f := figureOf(t, c, WholeLoad, "max-rate")
		if f.Verdict != tc.want {
			t.Errorf("%s: %s %s (%s), want %s", tc.name, f, f.Verdict, f.Why, tc.want)
		}
		if want := tc.want == Worse; want != slices.Equal(c.Regressions, []string{"james/embedded/measure whole load.max-rate"}) {
			t.Errorf("%s: regressions %q", tc.name, c.Regressions)
		}
		for i := range c.Cells[0].Figures {
			if f := &c.Cells[0].Figures[i]; f.Measure.Timed() && f.Name != "max-rate" || f.Name == "errors" {
				t.Errorf("%s: %s.%s is of another rate in each trial", tc.name, f.Op, f.Name)
			}
		}
	}
}

// A search that found no rate is named.
func TestSearchWithoutRate(t *testing.T) {
	base, fresh := searchedPair(4, 0.8, results.LimitStore)
	fresh.Runs[0].Searches[2].Found.Limit = results.LimitClient
	c := compared(t, base, fresh, "*", false)
	want := "1 of 4 trials of new did not find the highest rate, so it is not compared: said"
	if len(c.Cells[0].Notes) != 1 || !strings.HasPrefix(c.Cells[0].Notes[0], want) || len(c.Regressions) > 0 {
		t.Errorf("notes %q, regressions %q", c.Cells[0].Notes, c.Regressions)
	}
	figures := Cells(base.Runs[0])[0].Figures
	at := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == "max-rate" })
	if at < 0 || figures[at].Op != WholeLoad || math.Abs(*figures[at].Base-1005) > 0.1 {
		t.Errorf("figures %+v", figures)
	}
}
