// Package diagram draws a schema as a design document shows it: as SVG for a
// page, or as Mermaid text for a wiki.
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
	"io"
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

// graph is a diagram as boxes and the reads that lead to them. Both formats are written from it.
type graph struct {
	title, doc string
	letter     string // begins the names of boxes in Mermaid
	boxes      []*box
	reads      []*read
	queries    []*Query
	symbols    string // explains parts of boxes

	columns [][]*box // the boxes in the order of the reads that lead to them; the first has those without a read, too
	depth   int      // of the reads that lead to the last column
	lanes   int      // the number of arrows that do not lead to the next column
}

// box is a table, or a read of the workflow.
type box struct {
	title string
	lines []line

	column, ports, outs int // its column; how many reads lead to it, and how many arrows leave it
	x, y, w, h, types   int // its place in the SVG, and where the types of its columns begin
}

// line is one line of a box.
type line struct {
	name, typ, part string
	rule            bool // a new section begins above it
	nested          bool // it only names the table that this one is nested in
}

// read leads to a box, from others or from outside of the diagram.
type read struct {
	label string // "" in a workflow
	to    *box
	port  int // its number among the reads that lead to the box
	from  []arrow
}

// arrow begins at a box.
type arrow struct {
	from *box
	out  int // its number among the arrows that leave the box
	lane int // its number, from 1, among the arrows that neither lead to the next column nor to their own box
}

// extension ends the names of extensions of the source design.
const extension = " †"

func marked(name, addition string) string {
	if addition != "" {
		name += extension
	}
	return name
}

// write writes the diagram in a format.
func write(w io.Writer, s *schemas.Schema, k Kind, format func(g *graph) string) error {
	if k == Workflow && len(s.Workflow) == 0 {
		return ErrNoWorkflow
	}
	g := &graph{doc: s.Doc, queries: Queries(s), depth: -1}
	if k == Workflow {
		g.title, g.letter = s.Name+": workflow of reads", "q"
		of := make(map[*Query]*box)
		for _, q := range g.queries {
			p := q.Pattern
			of[q] = &box{title: q.Label + " " + p.Name, lines: []line{{name: p.Kind.String() + " " + p.Table.Name}}}
			g.boxes = append(g.boxes, of[q])
			g.read(q, "", func(q *Query) *box { return of[q] })
		}
	} else {
		g.title, g.letter, g.symbols = s.Name+": "+string(k)+" data model", "t", symbols
		of := make(map[*schemas.Table]*box)
		for _, t := range s.Tables {
			if !t.Header() { // a row header has nothing to show
				of[t] = &box{title: marked(t.Name, t.Addition), lines: lines(t, k)}
				g.boxes = append(g.boxes, of[t])
			}
		}
		for _, q := range g.queries {
			g.read(q, q.Label, func(q *Query) *box { return of[q.Pattern.Table] })
		}
	}
	for _, b := range g.boxes { // tables that no read leads to
		if b.ports == 0 {
			g.place(b, 0)
		}
	}
	if _, err := io.WriteString(w, format(g)); err != nil {
		return fmt.Errorf("write diagram: %w", err)
	}
	return nil
}

const symbols = "K partition key; C↑ C↓ clustering column, ascending or descending; S static; IDX secondary index; " +
	"++ counter; {…} set; […] list; <…> map; † extension (not in the source design); " +
	"without an arrow: the workflow does not read the table."

// read adds a read, after the reads that yield its arguments. The first one that leads to a box places it.
func (g *graph) read(q *Query, label string, of func(*Query) *box) {
	to := of(q)
	if to.ports == 0 {
		column := len(g.columns)
		if q.Depth == g.depth {
			column--
		}
		g.depth = q.Depth
		g.place(to, column)
	}
	r := &read{label: label, to: to, port: to.ports}
	to.ports++
	for _, before := range q.Before {
		b := of(before)
		if slices.ContainsFunc(r.from, func(a arrow) bool { return a.from == b }) {
			continue
		}
		a := arrow{from: b, out: b.outs}
		if b != to {
			b.outs++
			if b.column+1 != to.column {
				g.lanes++
				a.lane = g.lanes
			}
		}
		r.from = append(r.from, a)
	}
	g.reads = append(g.reads, r)
}

func (g *graph) place(b *box, column int) {
	if column == len(g.columns) {
		g.columns = append(g.columns, nil)
	}
	b.column = column
	g.columns[column] = append(g.columns[column], b)
}

// lines returns the lines of a table: key, static and plain columns, and what
// indexes sort by if that is more than one column.
func lines(t *schemas.Table, k Kind) (ls []line) {
	if t.Parent != nil {
		ls = append(ls, line{name: "in " + t.Parent.Name, nested: true})
	}
	for _, section := range [][]*schemas.Column{t.Key(), slices.Concat(t.Static, t.Columns)} {
		for i, c := range section {
			l := line{name: c.Name, typ: c.Type.String(), part: part(t, c), rule: i == 0 && len(ls) > 0}
			if k == Logical {
				around := brackets[c.Type.Kind]
				l.name, l.typ = around[0]+c.Name+around[1], ""
			}
			l.name = marked(l.name, c.Addition)
			ls = append(ls, l)
		}
	}
	for _, x := range t.Indexes {
		if len(x.Columns) < 2 {
			continue
		}
		ls = append(ls, line{name: marked(x.Name, x.Addition), part: "IDX", rule: true})
		for _, c := range x.Columns {
			ls = append(ls, line{name: "  " + c.Column.Name, part: direction(c.Desc)})
		}
	}
	return ls
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

// Mermaid writes the diagram as a Mermaid flowchart.
func Mermaid(w io.Writer, s *schemas.Schema, k Kind) error { return write(w, s, k, (*graph).mermaid) }

// mermaid returns the boxes, and an arrow for each read from the boxes that yield its arguments. A read with a label
// that needs none comes from a circle.
func (g *graph) mermaid() string {
	var out strings.Builder
	out.WriteString("flowchart LR\n")
	names := make(map[*box]string)
	for i, b := range g.boxes {
		names[b] = fmt.Sprint(g.letter, i)
		parts := []string{"<b>" + entities(strings.TrimSuffix(b.title, extension)) + "</b>"}
		for _, l := range b.lines {
			name, added := strings.CutSuffix(l.name, extension)
			text := entities(strings.TrimSpace(name + " " + l.typ))
			switch {
			case added:
				text = "<i>" + text + extension + "</i>"
			case l.nested:
				text = "<i>" + text + "</i>"
			}
			if l.part != "" {
				text += " &nbsp;<b>" + entities(l.part) + "</b>"
			}
			parts = append(parts, text)
		}
		fmt.Fprintf(&out, "  %s[\"%s\"]\n", names[b], strings.Join(parts, "<br/>"))
	}
	for i, r := range g.reads {
		arrow := "-->"
		if r.label != "" {
			arrow += "|" + r.label + "|"
		}
		if r.label != "" && len(r.from) == 0 {
			fmt.Fprintf(&out, "  s%d((\" \")) %s %s\n", i, arrow, names[r.to])
		}
		for _, a := range r.from {
			fmt.Fprintf(&out, "  %s %s %s\n", names[a.from], arrow, names[r.to])
		}
	}
	return out.String()
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
