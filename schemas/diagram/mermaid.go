package diagram

import (
	"fmt"
	"io"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

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
