package reports

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
)

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
