package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
)

// Notice is a verdict that is not ok, or a doubt, and the models that it holds for. A reader
// has to know it before using figures.
type Notice struct {
	results.Doubt
	Verdict results.Verdict // "" if it is a doubt
	Phase   string          // phase of a verdict, if the run has several phases with figures or trouble
	Who     []string
	All     bool // it holds for all models of the run
	Differs bool // for some models it has other figures than Text
}

// changesReading are the doubts that change how figures are read: the figures may be the
// client's, the store was in another state than readers expect, or operations are missing
// from the figures.
var changesReading = map[results.Code]bool{
	"client-delay": true, "queued": true, "garbage-collection": true,
	"drifting": true, "not-settled": true, "not-warm": true, "debt-grows": true, "in-memory": true, "not-cold": true,
	"missing-nodes": true,
	"incomplete":    true, "dropped": true, "failed": true, "unknown": true, "too-large": true,
}

// who gathers the cells that a notice holds for.
type who struct {
	Notice
	cells []*results.Cell
}

// gather adds a cell to the notice of the same phase, verdict and code as n.
func gather(all []who, n Notice, c *results.Cell) []who {
	at := slices.IndexFunc(all, func(w who) bool {
		return w.Code == n.Code && w.Verdict == n.Verdict && w.Phase == n.Phase
	})
	if at < 0 {
		at, all = len(all), append(all, who{Notice: n})
	}
	w := &all[at]
	w.Differs = w.Differs || w.Doubt.String() != n.Doubt.String()
	if !slices.Contains(w.cells, c) {
		w.cells = append(w.cells, c)
	}
	return all
}

// noticesOf names the cells of each notice.
func noticesOf(r *results.Run, n Names, all []who) []Notice {
	var list []Notice
	for i := range all {
		w := &all[i]
		w.Who, w.All = n.whom(r, w.cells)
		list = append(list, w.Notice)
	}
	return list
}

// whom names the models (on engines) of the cells, and their trials if it is not all
// of them. It reports whether those are all trials of all models of the run.
func (n Names) whom(r *results.Run, cells []*results.Cell) (who []string, all bool) {
	type column struct{ model, engine string }
	trials, had := map[column][]int{}, map[column][]int{}
	var order []column
	note := func(m map[column][]int, c *results.Cell) bool {
		k := column{c.Model, c.Engine}
		if slices.Contains(m[k], c.Trial) {
			return false
		}
		m[k] = append(m[k], c.Trial)
		return len(m[k]) == 1
	}
	for i := range r.Cells {
		note(trials, &r.Cells[i])
	}
	for _, c := range cells {
		if note(had, c) {
			order = append(order, column{c.Model, c.Engine})
		}
	}
	all = len(order) == len(trials)
	for _, k := range order {
		name := n.Part(k.model, k.engine)
		if len(had[k]) < len(trials[k]) {
			all = false
			for _, t := range had[k] {
				name += " #" + strconv.Itoa(t)
			}
		}
		who = append(who, name)
	}
	return who, all
}

// verdictsOf are the verdicts that are not ok, each code once a phase, the worst first.
func verdictsOf(r *results.Run, n Names) []Notice {
	var all []who
	phases := map[string]bool{}
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Measured() || c.Verdict != results.OK {
			phases[c.Where()] = true
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Verdict == results.OK || c.Verdict == "" {
			continue
		}
		v := Notice{Verdict: c.Verdict}
		if len(phases) > 1 {
			v.Phase = c.Where()
		}
		if c.Reason != nil {
			v.Code, v.Text = c.Reason.Code, c.Reason.Text
		}
		all = gather(all, v, c)
	}
	slices.SortStableFunc(all, func(a, b who) int {
		return slices.Index(severity, b.Verdict) - slices.Index(severity, a.Verdict)
	})
	return noticesOf(r, n, all)
}

// DoubtsOf are the doubts of all cells, each code once.
func DoubtsOf(r *results.Run, n Names) []Notice {
	var all []who
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, d := range c.Doubts {
			all = gather(all, Notice{Doubt: d}, c)
		}
	}
	return noticesOf(r, n, all)
}

// String writes a warning in one line.
func (d *Notice) String() string {
	names := strings.Join(d.Who, ", ")
	if d.All && len(d.Who) > 1 {
		names = "all models"
	}
	switch {
	case d.Differs && len(d.Who) == 1:
		names += ", with other values in other phases"
	case d.Differs:
		names += "; values of " + d.Who[0]
	}
	return fmt.Sprintf("%s [%s]", d.Doubt.String(), names)
}

// severity lists the verdicts from best to worst.
var severity = []results.Verdict{results.OK, results.Overloaded, results.Invalid, results.Empty, results.Failed}
