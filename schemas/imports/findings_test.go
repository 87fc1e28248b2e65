package imports_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/schemas/lint"
)

// TestFindings: the designs in testdata have the errors and warnings that their files name, each with the
// reason for which the design's authors would not deny it, and no others.
func TestFindings(t *testing.T) {
	files, err := filepath.Glob("testdata/*.findings")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for line := range strings.Lines(string(text)) {
			finding, reason, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if reason == "" {
				t.Errorf("%s: %s has no reason", file, finding)
			}
			want = append(want, finding)
		}
		base := strings.TrimSuffix(file, ".findings")
		r := read(t, "", base+".cql", base+"-queries.cql")
		for _, u := range r.Unread {
			t.Errorf("%s:%d: not read: %s", u.Pos.Filename, u.Pos.Line, u.Reason)
		}
		report, err := lint.Check(r.Schema, lint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			if !strings.HasSuffix(f.Pos.File, ".cql") {
				t.Errorf("%s: %s is at %s, not in the CQL", file, &f, f.Pos.In("the schema"))
			}
			if f.Rule.Severity == lint.Note {
				continue
			}
			name := strings.Join(strings.Fields(strings.Join([]string{f.Rule.ID, f.Table, f.Pattern, f.Part}, " ")), " ")
			i := slices.Index(want, name)
			if i < 0 {
				t.Errorf("%s does not have %s: %s", file, name, f.Message)
				continue
			}
			want = slices.Delete(want, i, i+1)
		}
		if len(want) > 0 {
			t.Errorf("%s: nothing finds %q", file, want)
		}
	}
}
