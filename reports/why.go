package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/units"
	"github.com/mailbench/mailbench/schemas"
)

// contender is a column with what explains why it is better or worse at an operation.
type contender struct {
	column OverviewColumn
	store  StoreCost
	ran    []PatternCalls
	schema *schemas.Schema // nil if the run has no schema that can be read
}

// explainer knows the schemas of a run.
type explainer struct{ schemas map[string]*schemas.Schema }

func newExplainer(r *Run) *explainer {
	e := &explainer{schemas: map[string]*schemas.Schema{}}
	for _, s := range r.Schemas {
		if parsed, err := schemas.Parse(s.Model, []byte(s.Text)); err == nil {
			e.schemas[s.Model] = parsed
		}
	}
	return e
}

// why says in one sentence where the difference of a row comes from: what the worst
// column asks of the store and the best does not, and what its access patterns read for
// that. It is "" where there is no difference.
func (e *explainer) why(p *OverviewPart, columns []columnCells, row *OverviewRow) string {
	line, counted := row.Lines, row.counted()
	if len(line) == 0 || counted == nil {
		return ""
	}
	lead := &line[0]
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

func (e *explainer) contender(p *OverviewPart, columns []columnCells, i int, op string) *contender {
	c := &contender{column: p.Columns[i], schema: e.schemas[p.Columns[i].Model]}
	if row, ok := columns[i].row(op); ok { // the tables have the same figures
		c.store, c.ran = row.op.Store, row.op.Patterns
	}
	return c
}

// compare says how much more of a counted figure the worst asks for, and why.
func (e *explainer) compare(f Figure, equals []string, b, w *contender) string {
	verb := b.verb(f)
	s := equals[0]
	switch {
	case len(equals) == 1 && f == Calls:
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
	case f == Calls:
		return s + f.Text(w.store.get(f)) + inBrackets(w.ran)
	case w.verb(f) == verb:
		s += f.Text(w.store.get(f))
	default:
		s += w.verb(f) + "s " + w.has(f)
	}
	if reason := reason(f, b, w); reason != "" {
		s += ": " + reason
	}
	return s
}

// has writes what the contender has of a counted figure.
func (c *contender) has(f Figure) string {
	s := f.Text(c.store.get(f))
	switch {
	case f == Bytes:
		return s
	case s == "1":
		return s + " " + strings.TrimSuffix(string(f), "s")
	}
	return s + " " + string(f)
}

// verb says what the contender does with rows and bytes.
func (c *contender) verb(f Figure) string {
	all, written := c.store.get(f), c.store.BytesWritten
	if f == Rows {
		written = c.store.RowsWritten
	}
	switch {
	case f == Calls:
		return "make"
	case written < 0.05*all:
		return "read"
	case written > 0.95*all:
		return "write"
	}
	return "move"
}

// inBrackets lists the patterns that ran, with the calls of each unless it is one.
func inBrackets(ran []PatternCalls) string {
	const most = 5
	var words []string
	for i, p := range ran {
		if i == most {
			words = append(words, "…")
			break
		}
		word := p.Name
		if calls := units.Amount(p.Calls); calls != "1" && calls != "1.00" {
			word += " " + calls + "×"
		}
		words = append(words, word)
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// dearest is the counted figure in which w asks for the most more than b, weighed in calls
// (see weight). It returns false if no difference matters, or if chance may explain all of
// them.
func dearest(b, w columnCells, op string) (f Figure, differs bool) {
	const least, matters = 1.1, 0.2
	most := matters
	for _, next := range []Figure{Calls, Bytes, Rows} {
		less, have := b.counted(op, next), w.counted(op, next)
		weight := next.inCalls(have.Median - less.Median)
		if weight >= most && have.Median >= least*less.Median && next.differs(&less, &have) {
			f, most, differs = next, weight, true
		}
	}
	return f, differs
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
