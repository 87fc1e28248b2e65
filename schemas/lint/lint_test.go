package lint

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/imports"
)

var update = flag.Bool("update", false, "rewrite what testdata says is found")

// TestRules: each rule finds what its file in testdata/rules says in some schemas, and
// nothing in others that are nearly the same.
func TestRules(t *testing.T) {
	cases := make(map[string]bool)
	for _, r := range Rules() {
		if r.Numbers {
			continue // see TestNumbers
		}
		if r.ID == "unknown-hint" {
			continue // see schema_lint.txt in cmd: the drivers know the hints
		}
		cases[r.ID] = true
		t.Run(r.ID, func(t *testing.T) {
			file := filepath.Join("testdata", "rules", r.ID+".txtar")
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, want := "", &archive.Files[len(archive.Files)-1]
			for _, f := range archive.Files {
				lines := found(t, r, f.Name, string(f.Data))
				switch {
				case strings.HasPrefix(f.Name, "found") && lines == "":
					t.Errorf("finds nothing in %s", f.Name)
				case strings.HasPrefix(f.Name, "near") && lines != "":
					t.Errorf("finds in a near miss:\n%s", lines)
				}
				got += lines
			}
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("findings differ from %s (-want +got); -update rewrites it:\n%s", file, diff)
			}
		})
	}
	files, err := filepath.Glob("testdata/rules/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !cases[strings.TrimSuffix(filepath.Base(f), ".txtar")] {
			t.Errorf("%s is of no rule", f)
		}
	}
}

// found lists what a rule finds in a file of a case.
func found(t *testing.T, r *Rule, file, src string) string {
	t.Helper()
	if file == "want" {
		return ""
	}
	var s *schemas.Schema
	if strings.HasSuffix(file, ".cql") {
		r, err := imports.Import("", imports.Source{File: file, Text: src})
		if err != nil {
			t.Fatal(err)
		}
		s = r.Schema
	} else {
		s = parse(t, src)
		s.File = file
	}
	report, err := Check(s, Options{Facts: facts(s)})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range report.Findings {
		if f.Rule.ID == r.ID && f.Accepted == "" {
			fmt.Fprintf(&b, "%s: %s: %s\n", f.Pos.In(file), f.Subject(), f.Message)
		}
	}
	return b.String()
}

// facts are those of all drivers.
func facts(s *schemas.Schema) Facts { return drivers.FactsOf(engines.All(), s) }

func parse(t *testing.T, src string) *schemas.Schema {
	t.Helper()
	s, err := schemas.Parse("mail.yaml", []byte(src))
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return s
}

// TestRulesAreDocumented: an id is words with dashes, and no part is left out.
func TestRulesAreDocumented(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range Rules() {
		if r.ID == "" || seen[r.ID] || strings.Trim(r.ID, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("id %q", r.ID)
		}
		seen[r.ID] = true
		for _, text := range []string{r.Doc, r.Do} {
			if !strings.HasSuffix(strings.TrimSuffix(text, ")"), ".") {
				t.Errorf("%s: not a sentence: %q", r.ID, text)
			}
		}
		if r.Source == "" || strings.Contains(r.Source, "as for ") {
			t.Errorf("%s names no source: %q", r.ID, r.Source)
		}
	}
	named := make(map[string]bool)
	for _, id := range namedRules(t) {
		named[id] = true
		if !seen[id] {
			t.Errorf("the page of rules has no section for %s", id)
		}
	}
	for id := range seen {
		if !named[id] {
			t.Errorf("no check finds the rule %s", id)
		}
	}
}

// namedRules are the rules that the checks name.
func namedRules(t *testing.T) (all []string) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namesRule.FindAllStringSubmatch(string(src), -1) {
			all = append(all, m[1])
		}
	}
	return all
}

var namesRule = regexp.MustCompile(`(?:c\.(?:add|at[A-Z][a-z]+)\(|rule :?= )"([a-z-]+)"`)

// TestBundled: the findings of the models' schemas for the engine that they were
// written for is accepted, with the reason, or a note.
func TestBundled(t *testing.T) {
	names := schemas.BundledVariants("")
	for _, name := range names {
		names = append(names, schemas.BundledVariants(name)...)
	}
	for _, name := range names {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		report, err := Check(s, Options{Facts: facts(s)})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			if f.Rule.Severity > Note && f.Accepted == "" {
				t.Errorf("%s: %s", f.Pos.In(s.File), &f)
			}
		}
		if n := report.Counts(); n.Accepted == 0 {
			t.Errorf("%s accepts nothing; each document has its trade-offs", name)
		}
	}
}

