package schemas

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVariants holds each bundled variant to its text: read by itself it is the same
// schema, under a name of its own.
func TestVariants(t *testing.T) {
	for _, base := range BundledVariants("") {
		for _, name := range BundledVariants(base) {
			s, err := Bundled(name)
			if err != nil {
				t.Error(err)
				continue
			}
			whole, err := Parse("whole.yaml", s.Source)
			if err != nil {
				t.Errorf("the text of %s:\n%v", name, err)
				continue
			}
			if d := cmp.Diff(string(Format(s)), string(Format(whole))); d != "" {
				t.Errorf("the text of %s is of another schema (-variant +text):\n%s", name, d)
			}
			of, err := Bundled(base)
			if err != nil {
				t.Fatal(err)
			}
			if string(Format(s)) == strings.Replace(string(Format(of)), "name: "+base, "name: "+name, 1) {
				t.Errorf("%s changes nothing", name)
			}
		}
	}
}

// TestVariantOf is about what a variant may say, and the place of the error for all else.
func TestVariantOf(t *testing.T) {
	base := `schema: 1
name: mail
tables:
  box:
    partition: [user text]
    clustering: [id timeuuid desc]
    columns: {subject: text, seen: boolean}
    indexes: {by_subject: [subject]}
    accept: {some-rule: it is so}
patterns:
  page: {slice: box, by: user, after: id, limit: 25, columns: [id, subject]}
  put: {put: box}
  see: {put-if: box, columns: seen, if: subject, fallback: see_plain}
  see_plain: {put: box, columns: seen}
  puts: {batch: [{run: put, each: message}], atomic: partition}
`
	find := func(name string) (*Schema, error) { return Parse("mail.yaml", []byte(base)) }
	parse := func(changes string) (*Schema, error) {
		return ParseWith("v.yaml", []byte("schema: 1\nextends: mail\nname: mail@v\n"+changes), find)
	}

	s, err := parse("tables:\n  box: {clustering: [id timeuuid], hints: {cassandra: {compaction: X}}, indexes: {by_subject: ~}}\n" +
		"patterns:\n  page: {reverse: true}\n  see: {put-if: ~, if: ~, put: box, fallback: ~}\n  see_plain: ~\n  puts: {atomic: none}\n")
	if err != nil {
		t.Fatal(err)
	}
	box := s.Table("box")
	if box.Clustering[0].Desc || len(box.Indexes) != 0 || box.Hints["cassandra"]["compaction"] != "X" || len(box.Columns) != 2 ||
		len(box.Accept) != 1 {
		t.Errorf("table %+v", box)
	}
	if see := s.Pattern("see"); see.Kind != Put || see.If != nil || s.Pattern("see_plain") != nil || !s.Pattern("page").Reverse {
		t.Errorf("patterns of %s", s.Source)
	}
	// A changed key has its place in the variant, every other in the base.
	if got := []string{box.Pos.In(s.File), s.Pattern("page").Pos.In(s.File), box.Column("user").Pos.In(s.File)}; !cmp.Equal(got,
		[]string{"v.yaml:5:3", "v.yaml:7:3", "mail.yaml:5:17"}) {
		t.Errorf("places %q", got)
	}

	for changes, want := range map[string]string{
		"tables: {box: {clustering: [id timeuuid]}}": "mail.yaml:11:3: pattern page: the model of mail cannot run it in this way: " +
			"its rows come in another order; reverse: true keeps it; v.yaml has changed what it needs",
		"tables: {bux: {hints: {hbase: {family: x}}}}":       `v.yaml:4:10: unknown table "bux" in tables of the base; did you mean "box"?`,
		"patterns: {pag: {reverse: true}}":                   `v.yaml:4:12: unknown pattern "pag" in patterns of the base; did you mean "page"?`,
		"patterns: {page: {limit: 10, columns: [id, seen]}}": "v.yaml:4:12: pattern page: the model of mail cannot run it in this way: it yields (id timeuuid, seen boolean) instead of (id timeuuid, subject text)",
		"patterns: {page: {colums: id}}":                     `v.yaml:4:19: unknown key "colums" in pattern page; did you mean "columns"?`,
		"patterns: {page: ~}":                                "v.yaml:2:10: pattern page is gone, but the model of mail runs it",
		"patterns: {see_plain: ~}":                           `mail.yaml:13:60: unknown pattern "see_plain" in fallback of pattern see; expected one of page, put, see, puts; v.yaml has changed what it needs`,
		"patterns: {other: {get: box}}":                      "v.yaml:4:12: no model runs pattern other: mail has none of that name, and it is no fallback or part of a batch",
		"patterns: {put: {columns: seen, none: ~}}":          `v.yaml:4:33: unknown key "none" in put of the base, which ~ would remove; expected one of put`,
		"tables: {box: {columns: {size: int}}}":              "mail.yaml:12:3: pattern put: the model of mail cannot run it in this way: its arguments are (user text, id timeuuid, subject text, seen boolean, size int) instead of",
		"name: mail@v":                                       `v.yaml:4:1: duplicate key "name" in the schema; line 3 has it already`,
	} {
		if _, err := parse(changes); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant: %s", changes, err, want)
		}
	}
	for head, want := range map[string]string{
		"extends: jams\nname: jams@x":                   `v.yaml:2:10: unknown schema "jams"; did you mean "james"?`,
		"extends: james@checked-flags\nname: a@b":       "v.yaml:2:10: james@checked-flags is a variant itself; expected the schema james",
		"extends: james\nname: plain":                   `v.yaml:3:7: a variant of james must have a name james@WORD, found "plain"`,
		"extends: james":                                `v.yaml:2:10: a variant of james must have a name james@WORD, found "james"`,
		"extends: [james]\nname: james@x":               `v.yaml:2:10: "extends" must be text, found a list`,
		"name: james@one@two\ntables: {t: {parent: x}}": `v.yaml:2:7: schema name "james@one@two" must be`,
	} {
		if _, err := Parse("v.yaml", []byte("schema: 1\n"+head+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant: %s", head, err, want)
		}
	}
}

