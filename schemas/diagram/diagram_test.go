package diagram

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/schemas"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// hostile has texts and names that a careless drawing lets out of its boxes or
// of its quotes.
const hostile = `
schema: 1
name: hostile
description: "</desc><script>alert(1)</script> \u202e \u0000 end\n\"]; click t0 callback #quot; 📧📧📧 WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW"
tables:
  tttttttttttttttttttttttttttttttttttttttttttttttt:
    partition: [kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk text]
    clustering: [c int desc]
    columns: {m: "map<text,timestamp>", v: {type: int, addition: none}}
    indexes: {iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii: [v, c desc], x: [v]}
  b: {partition: [k text], columns: {v: int}}
  child: {parent: tttttttttttttttttttttttttttttttttttttttttttttttt, clustering: [e int], columns: {s: set<text>, l: list<text>}}
patterns:
  one: {description: "Q7 & <b>bold</b>]]>", slice: tttttttttttttttttttttttttttttttttttttttttttttttt, by: [kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk]}
  two: {description: "Q7", get: b}
  three: {get: child}
  four: {slice: child, by: [kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk], from: c open, to: c, reverse: true, limit: 5}
  pppppppppppppppppppppppppppppppppppppppppppppppp: {scan: b, filter: v}
  all: {scan: b}
workflow: {one: [two, three], two: [three, four], three: [pppppppppppppppppppppppppppppppppppppppppppppppp], four: pppppppppppppppppppppppppppppppppppppppppppppppp}
`

func parse(t *testing.T, src string) *schemas.Schema {
	t.Helper()
	s, err := schemas.Parse("test.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func every(t *testing.T) []*schemas.Schema {
	t.Helper()
	unordered := parse(t, hostile)
	unordered.Workflow = nil
	all := []*schemas.Schema{parse(t, hostile), unordered}
	for _, name := range schemas.BundledNames() {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// TestFits: boxes and labels are apart, texts fit into their room and lie apart,
// arrows do not cross boxes, and all is on the page.
func TestFits(t *testing.T) {
	for _, s := range every(t) {
		for _, k := range []Kind{Logical, Physical, Workflow} {
			sc, err := draw(s, k)
			if k == Workflow && len(s.Workflow) == 0 {
				if !errors.Is(err, ErrNoWorkflow) {
					t.Errorf("%s without a workflow: %v", s.Name, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Run(s.Name+"/"+string(k), func(t *testing.T) { fits(t, sc) })
		}
	}
}

func fits(t *testing.T, sc *scene) {
	page := rect{0, 0, sc.w, sc.h, "page", 0}
	var solid, words []rect
	for _, r := range sc.rects {
		if !within(r, page) {
			t.Errorf("%+v is not on the page of %d × %d", r, sc.w, sc.h)
		}
		if r.class != "band" {
			solid = append(solid, r)
		}
	}
	disjoint(t, solid)
	for _, x := range sc.texts {
		w := x.font.width(x.s)
		if w > x.room {
			t.Errorf("%q needs %d px and has %d", x.s, w, x.room)
		}
		r := rect{x.x, x.y - x.font.size*3/4, w, x.font.size, x.s, 0}
		switch {
		case x.middle:
			r.x -= w / 2
		case x.end:
			r.x -= w
		}
		words = append(words, r)
		if !within(r, page) {
			t.Errorf("%q is not on the page of %d × %d: %+v", x.s, sc.w, sc.h, r)
		}
		for _, s := range solid {
			if overlap(r, s) && !within(r, s) {
				t.Errorf("%q crosses the edge of %+v", x.s, s)
			}
		}
	}
	disjoint(t, words)
	for _, l := range sc.lines {
		if l.rule {
			continue
		}
		for i, q := range l.points[1:] {
			p := l.points[i]
			r := rect{min(p.x, q.x), min(p.y, q.y), max(p.x, q.x) - min(p.x, q.x), max(p.y, q.y) - min(p.y, q.y), "line", 0}
			if !within(r, page) {
				t.Errorf("an arrow leaves the page: %+v", l.points)
			}
			for _, s := range append(solid, words...) {
				if r.x < s.x+s.w && s.x < r.x+r.w && r.y > s.y && r.y < s.y+s.h || r.w == 0 && r.x > s.x && r.x < s.x+s.w && r.y < s.y+s.h && s.y < r.y+r.h {
					t.Errorf("an arrow crosses %+v: %+v", s, l.points)
				}
			}
		}
	}
}

func within(r, outer rect) bool {
	return r.x >= outer.x && r.y >= outer.y && r.x+r.w <= outer.x+outer.w && r.y+r.h <= outer.y+outer.h
}

func overlap(a, b rect) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}

func disjoint(t *testing.T, rs []rect) {
	t.Helper()
	for i, a := range rs {
		for _, b := range rs[:i] {
			if overlap(a, b) {
				t.Errorf("%+v and %+v overlap", a, b)
			}
		}
	}
}

// TestHostileText: texts of a schema stay texts.
func TestHostileText(t *testing.T) {
	s := parse(t, hostile)
	for _, k := range []Kind{Logical, Physical, Workflow} {
		var svg, mermaid bytes.Buffer
		if err := errors.Join(SVG(&svg, s, k), Mermaid(&mermaid, s, k)); err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(bytes.NewReader(svg.Bytes())); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", k, err)
			}
			known := []string{"svg", "title", "desc", "style", "marker", "path", "rect", "circle", "text"}
			if e, ok := token.(xml.StartElement); ok && !slices.Contains(known, e.Name.Local) {
				t.Errorf("%s: an element %s", k, e.Name.Local)
			}
		}
		if strings.ContainsAny(svg.String(), "\u202e\x00") || strings.Contains(mermaid.String(), "&lt;") {
			t.Errorf("%s: a control character, or HTML's entities in Mermaid", k)
		}
		for _, l := range strings.Split(strings.TrimSpace(mermaid.String()), "\n") {
			if n := strings.Count(l, `"`); n != 0 && n != 2 {
				t.Errorf("%s: quotes in %s", k, l)
			}
		}
	}
}

// TestGolden holds all that is drawn of one model to what was looked at in a browser.
func TestGolden(t *testing.T) {
	s, err := schemas.Bundled("datastax")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []Kind{Logical, Physical, Workflow} {
		var svg, mermaid bytes.Buffer
		if err := errors.Join(SVG(&svg, s, k), Mermaid(&mermaid, s, k)); err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/datastax-"+string(k)+".svg", svg.Bytes())
		golden(t, "testdata/datastax-"+string(k)+".mmd", mermaid.Bytes())
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got); rewrite it with -update if it is right in a browser:\n%s", file, diff)
	}
}

func TestQueries(t *testing.T) {
	var got []string
	for _, q := range Queries(parse(t, hostile)) {
		got = append(got, q.Label+" "+q.Pattern.Name+": "+Predicate(q.Pattern))
	}
	want := []string{
		"Q7 one: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk = ?",
		"Q7 two: k = ?",
		"Q1 three: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk = ?, c = ?, e = ?",
		"Q2 four: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk = ?, c > ?, c <= ?, in reverse, at most 5 rows",
		"Q3 pppppppppppppppppppppppppppppppppppppppppppppppp: filtered by v = ?",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