// TestUnknownRule: an acceptance of a rule that there is not is named with its place
// and the nearest word.
func TestUnknownRule(t *testing.T) {
	s := parse(t, `schema: 1
name: mail
tables:
  t: {partition: [k text], columns: {v: int}, accept: {unbounded-partion: few rows}}
patterns:
  all: {scan: t, accept: {xyzzy: for audits}}
  imported: {scan: t, accept: {xyzzy: for audits}, at: "q.cql:3"}
`)
	_, err := Check(s, Options{Facts: facts(s)})
	want := `mail.yaml:4:56: unknown rule "unbounded-partion" in accept of table t; did you mean "unbounded-partition"?
mail.yaml:6:27: unknown rule "xyzzy" in accept of pattern all; "mailbench schema lint --rules" lists them
q.cql:3:1: unknown rule "xyzzy" in accept of pattern imported; "mailbench schema lint --rules" lists them`
	if err == nil || err.Error() != want {
		t.Errorf("Check: %v\nwant %s", err, want)
	}
}

// TestAcceptedElsewhere: a finding for another engine may be accepted, too.
func TestAcceptedElsewhere(t *testing.T) {
	const text = `schema: 1
name: mail
native: cassandra
tables:
  t:
    partition: [id timeuuid]
    columns: {v: int, w: int}
    accept: {time-ordered-key: few messages}
patterns:
  put: {put: t}
  one: {get: t}
`
	for engine, accepted := range map[string]int{"cassandra": 0, "hbase": 1} {
		s := parse(t, text)
		report, err := Check(s, Options{Facts: facts(s), Engines: []string{engine}})
		if err != nil {
			t.Fatal(err)
		}
		if n := report.Counts(); n != (Counts{Accepted: accepted}) {
			t.Errorf("for %s: %+v, want %d accepted and nothing else", engine, n, accepted)
		}
	}
}

// TestInheritedAcceptance: a variant that fixes what its base accepts need not say so.
func TestInheritedAcceptance(t *testing.T) {
	s, err := schemas.Bundled("oracle@no-arrival")
	if err != nil {
		t.Fatal(err)
	}
	p := s.Pattern("inbox")
	own := p.Accept
	for file, unused := range map[string]int{"schemas/oracle.yaml": 0, "": 1} {
		p.Accept = append(slices.Clone(own), schemas.Acceptance{
			Rule: "order-by-index", Reason: "it was one", Pos: schemas.Pos{Line: 1, Column: 1, File: file},
		})
		r, err := Check(s, Options{Facts: facts(s)})
		if err != nil {
			t.Fatal(err)
		}
		if r.Counts().Warnings != unused {
			t.Errorf("acceptance in file %q: %+v, want %d warnings", file, r.Counts(), unused)
		}
	}
}

// FuzzCheck looks for a schema that makes a rule panic, or place a finding outside of
// the file.
func FuzzCheck(f *testing.F) {
	files, err := filepath.Glob("testdata/rules/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	for _, name := range schemas.BundledVariants("") {
		s, err := schemas.Bundled(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(s.Source)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := schemas.Parse("mail.yaml", src)
		if err != nil {
			return
		}
		n := &Numbers{Workload: "day"}
		n.Hottest.User, n.Hottest.Folder = 0.5, 0.5
		r, err := Check(s, Options{Facts: facts(s), Engines: EngineNames(), Numbers: n})
		if err != nil {
			return
		}
		for _, f := range r.Findings {
			if f.Pos.Line < 1 || f.Pos.Column < 1 || f.Message == "" || f.Table == "" && f.Pattern == "" {
				t.Errorf("finding without its place: %+v", f)
			}
		}
		r.WriteText(io.Discard, true, 0)
	})
}

// TestWidth: on a narrow terminal, findings are broken into lines, with all their words.
func TestWidth(t *testing.T) {
	s, err := schemas.Bundled("james")
	if err != nil {
		t.Fatal(err)
	}
	report, err := Check(s, Options{Facts: facts(s), Engines: EngineNames()})
	if err != nil {
		t.Fatal(err)
	}
	var whole, narrow strings.Builder
	for width, b := range map[int]*strings.Builder{0: &whole, 60: &narrow} {
		report.WriteText(b, false, width)
	}
	if diff := cmp.Diff(strings.Fields(whole.String()), strings.Fields(narrow.String())); diff != "" {
		t.Errorf("words differ (-whole +narrow):\n%s", diff)
	}
	findings, _, _ := strings.Cut(narrow.String(), "james for ")
	if findings == "" {
		t.Error("there are no findings")
	}
	for line := range strings.Lines(findings) {
		if len(line) > 61 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
