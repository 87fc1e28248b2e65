package diagram

import (
	"errors"
	"flag"
	"os"
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

// TestHostileText: texts of a schema stay texts, and there is no workflow without one.
func TestHostileText(t *testing.T) {
	for _, s := range every(t) {
		for _, k := range Kinds {
			got, err := Mermaid(s, k)
			if k == Workflow && len(s.Workflow) == 0 {
				if !errors.Is(err, ErrNoWorkflow) {
					t.Errorf("%s without a workflow: %v", s.Name, err)
				}
				continue
			}
			if err != nil || strings.ContainsAny(got, "\u202e\x00") || strings.Contains(got, "&lt;") || strings.Contains(got, "<script") {
				t.Errorf("%s %s: %v, a control character, or HTML in Mermaid", s.Name, k, err)
			}
			for _, l := range strings.Split(strings.TrimSpace(got), "\n") {
				if n := strings.Count(l, `"`); n != 0 && n != 2 {
					t.Errorf("%s %s: quotes in %s", s.Name, k, l)
				}
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
	for _, k := range Kinds {
		got, err := Mermaid(s, k)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/datastax-"+string(k)+".mmd", []byte(got))
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
