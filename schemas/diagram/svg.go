package diagram

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// style is the style sheet of the diagrams.
//
//go:embed style.css
var style string

// SVG writes the diagram as an SVG document with colors for light and dark pages.
func SVG(w io.Writer, s *schemas.Schema, k Kind) error {
	return write(w, s, k, (*graph).svg)
}

// Distances in px.
const (
	margin = 20
	least  = 760 // width of a page, so that texts have room next to a small diagram
	inside = 12  // from the edge of a box to its text
	bandH  = 30  // height of a box's title
	rowH   = 20  // height of a line of a box
	textH  = 16  // height of other lines
	gap    = 30  // between boxes
	gutter = 40  // between columns, for arrows to the next one
	lane   = 10  // between arrows side by side
	portH  = 30  // between labels one below the other
	tip    = 20  // from a label to its box
	start  = 16  // from the dot where an arrow begins to its end
)

// cell is the width in px of a character of the style sheet's widest fonts, DejaVu Sans Mono and Menlo.
const cell = 7.25

// canvas is a page of shapes. Its texts have characters of one width.
type canvas struct {
	strings.Builder
	w int // grows with the shapes
}

// svg draws the graph: a title, the boxes with their arrows, and the read of each label.
func (g *graph) svg() string {
	c := &canvas{w: least}
	c.text("title", margin, margin+18, "start", g.title)
	y := c.paragraph("soft", margin+42, words.Wrap("", g.doc, 0, c.columns()))
	y = c.boxes(g, y)
	var rows [][]string // the request of each label, and what it is for
	for _, q := range g.queries {
		rows = append(rows, []string{q.Label, q.Pattern.Name, Request(q.Pattern)})
		// without the label that a description begins with
		if doc := strings.TrimLeft(strings.TrimPrefix(q.Pattern.Doc, q.Label), " :,.;-"); doc != "" {
			rows = append(rows, []string{"", "", doc})
		}
	}
	if len(rows) > 0 {
		y = c.paragraph("name", y+textH, strings.Split(words.Table(rows, 3, c.columns()), "\n"))
	}
	y = c.paragraph("soft", y, words.Wrap("", g.symbols, 0, c.columns()))
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" xml:space="preserve">
<title>%[3]s</title>
<desc>%s</desc>
<style>
%s</style>
<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">`+
		`<path class="head" d="M0,0.5 L8,4 L0,7.5 Z"/></marker>
<rect class="page" width="%[1]d" height="%[2]d"/>
%[6]s</svg>
`, c.w, y, escape(g.title), escape(g.doc), style, c.String())
}

// boxes draws the boxes and the reads below top, and returns the y below them. The columns are placed from left to
// right, each with lanes and labels before it. The boxes of a column have the same width, so that only arrows that
// pass a column need a way around it.
func (c *canvas) boxes(g *graph, top int) (bottom int) {
	label := 0 // the room for a label and its arrow to the box; a workflow has no labels
	for _, r := range g.reads {
		if r.label != "" {
			label = max(label, width(r.label)+inside+tip)
		}
	}
	x, around := margin, g.lanes*lane
	for _, column := range g.columns {
		x += around + gutter + label
		y, w := top+around, 0
		for _, b := range column { // the width that its texts need
			names, types, parts := 0, 0, 0
			for _, l := range b.lines {
				names, types, parts = max(names, width(l.name)), max(types, width(l.typ)), max(parts, width(l.part))
			}
			b.types = inside + names + inside
			w = max(w, max(inside+width(b.title), b.types+types+inside+parts)+inside)
		}
		for _, b := range column {
			b.x, b.y, b.w = x, y, w
			b.h = max(bandH+len(b.lines)*rowH+lane, b.ports*portH+lane, b.outs*lane+2*lane)
			c.box(b)
			y += b.h + gap
		}
		x, bottom = x+w, max(bottom, y)
		c.w = max(c.w, x+around+margin)
	}
	for _, r := range g.reads {
		c.read(r, top, label, around)
	}
	return bottom
}

