package diagram

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

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
	for _, c := range p.By {
		parts = append(parts, c.Name+" = ?")
	}
	if p.In != nil {
		parts = append(parts, p.In.Name+" in (?, …)")
	}
	if p.Element != nil {
		parts = append(parts, p.Element.Name+"[?]")
	}
	bound := func(b *schemas.Bound, op string) {
		if b == nil {
			return
		}
		if !b.Open {
			op += "="
		}
		parts = append(parts, b.Column.Name+" "+op+" ?")
	}
	bound(p.From, ">")
	bound(p.To, "<")
	if len(p.After) > 0 {
		parts = append(parts, "after "+names(p.After))
	}
	for _, c := range p.Filter {
		parts = append(parts, "filtered by "+c.Name+" = ?")
	}
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
