package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads/results"
)

// additions says which share of each model's requests was made by access patterns that are additions
// to its document, or that are about tables that are, and which share of its bytes is of these and of
// added columns. It is "" if there are none.
func (e *explainer) additions(r *results.Run) string {
	var parts []string
	found := false
	for _, model := range r.Config.Models {
		s := e.schemas[model]
		if s == nil {
			continue
		}
		var requests, added, bytes, addedBytes float64
		var names []string // of added patterns
		for _, c := range r.Select(func(c *results.Cell) bool { return c.Model == model && c.Measured() }) {
			for _, o := range c.Ops {
				bytes += float64(o.Count) * (o.Store.BytesRead + o.Store.BytesWritten)
				addedBytes += float64(o.Count) * o.Store.BytesAdded
				for _, ran := range o.Patterns {
					share, calls := additionOf(s.Pattern(ran.Name)), ran.Calls*float64(o.Count)
					requests, added = requests+calls, added+share*calls
					if share > 0 && calls > 0 && !slices.Contains(names, ran.Name) {
						names = append(names, ran.Name)
					}
				}
			}
		}
		if requests == 0 {
			continue
		}
		found = found || len(names) > 0 || addedBytes > 0
		part := fmt.Sprintf("%s %.0f%%/%.0f%%", model, 100*added/requests, 100*addedBytes/max(bytes, 1))
		if slices.Sort(names); len(names) > 0 {
			part += " (" + strings.Join(names, ", ") + ")"
		}
		parts = append(parts, part)
	}
	if !found {
		return ""
	}
	return "share of requests and bytes that the source design does not have: " + strings.Join(parts, ", ") +
		". Added columns count as bytes only"
}

// additionOf is which share of a pattern's requests is an addition: 1, 0, or that of the parts of a batch.
func additionOf(p *schemas.Pattern) float64 {
	switch {
	case p == nil:
		return 0
	case p.Addition != "" && !p.Form:
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

// lintErrors are the patterns of a model's schema that schema lint calls an error, also if the
// schema accepts that, with the rules.
func (e *explainer) lintErrors(model string) map[string]string {
	report, err := lint.Check(e.schemas[model], lint.Options{Engines: lint.EngineNames()})
	if err != nil {
		return nil
	}
	found := map[string]string{}
	for _, f := range report.Findings {
		if f.Rule.Severity == lint.Error && f.Pattern != "" && f.Engine == "" {
			found[f.Pattern] = f.Rule.ID
		}
	}
	return found
}

// explainer knows the schemas of a run, and which of their patterns schema lint calls an error.
type explainer struct {
	schemas map[string]*schemas.Schema
	errors  map[string]map[string]string // rules by model and pattern
}

func newExplainer(r *results.Run) *explainer {
	e := &explainer{schemas: map[string]*schemas.Schema{}, errors: map[string]map[string]string{}}
	for _, s := range r.Schemas {
		if parsed, err := schemas.ParseStored(s.Model, []byte(s.Text)); err == nil {
			e.schemas[s.Model] = parsed
			e.errors[s.Model] = e.lintErrors(s.Model)
		}
	}
	return e
}
