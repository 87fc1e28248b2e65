package diagram

import (
	"bufio"
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mailbench/mailbench/schemas"
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

const (
	margin = 20
	least  = 760 // px, so that texts have room next to a small diagram
	inside = 12  // from the edge of a box to its text
	rowH   = 20
	bandH  = 30
)

// heading makes the page wide enough for a drawing that ends at right, and writes title
// and description at the top. It returns the y below them.
func (sc *scene) heading(right int) (top int) {
	sc.w = max(right+2*margin, least)
	room := sc.w - 2*margin
	y := sc.paragraph(margin, margin+18, room, titleFont, "", sc.title)
	return sc.paragraph(margin, y, room, wordFont, "soft", sc.desc)
}

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

// font is one way of writing.
type font struct {
	class string // its class in the style sheet
	size  int    // px
	mono  bool
	wide  *[95]int // width of ' ' to '~' in thousandths of the size
}

var (
	titleFont = font{"title", 18, false, &boldWidths}
	labelFont = font{"label", 12, false, &boldWidths}
	wordFont  = font{"word", 12, false, &widths}
	nameFont  = font{"name", 13, true, nil}
	codeFont  = font{"code", 12, true, nil}
	headFont  = font{"head1", 13, true, nil}
	pillFont  = font{"pilltext", 12, false, &boldWidths}
)

// monoWidth is the width of a character in the widest of the fonts that the style sheet
// names for code, DejaVu Sans Mono and Menlo, in thousandths of the size.
const monoWidth = 603

// otherWidth is that of the widest characters outside ASCII in common fonts, in thousandths
// of the size: most are an em wide, an emoji 1.4 em.
const otherWidth = 1400

// widths and boldWidths are those of DejaVu Sans 2.37, rounded up. It is the
// widest of the fonts that the style sheet names, so text in another one fits too.
var widths = [95]int{
	318, 401, 460, 838, 637, 951, 780, 275, 391, 391, 500, 838, 318, 361, 318, 337,
	637, 637, 637, 637, 637, 637, 637, 637, 637, 637, 337, 337, 838, 838, 838, 531,
	1000, 685, 687, 699, 771, 632, 576, 775, 752, 295, 295, 656, 558, 863, 749, 788,
	604, 788, 695, 635, 611, 732, 685, 989, 686, 611, 686, 391, 337, 391, 838, 500,
	500, 613, 635, 550, 635, 616, 353, 635, 634, 278, 278, 580, 278, 975, 634, 612,
	635, 635, 412, 521, 393, 634, 592, 818, 592, 592, 525, 637, 337, 637, 838,
}

var boldWidths = [95]int{
	349, 457, 521, 838, 696, 1002, 873, 307, 458, 458, 523, 838, 380, 416, 380, 366,
	696, 696, 696, 696, 696, 696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 581,
	1000, 774, 763, 734, 831, 684, 684, 821, 837, 373, 373, 775, 638, 996, 837, 851,
	733, 851, 771, 721, 683, 813, 774, 1104, 771, 725, 726, 458, 366, 458, 838, 500,
	500, 675, 716, 593, 716, 679, 436, 716, 712, 343, 343, 666, 343, 1042, 712, 688,
	716, 716, 494, 596, 479, 712, 652, 924, 646, 652, 583, 712, 366, 712, 838,
}

// width returns the width of a text in px, rounded up.
func (f font) width(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case f.mono && (r <= '~' || r == '↑' || r == '↓' || r == '→' || r == '…' || r == '†'):
			n += monoWidth
		case r < ' ' || r > '~':
			n += otherWidth
		case f.wide != nil:
			n += f.wide[r-' ']
		}
	}
	return (n*f.size + 999) / 1000
}

// wrap breaks a text into lines that fit into room px, at spaces where there are any.
func (f font) wrap(s string, room int) []string {
	var ls []string
	now := ""
	for _, word := range strings.Fields(plain(s)) {
		switch {
		case now == "":
			now = word
		case f.width(now+" "+word) <= room:
			now += " " + word
			continue
		default:
			ls, now = append(ls, now), word
		}
		for f.width(now) > room {
			head := f.head(now, room)
			ls, now = append(ls, now[:head]), now[head:]
		}
	}
	if now != "" {
		ls = append(ls, now)
	}
	return ls
}

// head returns how many bytes of a word fit into room px, one character at least.
func (f font) head(word string, room int) int {
	end := 0
	for i, r := range word {
		next := i + utf8.RuneLen(r)
		if end > 0 && f.width(word[:next]) > room {
			break
		}
		end = next
	}
	return end
}

// plain takes control characters and others that do not print out of a text: they have
// no width, or reverse the direction of writing. Every kind of space becomes ' '.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.C) || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
}
