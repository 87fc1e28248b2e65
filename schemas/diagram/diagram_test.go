package diagram

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
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
	unread := parse(t, "schema: 1\nname: unread\ntables: {b: {partition: [k text], columns: {v: int}}}\n")
	all := []*schemas.Schema{parse(t, hostile), unordered, unread}
	for _, name := range schemas.BundledVariants("") {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// picture is an SVG document as a reader of it sees it.
type picture struct {
	W     int       `xml:"width,attr"`
	H     int       `xml:"height,attr"`
	Rects []rect    `xml:"rect"`
	Paths []path    `xml:"path"`
	Texts []written `xml:"text"`
}

type rect struct {
	Class string `xml:"class,attr"`
	X     int    `xml:"x,attr"`
	Y     int    `xml:"y,attr"`
	W     int    `xml:"width,attr"`
	H     int    `xml:"height,attr"`
}

type path struct {
	Class string `xml:"class,attr"`
	D     string `xml:"d,attr"`
}

type written struct {
	Class  string `xml:"class,attr"`
	X      int    `xml:"x,attr"`
	Y      int    `xml:"y,attr"`
	Anchor string `xml:"text-anchor,attr"`
	Text   string `xml:",chardata"`
}

// TestFits: boxes and labels are apart, texts fit into their room and lie apart,
// arrows do not cross boxes, and all is on the page.
func TestFits(t *testing.T) {
	for _, s := range every(t) {
		for _, k := range []Kind{Logical, Physical, Workflow} {
			var svg bytes.Buffer
			err := SVG(&svg, s, k)
			if k == Workflow && len(s.Workflow) == 0 {
				if !errors.Is(err, ErrNoWorkflow) {
					t.Errorf("%s without a workflow: %v", s.Name, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			var p picture
			if err := xml.Unmarshal(svg.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			t.Run(s.Name+"/"+string(k), func(t *testing.T) { fits(t, p) })
		}
	}
}

func fits(t *testing.T, p picture) {
	page := rect{"page", 0, 0, p.W, p.H}
	var solid, words []rect
	for _, r := range p.Rects {
		if !within(r, page) {
			t.Errorf("%+v is not on the page of %d × %d", r, p.W, p.H)
		}
		if r.Class == "box" || r.Class == "pill" {
			solid = append(solid, r)
		}
	}
	disjoint(t, solid)
	for _, x := range p.Texts {
		size, w := 12, width(x.Text)
		if x.Class == "title" {
			size, w = 18, w*3/2
		}
		r := rect{x.Text, x.X, x.Y - size*3/4, w, size}
		switch x.Anchor {
		case "middle":
			r.X -= w / 2
		case "end":
			r.X -= w
		}
		words = append(words, r)
		if !within(r, page) {
			t.Errorf("%q is not on the page of %d × %d: %+v", x.Text, p.W, p.H, r)
		}
		for _, s := range solid {
			if overlap(r, s) && !within(r, s) {
				t.Errorf("%q crosses the edge of %+v", x.Text, s)
			}
		}
	}
	disjoint(t, words)
	arrows := 0
	for _, l := range p.Paths {
		if l.Class != "line" {
			continue
		}
		arrows++
		for _, r := range parts(t, l.D) {
			if !within(r, page) {
				t.Errorf("an arrow leaves the page: %s", l.D)
			}
			for _, s := range append(solid, words...) {
				across := r.H == 0 && r.Y > s.Y && r.Y < s.Y+s.H && r.X < s.X+s.W && s.X < r.X+r.W
				down := r.W == 0 && r.X > s.X && r.X < s.X+s.W && r.Y < s.Y+s.H && s.Y < r.Y+r.H
				if across || down || r.W > 0 && r.H > 0 && overlap(r, s) {
					t.Errorf("an arrow crosses %+v: %s", s, l.D)
				}
			}
		}
	}
	if arrows == 0 && len(p.Rects) > 3 { // the page, and a box with its band
		t.Error("no arrows")
	}
}

// parts returns the rectangles around the lines and curves of a path.
func parts(t *testing.T, d string) (all []rect) {
	t.Helper()
	x, y := 0, 0
	for _, step := range regexp.MustCompile(`[MHVC][-0-9, ]+`).FindAllString(d, -1) {
		var to [][2]int
		numbers := strings.FieldsFunc(step[1:], func(r rune) bool { return r == ' ' || r == ',' })
		for i, n := range numbers {
			v, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case step[0] == 'H':
				to = append(to, [2]int{v, y})
			case step[0] == 'V':
				to = append(to, [2]int{x, v})
			case i%2 == 1:
				before, _ := strconv.Atoi(numbers[i-1])
				to = append(to, [2]int{before, v})
			}
		}
		if step[0] != 'M' {
			r := rect{d, x, y, 0, 0}
			for _, p := range to {
				r.X, r.W = min(r.X, p[0]), max(r.X+r.W, p[0])-min(r.X, p[0])
				r.Y, r.H = min(r.Y, p[1]), max(r.Y+r.H, p[1])-min(r.Y, p[1])
			}
			all = append(all, r)
		}
		x, y = to[len(to)-1][0], to[len(to)-1][1]
	}
	return all
}

func within(r, outer rect) bool {
	return r.X >= outer.X && r.Y >= outer.Y && r.X+r.W <= outer.X+outer.W && r.Y+r.H <= outer.Y+outer.H
}

func overlap(a, b rect) bool {
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
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
		got = append(got, q.Label+" "+q.Pattern.Name+": "+predicate(q.Pattern))
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
