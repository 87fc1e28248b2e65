package reports

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas"
)

// reason says from the schemas why w reads or writes more rows or bytes than b; "" if
// they do not say.
func reason(f results.Figure, b, w *contender) string {
	more, less := w.facts(f), b.facts(f)
	var news []string
	for _, fact := range more {
		if !slices.ContainsFunc(less, func(l finding) bool { return l.what == fact.what }) {
			news = append(news, "its pattern "+fact.pattern+" "+fact.how+" "+fact.what+fact.each)
		}
	}
	const most = 2
	return strings.Join(news[:min(most, len(news))], ", ")
}

// finding is what a pattern reads or writes, in the words of a report.
type finding struct{ pattern, how, what, each string }

// facts are what the patterns that ran read and write in rows or bytes.
func (c *contender) facts(f results.Figure) []finding {
	var all []finding
	c.patterns(func(p *schemas.Pattern) {
		for _, fact := range factsOf(p, f) {
			if !slices.ContainsFunc(all, func(o finding) bool { return o.what == fact.what && o.how == fact.how }) {
				all = append(all, fact)
			}
		}
	})
	return all
}

// patterns calls do with each pattern that ran. For a batch it calls do with each of its parts.
func (c *contender) patterns(do func(p *schemas.Pattern)) {
	if c.schema == nil {
		return
	}
	for _, ran := range c.ran {
		p := c.schema.Pattern(ran.Name)
		switch {
		case p == nil:
		case p.Kind == schemas.Batch:
			for _, part := range p.Parts {
				do(part.Pattern)
			}
		default:
			do(p)
		}
	}
}

func factsOf(p *schemas.Pattern, f results.Figure) []finding {
	how := "writes"
	if p.Kind.Reads() {
		how = "reads"
	}
	var facts []finding
	if f == results.Bytes {
		columns := p.Columns
		if p.Element != nil {
			columns = []*schemas.Column{p.Element}
		}
		for _, c := range columns {
			quantity, inPieces := p.Table.Holds(c)
			if quantity == "" {
				continue
			}
			what, each := schemas.Content[quantity], ""
			switch {
			case p.Element != nil:
				what = "one attachment"
			case inPieces:
				what = "pieces of " + what
			case p.Kind == schemas.Slice:
				each = " with every row"
			}
			facts = append(facts, finding{p.Name, how, what, each})
		}
		return facts
	}
	if whole(p) {
		what := "all rows of " + p.Table.Name
		if p.Kind == schemas.Slice {
			what += " by " + strings.Join(schemas.Names(p.By), ", ")
		}
		facts = append(facts, finding{p.Name, how, what, ""})
	}
	if rowsAMessage(p.Table) > 1 && (p.Kind == schemas.Slice || !p.Kind.Reads()) {
		facts = append(facts, finding{p.Name, how, "several rows of " + p.Table.Name + " for each message", ""})
	}
	return facts
}

// whole reports whether the pattern reads all rows of a table or partition.
func whole(p *schemas.Pattern) bool {
	return p.Kind == schemas.Scan && p.Limit == 0 && !p.LimitArg ||
		p.Kind == schemas.Slice && p.Limit == 0 && !p.LimitArg && p.In == nil && p.From == nil && p.To == nil
}

// rowsAMessage is how many rows of the table one message has.
func rowsAMessage(t *schemas.Table) int {
	n := 0
	for _, r := range t.Rows {
		if r.Each == "message" && r.Of == "" {
			n += r.Times
		}
	}
	return n
}

// checks says what an engine does for a contender's patterns that no count shows; "" if
// there is nothing of that kind.
func (c *contender) checks() string {
	s := ""
	c.patterns(func(p *schemas.Pattern) {
		switch {
		case s != "":
		case p.Kind == schemas.Scan:
			s = "its pattern " + p.Name + " scans all of " + p.Table.Name + c.uncounted()
		case len(p.Filter) > 0:
			s = "its pattern " + p.Name + " filters rows of " + p.Table.Name + c.uncounted()
		case p.Kind == schemas.PutIf:
			s = "its pattern " + p.Name + " compares before it writes"
		}
	})
	return s
}

// uncounted says that nobody knows how many rows the engine examined, if that is so.
func (c *contender) uncounted() string {
	if c.store.RowsExamined != nil {
		return ""
	}
	return ", and rows that it drops are not counted"
}

// contender is a column with what explains why it is better or worse at an operation.
type contender struct {
	column OverviewColumn
	store  results.StoreCost
	ran    []results.PatternCalls
	schema *schemas.Schema // nil if the run has no schema that can be read
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
