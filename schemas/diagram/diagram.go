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
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
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

// SVG writes the diagram as an SVG document with colors for light and dark pages.
func SVG(w io.Writer, s *schemas.Schema, k Kind) error { return Inline(w, s, k, "") }

// Style is the style sheet of the diagrams, for a page that has some of them.
func Style() string { return style }

// Inline writes the diagram as an SVG element of a page, without a style sheet. Each
// diagram of the page needs an id of its own, which is a word.
func Inline(w io.Writer, s *schemas.Schema, k Kind, id string) error {
	sc, err := draw(s, k)
	if err != nil {
		return err
	}
	sc.inline = id
	if err := sc.write(w); err != nil {
		return fmt.Errorf("write diagram: %w", err)
	}
	return nil
}

func draw(s *schemas.Schema, k Kind) (*scene, error) {
	if k != Workflow {
		return chebotko(s, k), nil
	}
	if len(s.Workflow) == 0 {
		return nil, ErrNoWorkflow
	}
	return workflow(s), nil
}

// Mermaid writes the diagram as a Mermaid flowchart.
func Mermaid(out io.Writer, s *schemas.Schema, k Kind) error {
	if k == Workflow && len(s.Workflow) == 0 {
		return ErrNoWorkflow
	}
	w := bufio.NewWriter(out)
	fmt.Fprintln(w, "flowchart LR")
	if k == Workflow {
		mermaidWorkflow(w, Queries(s))
	} else {
		mermaidTables(w, s, k)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write diagram: %w", err)
	}
	return nil
}

// mermaidTables writes a box for each table, and an arrow for each read from the
// tables that yield its arguments, or from a circle.
func mermaidTables(w io.Writer, s *schemas.Schema, k Kind) {
	tables := drawn(s)
	for i, t := range tables {
		var ls []string
		if t.Parent != nil {
			ls = append(ls, "<i>in "+entities(t.Parent.Name)+"</i>")
		}
		for _, l := range lines(t, k) {
			words := strings.TrimLeft(l.name, " ")
			if k == Physical && l.typ != "" {
				words += " " + l.typ
			}
			words = entities(words)
			if l.added {
				words = "<i>" + words + " †</i>"
			}
			if l.part != "" {
				words += " &nbsp;<b>" + entities(l.part) + "</b>"
			}
			ls = append(ls, words)
		}
		fmt.Fprintf(w, "  t%d[\"<b>%s</b><br/>%s\"]\n", i, entities(t.Name), strings.Join(ls, "<br/>"))
	}
	qs := Queries(s)
	for i, q := range qs {
		to := slices.Index(tables, q.Pattern.Table)
		if len(q.Before) == 0 {
			fmt.Fprintf(w, "  s%d((\" \")) -->|%s| t%d\n", i, q.Label, to)
		}
		var from []int
		for _, b := range q.Before {
			if t := slices.Index(tables, b.Pattern.Table); !slices.Contains(from, t) {
				from = append(from, t)
				fmt.Fprintf(w, "  t%d -->|%s| t%d\n", t, q.Label, to)
			}
		}
	}
}

func mermaidWorkflow(w io.Writer, qs []*Query) {
	for i, q := range qs {
		fmt.Fprintf(w, "  q%d[\"<b>%s %s</b><br/>%s %s\"]\n", i, q.Label, entities(q.Pattern.Name), q.Pattern.Kind,
			entities(q.Pattern.Table.Name))
	}
	for i, q := range qs {
		for _, b := range q.Before {
			fmt.Fprintf(w, "  q%d --> q%d\n", slices.Index(qs, b), i)
		}
	}
}

