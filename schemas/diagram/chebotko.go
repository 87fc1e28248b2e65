package diagram

import (
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

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
