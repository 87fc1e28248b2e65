package diagram

import (
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

const stepRoom = 220 // px for the text that says what a read is for

// workflow draws each read to the right of those that yield its arguments.
func workflow(s *schemas.Schema) *scene {
	qs := Queries(s)
	var nodes []*node
	for _, q := range qs {
		n := stepNode(q)
		n.rank = q.Depth
		p := &port{}
		for _, b := range q.Before {
			p.from = append(p.from, nodes[slices.Index(qs, b)]) // reads before it come first
		}
		n.ports = []*port{p}
		nodes = append(nodes, n)
	}
	body := newPage(s, "")
	right, bottom := arrange(body, nodes, 0, 0)
	page := newPage(s, "workflow of reads")
	top := page.heading(right)
	body.shift(margin, top)
	page.add(body)
	page.h = top + bottom + margin
	return page
}

// stepNode returns the box of a read: its label and name, its table, what it is for.
func stepNode(q *Query) *node {
	p := q.Pattern
	title, table := q.Label+"  "+p.Name, p.Kind.String()+" "+p.Table.Name
	room := max(stepRoom, headFont.width(title), codeFont.width(table))
	doc := wordFont.wrap(withoutLabel(q), room)
	n := &node{w: room + 2*inside, h: bandH + rowH + len(doc)*leading(wordFont) + grid}
	n.draw = func(sc *scene, n *node) {
		sc.rect(rect{n.x, n.y, n.w, n.h, "box", 4})
		sc.rect(rect{n.x, n.y, n.w, bandH, "band", 4})
		sc.text(text{x: n.x + inside, y: n.y + 20, room: room, font: headFont, s: title})
		sc.text(text{x: n.x + inside, y: n.y + bandH + 16, room: room, font: codeFont, class: "part", s: table})
		y := n.y + bandH + rowH + 13
		for _, l := range doc {
			sc.text(text{x: n.x + inside, y: y, room: room, font: wordFont, class: "soft", s: l})
			y += leading(wordFont)
		}
	}
	return n
}
