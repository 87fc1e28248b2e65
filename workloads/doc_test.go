package workloads

import (
	"os"
	"strings"
	"testing"
)

// TestDoc parses the workload that the package comment shows.
func TestDoc(t *testing.T) {
	src, err := os.ReadFile("workload.go")
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(src), "\npackage ")
	var example strings.Builder
	for line := range strings.Lines(comment) {
		if text, ok := strings.CutPrefix(line, "//\t"); ok {
			example.WriteString(text)
		}
	}
	w, err := Parse("workload.go", []byte(example.String()))
	if err != nil {
		t.Fatal(err)
	}
	if w.Name != "workday" || len(w.Phases) != 4 {
		t.Errorf("the example is %+v", w)
	}
}
