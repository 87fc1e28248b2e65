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
		for s, m := range c.each {
			point := Point{Subject: k, Operation: s.Operation, Measure: m}
			if m.Timed() {
				in, _ := m.sample(s)
				point.Value = math.Exp(in[0].Median())
			} else {
				point.Value = pooled(s.in[0], m).mean
			}
			if math.IsNaN(point.Value) || m.Name == "attempts" || m.whole && !(point.Value > 0) {
				continue
			}
			if m == highestRate {
				point.Uncertain = uncertainty(s.in[0])
			}
			all = append(all, point)
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
	for s, m := range c.each {
		f, ok := newFigure(c, s, m)
		if m.Timed() || !ok {
			continue
		}
		if m.Name != "errors" {
			f.Limit = 0
		}
		if f.judgeCount(); f.Verdict == Worse || f.Verdict == Better {
			differ = append(differ, f)
		}
	}
	return differ
}
