package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas"
)

// Additions says which share of each model's requests was made by access patterns that are additions
// to its document, or that are about tables that are. It is "" if no pattern of the run is one.
func Additions(r *results.Run) string {
	known := newExplainer(r).schemas
	var parts []string
	found := false
	for _, model := range r.Config.Models {
		s := known[model]
		if s == nil {
			continue
		}
		var all, added float64
		var names []string
		for i := range r.Cells {
			c := &r.Cells[i]
			if c.Model != model || !c.Measured() {
				continue
			}
			for _, o := range c.Ops {
				for _, ran := range o.Patterns {
					share := additionOf(s.Pattern(ran.Name))
					calls := ran.Calls * float64(o.Count)
					all, added = all+calls, added+share*calls
					if share > 0 && calls > 0 && !slices.Contains(names, ran.Name) {
						names = append(names, ran.Name)
					}
				}
			}
		}
		if all == 0 {
			continue
		}
		part := fmt.Sprintf("%s %.0f%%", model, 100*added/all)
		if found = found || len(names) > 0; len(names) > 0 {
			slices.Sort(names)
			part += " (" + strings.Join(names, ", ") + ")"
		}
		parts = append(parts, part)
	}
	if !found {
		return ""
	}
	return "requests that a model's document does not have: " + strings.Join(parts, ", ") +
		". Added columns of its own tables are not counted"
}

// additionOf is which share of a pattern's requests is an addition: 1, 0, or that of the parts of a batch.
func additionOf(p *schemas.Pattern) float64 {
	switch {
	case p == nil:
		return 0
	case p.Addition != "":
		return 1
	case p.Kind == schemas.Batch:
		sum := 0.0
		for _, part := range p.Parts {
			sum += additionOf(part.Pattern)
		}
		return sum / float64(max(1, len(p.Parts)))
	}
	for t := p.Table; t != nil; t = t.Parent {
		if t.Addition != "" {
			return 1
		}
	}
	return 0
}
