package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// contender is a column with what explains why it is better or worse at an operation.
type contender struct {
	column OverviewColumn
	store  results.StoreCost
	ran    []results.PatternCalls
	schema *schemas.Schema // nil if the run has no schema that can be read
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

// why says in one sentence where the difference of a row comes from: what the worst
// column asks of the store and the best does not, and what its access patterns read for
// that. It is "" where there is no difference.
func (e *explainer) why(p *OverviewPart, columns []trials.Column, row *OverviewRow) string {
	line, counted := row.Lines, row.counted()
	if len(line) == 0 || counted == nil {
		return ""
	}
	lead := p.leading(row)
	best, worst := lead.ends()
	if worst < 0 { // the times do not tell the columns apart
		lead = counted
		if best, worst = lead.ends(); worst < 0 {
			return ""
		}
	}
	b, w := e.contender(p, columns, best, row.Op), e.contender(p, columns, worst, row.Op)
	if lead.Figure.Counted() {
		return e.compare(lead.Figure, counted.equals(p, best), b, w)
	}
	if f, differs := dearest(columns[best], columns[worst], row.Op); differs {
		return e.compare(f, []string{b.column.Name}, b, w)
	}
	if b.column.Model == w.column.Model {
		return "the model asks the same of both engines"
	}
	if s := w.checks(); s != "" && b.checks() == "" {
		return w.column.Name + ": " + s
	}
	return fmt.Sprintf("calls, rows and bytes do not say why %s takes longer than %s", w.column.Name, b.column.Name)
}

func (e *explainer) contender(p *OverviewPart, columns []trials.Column, i int, op string) *contender {
	c := &contender{column: p.Columns[i], schema: e.schemas[p.Columns[i].Model]}
	if row, ok := columns[i].Row(op); ok { // the tables have the same figures
		c.store, c.ran = row.Op.Store, row.Op.Patterns
	}
	return c
}

// compare says how much more of a counted figure the worst asks for, and why.
func (e *explainer) compare(f results.Figure, equals []string, b, w *contender) string {
	verb := b.verb(f)
	s := equals[0]
	switch {
	case len(equals) == 1 && f == results.Calls:
		s += " " + verb + "s " + b.has(f) + inBrackets(b.ran)
	case len(equals) == 1:
		s += " " + verb + "s " + b.has(f)
	case len(equals) == 2:
		s += " and " + equals[1] + " " + verb + " " + b.has(f)
	default:
		s += fmt.Sprintf(" and %d others %s %s", len(equals)-1, verb, b.has(f))
	}
	s += ", " + w.column.Name + " "
	switch {
	case f == results.Calls:
		return s + f.Text(w.store.Of(f)) + inBrackets(w.ran)
	case w.verb(f) == verb:
		s += f.Text(w.store.Of(f))
	default:
		s += w.verb(f) + "s " + w.has(f)
	}
	if reason := reason(f, b, w); reason != "" {
		s += ": " + reason
	}
	return s
}

// has writes what the contender has of a counted figure.
func (c *contender) has(f results.Figure) string {
	s := f.Text(c.store.Of(f))
	switch {
	case f == results.Bytes:
		return s
	case f == results.Examined && s == "1":
		return s + " row"
	case f == results.Examined:
		return s + " rows"
	case s == "1":
		return s + " " + strings.TrimSuffix(string(f), "s")
	}
	return s + " " + string(f)
}

// verb says what the contender does with rows and bytes.
func (c *contender) verb(f results.Figure) string {
	all, written := c.store.Of(f), c.store.BytesWritten
	if f == results.Rows {
		written = c.store.RowsWritten
	}
	switch {
	case f == results.Calls:
		return "make"
	case f == results.Examined:
		return "examine"
	case written < 0.05*all:
		return "read"
	case written > 0.95*all:
		return "write"
	}
	return "move"
}

// inBrackets lists the patterns that ran, with the calls of each unless it is one.
func inBrackets(ran []results.PatternCalls) string {
	const most = 5
	var parts []string
	for i, p := range ran {
		if i == most {
			parts = append(parts, "…")
			break
		}
		word := p.Name
		if calls := words.Amount(p.Calls); calls != "1" && calls != "1.00" {
			word += " " + calls + "×"
		}
		parts = append(parts, word)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// dearest is the counted figure in which w asks for the most more than b, weighed in calls
// (see weight). It returns false if no difference matters, or if chance may explain all of
// them.
func dearest(b, w trials.Column, op string) (f results.Figure, found bool) {
	const least, matters = 1.1, 0.2
	most := matters
	for _, next := range []results.Figure{results.Calls, results.Bytes, results.Examined, results.Rows} {
		less, have := b.Counted(op, next), w.Counted(op, next)
		weight := inCalls(next, have.Median-less.Median)
		known := less.Known && have.Known
		if known && weight >= most && have.Median >= least*less.Median && trials.Differs(next, &less, &have) {
			f, most, found = next, weight, true
		}
	}
	return f, found
}

// counted is the row's line of a counted figure; nil if it has none.
func (row *OverviewRow) counted() *OverviewLine {
	for i := range row.Lines {
		if row.Lines[i].Figure.Counted() {
			return &row.Lines[i]
		}
	}
	return nil
}

// ends are the columns of the least and the greatest value. Worst is -1 if the noise hides all
// differences, or if there are none.
func (l *OverviewLine) ends() (best, worst int) {
	best, worst = -1, -1
	for i := range l.Values {
		switch v := &l.Values[i]; {
		case !v.Known:
		case v.Best && best < 0:
			best = i
		case !v.Best && !v.Same && v.Ratio >= tellRatio && (worst < 0 || v.Median > l.Values[worst].Median):
			worst = i
		}
	}
	return best, worst
}

// tellRatio is the least ratio that is not written as 1.0×.
const tellRatio = 1.05

// equals names column i, and then the columns with about the same value.
func (l *OverviewLine) equals(p *OverviewPart, i int) []string {
	all := []string{p.Columns[i].Name}
	for at := range l.Values {
		if v := &l.Values[at]; at != i && v.Known && v.Ratio < 1.005 && !slices.Contains(all, p.Columns[at].Name) {
			all = append(all, p.Columns[at].Name)
		}
	}
	return all
}
