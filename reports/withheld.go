package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
)

// WithheldLine says in a line which times of the measured phases are withheld, and why; "" if none are.
func WithheldLine(r *results.Run, n Names) string {
	var all []who
	for i := range r.Cells {
		c := &r.Cells[i]
		if text := withheldOf(c); c.Measured() && text != "" {
			all = gather(all, Notice{Doubt: results.Doubt{Code: results.Code(text), Text: text}}, c)
		}
	}
	var parts []string
	for _, d := range noticesOf(r, n, all) {
		parts = append(parts, d.String())
	}
	return strings.Join(parts, "; ")
}

// withheldOf says which times of a cell are withheld.
func withheldOf(c *results.Cell) string {
	switch {
	case c.Verdict == results.Invalid && c.Reason != nil:
		return fmt.Sprintf("all times (%s)", c.Reason.Code)
	case c.Untimed():
		return "all times"
	}
	var parts []string
	for _, q := range results.Percentiles {
		var ops []string
		for name, o := range c.Ops {
			if o.Withholds(q.P) {
				ops = append(ops, name)
			}
		}
		if len(ops) > 0 {
			slices.Sort(ops)
			parts = append(parts, q.Name+" of "+strings.Join(ops, ", "))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + " (client-delays)"
}
