package lint

import (
	"bytes"
	"encoding/json"
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
		r, err := Check(s, Options{Engines: EngineNames()})
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
