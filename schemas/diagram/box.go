package diagram

import (
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// tableNode returns the box of a table.
func tableNode(t *schemas.Table, k Kind) *node {
	ls := lines(t, k)
	title := t.Name
	if t.Addition != "" {
		title += " †"
	}
	note := ""
	if t.Parent != nil {
		note = "in " + t.Parent.Name
	}
	names, types, parts := 0, 0, 0
	for i := range ls {
		if ls[i].added {
			ls[i].name += " †"
		}
		names = max(names, nameFont.width(ls[i].name))
		parts = max(parts, nameFont.width(ls[i].part))
		if k == Physical {
			types = max(types, nameFont.width(ls[i].typ)+inside)
		}
	}
	n := &node{
		w: max(headFont.width(title), wordFont.width(note), names+types+2*inside+parts) + 2*inside,
		h: bandH + len(ls)*rowH + grid,
	}
	if note != "" {
		n.h += rowH
	}
	n.h = ceil(n.h)
	n.draw = func(sc *scene, n *node) {
		sc.rect(rect{n.x, n.y, n.w, n.h, "box", 4})
		sc.rect(rect{n.x, n.y, n.w, bandH, "band", 4})
		sc.text(text{
			x: n.x + n.w/2, y: n.y + 20, room: n.w - 2*inside, font: headFont, middle: true,
			class: italic(t.Addition != ""), s: title,
		})
		y := n.y + bandH
		if note != "" {
			sc.text(text{x: n.x + n.w/2, y: y + 15, room: n.w - 2*inside, font: wordFont, middle: true, class: "soft", s: note})
			y += rowH
		}
		for i, l := range ls {
			if l.rule || i == 0 && note != "" {
				sc.path(polyline{points: []point{{n.x, y + 2}, {n.x + n.w, y + 2}}, rule: true})
			}
			y += rowH
			sc.text(text{x: n.x + inside, y: y - 3, room: names, font: nameFont, class: italic(l.added), s: l.name})
			if k == Physical && l.typ != "" {
				sc.text(text{
					x: n.x + inside + names + inside, y: y - 3, room: types - inside, font: nameFont,
					class: "soft", s: l.typ,
				})
			}
			if l.part != "" {
				sc.text(text{x: n.x + n.w - inside, y: y - 3, room: parts, font: nameFont, end: true, class: "part", s: l.part})
			}
		}
	}
	return n
}

func italic(on bool) string {
	if on {
		return "added"
	}
	return ""
}

// withoutLabel returns what a pattern is for, without the label that it begins with.
func withoutLabel(q *Query) string {
	return strings.TrimLeft(strings.TrimPrefix(q.Pattern.Doc, q.Label), " :,.;-")
}
