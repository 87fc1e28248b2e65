package schemas

import (
	"bytes"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// TestValid compares what a file with every construct means with the written
// meaning in valid.txt.
func TestValid(t *testing.T) {
	s := valid(t)
	var b strings.Builder
	for _, table := range s.Tables {
		fmt.Fprintf(&b, "table %s: key (%s), %d inherited, static (%s), plain (%s)\n",
			table.Name, typed(table.Key()), table.Inherited, typed(table.Static), typed(table.Columns))
		for _, c := range table.Key() {
			if c.Desc {
				fmt.Fprintf(&b, "  %s descends\n", c.Name)
			}
		}
		for _, x := range table.Indexes {
			fmt.Fprintf(&b, "  index %s:", x.Name)
			for _, c := range x.Columns {
				fmt.Fprintf(&b, " %s", c.Column.Name)
				if c.Desc {
					b.WriteString(" desc")
				}
			}
			fmt.Fprintf(&b, ", over keys %t\n", x.OverKeys())
		}
	}
	for _, p := range s.Patterns {
		fmt.Fprintf(&b, "%s: %s", p.Name, p.Kind)
		if p.Kind == Delete {
			fmt.Fprintf(&b, " %s", p.Scope)
		}
		fmt.Fprintf(&b, " by (%s), args (%s), columns (%s)\n", names(p.By), argList(p), names(p.Columns))
	}
	golden(t, "testdata/valid.txt", b.String())
}

func TestValidDetails(t *testing.T) {
	s := valid(t)
	mail, chunk := s.Table("mail"), s.Table("chunk")
	header, below := s.Table("header"), s.Table("below")
	check := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("schema", []string{s.Name, s.Doc, s.Native, s.File}, []string{"valid", "A schema for tests.", "cassandra", "valid.yaml"})
	check("parent of chunk", chunk.Parent == mail && chunk.Root() == mail && mail.Children[0] == chunk, true)
	check("chunk shares its parent's key", chunk.Partition[0] == mail.Partition[0] && chunk.Clustering[1] == mail.Clustering[1], true)
	check("headers", []bool{header.Header(), below.Header(), mail.Header()}, []bool{true, false, false})
	check("hints", mail.Hints, map[string]map[string]string{"hbase": {"compression": "zstd", "versions": "1"}})
	check("accepted", append(mail.Accept, s.Pattern("all").Accept...), []Acceptance{
		{"unbounded-partition", "a test has few messages", Pos{Line: 31, Column: 14}},
		{"column-unread", "not of interest", Pos{Line: 31, Column: 60}},
		{"scan-filter", "the test is about it, and says so", Pos{Line: 65, Column: 57}},
	})
	check("additions", []string{mail.Addition, mail.Column("unread").Addition, mail.Indexes[1].Addition},
		[]string{"made for this test", "not in the source design", "needed by search"})
	check("place of tags", mail.Column("tags").Pos, Pos{Line: 23, Column: 7})

	p := s.Pattern("range")
	check("from", *p.From, Bound{mail.Column("id"), true})
	check("to", *p.To, Bound{mail.Column("id"), false})
	check("limits", []int{p.Limit, s.Pattern("all").Limit, s.Pattern("folders").Parallel, s.Pattern("post").Parallel}, []int{3, 10, 4, 8})
	check("page", []bool{s.Pattern("page").Reverse, s.Pattern("page").LimitArg}, []bool{true, true})
	check("element", s.Pattern("file").Element, mail.Column("files"))
	check("indexes", []*Index{s.Pattern("large").Index, s.Pattern("found").Index}, mail.Indexes)
	check("absent", s.Pattern("create").Absent, true)
	check("returns", []bool{s.Pattern("grow").ReturnsNew, s.Pattern("count").ReturnsNew}, []bool{true, false})
	check("static", []bool{s.Pattern("retitle").Static, s.Pattern("titles").Static, s.Pattern("put").Static}, []bool{true, true, false})
	check("fallback", s.Pattern("grow").Fallback == s.Pattern("resize"), true)
	move := s.Pattern("move")
	check("atomic", move.Atomic, AtomicPartition)
	check("workflow", s.Workflow, []Step{
		{s.Pattern("folders"), []*Pattern{s.Pattern("page"), s.Pattern("range")}},
		{s.Pattern("page"), []*Pattern{s.Pattern("one")}},
		{s.Pattern("one"), []*Pattern{s.Pattern("file")}},
		{s.Pattern("large"), nil},
	})
	check("parts", []Part{{s.Pattern("drop"), ""}, {s.Pattern("put"), "message"}}, move.Parts)
}

func TestScansOfATable(t *testing.T) {
	mail := valid(t).Table("mail")
	if got, want := names(ScanOf(mail).Columns), "user, folder, id, seq, title, subject, unread, tags, files, seen, size"; got != want {
		t.Errorf("ScanOf yields %s, want %s", got, want)
	}
	static := StaticScanOf(mail)
	if got, want := names(static.Columns), "user, folder, title"; got != want || !static.Static {
		t.Errorf("StaticScanOf yields %s, static %t; want %s", got, static.Static, want)
	}
}

// TestBundled parses every schema that mailbench brings along and holds it to
// what the language only recommends: each table and pattern says what it is.
func TestBundled(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d schema files, %v; want those of five documents at least", len(files), err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, ".yaml")
	}
	got := BundledVariants("")
	for _, base := range BundledVariants("") {
		got = append(got, BundledVariants(base)...)
	}
	if slices.Sort(got); !slices.Equal(got, files) {
		t.Errorf("bundled are %v, want %v", got, files)
	}
	for _, name := range files {
		s, err := Bundled(name)
		if err != nil {
			t.Errorf("schema %s:\n%v", name, err)
			continue
		}
		if s.Doc == "" || strings.Contains(s.Doc, ". ") || len(s.Doc) > 140 {
			t.Errorf("schema %s is not described in one sentence: %q", name, s.Doc)
		}
		if s.Name != name || s.File != "schemas/"+name+".yaml" || s.Doc == "" || s.Native == "" {
			t.Errorf("%s is named %q, with doc %q and native engine %q; expected name %q and neither empty", s.File, s.Name, s.Doc, s.Native, name)
		}
		for _, p := range s.Patterns {
			if p.Doc == "" {
				t.Errorf("%s:%d: pattern %s has no doc", s.File, p.Pos.Line, p.Name)
			}
		}
	}
}

