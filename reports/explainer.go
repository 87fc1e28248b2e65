package reports

import (
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
)

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
