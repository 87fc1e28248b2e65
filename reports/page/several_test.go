package page

import (
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// Runs of other engines have one verdict, one table of the whole load, and the curves of all. Runs of the same engine, or
// of other operations, are refused.
func TestRunsOfSeveralEngines(t *testing.T) {
	one, two := sample(t), sample(t)
	two.Name, two.Run.Environment.CPU = "other", "Another CPU"
	for i := range two.Run.Cells {
		two.Run.Cells[i].Engine = "cassandra"
	}
	all, err := Together([]Source{one, two})
	if err != nil {
		t.Fatal(err)
	}
	text := write(t, all)
	for _, want := range []string{
		`id="verdict"`, `id="load"`, "conversation/embedded", "cassandra", "Another CPU in other", "mailbench run --from other<",
		"<title>james/cassandra</title>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of two engines has no %s", want)
		}
	}
	wellFormed(t, text)
	if len(one.Run.Cells) == len(all.Run.Cells) {
		t.Error("the first run has the cells of the second")
	}
	if _, err := Together([]Source{one, one}); err == nil || !strings.Contains(err.Error(), "use mailbench compare sample sample") {
		t.Errorf("runs of the same engine: %v", err)
	}
	two.Run.Phases = slices.Clone(two.Run.Phases)
	two.Run.Phases[slices.IndexFunc(two.Run.Phases, func(p results.Phase) bool { return p.Kind == results.KindMeasure })].SHA256 = "1"
	if _, err := Together([]Source{one, two}); err == nil || !strings.Contains(err.Error(), "other operations") {
		t.Errorf("runs of other operations: %v", err)
	}
}
