package diagram

import "github.com/mailbench/mailbench/schemas"

const (
	margin = 20
	least  = 760 // px, so that texts have room beside a small diagram
	inside = 12  // from the edge of a box to its text
	rowH   = 20
	bandH  = 30
)

// newPage returns a scene that holds nothing yet.
func newPage(s *schemas.Schema, what string) *scene {
	return &scene{title: s.Name + ": " + what, desc: s.Doc}
}

// heading makes the page wide enough for a drawing that ends at right, and writes title
// and description at the top. It returns the y below them.
func (sc *scene) heading(right int) (top int) {
	sc.w = max(right+2*margin, least)
	room := sc.w - 2*margin
	y := sc.paragraph(margin, margin+18, room, titleFont, "", sc.title)
	return sc.paragraph(margin, y, room, wordFont, "soft", sc.desc)
}

// shift moves all that is drawn.
func (sc *scene) shift(dx, dy int) {
	for i := range sc.rects {
		sc.rects[i].x += dx
		sc.rects[i].y += dy
	}
	for i := range sc.texts {
		sc.texts[i].x += dx
		sc.texts[i].y += dy
	}
	for i := range sc.lines {
		for j := range sc.lines[i].points {
			sc.lines[i].points[j].x += dx
			sc.lines[i].points[j].y += dy
		}
	}
	for i := range sc.dots {
		sc.dots[i].x += dx
		sc.dots[i].y += dy
	}
}

// add takes over what another scene has drawn.
func (sc *scene) add(o *scene) {
	sc.rects = append(sc.rects, o.rects...)
	sc.texts = append(sc.texts, o.texts...)
	sc.lines = append(sc.lines, o.lines...)
	sc.dots = append(sc.dots, o.dots...)
}
