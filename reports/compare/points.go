package compare

import (
	"math"

	"github.com/mailbench/mailbench/workloads/results"
)

// Point is one metric of one operation in one run. Times are nanoseconds.
type Point struct {
	Subject
	Operation
	*Measure
	Value     float64 // over the trials: the median of a time or rate, the mean of a counter
	Uncertain float64 // the value of a highest rate may be off by this; 0: not known
}

// Points are the metrics of a run, those of its first phase first. Phases that are not ok have
// none. Trials that are invalid have no times. With force all phases that did not fail have all metrics.
func Points(r *results.Run, force bool) (all []Point) {
	trials, order := Side{Runs: []*results.Run{r}}.trials()
	for _, k := range order {
		c := newCell(k, trials[k], trials[k], force)
		if c.Why != "" {
			continue
		}
		for i := range c.Figures {
			f := &c.Figures[i]
			p := Point{Subject: k, Operation: f.Operation, Measure: f.kind}
			if f.kind.Timed() {
				p.Value = math.Exp(f.times[0].Median())
			} else {
				p.Value = pooled(f.of.in[0], f.kind).mean
			}
			if f.BaseUncertainty != nil {
				p.Uncertain = *f.BaseUncertainty
			}
			if !math.IsNaN(p.Value) && f.Name != "attempts" && (p.Value > 0 || !f.kind.whole) {
				all = append(all, p)
			}
		}
	}
	return all
}

// Counted are the counters of a phase that differ between two runs by more than
// chance, however little that is. Errors must differ by their limit.
func Counted(base, new *results.Run, k Subject) (differ []Figure) {
	b, _ := Side{Runs: []*results.Run{base}}.trials()
	n, _ := Side{Runs: []*results.Run{new}}.trials()
	if len(b[k]) == 0 || len(n[k]) == 0 {
		return nil
	}
	c := newCell(k, b[k], n[k], false)
	if c.Why != "" {
		return nil
	}
	for _, f := range c.Figures {
		if f.kind.Timed() || !f.known {
			continue
		}
		if f.Name != "errors" {
			f.Limit = 0
		}
		if f.judgeCount(); f.Verdict == Worse || f.Verdict == Better {
			differ = append(differ, f)
		}
	}
	return differ
}
