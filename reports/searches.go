package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// searches are the highest rates that were found, and the latency at each rate.
func (v *run) searches() (all []document.Section) {
	for i := range v.Searches {
		s := &v.Searches[i]
		section := document.Section{
			ID: "search", Title: "Highest rate", Lead: SearchTitle(s, v.names),
			Table: &document.Table{Columns: []document.Column{
				{Title: "ops/s"}, {Title: "achieved"}, {Title: "p50"}, {Title: "p99"}, {Title: "errors"}, {Title: "", Left: true},
			}},
		}
		found := "no rate was found"
		if s.Found != nil {
			found = s.Found.Text
		}
		section.Say(document.Strong, "", searchWho(s, v.names)+": "+found)
		for _, step := range SearchCurve(s) {
			f := FiguresOf(&step)
			section.Table.Add(document.Text(f.Rate), document.Text(f.Achieved), document.Text(f.P50), document.Text(f.P99),
				document.Text(f.Errors), document.Text(string(step.Verdict)))
		}
		section.Note(document.Faint, "", SearchExpected(s))
		if grown := SearchGrown(s); grown != "" {
			section.Note(document.Faint, "", grown)
		}
		all = append(all, section)
	}
	return all
}

// searchWho names the model, and the engine and trial where there are several.
func searchWho(s *results.Search, n Names) string {
	who := n.Part(s.Model, s.Engine)
	if n.trials {
		who += fmt.Sprintf(" #%d", s.Trial)
	}
	return who
}

// SearchTitle names the search.
func SearchTitle(s *results.Search, n Names) string {
	return fmt.Sprintf("%s, phase %s, open loop, %s", searchWho(s, n), s.Phase, s.Arrivals)
}

// SearchExpected says which objectives a rate must keep.
func SearchExpected(s *results.Search) string {
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

// SearchCurve are the steps, the lowest rate first.
func SearchCurve(s *results.Search) []results.SearchStep {
	steps := slices.Clone(s.Steps)
	slices.SortStableFunc(steps, func(a, b results.SearchStep) int { return cmp.Compare(a.Rate, b.Rate) })
	return steps
}

// StepFigures are the figures of a step as they are shown.
type StepFigures struct{ Rate, Achieved, P50, P99, Errors string }

// FiguresOf are what the step measured: percentiles of all that was due, and the part of the
// operations that failed, were dropped or have no known outcome.
func FiguresOf(s *results.SearchStep) StepFigures {
	f := StepFigures{words.Amount(s.Rate), "-", "-", "-", "-"}
	if o := s.Cell.Offered; o != nil {
		f.Achieved = words.Amount(o.Achieved)
	}
	if l := s.Due(); l != nil {
		f.P50, f.P99 = ended(l.P50), ended(l.P99)
		var due, bad int64
		for _, o := range s.Cell.Ops {
			bad += o.Failed + o.Unknown + o.Dropped
			due += o.Count + o.NotFound + o.Failed + o.Unknown + o.Dropped
		}
		f.Errors = results.Percent(float64(bad) / float64(max(1, due)))
	}
	return f
}

func ended(ns int64) string { return results.TimeText(float64(ns)) }

// SearchGrown says how the data changed during the search, because every step finds the store as
// the steps before it left it.
func SearchGrown(s *results.Search) string {
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
		text += fmt.Sprintf("; data on disk went from %s to %s", words.Size(float64(before.DiskBytes)),
			words.Size(float64(after.DiskBytes)))
	}
	return text
}
