package drive

import (
	"cmp"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas"
)

// patternsMost is how many patterns of one operation a worker has room for without
// allocating memory. No bundled model uses as many.
const patternsMost = 16

// patternCalls counts the calls that ran a pattern.
type patternCalls struct {
	pattern *schemas.Pattern
	calls   int64
}

// patternCounts has an entry for each pattern.
type patternCounts []patternCalls

func (c *patternCounts) add(p *schemas.Pattern, calls int64) {
	for i := range *c {
		if (*c)[i].pattern == p {
			(*c)[i].calls += calls
			return
		}
	}
	*c = append(*c, patternCalls{p, calls})
}

func (c *patternCounts) addAll(o patternCounts) {
	for _, p := range o {
		c.add(p.pattern, p.calls)
	}
}

// perOperation returns the patterns with the mean of their calls and their times, the most calls
// first.
func (c patternCounts) perOperation(n int64, times []latency.Part) []results.PatternCalls {
	var all []results.PatternCalls
	for _, p := range c {
		one := results.PatternCalls{Name: p.pattern.Name, Calls: float64(p.calls) / float64(n)}
		for _, t := range times {
			if h := t.Times; t.Name == one.Name && h.TotalCount() > 0 {
				one.Count = h.TotalCount()
				one.Service = &results.PatternTimes{P50: latency.At(h, 50), P99: latency.At(h, 99), Max: h.Max()}
			}
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b results.PatternCalls) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// traced counts the patterns of the operation under way and their times, and notes those in
// whose place a fallback runs.
func (w *worker) traced(st drivers.Statement, calls int64) {
	w.ran.add(st.Pattern(), calls)
	w.took = append(w.took, latency.PartTime{Name: st.Pattern().Name, Took: w.meter.Took})
	if p := st.Emulates(); p != nil {
		s := &w.stats.ops[w.slot()]
		s.fallbacks = appendNew(s.fallbacks, p.Name)
	}
}
