package lint

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mailbench/mailbench/schemas"
)

// TestSARIF: the log of all models has the structure that SARIF 2.1.0 requires, a
// result points at its rule, and what is accepted is suppressed with its reason.
func TestSARIF(t *testing.T) {
	var reports []*Report
	findings, accepted := 0, 0
	for _, name := range schemas.BundledNames() {
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
	var out bytes.Buffer
	if err := WriteSARIF(&out, reports, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiled, err := compiler.Compile("testdata/sarif.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(value); err != nil {
		t.Error(err)
	}
	var log sarifLog
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
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
	if got, want := run.Results[0].Locations[0].Physical.Artifact.URI, "a%20dir/conversation%231.yaml"; got != want {
		t.Errorf("uri %s, want %s", got, want)
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

// TestRulesPage: docs/rules has what the rules say; each has a heading, which links lead to.
func TestRulesPage(t *testing.T) {
	var page strings.Builder
	if err := WriteRulesMarkdown(&page, Rules()); err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/rules/README.md"
	if *update {
		if err := os.WriteFile(file, []byte(page.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	saved, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(saved) != page.String() {
		t.Errorf("%s is not what the rules say; -update rewrites it", file)
	}
	for _, r := range Rules() {
		if !strings.Contains(page.String(), "\n## "+r.ID+"\n") {
			t.Errorf("rule %s has no heading", r.ID)
		}
	}
}
