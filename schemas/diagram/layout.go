package diagram

import (
	"cmp"
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// Distances in px. Boxes lie on a grid of 10. Arrows leave boxes between the
// lines of the grid and reach boxes on them, so that no two of them meet.
const (
	grid    = 10
	gap     = 30 // between boxes one below the other
	lane    = 10 // between arrows side by side
	portGap = 30 // between labels one below the other
	tip     = 20 // from a label to its box
	stub    = 30 // length of an arrow that begins the workflow
)

// node is a box with the arrows that lead to it.
type node struct {
	x, y, w, h int
	rank       int // number of its column, from 0
	ports      []*port
	outs       int // arrows that leave it
	draw       func(sc *scene, n *node)
}

// port is where arrows reach a box, from other boxes or from outside of the
// diagram.
type port struct {
	label string
	from  []*node // none: from outside
}

// portY returns the y at which arrows reach port i.
func (n *node) portY(i int) int { return n.y + 2*grid + i*portGap }

// edge is one arrow on its way from box to box. An arrow to the next column has
// one lane, in the gutter between both. Any other goes by a channel above all
// boxes, with a lane on each side.
type edge struct {
	from, to     *node
	port         int
	fromY        int
	leave, reach int // x of the lanes
	channel      int // y of the channel; 0 for an arrow to the next column
}

func (e *edge) next() bool { return e.to.rank == e.from.rank+1 }

// straight reports whether the arrow needs no lane: its port is next to its box.
func (e *edge) straight() bool {
	y := e.to.portY(e.port)
	return e.next() && y > e.from.y && y < e.from.y+e.from.h
}

// pass is the part of an edge that goes up or down in a gutter.
type pass struct {
	from, to int  // y
	at       *int // where spread stores the x of its lane
}

// newPage returns a page with a title and, below it, nodes in columns by their ranks with the arrows between them.
// labelW is the width of the labels that arrows have, or 0. It also returns the lower end of what it has drawn. Ranks
// must have no gaps.
func newPage(s *schemas.Schema, what string, nodes []*node, labelW int) (sc *scene, bottom int) {
	sc = &scene{title: s.Name + ": " + what, desc: s.Doc}
	var edges []*edge
	columns := make([][]*node, 0, len(nodes))
	for _, n := range nodes {
		for len(columns) <= n.rank {
			columns = append(columns, nil)
		}
		columns[n.rank] = append(columns[n.rank], n)
		for i, p := range n.ports {
			for _, from := range p.from {
				if from != n {
					edges = append(edges, &edge{from: from, to: n, port: i})
				}
			}
		}
	}
	channels := 0
	for _, e := range edges {
		if !e.next() {
			e.channel, channels = channels+lane/2, channels+lane
		}
	}
	stack(columns, edges, channels)
	top := sc.heading(spread(columns, edges, labelW))
	bottom = top
	for _, e := range edges {
		e.fromY, e.channel, e.leave, e.reach = e.fromY+top, e.channel+top, e.leave+margin, e.reach+margin
	}
	for _, n := range nodes {
		n.x, n.y = n.x+margin, n.y+top
	}
	for _, n := range nodes {
		n.draw(sc, n)
		for i := range n.ports {
			n.arrows(sc, i, labelW)
		}
		bottom = max(bottom, n.y+n.h)
	}
	for _, e := range edges {
		sc.path(e.way(labelW))
	}
	return sc, bottom
}

// stack sets y and height of the boxes and where arrows leave them.
func stack(columns [][]*node, edges []*edge, top int) {
	order := slices.Clone(edges) // arrows that go by the channel leave a box above its others
	slices.SortStableFunc(order, func(a, b *edge) int { return cmp.Compare(b.channel, a.channel) })
	for _, e := range order {
		e.fromY = grid + grid/2 + e.from.outs*lane
		e.from.outs++
	}
	for _, column := range columns {
		y := ceil(top) + grid
		for _, n := range column {
			n.y = y
			n.h = ceil(max(n.h, len(n.ports)*portGap+grid, n.outs*lane+2*grid))
			y += n.h + gap
		}
	}
	for _, e := range edges {
		e.fromY += e.from.y
	}
}

func ceil(px int) int { return (px + grid - 1) / grid * grid }

// spread sets the places of columns from left to right with the lanes between
// them, and returns where the last one ends.
func spread(columns [][]*node, edges []*edge, labelW int) int {
	gutters := make([][]pass, len(columns)+1)
	for _, e := range edges {
		reach := e.to.portY(e.port)
		if e.straight() {
			e.fromY = reach
			continue
		}
		if e.next() {
			gutters[e.to.rank] = append(gutters[e.to.rank], pass{e.fromY, reach, &e.leave})
			continue
		}
		gutters[e.from.rank+1] = append(gutters[e.from.rank+1], pass{e.fromY, e.channel, &e.leave})
		gutters[e.to.rank] = append(gutters[e.to.rank], pass{e.channel, reach, &e.reach})
	}
	x := 0
	for i, passes := range gutters {
		slices.SortStableFunc(passes, fewerCrossings)
		for _, p := range passes {
			x += lane
			*p.at = x
		}
		if i == len(columns) {
			break
		}
		x += stub
		if labelW > 0 {
			x += labelW + tip
		}
		widest := 0
		for _, n := range columns[i] {
			n.x = x
			widest = max(widest, n.w)
		}
		x += widest
	}
	return x + grid
}

// fewerCrossings orders lanes from left to right. Of arrows that go down, the one
// that begins lowest comes first; of those that go up, the one that begins highest.
func fewerCrossings(a, b pass) int {
	downA, downB := a.to >= a.from, b.to >= b.from
	switch {
	case downA != downB && downA:
		return -1
	case downA != downB:
		return 1
	case downA:
		return cmp.Or(cmp.Compare(b.from, a.from), cmp.Compare(b.to, a.to))
	}
	return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
}

// end returns where arrows to a port end: at its label if it has one.
func (n *node) end(labelW int) int {
	if labelW == 0 {
		return n.x
	}
	return n.x - tip - labelW
}

// way returns the points of an arrow.
func (e *edge) way(labelW int) polyline {
	y := e.to.portY(e.port)
	points := []point{{e.from.x + e.from.w, e.fromY}}
	switch {
	case e.straight():
	case e.next():
		points = append(points, point{e.leave, e.fromY}, point{e.leave, y})
	default:
		points = append(points, point{e.leave, e.fromY}, point{e.leave, e.channel},
			point{e.reach, e.channel}, point{e.reach, y})
	}
	return polyline{points: append(points, point{e.to.end(labelW), y}), head: labelW == 0}
}

// arrows draws the label of a port, its arrow into the box, and the arrows that
// come from outside or from the box itself.
func (n *node) arrows(sc *scene, i, labelW int) {
	p, y, x := n.ports[i], n.portY(i), n.end(labelW)
	if labelW > 0 {
		sc.rect(rect{x, y - grid, labelW, 2 * grid, "pill", grid})
		sc.text(text{x: x + labelW/2, y: y + 4, room: labelW - 8, font: pillFont, middle: true, s: p.label})
		sc.path(polyline{points: []point{{n.x - tip, y}, {n.x, y}}, head: true})
	}
	if len(p.from) == 0 {
		sc.dots = append(sc.dots, point{x - stub/2 - 1, y})
		sc.path(polyline{points: []point{{x - stub/2 - 1, y}, {x, y}}, head: labelW == 0})
	}
	if slices.Contains(p.from, n) {
		low := y + grid + grid/2
		sc.path(polyline{points: []point{{n.x, low}, {x - stub/2, low}, {x - stub/2, y}, {x, y}}, head: labelW == 0})
	}
}

// line is one line of a table's box.
type line struct {
	name, typ, part string
	rule            bool // a new section begins above it
	added           bool // an addition of mailbench
}

// lines returns the lines of a table: key, static and plain columns, and what
// indexes sort by if that is more than one column.
func lines(t *schemas.Table, k Kind) []line {
	var ls []line
	add := func(cs []*schemas.Column) {
		for i, c := range cs {
			ls = append(ls, line{
				name: columnName(c, k), typ: c.Type.String(), part: part(t, c),
				rule: i == 0 && len(ls) > 0, added: c.Addition != "",
			})
		}
	}
	add(t.Key())
	add(append(append([]*schemas.Column(nil), t.Static...), t.Columns...))
	for _, x := range t.Indexes {
		if len(x.Columns) < 2 {
			continue
		}
		ls = append(ls, line{name: x.Name, part: "IDX", rule: true, added: x.Addition != ""})
		for _, c := range x.Columns {
			ls = append(ls, line{name: "  " + c.Column.Name, part: arrow(c.Desc)})
		}
	}
	return ls
}

// columnName writes a collection as Chebotko does; a physical diagram has its type.
func columnName(c *schemas.Column, k Kind) string {
	if k == Physical {
		return c.Name
	}
	switch c.Type.Kind {
	case schemas.Set:
		return "{" + c.Name + "}"
	case schemas.List:
		return "[" + c.Name + "]"
	case schemas.Map:
		return "<" + c.Name + ">"
	}
	return c.Name
}

// part returns what a column is in its table, in Chebotko's notation.
func part(t *schemas.Table, c *schemas.Column) string {
	switch {
	case c.Role == schemas.Partition:
		return "K"
	case c.Role == schemas.Clustering:
		return "C" + arrow(c.Desc)
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

func arrow(desc bool) string {
	if desc {
		return "↓"
	}
	return "↑"
}

// drawn returns the tables of a diagram: all but row headers, which have nothing to show.
// The tables nested in a header name it.
func drawn(s *schemas.Schema) []*schemas.Table {
	return slices.DeleteFunc(slices.Clone(s.Tables), (*schemas.Table).Header)
}

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
	page, bottom := newPage(s, "workflow of reads", nodes, 0)
	page.h = bottom + margin
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
