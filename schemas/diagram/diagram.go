// Package diagram draws a schema as a design document shows it: as Mermaid text, which wikis and code hosts show as a
// picture.
//
// [Logical] and [Physical] are Chebotko diagrams (Chebotko, Kashlev, Lu: "A Big
// Data Modeling Methodology for Apache Cassandra", IEEE BigData 2015). Each
// table is a box, and each column has its part at the right: K partition key,
// C↑ and C↓ clustering column with its order, S static, IDX secondary index, ++
// counter. A set is written {name}, a list [name], a map <name>. The physical
// diagram has the types. Arrows with the labels Q1, Q2 … show which read leads
// to which table.
//
// [Workflow] has the reads themselves, from those that a client begins with to
// those that need what others yield.
//
// The labels are those of [Queries]. The same schema is always drawn the same.
package diagram

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// Kind says what a diagram shows.
type Kind string

// The kinds of diagram.
const (
	Logical  Kind = "logical"
	Physical Kind = "physical"
	Workflow Kind = "workflow"
)

// Kinds are all kinds of diagram.
var Kinds = []Kind{Logical, Physical, Workflow}

// ErrNoWorkflow is the error for a workflow diagram of a schema that declares none.
var ErrNoWorkflow = errors.New("the schema declares no workflow; add one after its patterns, such as workflow: " +
	"{folders: page, page: message}")

// Mermaid is the diagram as a Mermaid flowchart: boxes, and an arrow for each read from the boxes that yield its
// arguments. A read with a label that needs none comes from a circle.
func Mermaid(s *schemas.Schema, k Kind) (string, error) {
	if k == Workflow && len(s.Workflow) == 0 {
		return "", ErrNoWorkflow
	}
	var out strings.Builder
	out.WriteString("flowchart LR\n")
	box := func(name, title string, lines ...string) {
		text := strings.Join(append([]string{"<b>" + entities(title) + "</b>"}, lines...), "<br/>")
		fmt.Fprintf(&out, "  %s[\"%s\"]\n", name, text)
	}
	queries, boxes := Queries(s), map[any]string{} // the boxes of tables, or of reads
	for i, q := range queries {
		if p := q.Pattern; k == Workflow {
			boxes[q] = fmt.Sprint("q", i)
			box(boxes[q], q.Label+" "+p.Name, entities(p.Kind.String()+" "+p.Table.Name))
		}
	}
	for _, t := range s.Tables {
		if k != Workflow && !t.Header() { // a row header has nothing to show
			boxes[t] = fmt.Sprint("t", len(boxes))
			box(boxes[t], t.Name, lines(t, k)...)
		}
	}
	for i, q := range queries {
		to, arrow := boxes[q], "-->"
		if k != Workflow {
			to, arrow = boxes[q.Pattern.Table], "-->|"+q.Label+"|"
		}
		var from []string
		for _, before := range q.Before {
			of := boxes[before]
			if k != Workflow {
				of = boxes[before.Pattern.Table]
			}
			if !slices.Contains(from, of) {
				from = append(from, of)
			}
		}
		if k != Workflow && len(from) == 0 {
			from = []string{fmt.Sprintf("s%d((\" \"))", i)}
		}
		for _, of := range from {
			fmt.Fprintf(&out, "  %s %s %s\n", of, arrow, to)
		}
	}
	return out.String(), nil
}

// lines are the lines of a table: key, static and plain columns, and what indexes sort by if that is more than one
// column. Extensions of the source design have a †.
func lines(t *schemas.Table, k Kind) (all []string) {
	add := func(name, typ, part, addition string) {
		text := entities(strings.TrimSpace(name + " " + typ))
		if addition != "" {
			text = "<i>" + text + " †</i>"
		}
		if part != "" {
			text += " &nbsp;<b>" + entities(part) + "</b>"
		}
		all = append(all, text)
	}
	if t.Parent != nil {
		all = append(all, "<i>"+entities("in "+t.Parent.Name)+"</i>")
	}
	for _, c := range slices.Concat(t.Key(), t.Static, t.Columns) {
		name, typ := c.Name, c.Type.String()
		if k == Logical {
			around := brackets[c.Type.Kind]
			name, typ = around[0]+c.Name+around[1], ""
		}
		add(name, typ, part(t, c), c.Addition)
	}
	for _, x := range t.Indexes {
		if len(x.Columns) < 2 {
			continue
		}
		add(x.Name, "", "IDX", x.Addition)
		for _, c := range x.Columns {
			add(c.Column.Name, "", direction(c.Desc), "")
		}
	}
	return all
}

// brackets mark the names of collections in a diagram without types.
var brackets = map[schemas.Kind][2]string{schemas.Set: {"{", "}"}, schemas.List: {"[", "]"}, schemas.Map: {"<", ">"}}

// part returns what a column is in its table, in Chebotko's notation.
func part(t *schemas.Table, c *schemas.Column) string {
	switch {
	case c.Role == schemas.Partition:
		return "K"
	case c.Role == schemas.Clustering:
		return "C" + direction(c.Desc)
	case c.Role == schemas.Static:
		return "S"
	case c.Type.Kind == schemas.Counter:
		return "++"
	}
	for _, x := range t.Indexes {
		if len(x.Columns) == 1 && x.Columns[0].Column == c {
			return "IDX"
		}
	}
	return ""
}

func direction(desc bool) string {
	if desc {
		return "↓"
	}
	return "↑"
}