// entities writes any text so that neither Mermaid nor HTML sees more than text in
// it. Mermaid's entities are #60; where HTML's are &#60;.
func entities(s string) string {
	var b strings.Builder
	for _, r := range plain(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(" _.,:-†↑↓", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}

const symbols = "K partition key; C↑ C↓ clustering column, ascending or descending; S static; IDX secondary index; " +
	"++ counter; " +
	"{…} set; […] list; <…> map; †: an addition that the source document does not have."

// chebotko draws the tables that the workflow reads, each to the right of the one
// that is read before it. Below them are the other tables and the read of each label.
func chebotko(s *schemas.Schema, k Kind) *scene {
	qs := Queries(s)
	read, others := tableNodes(s, k, qs)
	labelW := 0
	for _, q := range qs {
		labelW = max(labelW, pillFont.width(q.Label)+16)
	}
	page, bottom := newPage(s, string(k)+" data model", read, labelW)
	y := page.rest(others, ceil(bottom)+gap)
	y = page.legend(qs, y)
	page.h = page.paragraph(margin, y+4, page.w-2*margin, wordFont, "soft", symbols)
	return page
}

// tableNodes returns the tables that queries read, with the labels of the
// queries, and all others.
func tableNodes(s *schemas.Schema, k Kind, qs []*Query) (read, others []*node) {
	of := make(map[*schemas.Table]*node)
	for _, t := range drawn(s) {
		n := tableNode(t, k)
		n.rank = -1
		of[t] = n
	}
	for _, q := range qs {
		n := of[q.Pattern.Table]
		p := &port{label: q.Label}
		for _, b := range q.Before {
			if from := of[b.Pattern.Table]; !slices.Contains(p.from, from) {
				p.from = append(p.from, from)
			}
		}
		if n.rank < 0 {
			n.rank = q.Depth // queries come in the order of depth
			read = append(read, n)
		}
		n.ports = append(n.ports, p)
	}
	for _, t := range drawn(s) {
		if n := of[t]; n.rank < 0 {
			others = append(others, n)
		}
	}
	closeRanks(read)
	return read, others
}

// closeRanks renumbers ranks so that no column is empty. The nodes must be in the order of
// their ranks.
func closeRanks(nodes []*node) {
	was, rank := -1, -1
	for _, n := range nodes {
		if n.rank != was {
			was = n.rank
			rank++
		}
		n.rank = rank
	}
}

// rest draws boxes without arrows in rows, and returns the y after them.
func (sc *scene) rest(nodes []*node, y int) int {
	if len(nodes) == 0 {
		return y
	}
	sc.text(text{
		x: margin, y: y, room: sc.w - 2*margin, font: labelFont, class: "soft",
		s: "Tables that the workflow does not read",
	})
	y = ceil(y) + grid
	x, low := margin, y
	for _, n := range nodes {
		if x > margin && x+n.w > sc.w-margin {
			x, y = margin, low+gap
		}
		sc.w = max(sc.w, x+n.w+margin)
		n.x, n.y = x, y
		n.draw(sc, n)
		x += n.w + gap
		low = max(low, y+n.h)
	}
	return low + gap + grid
}

// legend writes the read of each label, and returns the y after that.
func (sc *scene) legend(qs []*Query, y int) int {
	labels, names := 0, 0
	for _, q := range qs {
		labels = max(labels, labelFont.width(q.Label))
		names = max(names, codeFont.width(q.Pattern.Name))
	}
	x := margin + labels + inside
	at := x + names + inside
	sc.w = max(sc.w, at+least/2+margin)
	room := sc.w - margin - at
	for _, q := range qs {
		sc.text(text{x: margin, y: y, room: labels, font: labelFont, class: "part", s: q.Label})
		sc.text(text{x: x, y: y, room: names, font: codeFont, s: q.Pattern.Name})
		y = sc.paragraph(at, y, room, codeFont, "", q.Pattern.Kind.String()+" "+q.Pattern.Table.Name+
			": "+Predicate(q.Pattern))
		y = sc.paragraph(at, y, room, wordFont, "soft", withoutLabel(q)) + 4
	}
	return y + 4
}
