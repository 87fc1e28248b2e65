package reports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
)

// OverviewMarks are what a reader must know about one operation of a model.
type OverviewMarks struct {
	NotOffered bool
	None       bool   // the operation never succeeded
	Emulated   string // patterns whose fallback ran
	Lint       string // patterns that schema lint calls an error, with its rules
	Lacks      string // fields that the answers omitted
}

// Marker says what a reader must know about a model's operation in a run.
type Marker struct {
	run *results.Run
	e   *explainer
}

// NewMarker returns a marker of the run.
func NewMarker(r *results.Run) *Marker { return &Marker{r, newExplainer(r)} }

// Of are the marks of an operation of a model on an engine in all cells of a phase, without
// those of verdicts.
func (m *Marker) Of(model, engine, phase, op string) OverviewMarks {
	marks := OverviewMarks{NotOffered: true, None: true}
	for i := range m.run.Cells {
		if c := &m.run.Cells[i]; c.Model == model && c.Engine == engine && c.Phase == phase {
			marks.add(c, op, m.e)
		}
	}
	return marks
}

// Grown are the marks of the operation whose figure grows.
func (m *Marker) Grown(g *results.Growth) OverviewMarks {
	marks := m.Of(g.Model, g.Engine, g.Phase, g.Op)
	marks.Lacks = ""
	return marks
}

// add adds what is to be marked in a cell.
func (m *OverviewMarks) add(c *results.Cell, op string, e *explainer) {
	o, ok := c.Ops[op]
	if !ok || !o.Offered() {
		return
	}
	m.NotOffered = false
	m.None = m.None && o.Count == 0
	m.Emulated = cmp.Or(m.Emulated, o.Fallback)
	m.Lacks = cmp.Or(m.Lacks, o.Missing)
	for _, p := range o.Patterns {
		if rule := e.errors[c.Model][p.Name]; rule != "" && !strings.Contains(m.Lint, p.Name+": ") {
			m.Lint = strings.TrimPrefix(m.Lint+", "+p.Name+": "+rule, ", ")
		}
	}
}

// legend collects what the marks of several operations mean.
type legend struct{ emulated, lint, lacking []string }

// add adds the marks of an operation, by the names of models.
func (l *legend) add(op string, names []string, marks []OverviewMarks) {
	one := func(to *[]string, of func(m *OverviewMarks) string) {
		var all []string
		for i := range marks {
			if s := of(&marks[i]); s != "" {
				all = append(all, names[i]+" ("+s+")")
			}
		}
		if line := op + " of " + strings.Join(all, ", "); len(all) > 0 && !slices.Contains(*to, line) {
			*to = append(*to, line)
		}
	}
	one(&l.emulated, func(m *OverviewMarks) string { return m.Emulated })
	one(&l.lint, func(m *OverviewMarks) string { return m.Lint })
	one(&l.lacking, func(m *OverviewMarks) string { return m.Lacks })
}

// lines are the lines of the legend, each with what it is about.
func (l *legend) lines() [][2]string {
	var all [][2]string
	for _, x := range []struct {
		lead string
		of   []string
	}{
		{"fallback pattern", l.emulated}, {"schema lint reports an error", l.lint}, {"omits fields", l.lacking},
	} {
		if len(x.of) > 0 {
			all = append(all, [2]string{x.lead, strings.Join(x.of, "; ")})
		}
	}
	return all
}