func TestBundledUnknown(t *testing.T) {
	for name, want := range map[string]string{"jamse": `did you mean "james"?`, "mongodb": "expected one of conversation,"} {
		if _, err := Bundled(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Bundled(%q): %v, want %q in it", name, err, want)
		}
	}
}

// FuzzParse looks for input that makes the parser panic, report places outside
// of the file, or accept patterns that break what drivers lean on.
func FuzzParse(f *testing.F) {
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
		s, err := Parse("f.yaml", src)
		if err != nil {
			lines := lineBreaks(src) + 2
			for _, e := range err.(Errors) {
				if e.Pos.File != "" {
					continue // in the base of a variant
				}
				if e.Pos.Line < 1 || e.Pos.Line > lines || e.Pos.Column < 1 || e.Msg == "" {
					t.Errorf("error out of place: %+v", e)
				}
			}
			return
		}
		for _, p := range s.Patterns {
			sound(t, p)
		}
	})
}

// sound checks what no accepted pattern may break.
func sound(t *testing.T, p *Pattern) {
	if p.Kind == Batch {
		if len(p.Parts) == 0 {
			t.Errorf("batch %s has no parts", p.Name)
		}
		return
	}
	if p.Table == nil {
		t.Fatalf("pattern %s has no table", p.Name)
	}
	if p.Index == nil && !slices.Equal(p.By, p.Table.Key()[:len(p.By)]) {
		t.Errorf("pattern %s binds (%s) of key (%s)", p.Name, names(p.By), names(p.Table.Key()))
	}
	if p.Kind.Reads() && p.Element == nil && len(p.Columns) == 0 {
		t.Errorf("pattern %s yields nothing", p.Name)
	}
	for _, a := range p.Args() {
		if a.Name == "" || a.Type.Kind == Null {
			t.Errorf("pattern %s has an argument %+v", p.Name, a)
		}
	}
}

func valid(t *testing.T) *Schema {
	t.Helper()
	src, err := os.ReadFile("testdata/valid.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("valid.yaml", src)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lineBreaks counts the breaks between the lines of a YAML text: five characters are one,
// and the text may be in UTF-16.
func lineBreaks(src []byte) (n int) {
	text := []rune(string(src))
	if bytes.HasPrefix(src, []byte("\xfe\xff")) || bytes.HasPrefix(src, []byte("\xff\xfe")) {
		units := make([]uint16, len(src)/2)
		for i := range units {
			units[i] = uint16(src[2*i])<<8 | uint16(src[2*i+1])
			if src[0] == 0xff { // the lower byte comes first
				units[i] = bits.ReverseBytes16(units[i])
			}
		}
		text = utf16.Decode(units)
	}
	for _, r := range text {
		if strings.ContainsRune("\n\r\u0085\u2028\u2029", r) {
			n++
		}
	}
	return n
}
