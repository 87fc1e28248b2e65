package reports_test

import (
	"os"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
)

// The overview sorts warnings by their codes, and a run is excused from cells of a code. Only package judge has codes.
func TestCodesOfTheOverviewExist(t *testing.T) {
	known, err := os.ReadFile("../docs/results.md") // it lists judge's codes
	if err != nil {
		t.Fatal(err)
	}
	for code := range reports.Serious {
		if !strings.Contains(string(known), "| `"+string(code)+"` | ") {
			t.Errorf("docs/results.md lists no code %q", code)
		}
	}
	empty := results.Cell{Verdict: results.Empty, Reason: &results.Reason{Code: judge.CodeNotOffered}}
	if r := (results.Run{Cells: []results.Cell{{Kind: results.KindMeasure, Verdict: results.OK}}}); !r.Excused(&empty) {
		t.Errorf("a run is not excused from a cell that is %s", judge.CodeNotOffered)
	}
	for _, code := range []results.Code{judge.CodeDrifting, judge.CodeFailed} {
		if _, ok := reports.Serious[code]; !ok {
			t.Errorf("%s changes how figures are read", code)
		}
	}
}
