package workloads

import (
	"os"
	"strings"
	"testing"
)

// TestDoc parses the workload that the package comment shows.
func TestDoc(t *testing.T) {
	src, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var example strings.Builder
	for line := range strings.Lines(string(src)) {
		if text, ok := strings.CutPrefix(line, "//\t"); ok {
			example.WriteString(text)
		}
	}
	w, err := Parse("doc.go", []byte(example.String()))
	if err != nil {
		t.Fatal(err)
	}
	if w.Name != "workday" || len(w.Phases) != 4 {
		t.Errorf("the example is %+v", w)
	}
}
