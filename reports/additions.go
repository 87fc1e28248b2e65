package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads/results"
)

// added is what the additions to a model's document cost.
type added struct {
	model    string
	requests float64  // the share of patterns that are additions, or that are about tables that are
	bytes    float64  // the share of these, and of columns that are additions, in the bytes read and written
	patterns []string // these patterns
}

// additions are those of each model that made requests, in the order of the run. They are none if no
// pattern of the run is an addition.
func additions(r *results.Run) []added {
	known := newExplainer(r).schemas
	var costs []added
	found := false
	for _, model := range r.Config.Models {
		s := known[model]
		if s == nil {
			continue
		}
		var all, of, bytes, ofBytes float64
		var names []string
		for i := range r.Cells {
			c := &r.Cells[i]
			if c.Model != model || !c.Measured() {
				continue
			}
			for _, o := range c.Ops {
				bytes += float64(o.Count) * (o.Store.BytesRead + o.Store.BytesWritten)
				ofBytes += float64(o.Count) * o.Store.BytesAdded
				for _, ran := range o.Patterns {
					share := additionOf(s.Pattern(ran.Name))
					calls := ran.Calls * float64(o.Count)
					all, of = all+calls, of+share*calls
					if share > 0 && calls > 0 && !slices.Contains(names, ran.Name) {
						names = append(names, ran.Name)
					}
				}
			}
		}
		if all == 0 {
			continue
		}
		slices.Sort(names)
		found = found || len(names) > 0 || ofBytes > 0
		costs = append(costs, added{model, of / all, ofBytes / max(bytes, 1), names})
	}
	if !found {
		return nil
	}
	return costs
}

// share writes a model's shares of requests and of bytes.
func (a *added) share() string {
	return fmt.Sprintf("%s %.0f%%/%.0f%%", a.model, 100*a.requests, 100*a.bytes)
}

// Additions says which share of each model's requests was made by access patterns that are additions
// to its document, or that are about tables that are, and which share of its bytes is of these and of
// added columns. It is "" if there are none.
func Additions(r *results.Run) string {
	costs := additions(r)
	if costs == nil {
		return ""
	}
	var parts []string
	for i := range costs {
		part := costs[i].share()
		if names := costs[i].patterns; len(names) > 0 {
			part += " (" + strings.Join(names, ", ") + ")"
		}
		parts = append(parts, part)
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
		if parsed, err := schemas.Parse(s.Model, []byte(s.Text)); err == nil {
			e.schemas[s.Model] = parsed
			e.errors[s.Model] = e.lintErrors(s.Model)
		}
	}
	return e
}