func (c *canvas) box(b *box) {
	c.add(`<rect class="box" x="%d" y="%d" width="%d" height="%d" rx="4"/>`, b.x, b.y, b.w, b.h)
	c.add(`<rect class="band" x="%d" y="%d" width="%d" height="%d" rx="4"/>`, b.x, b.y, b.w, bandH)
	c.text("bold", b.x+b.w/2, b.y+rowH, "middle", b.title)
	y := b.y + bandH
	for _, l := range b.lines {
		if l.rule {
			c.add(`<path class="rule" d="M%d,%d H%d"/>`, b.x, y+2, b.x+b.w)
		}
		class := "name"
		if l.nested {
			class = "soft"
		}
		c.text(class, b.x+inside, y+textH, "start", l.name)
		c.text("soft", b.x+b.types, y+textH, "start", l.typ)
		c.text("part", b.x+b.w-inside, y+textH, "end", l.part)
		y += rowH
	}
}

// read draws the arrows of a read: from the boxes where they begin to the label, and from there to the box. An arrow
// to the next column is a curve. Any other goes up in its lane after the box, above all boxes, and down in its lane
// before the box that it leads to.
func (c *canvas) read(r *read, top, label, around int) {
	y, x := r.to.y+2*lane+r.port*portH, r.to.x-label
	if label > 0 {
		c.add(`<rect class="pill" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, x, y-lane, label-tip, 2*lane, lane)
		c.text("pilltext", x+(label-tip)/2, y+4, "middle", r.label)
		c.arrow(true, "M%d,%d H%d", r.to.x-tip, y, r.to.x)
	}
	if len(r.from) == 0 {
		c.add(`<circle class="dot" cx="%d" cy="%d" r="4"/>`, x-start, y)
		c.arrow(label == 0, "M%d,%d H%d", x-start, y, x)
	}
	for _, a := range r.from {
		right, out, up, down := a.from.x+a.from.w, a.from.y+2*lane+a.out*lane, a.lane*lane, x-gutter-around+a.lane*lane
		switch {
		case a.from == r.to:
			c.arrow(label == 0, "M%d,%d H%d V%d H%d", r.to.x, y+portH/2, x-start, y, x)
		case a.lane == 0:
			c.arrow(label == 0, "M%d,%d C%d,%d %d,%d %d,%d", right, out, (right+x)/2, out, (right+x)/2, y, x, y)
		default:
			c.arrow(label == 0, "M%d,%d H%d V%d H%d V%d H%d", right, out, right+up, top+up-lane, down, y, x)
		}
	}
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

// arrow adds an arrow, or the part of one that has no head.
func (c *canvas) arrow(head bool, format string, args ...any) {
	end := ""
	if head {
		end = ` marker-end="url(#head)"`
	}
	c.add(`<path class="line" d="%s"%s/>`, fmt.Sprintf(format, args...), end)
}

// text adds a line of text on the base line y. The page becomes as wide as a text that starts at x needs.
func (c *canvas) text(class string, x, y int, anchor, s string) {
	if s == "" {
		return
	}
	if strings.HasSuffix(s, extension) {
		class += " added"
	}
	c.add(`<text class="%s" x="%d" y="%d" text-anchor="%s">%s</text>`, class, x, y, anchor, escape(s))
	if anchor == "start" {
		c.w = max(c.w, x+width(s)+margin)
	}
}

// columns is the number of characters that fit into a line of the page.
func (c *canvas) columns() int { return int(float64(c.w-2*margin) / cell) }

// paragraph adds lines of text from the base line y on, and returns the base line after them.
func (c *canvas) paragraph(class string, y int, lines []string) int {
	for _, l := range lines {
		c.text(class, margin, y, "start", l)
		y += textH
	}
	return y
}

// width returns the width of a text. Characters of some scripts and emoji are up to 1.4 em wide.
func width(s string) int {
	cells := 0.0
	for _, r := range s {
		cells++
		if r > 'ӿ' && (r < '‐' || r > '⇿') { // no Latin, Greek or Cyrillic, no punctuation, no arrow
			cells += 1.4
		}
	}
	return int(math.Ceil(cells * cell))
}

// escape writes any text as XML, without characters that deceive.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(words.OneLine(s))) // a Builder takes all
	return b.String()
}
