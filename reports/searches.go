package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// searches are the highest rates that were found, the highest first, and the latency at each rate. Those of several
// searches are folded.
func (v *run) searches() (all []document.Section) {
	if len(v.Searches) == 0 {
		return nil
	}
	order := slices.Clone(v.Searches)
	rate := func(s *results.Search) float64 {
		if s.Found == nil {
			return -1
		}
		return s.Found.Rate
	}
	slices.SortStableFunc(order, func(a, b results.Search) int { return cmp.Compare(rate(&b), rate(&a)) })
	rates := document.Section{
		ID: "rates", Title: "Highest rate",
		Table: &document.Table{Columns: []document.Column{
			{Left: true},
			{Title: "ops/s", Help: "the highest rate that passed all thresholds"},
			{Title: "next\nfailed", Unit: "ops/s", Help: "the lowest rate above it that failed"},
			{Group: "latency, ms", Title: "p50", Unit: "ms"},
			{Group: "latency, ms", Title: "p99", Unit: "ms"},
			{Title: "limit", Left: true},
		}},
	}
	var said []string
	for i := range order {
		s := &order[i]
		who := v.names.Of(s.Key)
		found, next, p50, p99, limit := "none", "-", "-", "-", document.Styled("no rate was found", document.Bad)
		if f := s.Found; f != nil {
			if limit.Text = f.Text; f.OK() {
				limit.Style = document.Plain
			}
			if f.Rate > 0 {
				found = words.Amount(f.Rate)
			}
			if f.High > 0 {
				next = words.Amount(f.High)
			}
			for i := range s.Steps {
				if step := &s.Steps[i]; step.Rate == f.Rate && step.Verdict == results.StepHeld {
					p50, p99 = stepLatencies(step)
				}
			}
		}
		said = append(said, who+" "+found)
		rates.Table.Add("", who, found, next, p50, p99, limit)
		section := v.steps(s)
		section.Fold, section.Open = len(order) > 1, len(order) > 1
		all = append(all, section)
	}
	rates.Say(document.Strong, "", "Highest rate, operations/s: "+strings.Join(said, ", ")+".")
	bounds := results.Distinct(order[0].Objectives, func(o results.Objective) string { return o.Name() + " " + o.Text })
	if order[0].Default {
		bounds = append(bounds, "as the workload has none")
	}
	rates.Note(document.Faint, "Thresholds", strings.Join(bounds, ", "))
	return append([]document.Section{rates}, all...)
}

// steps are the measurements of a search, the lowest rate first.
func (v *run) steps(s *results.Search) document.Section {
	section := document.Section{
		ID: "search", Title: "Measured rates",
		Lead: fmt.Sprintf("%s, phase %s, open loop, %s; latency of all scheduled operations",
			v.names.Of(s.Key), s.Phase, s.Arrivals),
		Table: &document.Table{Columns: []document.Column{
			{Title: "ops/s"},
			{Title: "achieved", Unit: "ops/s"},
			{Group: "latency, ms", Title: "p50", Unit: "ms"},
			{Group: "latency, ms", Title: "p99", Unit: "ms"},
			{Left: true},
		}},
	}
	showed := map[results.StepVerdict]string{
		results.StepHeld: "passed", results.StepBroken: "failed", results.StepUnclear: "inconclusive",
		results.StepClient: "client-bound",
	}
	steps := slices.Clone(s.Steps)
	slices.SortStableFunc(steps, func(a, b results.SearchStep) int { return cmp.Compare(a.Rate, b.Rate) })
	for i := range steps {
		step := &steps[i]
		achieved := "-"
		if o := step.Cell.Offered; o != nil {
			achieved = words.Amount(o.Achieved)
		}
		p50, p99 := stepLatencies(step)
		verdict := strings.TrimSuffix(cmp.Or(showed[step.Verdict], string(step.Verdict))+": "+step.Text, ": ")
		section.Table.Add("", words.Amount(step.Rate), achieved, p50, p99, verdict)
	}
	section.Note(document.Faint, "", "each measurement found the data as those before it left them")
	return section
}

// stepLatencies are p50 and p99 of all operations that a step scheduled.
func stepLatencies(step *results.SearchStep) (p50, p99 string) {
	if step.Cell.AllOps == nil {
		return "-", "-"
	}
	l := step.Cell.AllOps.Scheduled()
	return results.MS(l.At(0.5)), results.MS(l.At(0.99))
}
