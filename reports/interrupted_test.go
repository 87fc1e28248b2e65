package reports

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// An audit that was interrupted says so in every form, and is no passed test.
func TestInterruptedAudit(t *testing.T) {
	r := sample()
	r.Audits = []results.Audit{{Model: "oracle", Engine: "embedded", Delivered: 4590, Verified: 12, Error: "too many open files"}}
	for name, write := range map[string]func(io.Writer, *results.Run) error{
		"Markdown": writeMarkdown, "JUnit": WriteJUnit,
		"JSON": func(w io.Writer, r *results.Run) error { return json.NewEncoder(w).Encode(r) },
	} {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		want := "INTERRUPTED after 12 of 4590 deliveries: too many open files"
		if name == "JSON" {
			want = `"error":"too many open files"`
		}
		if s := b.String(); !strings.Contains(s, want) || strings.Contains(s, "nothing lost") || strings.Contains(s, "*Verified*") {
			t.Errorf("%s: want %q in\n%s", name, want, s)
		}
	}
	var suite junitSuite
	suite.audit(&r.Audits[0])
	if c := suite.Cases[0]; c.Error == nil || suite.Errors != 1 {
		t.Error("JUnit has a passed test")
	}
}