// entities writes any text so that neither Mermaid nor HTML sees more than text in
// it. Mermaid's entities are #60; where HTML's are &#60;.
func entities(s string) string {
	var b strings.Builder
	for _, r := range words.OneLine(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(" _.,:-†↑↓", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

// Query is a read that a diagram shows.
type Query struct {
	Label   string // "Q1"
	Pattern *schemas.Pattern
	Before  []*Query // the reads that yield its arguments; if there are none, it begins the workflow
	Depth   int      // length of the longest chain of reads before it
}

// ownLabel is a label that the source document gives: the pattern's doc begins
// with it. Several patterns may share one.
var ownLabel = regexp.MustCompile(`^Q[1-9][0-9]{0,2}\b`)

// Queries returns the reads of the schema's workflow, in the order of their
// depth. A schema without a workflow has all its reads except fallbacks and scans
// of whole tables, each by itself.
//
// A read has the label that its documentation begins with, else the next free
// number in this order.
func Queries(s *schemas.Schema) []*Query {
	qs := declared(s)
	for _, p := range s.Patterns {
		whole := p.Kind == schemas.Scan && len(p.Filter) == 0
		instead := slices.ContainsFunc(s.Patterns, func(o *schemas.Pattern) bool { return o.Fallback == p })
		if len(s.Workflow) == 0 && p.Kind.Reads() && !whole && !instead {
			qs = append(qs, &Query{Pattern: p})
		}
	}
	slices.SortStableFunc(qs, func(a, b *Query) int { return cmp.Compare(a.Depth, b.Depth) })
	taken := make(map[string]bool)
	for _, q := range qs {
		q.Label = ownLabel.FindString(q.Pattern.Doc)
		taken[q.Label] = true
	}
	n := 0
	for _, q := range qs {
		for q.Label == "" {
			n++
			if label := "Q" + strconv.Itoa(n); !taken[label] {
				q.Label = label
			}
		}
	}
	slices.SortStableFunc(qs, func(a, b *Query) int {
		return cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(len(a.Label), len(b.Label)),
			strings.Compare(a.Label, b.Label))
	})
	return qs
}

// declared returns the queries of the workflow in file order.
func declared(s *schemas.Schema) []*Query {
	var qs []*Query
	of := func(p *schemas.Pattern) *Query {
		if i := slices.IndexFunc(qs, func(q *Query) bool { return q.Pattern == p }); i >= 0 {
			return qs[i]
		}
		qs = append(qs, &Query{Pattern: p})
		return qs[len(qs)-1]
	}
	for _, step := range s.Workflow {
		before := of(step.Pattern)
		for _, next := range step.Next {
			q := of(next)
			q.Before = append(q.Before, before)
		}
	}
	for moved := true; moved; { // no step leads back, so this ends
		moved = false
		for _, q := range qs {
			for _, b := range q.Before {
				if q.Depth <= b.Depth {
					q.Depth, moved = b.Depth+1, true
				}
			}
		}
	}
	return qs
}

// predicate is the condition of a read: "label = ?, after id, at most ? rows".
func predicate(p *schemas.Pattern) string {
	var parts []string
	each := func(form string, cs ...*schemas.Column) {
		for _, c := range cs {
			if c != nil {
				parts = append(parts, fmt.Sprintf(form, c.Name))
			}
		}
	}
	bound := func(b *schemas.Bound, open, closed string) {
		if b != nil && b.Open {
			each(open, b.Column)
		} else if b != nil {
			each(closed, b.Column)
		}
	}
	each("%s = ?", p.By...)
	each("%s in (?, …)", p.In)
	each("%s[?]", p.Element)
	bound(p.From, "%s > ?", "%s >= ?")
	bound(p.To, "%s < ?", "%s <= ?")
	if len(p.After) > 0 {
		parts = append(parts, "after "+names(p.After))
	}
	each("filtered by %s = ?", p.Filter...)
	if p.Index != nil {
		parts = append(parts, "through "+p.Index.Name)
	}
	if p.Reverse {
		parts = append(parts, "in reverse")
	}
	switch {
	case p.LimitArg:
		parts = append(parts, "at most ? rows")
	case p.Limit > 0:
		parts = append(parts, "at most "+words.Plural(p.Limit, "row"))
	}
	if len(parts) == 0 {
		return "every row"
	}
	return strings.Join(parts, ", ")
}

// Request is the request of a pattern in one line.
func Request(p *schemas.Pattern) string {
	switch p.Kind {
	case schemas.Batch:
		var parts []string
		for _, part := range p.Parts {
			word := part.Pattern.Name
			if part.Each != "" {
				word += " for each " + part.Each
			}
			parts = append(parts, word)
		}
		return "batch, atomic " + p.Atomic.String() + ": " + strings.Join(parts, ", ")
	case schemas.Get, schemas.Slice, schemas.Scan, schemas.Delete:
		return p.Kind.String() + " " + p.Table.Name + ": " + predicate(p)
	}
	text := p.Kind.String() + " " + p.Table.Name
	if columns := names(p.Columns); columns != "" {
		text += ": " + columns
	}
	if p.Absent {
		text += ", if the row is absent"
	}
	if len(p.If) > 0 {
		verb := " are"
		if len(p.If) == 1 {
			verb = " is"
		}
		text += ", if " + names(p.If) + verb + " as expected"
	}
	return text
}

func names(cs []*schemas.Column) string { return strings.Join(schemas.Names(cs), ", ") }
