package page

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// Runs of other engines have one answer and one overview. Runs of the same have not, nor have those
// of other operations.
func TestRunsOfSeveralEngines(t *testing.T) {
	one, two := sample(t), sample(t)
	for i := range two.Run.Cells {
		two.Run.Cells[i].Engine = "cassandra"
	}
	text := write(t, one, two)
	for _, want := range []string{`id="verdict"`, `id="load"`, "conversation/embedded", "cassandra"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of two engines has no %s", want)
		}
	}
	wellFormed(t, text)
	if union([]Source{one, one}) != nil {
		t.Error("runs of the same engine are one")
	}
	two.Run.Phases = append(two.Run.Phases, results.Phase{Name: "more", Kind: results.KindMeasure, SHA256: "1"})
	if union([]Source{one, two}) != nil {
		t.Error("runs of other operations are one")
	}
}
