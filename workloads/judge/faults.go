package judge

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/workloads/results"
)

// Faults are the faults of a run by the name that --fail-on has for them, and under "search" the first search that
// did not find a rate. A run is unusable if no measured phase is valid, or if a model dropped at least half of its
// operations.
func Faults(r *results.Run) map[string][]error {
	all := map[string][]error{}
	add := func(name, format string, args ...any) { all[name] = append(all[name], fmt.Errorf(format, args...)) }
	misses := map[results.Attainment]string{results.Missed: "misses", results.Unclear: "may miss"}
	var invalid *results.Cell
	used := false
	for i := range r.Cells {
		c, reason := &r.Cells[i], ""
		if c.Reason != nil {
			reason, _, _ = strings.Cut(c.Reason.Text, "\n") // the table has the other lines
		}
		switch {
		case c.Verdict == results.OK || c.Verdict == results.Empty && r.Excused(c):
		case c.Verdict == results.Failed:
			add("failed", "%s: %s", place(c), reason)
		default:
			add(string(c.Verdict), "%s, is %s: %s", place(c), c.Verdict, reason)
		}
		for _, a := range c.Objectives {
			if misses[a.Verdict] != "" {
				add(string(a.Verdict), "%s, %s %s %s: %s", place(c), misses[a.Verdict], a.Objective, a.Bound, a.Text)
			}
		}
		if !c.Measured() {
			continue
		}
		if c.Verdict == results.Invalid {
			invalid = c
		} else {
			used = true
		}
		o := c.Offered
		if o == nil || o.Dropped == 0 || all["unusable"] != nil {
			continue
		}
		if n := o.Due - o.Skipped - o.NoTarget; o.Due > 0 && 2*o.Dropped >= n {
			add("unusable", "%s, dropped %d of %d operations: lower the rate (--set phases.%s.rate=RATE)",
				place(c), o.Dropped, n, c.Phase)
		}
	}
	if !used && invalid != nil && all["unusable"] == nil {
		why := ""
		if invalid.Reason != nil {
			why = ": " + invalid.Reason.Text
		}
		add("unusable", "no measured phase is valid: %s on %s%s (--set phases.%s.rate=RATE sets the rate)",
			invalid.Model, invalid.Engine, why, invalid.Phase)
	}
	for i := range r.Searches {
		if s := &r.Searches[i]; s.Found != nil && !s.Found.OK() && all["search"] == nil {
			add("search", "%s on %s, phase %s: highest rate: %s", s.Model, s.Engine, s.Phase, s.Found.Text)
		}
	}
	return all
}

func place(c *results.Cell) string {
	return fmt.Sprintf("%s on %s, phase %s", c.Model, c.Engine, c.Where())
}
