package schemas

import (
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestFormat holds the canonical text of a file with every construct to the
// written one.
func TestFormat(t *testing.T) { golden(t, "testdata/valid.format", string(Format(valid(t)))) }

// TestFormatRoundTrip: the text of Format is read as the schema that it was
// given, and written the same way again.
func TestFormatRoundTrip(t *testing.T) {
	roundTrip(t, valid(t))
	for _, name := range BundledVariants("") {
		roundTrip(t, unshared(t, name))
	}
}

// TestFormatEmpty: lists that are written down and empty are kept where they
// mean something.
func TestFormatEmpty(t *testing.T) {
	roundTrip(t, parseText(t, `schema: 1
name: empty
tables:
  t: {partition: [k text], columns: {v: int}, hints: {hbase: {}}}
patterns:
  touch: {put: t, columns: []}
  all: {scan: t, filter: []}
`))
}

// TestFormatQuotes: texts that YAML would read as something else are quoted.
func TestFormatQuotes(t *testing.T) {
	s := valid(t)
	mail := s.Table("mail")
	for _, text := range []string{
		"null", "~", "1", "1e3", "yes", "true", "on", " led by a space", "ends in one ", "a: b", "a #b", "- a", "{a", "[a", "&a", "*a", "!a", "<<", "a, b",
		"two\nlines", "lines \n\n  that\tend\n", "\ttab", "'quoted'", `"so"`, `back\slash`, "ümläut 📧", "\u0085\u2028\ufeff", "@a", "%a", "`a", "? a", ": a", "2026-11-21", "0x1F", "=",
	} {
		mail.Doc, s.Doc, s.Pattern("put").Doc, s.Pattern("move").Parts[1].Each = text, text, text, text
		mail.Columns[0].Addition, mail.Indexes[0].Addition = text, text
		mail.Hints = map[string]map[string]string{"hbase": {text: text}}
		roundTrip(t, s)
	}
}

// FuzzFormat looks for a schema that does not survive Format and Parse.
func FuzzFormat(f *testing.F) {
	for _, name := range BundledVariants("") {
		src, err := bundled.ReadFile(name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	src, err := os.ReadFile("testdata/valid.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(src)
	f.Fuzz(func(t *testing.T, src []byte) {
		if s, err := Parse("f.yaml", src); err == nil {
			roundTrip(t, s)
		}
	})
}

// unshared parses a bundled schema again: the one that Bundled returns is shared.
func unshared(t testing.TB, name string) *Schema {
	t.Helper()
	src, err := bundled.ReadFile(name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(name+".yaml", src)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// roundTrip compares a schema with what is read of its canonical text. It takes
// the places out of the schema.
func roundTrip(t *testing.T, s *Schema) {
	t.Helper()
	text := Format(s)
	again, err := Parse("again.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if twice := Format(again); string(twice) != string(text) {
		t.Fatalf("written again, schema %s differs:\n%s", s.Name, cmp.Diff(string(text), string(twice)))
	}
	unplace(s)
	unplace(again)
	if !reflect.DeepEqual(s, again) {
		t.Fatalf("schema %s differs once it was written (-before +after):\n%s\n%s", s.Name, cmp.Diff(s, again, cmpopts.IgnoreUnexported(Schema{})), text)
	}
}

// unplace takes out of a schema what its meaning is without: places, and maps
// that are written down and empty.
func unplace(s *Schema) {
	s.File, s.Source, s.engines = "", nil, nil
	for _, t := range s.Tables {
		t.Pos = Pos{}
		for _, c := range t.All() {
			c.Pos = Pos{}
		}
		for _, x := range t.Indexes {
			x.Pos = Pos{}
		}
		for i := range t.Accept {
			t.Accept[i].Pos = Pos{}
		}
		if len(t.Accept) == 0 {
			t.Accept = nil
		}
		if len(t.Hints) == 0 {
			t.Hints = nil
		}
		for _, r := range t.Rows {
			r.Source = inLine(r.Source)
		}
		for _, r := range slices.Concat(t.Refers, t.Counts) {
			r.Source = inLine(r.Source)
		}
		t.Partition, t.Clustering = full(t.Partition), full(t.Clustering)
	}
	for _, q := range s.Parameters {
		q.Source = inLine(q.Source)
	}
	for _, p := range s.Patterns {
		p.Pos = Pos{}
		for i := range p.Accept {
			p.Accept[i].Pos = Pos{}
		}
		p.By, p.Columns = full(p.By), full(p.Columns)
	}
}

// full returns nil for an empty list: which of both it is means nothing.
func full(cs []*Column) []*Column {
	if len(cs) == 0 {
		return nil
	}
	return cs
}
