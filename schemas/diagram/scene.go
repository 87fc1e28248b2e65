package diagram

import (
	"bufio"
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

//go:embed style.css
var style string

type point struct{ x, y int }

// rect is a rectangle of a class of the style sheet.
type rect struct {
	x, y, w, h int
	class      string
	round      int // radius of its corners
}

// text is one line of text on the base line y. It may be room px wide.
type text struct {
	x, y, room int
	font       font
	middle     bool // x is its middle
	end        bool // x is its right end; with neither, its left end
	class      string
	s          string
}

// polyline is a line with rounded corners. It has an arrow head at its end or none.
type polyline struct {
	points []point
	head   bool
	rule   bool // a thin line inside a box
}

// scene is a diagram as shapes in px. Tests look at it.
type scene struct {
	// inline is the id of a diagram within a page; "" for a document of its own.
	inline string

	title, desc string
	w, h        int
	rects       []rect
	texts       []text
	lines       []polyline
	dots        []point
}

func (sc *scene) rect(r rect)     { sc.rects = append(sc.rects, r) }
func (sc *scene) text(t text)     { t.s = plain(t.s); sc.texts = append(sc.texts, t) }
func (sc *scene) path(p polyline) { sc.lines = append(sc.lines, p) }

// paragraph writes text from the base line y on, wrapped into room px, and
// returns the base line after it.
func (sc *scene) paragraph(x, y, room int, f font, class, s string) int {
	for _, l := range f.wrap(s, room) {
		sc.text(text{x: x, y: y, room: room, font: f, class: class, s: l})
		y += leading(f)
	}
	return y
}

// leading is the distance of base lines in px.
func leading(f font) int { return f.size * 4 / 3 }

// write writes the scene as SVG.
func (sc *scene) write(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n",
		sc.w, sc.h, sc.w, sc.h)
	fmt.Fprintf(w, "<title>%s</title>\n<desc>%s</desc>\n", escape(sc.title), escape(sc.desc))
	if sc.inline == "" {
		fmt.Fprintf(w, "<style>\n%s</style>\n", style)
	}
	fmt.Fprintf(w,
		`<marker id="%s" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0,0.5 L8,4 L0,7.5 Z"/></marker>`+"\n", sc.headID())
	fmt.Fprintf(w, `<rect class="page" width="%d" height="%d"/>`+"\n", sc.w, sc.h)
	for _, r := range sc.rects {
		fmt.Fprintf(w, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`+"\n", r.class, r.x, r.y, r.w,
			r.h, r.round)
	}
	for _, l := range sc.lines {
		l.write(w, sc.headID())
	}
	for _, d := range sc.dots {
		fmt.Fprintf(w, `<circle class="dot" cx="%d" cy="%d" r="4"/>`+"\n", d.x, d.y)
	}
	for _, t := range sc.texts {
		t.write(w)
	}
	fmt.Fprintln(w, "</svg>")
	return w.Flush()
}

// headID names the arrow head, which each diagram of a page has for itself.
func (sc *scene) headID() string { return sc.inline + "head" }

func (l *polyline) write(w io.Writer, head string) {
	class, end := "line", ""
	if l.rule {
		class = "rule"
	}
	if l.head {
		end = fmt.Sprintf(` marker-end="url(#%s)"`, head)
	}
	fmt.Fprintf(w, `<path class="%s" d="M%d,%d`, class, l.points[0].x, l.points[0].y)
	for i := 1; i < len(l.points); i++ {
		p := l.points[i]
		if i == len(l.points)-1 {
			fmt.Fprintf(w, " L%d,%d", p.x, p.y)
			break
		}
		before, after := toward(p, l.points[i-1]), toward(p, l.points[i+1])
		fmt.Fprintf(w, " L%d,%d Q%d,%d %d,%d", before.x, before.y, p.x, p.y, after.x, after.y)
	}
	fmt.Fprintf(w, `"%s/>`+"\n", end)
}

// toward returns a point on the way from p to q: halfway, but at most 4 px from p. The
// line from p to q is horizontal or vertical.
func toward(p, q point) point {
	step := func(d int) int { return max(min(d/2, 4), -4) }
	return point{p.x + step(q.x-p.x), p.y + step(q.y-p.y)}
}

func (t *text) write(w io.Writer) {
	class := t.font.class
	if t.class != "" {
		class += " " + t.class
	}
	anchor := ""
	switch {
	case t.middle:
		anchor = ` text-anchor="middle"`
	case t.end:
		anchor = ` text-anchor="end"`
	}
	fmt.Fprintf(w, `<text class="%s" x="%d" y="%d"%s>%s</text>`+"\n", class, t.x, t.y, anchor, escape(t.s))
}

// escape writes any text as XML.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(plain(s))) // a Builder takes all
	return b.String()
}
