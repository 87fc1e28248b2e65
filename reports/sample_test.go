package reports

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/workloads/results"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file of testdata, and writes the new one next to
// it where they differ.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if !bytes.Equal(got, want) {
		if err := os.WriteFile(name+".new", got, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("differs from %s: compare it with %s.new, and run go test -update if that is right", name, name)
	}
}

// hostile is a text that mail and file systems can bring into a result.
const hostile = "\x1b[2J\x07<script>alert(1)</script>\u202eevil\u009b31m & \"quoted\""

// sampleDir holds a run in which everything happens that a report must show. The tests of
// package results write it.
const sampleDir = "../workloads/results/testdata/sample"

// sample is a new copy of that run.
func sample() *results.Run {
	r, err := results.Open(sampleDir)
	if err != nil {
		panic(err)
	}
	return r
}

// digest looks like a SHA-256.
var digest = strings.Repeat("0123456789abcdef", 4)

// fitsSchema checks a run against the JSON Schema of run.json.
func fitsSchema(t *testing.T, r *results.Run) {
	t.Helper()
	c := jsonschema.NewCompiler()
	published, err := os.ReadFile("../workloads/results/run.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(published))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("run.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("run.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := results.WriteJSON(&text, r); err != nil {
		t.Fatal(err)
	}
	if doc, err = jsonschema.UnmarshalJSON(&text); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("the JSON Schema: %v", err)
	}
}

// trial is one result of a run.
func trial(model string, n int, verdict results.Verdict, ops map[string]results.Op) results.Cell {
	c := results.Cell{
		Key: results.Key{Model: model, Engine: "embedded", Phase: "measure", Trial: n, Segment: 1}, Kind: results.KindMeasure,
		Arrivals: "poisson", Rate: 500, Durability: "process", Verdict: verdict, Ops: ops,
	}
	if verdict != results.OK {
		c.Reason = &results.Reason{Code: "behind", Text: "only 1/s"}
	}
	return c
}

// Text writes a run for a terminal.
type Text document.Terminal

// Write writes the run.
func (o Text) Write(w io.Writer, r *results.Run) error {
	return document.Terminal(o).Write(w, Of(r, ""))
}
