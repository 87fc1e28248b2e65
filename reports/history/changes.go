package history

import (
	"math"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/significance"
)

const (
	// falseAlarms is the share of series in which a timed figure may be said to change although
	// only chance divides the runs.
	falseAlarms = 0.05
	// window is how many of a series' last runs are searched. The search takes time with the
	// square of it.
	window = 100
)

// counted finds the runs at which counters changed. Each run is compared with the run
// at which the counter changed last, so that small steps add up.
func (s *Series) counted() {
	type two struct { // runs, and the phase that is compared
		from, to int
		compare.Subject
	}
	differ := map[two][]compare.Figure{}
	for i := range s.Figures {
		f, was := &s.Figures[i], -1
		for run, v := range f.Values {
			if v == nil || f.Measure.Timed() {
				continue
			}
			if was < 0 {
				was = run
			}
			k := two{was, run, f.Subject}
			if _, known := differ[k]; !known && was < run {
				differ[k] = compare.Counted(s.Runs[was].run, s.Runs[run].run, f.Subject)
			}
			for _, c := range differ[k] {
				if f.Operation == c.Operation && f.Name == c.Name {
					f.Changes = append(f.Changes, Change{Run: run, Before: *c.Base, After: *c.New, Says: c.Verdict, Exact: c.Exact})
					was = run
				}
			}
		}
	}
}

// timed finds where timed figures changed.
func (s *Series) timed() {
	var timed []*Figure
	for i := range s.Figures {
		if s.Figures[i].Measure.Timed() {
			timed = append(timed, &s.Figures[i])
		}
	}
	if len(timed) == 0 {
		return
	}
	level := falseAlarms / float64(len(timed))
	s.Least = significance.LeastValues(level)
	for _, f := range timed {
		if len(f.known()) >= s.Least {
			s.Tested++
			f.search(level)
		}
	}
}

// known are the indexes of the last runs that have the figure, at most window.
func (f *Figure) known() []int {
	var at []int
	for i, v := range f.Values {
		if v != nil && *v > 0 {
			at = append(at, i)
		}
	}
	return at[max(0, len(at)-window):]
}

// search finds the changes of the figure that are unlikely to be chance and larger than its limit.
func (f *Figure) search(level float64) {
	at := f.known()
	logs := make([]float64, len(at))
	for i, n := range at {
		logs[i] = math.Log(*f.Values[n])
	}
	for _, step := range significance.Steps(logs, level, math.Log1p(f.Measure.Limit)) {
		says := compare.Better
		if step.After > step.Before != f.Measure.HigherIsBetter {
			says = compare.Worse
		}
		f.Changes = append(f.Changes, Change{
			Run: at[step.At], Before: math.Exp(step.Before), After: math.Exp(step.After), Says: says, P: step.P,
		})
	}
}
