package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/significance"
	"github.com/mailbench/mailbench/workloads/results"
)

// series puts runs into the series that they can be compared with, the oldest first, and finds the changes of the
// figures that are selected for. It is an error if none is selected by a gate.
func (h *History) series(runs []Run, selected []compare.Gate) error {
	slices.SortStableFunc(runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.Started, b.Started), a.began.Compare(b.began), cmp.Compare(a.Folder, b.Folder))
	})
	side := func(r *Run) compare.Side { return compare.Side{Name: r.Folder, Runs: []*results.Run{r.run}} }
	for _, r := range runs {
		differ := func(s Series) []string {
			d, _ := compare.Differences(side(&s.Runs[0]), side(&r), false)
			return d
		}
		at := slices.IndexFunc(h.Series, func(s Series) bool { return len(differ(s)) == 0 })
		if at < 0 {
			at = len(h.Series)
			h.Series = append(h.Series, Series{Number: at + 1})
			if at > 0 {
				h.Series[at].Differs = differ(h.Series[0])
			}
		}
		h.Series[at].Runs = append(h.Series[at].Runs, r)
	}
	var all []*Figure
	var names []string
	for i := range h.Series {
		h.Series[i].Figures = figuresOf(h.Series[i].Runs)
		for _, f := range h.Series[i].Figures {
			all, names = append(all, f), append(names, compare.NameOf(f.Subject, f.Op, f.Name))
		}
	}
	chosen := map[*Figure]bool{}
	for _, g := range selected {
		at, err := g.Match(names)
		if err != nil {
			return fmt.Errorf("--metric %s: no run in %s has this metric in a phase with the verdict ok: %w", g, h.Folder, err)
		}
		for _, i := range at {
			chosen[all[i]] = true
		}
	}
	for i := range h.Series {
		s := &h.Series[i]
		s.Figures = slices.DeleteFunc(s.Figures, func(f *Figure) bool { return len(selected) > 0 && !chosen[f] })
		s.changesOfCounters()
		s.changesOfTimes()
	}
	return nil
}

// figuresOf are the figures that some of the runs have, in the order in which runs have them.
func figuresOf(runs []Run) []*Figure {
	all, known := []*Figure{}, map[string]*Figure{}
	for i := range runs {
		for _, c := range compare.Cells(runs[i].run) {
			for _, v := range c.Figures {
				if v.Base == nil {
					continue
				}
				f := known[v.String()]
				if f == nil {
					f = &Figure{
						Subject: c.Subject, Op: v.Op, Name: v.Name,
						Values: make([]*float64, len(runs)), Changes: []Change{}, Measure: v.Measure,
					}
					all, known[v.String()] = append(all, f), f
				}
				f.Values[i] = v.Base
			}
		}
	}
	return all
}

const (
	// falseAlarms is the share of series in which a timed figure may be said to change although
	// only chance divides the runs.
	falseAlarms = 0.05
	// window is how many of a series' last runs are searched, which bounds the time that it takes.
	window = 100
)

// counted reports whether the figure is a counter.
func (f *Figure) counted() bool { return !f.Measure.Timed() }

// changesOfCounters finds the runs at which counters changed. Each run is compared with the run
// at which the counter changed last, so that small steps add up.
func (s *Series) changesOfCounters() {
	differ := map[[2]int]map[string]compare.Figure{} // by two runs
	for _, f := range s.Figures {
		was := -1
		for run, v := range f.Values {
			if v == nil || !f.counted() {
				continue
			}
			if was < 0 {
				was = run
			}
			k := [2]int{was, run}
			if differ[k] == nil && was < run {
				differ[k] = compare.Counted(s.Runs[was].run, s.Runs[run].run)
			}
			if c, ok := differ[k][f.String()]; ok {
				f.Changes = append(f.Changes, Change{Run: run, Before: *c.Base, After: *c.New, Says: c.Verdict, Exact: c.Exact})
				was = run
			}
		}
	}
}

// changesOfTimes finds where timed figures changed.
func (s *Series) changesOfTimes() {
	timed := slices.DeleteFunc(slices.Clone(s.Figures), (*Figure).counted)
	if len(timed) == 0 {
		return
	}
	level := falseAlarms / float64(len(timed))
	s.Least = significance.LeastValues(level)
	for _, f := range timed {
		if f.search(level) {
			s.Tested++
		}
	}
}

// search finds the changes of the figure that are unlikely to be chance and larger than its limit. It returns false if
// too few runs have the figure.
func (f *Figure) search(level float64) bool {
	var at []int // the runs that have it
	var logs []float64
	for run, v := range f.Values {
		if v != nil && *v > 0 {
			at, logs = append(at, run), append(logs, math.Log(*v))
		}
	}
	first := max(0, len(at)-window)
	if at, logs = at[first:], logs[first:]; len(at) < significance.LeastValues(level) {
		return false
	}
	for _, step := range significance.Steps(logs, level, math.Log1p(f.Measure.Limit)) {
		c := Change{Run: at[step.At], Before: math.Exp(step.Before), After: math.Exp(step.After), P: step.P}
		if c.Says = compare.Better; f.Measure.Worse(c.Before, c.After) {
			c.Says = compare.Worse
		}
		f.Changes = append(f.Changes, c)
	}
	return true
}
