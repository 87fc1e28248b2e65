package schemas

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const diffed = `schema: 1
name: mail
tables:
  users:
    partition: [u text, v int]
    clustering: [f text, m timeuuid desc]
    static: {title: text}
    columns: {sender: text, tags: "map<text,int>"}
    indexes: {by_sender: [u, v, sender], newest: [u, v, m desc]}
    hints: {hbase: {compression: gz, ttl: 0}}
  users.parts:
    parent: users
    clustering: [n int]
    columns: {data: blob}
  head: {partition: [k text]}
  head.rows: {parent: head, clustering: [c int], columns: {value: blob}}
`

// TestDiff changes one thing at a time: each kind of difference
// is found, and nothing else.
func TestDiff(t *testing.T) {
	seen := make(map[DifferenceKind]bool)
	diffed := strings.Replace(diffed, "tables:", "types: {address: {street: text, n: int}, gone: {n: int}}\ntables:", 1)
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"name: mail", "name: mail\ndescription: more words", ""},
		{
			"address: {street: text, n: int}, gone:", "address: {n: int, street: text}, new:",
			"missing type: type gone is missing\n" +
				"different fields: type address has the fields (n int, street text); it should have (street text, n int)\n" +
				"extra type: type new is there and should not be",
		},
		{"sender: text, tags: \"map<text,int>\"", "tags: \"map<text, int>\", sender: {type: text, addition: so}", ""},
		{"{by_sender: [u, v, sender], newest: [u, v, m desc]}", "{newest: [u, v, m desc], by_sender: [u, v, sender]}", ""},
		{"compression: gz", "compression: gz, in_memory: true", ""},
		{
			"  users.parts:\n    parent: users\n    clustering: [n int]\n    columns: {data: blob}\n", "",
			"missing table: table users.parts is missing",
		},
		{
			"  head.rows:", "  head.others:",
			"missing table: table head.rows is missing\nextra table: table head.others is there and should not be",
		},
		{", tags: \"map<text,int>\"", "", "missing column: table users has no column tags; it should have a plain column of type map<text,int>"},
		{"static: {title: text}\n", "description: nothing static\n", "missing column: table users has no column title; it should have a static column of type text"},
		{
			"u text, v int]", "u text, w int]", // the indexes go with the column
			"different key: the key of table users is partition [u text, w int], clustering [f text, m timeuuid desc]; " +
				"it should be partition [u text, v int], clustering [f text, m timeuuid desc]\n" +
				"different index: index by_sender of table users is over (u, w, sender); it should be over (u, v, sender)\n" +
				"different index: index newest of table users is over (u, w, m desc); it should be over (u, v, m desc)",
		},
		{
			"u text, v int]\n    clustering: [f", "u text]\n    clustering: [v int, f",
			"different key: the key of table users is partition [u text], clustering [v int, f text, m timeuuid desc]; " +
				"it should be partition [u text, v int], clustering [f text, m timeuuid desc]",
		},
		{
			"parent: users\n    clustering: [n int]", "partition: [u text, v int]\n    clustering: [f text, m timeuuid desc, n int]",
			"different key: the key of table users.parts is partition [u text, v int], clustering [f text, m timeuuid desc, n int]; " +
				"it should be in users, partition [u text, v int], clustering [f text, m timeuuid desc, n int]",
		},
		{"[n int]", "[n int, o int]", "different key: the key of table users.parts is in users, clustering [n int, o int]; it should be in users, clustering [n int]"},
		{"[n int]", "[n bigint]", "different type: column n of table users.parts is bigint; it should be int"},
		{"f text", "f blob", "different type: column f of table users is blob; it should be text"}, // and no echo from users.parts
		{"map<text,int>", "map<text,bigint>", "different type: column tags of table users is map<text,bigint>; it should be map<text,int>"},
		{
			"static: {title: text}\n    columns: {", "columns: {title: text, ",
			"different role: column title of table users is a plain column of type text; it should be a static column of type text",
		},
		{"ttl: 0", "ttl: 86400", "different expiry: setting hbase.ttl of table users is 86400; it should be 0"},
		{"m timeuuid desc]\n", "m timeuuid]\n", "different order: column m of table users is ascending; it should be descending"},
		{"[n int]", "[n int desc]", "different order: column n of table users.parts is descending; it should be ascending"},
		{", newest: [u, v, m desc]", "", "missing index: table users has no index newest; it should have one over (u, v, m desc)"},
		{"v, m desc]}", "v, m]}", "different index: index newest of table users is over (u, v, m); it should be over (u, v, m desc)"},
		{"compression: gz", "compression: zstd", "different setting: setting hbase.compression of table users is zstd; it should be gz"},
		{"compression: gz, ", "", "different setting: setting hbase.compression of table users is not set; it should be gz"},
		{"{data: blob}", "{data: blob, more: int}", "extra column: table users.parts has a column more (a plain column of type int) and should not"},
		{"{title: text}", "{title: text, more: int}", "extra column: table users has a column more (a static column of type int) and should not"},
		{"{by_sender", "{by_tags: [m], by_sender", "extra index: table users has an index by_tags over (m) and should not"},
		{"tables:\n", "tables:\n  a: {partition: [k text]}\n  b: {partition: [k text]}\n", "extra table: table a is there and should not be\nextra table: table b is there and should not be"},
		// A table that stores nothing is never missing; one that should store rows is missing.
		{"  head: {partition: [k text]}", "  head: {partition: [k text], columns: {v: int}}", "extra column: table head has a column v (a plain column of type int) and should not"},
		{
			"static: {title: text}\n    columns: {sender: text, tags: \"map<text,int>\"}\n    indexes: {by_sender: [u, v, sender], newest: [u, v, m desc]}\n", "description: a row header\n",
			"missing table: table users is missing",
		},
		{
			"  head: {partition: [k text]}\n  head.rows: {parent: head,", "  top: {partition: [k text]}\n  head.rows: {parent: top,",
			"different key: the key of table head.rows is in top, partition [k text], clustering [c int]; it should be in head, partition [k text], clustering [c int]",
		},
		// Most harm first, in whichever table.
		{
			"compression: gz, ttl: 0}}\n  users.parts:\n    parent: users\n    clustering: [n int]", "ttl: 0}}\n  users.parts:\n    parent: users\n    clustering: [n bigint]",
			"different type: column n of table users.parts is bigint; it should be int\ndifferent setting: setting hbase.compression of table users is not set; it should be gz",
		},
		{
			"columns: {sender: text", "columns: {extra: text, sender: blob", "different type: column sender of table users is blob; it should be text\n" +
				"extra column: table users has a column extra (a plain column of type text) and should not",
		},
	} {
		want := parseText(t, diffed)
		changed := strings.Replace(diffed, c.old, c.new, 1)
		if changed == diffed && c.old != "" {
			t.Fatalf("%q is not in the schema", c.old)
		}
		if strings.Contains(c.new, "w int") {
			changed = strings.ReplaceAll(changed, "[u, v,", "[u, w,")
		}
		have := parseText(t, changed)
		var got []string
		for _, d := range Diff(want, have) {
			seen[d.Kind] = true
			got = append(got, fmt.Sprintf("%s: %s", d.Kind, d))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%q in place of %q (-want +got):\n%s", c.new, c.old, diff)
		}
	}
	for k := range differences {
		if kind := DifferenceKind(k); !seen[kind] {
			t.Errorf("no case has a %s", kind)
		}
	}
}

