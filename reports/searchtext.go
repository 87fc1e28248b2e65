package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/units"
)

// searches writes what each search for the highest rate found, and its curve of latency
// against rate.
func (t *text) searches(r *Run) {
	for i := range r.Searches {
		s := &r.Searches[i]
		t.line("")
		t.wrap("HIGHEST RATE  ", 2, s.Title(t.names))
		if s.Found != nil {
			t.wrap("  ", 4, s.Found.Text)
		}
		t.wrap("  ", 4, s.Expected())
		if grown := s.Grown(); grown != "" {
			t.wrap("  ", 4, grown)
		}
		t.steps(s)
	}
}

// who names the model, and the engine and trial where there are several.
func (s *Search) who(n Names) string {
	who := n.Part(s.Model, s.Engine)
	if n.trials {
		who += fmt.Sprintf(" #%d", s.Trial)
	}
	return who
}

// Title names the search.
func (s *Search) Title(n Names) string {
	return fmt.Sprintf("%s, phase %s, open loop, %s", s.who(n), s.Phase, s.Arrivals)
}

// Expected says which objectives a rate must keep.
func (s *Search) Expected() string {
	var bounds []string
	for i := range s.Objectives {
		bounds = append(bounds, s.Objectives[i].String())
	}
	said := "expected: "
	if s.Default {
		said = "expected, as the workload expects nothing: "
	}
	return said + strings.Join(bounds, ", ")
}

// Curve are the steps, the lowest rate first.
func (s *Search) Curve() []SearchStep {
	steps := slices.Clone(s.Steps)
	slices.SortStableFunc(steps, func(a, b SearchStep) int { return cmp.Compare(a.Rate, b.Rate) })
	return steps
}

// StepFigures are the figures of a step as they are shown.
type StepFigures struct{ Rate, Achieved, P50, P99, Errors string }

// Due is the response time of all operations of the step that were due, or nil.
func (s *SearchStep) Due() *Latency {
	all := s.Cell.AllOps
	switch {
	case all == nil:
		return nil
	case all.Due != nil:
		return all.Due
	}
	return &all.Response
}

// Figures are what the step measured: percentiles of all that was due, and the part of the
// operations that failed, were dropped or have no known outcome.
func (s *SearchStep) Figures() StepFigures {
	f := StepFigures{units.Amount(s.Rate), "-", "-", "-", "-"}
	if o := s.Cell.Offered; o != nil {
		f.Achieved = units.Amount(o.Achieved)
	}
	if l := s.Due(); l != nil {
		f.P50, f.P99 = ended(l.P50), ended(l.P99)
		var due, bad int64
		for _, o := range s.Cell.Ops {
			bad += o.Failed + o.Unknown + o.Dropped
			due += o.Count + o.NotFound + o.Failed + o.Unknown + o.Dropped
		}
		f.Errors = Percent(float64(bad) / float64(max(1, due)))
	}
	return f
}

// steps writes the curve: a line for each measurement, the lowest rate first.
func (t *text) steps(s *Search) {
	steps := s.Curve()
	const width = 10
	if len(steps) > 0 {
		t.line("  %*s%*s%*s%*s%*s", width, "rate/s", width, "achieved", width, "p50", width, "p99", width, "errors")
	}
	for i := range steps {
		f := steps[i].Figures()
		t.line("  %*s%*s%*s%*s%*s  %s", width, f.Rate, width, f.Achieved, width, f.P50, width, f.P99, width,
			f.Errors, steps[i].Verdict)
	}
}

func ended(ns int64) string {
	if ns == NeverEnded {
		return "never"
	}
	return units.Duration(float64(ns))
}

// Grown says how the data changed during the search, because every step finds the store as
// the steps before it left it.
func (s *Search) Grown() string {
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
	text := fmt.Sprintf("%d measurements; meanwhile %d messages were delivered and %d deleted", len(s.Steps),
		delivered, deleted)
	if refilled > 0 {
		text += fmt.Sprintf(", and %d delivered between steps, so that live ones do not run out", refilled)
	}
	before, after := s.Steps[0].Cell.Before, s.Steps[len(s.Steps)-1].Cell.Engines
	if before != nil && after != nil && before.DiskBytes >= 0 && after.DiskBytes >= 0 {
		text += fmt.Sprintf("; data on disk went from %s to %s", units.Size(float64(before.DiskBytes)),
			units.Size(float64(after.DiskBytes)))
	}
	return text
}
