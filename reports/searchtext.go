package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/units"
)

// searches writes what the searches for the highest rate found, and of each the curve of
// latency against rate.
func (t *text) searches(r *Run) {
	for i := range r.Searches {
		s := &r.Searches[i]
		who := t.names.Part(s.Model, s.Engine)
		if t.names.trials {
			who += fmt.Sprintf(" #%d", s.Trial)
		}
		t.line("")
		t.wrap("HIGHEST RATE  ", 2, fmt.Sprintf("%s, phase %s, open loop, %s", who, s.Phase, s.Arrivals))
		if s.Found != nil {
			t.wrap("  ", 4, s.Found.Text)
		}
		var bounds []string
		for j := range s.Objectives {
			bounds = append(bounds, s.Objectives[j].String())
		}
		said := "expected: "
		if s.Default {
			said = "expected, as the workload expects nothing: "
		}
		t.wrap("  ", 4, said+strings.Join(bounds, ", "))
		if grown := s.grown(); grown != "" {
			t.wrap("  ", 4, grown)
		}
		t.steps(s)
	}
}

// steps writes the curve: a line for each measurement, the lowest rate first.
func (t *text) steps(s *Search) {
	steps := slices.Clone(s.Steps)
	slices.SortStableFunc(steps, func(a, b SearchStep) int { return cmp.Compare(a.Rate, b.Rate) })
	const width = 10
	if len(steps) > 0 {
		t.line("  %*s%*s%*s%*s%*s", width, "rate/s", width, "achieved", width, "p50", width, "p99", width, "errors")
	}
	for i := range steps {
		step, c := &steps[i], &steps[i].Cell
		achieved, p50, p99, errors := "-", "-", "-", "-"
		if c.Offered != nil {
			achieved = units.Amount(c.Offered.Achieved)
		}
		if all := c.AllOps; all != nil {
			l := &all.Response
			if all.Due != nil {
				l = all.Due
			}
			p50, p99 = ended(l.P50), ended(l.P99)
			var due, bad int64
			for _, o := range c.Ops {
				bad += o.Failed + o.Unknown + o.Dropped
				due += o.Count + o.NotFound + o.Failed + o.Unknown + o.Dropped
			}
			errors = Percent(float64(bad) / float64(max(1, due)))
		}
		t.line("  %*s%*s%*s%*s%*s  %s", width, units.Amount(step.Rate), width, achieved, width, p50, width, p99, width, errors, step.Verdict)
	}
}

func ended(ns int64) string {
	if ns == NeverEnded {
		return "never"
	}
	return units.Duration(float64(ns))
}

// grown says how the data changed while the search went on: every step finds the
// store as the steps before it left it.
func (s *Search) grown() string {
	if len(s.Steps) == 0 {
		return ""
	}
	var delivered, deleted, refilled int64
	for i := range s.Steps {
		step := &s.Steps[i]
		delivered += step.Cell.Ops["deliver"].Count
		deleted += step.Cell.Ops["delete"].Count
		refilled += step.Refilled
	}
	text := fmt.Sprintf("%d measurements; meanwhile %d messages were delivered and %d deleted", len(s.Steps), delivered, deleted)
	if refilled > 0 {
		text += fmt.Sprintf(", and %d delivered between steps, so that live ones do not run out", refilled)
	}
	before, after := s.Steps[0].Cell.Before, s.Steps[len(s.Steps)-1].Cell.Engines
	if before != nil && after != nil && before.DiskBytes >= 0 && after.DiskBytes >= 0 {
		text += fmt.Sprintf("; data on disk went from %s to %s", units.Size(float64(before.DiskBytes)), units.Size(float64(after.DiskBytes)))
	}
	return text
}
