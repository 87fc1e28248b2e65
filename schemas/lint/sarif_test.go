package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	page "github.com/mailbench/mailbench/docs/rules"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// TestSARIF: the log of all models has the structure that SARIF 2.1.0 requires, a
// result points at its rule, and an accepted finding is suppressed with its reason.
func TestSARIF(t *testing.T) {
	var reports []*Report
	findings, accepted := 0, 0
	for _, name := range schemas.BundledVariants("") {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		s.File = "a dir/" + name + "#1.yaml"
		r, err := Check(s, Options{Facts: facts(s), Engines: EngineNames()})
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
		findings += len(r.Findings)
		accepted += r.Counts().Accepted
	}
	out, err := json.Marshal(SARIF(reports, "1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiled, err := compiler.Compile("testdata/sarif.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(value); err != nil {
		t.Error(err)
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Rules []struct{ ID, HelpURI string }
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Locations []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
				}
				Suppressions []struct{ Justification string }
			}
		}
	}
	if err := json.Unmarshal(out, &log); err != nil {
		t.Fatal(err)
	}
	run, suppressed := log.Runs[0], 0
	for _, r := range run.Tool.Driver.Rules {
		if !strings.HasSuffix(r.HelpURI, "/docs/rules/README.md#"+r.ID) {
			t.Errorf("rule %s has its help at %q", r.ID, r.HelpURI)
		}
	}
	for _, r := range run.Results {
		if id := run.Tool.Driver.Rules[r.RuleIndex].ID; id != r.RuleID {
			t.Errorf("result of %s points at rule %s", r.RuleID, id)
		}
		if len(r.Suppressions) > 0 {
			suppressed++
		}
	}
	if len(run.Results) != findings || suppressed != accepted || accepted == 0 {
		t.Errorf("%d results, %d suppressed; want %d and %d", len(run.Results), suppressed, findings, accepted)
	}
	if got, want := run.Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI, "a%20dir/conversation%231.yaml"; got != want {
		t.Errorf("uri %s, want %s", got, want)
	}
}

// TestGitHub: an annotation has its place, and characters that would end it or one of its properties are escaped.
func TestGitHub(t *testing.T) {
	r := &Report{Findings: []Finding{
		{
			Rule: &Rule{ID: "a-rule"}, Severity: Error, Table: "t", Pos: schemas.Pos{File: "./a,b:c%.cql", Line: 3, Column: 7},
			Message: "50% of\nit", Do: "Mend it.",
		},
		{Rule: &Rule{ID: "other"}, Severity: Warning, Pattern: "p", Accepted: "so"},
		{Rule: &Rule{ID: "other"}, Severity: Warning, Pattern: "p", Known: true},
		{Rule: &Rule{ID: "note"}, Severity: Note, Pattern: "p", Message: "m", Do: "d"},
	}}
	for all, want := range map[bool]string{
		false: "::error file=a%2Cb%3Ac%25.cql,line=3,col=7,title=a-rule::table t: 50%25 of%0Ait. Mend it.\n",
		true: "::error file=a%2Cb%3Ac%25.cql,line=3,col=7,title=a-rule::table t: 50%25 of%0Ait. Mend it.\n" +
			"::notice file=,line=0,col=0,title=note::pattern p: m. d\n",
	} {
		var out strings.Builder
		if r.WriteGitHub(&out, all); out.String() != want {
			t.Errorf("all %v: %q, want %q", all, out.String(), want)
		}
	}
}

func TestFileURI(t *testing.T) {
	for file, want := range map[string]string{
		"schemas/james.yaml": "schemas/james.yaml", "/tmp/a b.yaml": "file:///tmp/a%20b.yaml", "a:b.yaml": "./a:b.yaml",
	} {
		if got := fileURI(file); got != want {
			t.Errorf("fileURI(%s) = %s, want %s", file, got, want)
		}
	}
}

// TestRulesPage: docs/rules lists each rule under its severity and has a section for it, which says its severity and
// engines, and none of a rule that there is not.
func TestRulesPage(t *testing.T) {
	var sections, headings []string
	for line := range strings.Lines(page.Page) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "## ") {
			sections = append(sections, line)
		}
	}
	links := map[Severity]string{}
	for _, r := range Rules() {
		links[r.Severity] += fmt.Sprintf(", [%s](#%s)", r.ID, r.ID)
		headings = append(headings, "## "+r.ID)
		severity, about := r.Severity.String(), ""
		if len(r.Engines) > 0 {
			about = ", for " + words.List(r.Engines)
		}
		if r.Numbers {
			about += ", with --workload or own rows"
		}
		first := "\n## " + r.ID + "\n\n" + strings.ToUpper(severity[:1]) + severity[1:] + about + ". "
		if !strings.Contains(page.Page, first) {
			t.Errorf("no section begins with %q", first)
		}
	}
	index, _, _ := strings.Cut(page.Page, "\n## ")
	for heading, severity := range map[string]Severity{"Errors": Error, "Warnings": Warning, "Notes": Note} {
		want := "**" + heading + "**: " + strings.TrimPrefix(links[severity], ", ") + "."
		if !strings.Contains(strings.ReplaceAll(index, "\n", " "), want) {
			t.Errorf("the page lists no %s", want)
		}
	}
	if diff := cmp.Diff(headings, sections); diff != "" {
		t.Errorf("sections (-want +got):\n%s", diff)
	}
}