// TestDiffFields: the facts of a sentence are there as data, too.
func TestDiffFields(t *testing.T) {
	have := parseText(t, strings.NewReplacer("sender: text", "sender: blob", "compression: gz", "compression: zstd").Replace(diffed))
	want := []Difference{
		{DifferentType, "users", "sender", "text", "blob"},
		{DifferentSetting, "users", "hbase.compression", "gz", "zstd"},
	}
	if diff := cmp.Diff(want, Diff(parseText(t, diffed), have)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDiffByHand: tables that no schema file has, but that somebody can make
// in an engine.
func TestDiffByHand(t *testing.T) {
	byHand := parseText(t, diffed)
	users, parts := byHand.Table("users"), byHand.Table("users.parts")
	users.Columns[0].Type = TypeOf("varint")
	other := *users.Partition[1]
	other.Type = Type{Kind: Bigint}
	parts.Partition = []*Column{users.Partition[0], &other}
	have := Canonical(byHand)
	var got []string
	for _, d := range Diff(parseText(t, diffed), have) {
		got = append(got, d.String())
	}
	want := []string{"column sender of table users is varint; it should be text", "column v of table users.parts is bigint; it should be int"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCanonical: files that store the same have one canonical form, which is a
// copy and keeps what Diff compares.
func TestCanonical(t *testing.T) {
	one := parseText(t, diffed)
	other := parseText(t, `schema: 1
name: mail
description: the same, in another order and with more words
native: hbase
tables:
  head.rows: {parent: head, clustering: [c int], columns: {value: blob}}
  users.parts: {description: words, parent: users, clustering: [n int], columns: {data: blob}}
  users:
    addition: so
    partition: [u text, v int]
    clustering: [f text, m timeuuid desc]
    hints: {hbase: {ttl: 0, compression: gz}}
    indexes: {newest: [u, v, m desc], by_sender: {columns: [u, v, sender], addition: so}}
    columns: {tags: "map<text, int>", sender: {type: text, addition: so}}
    static: {title: text}
  head: {partition: [k text]}
patterns:
  put: {put: users}
`)
	a, b := Canonical(one), Canonical(other)
	if diff := cmp.Diff(string(Format(a)), string(Format(b))); diff != "" {
		t.Errorf("two canonical forms of one schema:\n%s", diff)
	}
	roundTrip(t, a)
	if again := Canonical(a); string(Format(again)) != string(Format(a)) {
		t.Errorf("the canonical form of a canonical form is another:\n%s", Format(again))
	}
	if ds := Diff(one, a); len(ds) > 0 {
		t.Errorf("a schema differs from its canonical form: %v", ds)
	}
	a.Table("users").Hints["hbase"]["ttl"] = "1"
	a.Table("users").Column("sender").Name = "changed"
	if ds := Diff(b, one); len(ds) > 0 {
		t.Errorf("a change to the canonical form was one to the schema: %v", ds)
	}
}

func TestTypeOf(t *testing.T) {
	for _, text := range []string{"text", "timeuuid", "map<text,bigint>", "set<uuid>"} {
		if got := TypeOf(text); got.String() != text || got.Kind == Null {
			t.Errorf("TypeOf(%q) = %+v", text, got)
		}
	}
	if got := TypeOf("map<text, int>").String(); got != "map<text,int>" {
		t.Errorf("a type with a space is %s", got)
	}
	for _, text := range []string{"double", "frozen<list<int>>", "map<text>", ""} {
		if got := TypeOf(text); got.Kind != Null || got.Foreign != text {
			t.Errorf("TypeOf(%q) = %+v, want none of the language's", text, got)
		}
	}
}

func parseText(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