// TestVaries: a variant may change only the settings that its base lets vary. The base keeps the
// word in its text.
func TestVaries(t *testing.T) {
	parse := func(varies, changes string) (*Schema, error) {
		base := `schema: 1
name: mail
description: d
native: cassandra
tables:
  box: {description: d, partition: [user text], clustering: [id timeuuid desc], columns: {subject: text, body: text}}
patterns:
  page: {slice: box, by: user, after: id, limit: arg, columns: [id, subject, body]` + varies + `}
`
		return ParseWith("v.yaml", []byte("schema: 1\nextends: mail\nname: mail@v\npatterns:\n  page: "+changes+"\n"),
			func(string) (*Schema, error) { return Parse("mail.yaml", []byte(base)) })
	}
	const both, fewer, folder = ", varies: [columns, pages]", "{columns: [id, subject]}", "{after: ~, limit: ~}"
	for _, x := range []struct{ varies, changes, want string }{
		{both, fewer, ""},
		{both, folder, ""},
		{", varies: columns", fewer, ""},
		{", varies: pages", folder, ""},
		{", varies: pages", fewer, "it yields (id timeuuid, subject text) instead of"},
		{", varies: columns", folder, "its arguments are (user text) instead of (user text, id timeuuid, limit bigint)"},
		{"", fewer, "it yields"},
		{both, "{columns: [id, body]}", "it yields (id timeuuid, body text) instead of (id timeuuid, subject text)"},
		{both, "{reverse: true}", "another order"},
		{both, "{after: ~}", "its arguments are (user text, limit bigint)"},
		{", varies: order", fewer, `unknown word "order" in varies of pattern page`},
	} {
		s, err := parse(x.varies, x.changes)
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("page%s with %s: %v, want %q", x.varies, x.changes, err, x.want)
		}
		if x.varies == both && err == nil && !strings.Contains(string(Format(s)), "varies: [columns, pages]") {
			t.Errorf("the text is without varies:\n%s", Format(s))
		}
	}
}
