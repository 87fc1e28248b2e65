package diagram

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

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
