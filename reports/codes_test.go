package reports_test

import (
	"slices"
	"testing"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/judge"
)

// The overview sorts doubts by their codes, and a run is excused from cells of a code. Only package judge lists codes.
func TestCodesOfTheOverviewExist(t *testing.T) {
	known := judge.Codes()
	for code := range reports.ChangesReading {
		if !slices.ContainsFunc(known, func(e judge.Entry) bool { return e.Code == code }) {
			t.Errorf("judge knows no code %q", code)
		}
	}
	empty := reports.Cell{Verdict: reports.Empty, Reason: &reports.Reason{Code: judge.CodeNotOffered}}
	if r := (reports.Run{Cells: []reports.Cell{{Kind: reports.KindMeasure, Verdict: reports.OK}}}); !r.Excused(&empty) {
		t.Errorf("a run is not excused from a cell that is %s", judge.CodeNotOffered)
	}
	for _, code := range []reports.Code{judge.CodeClientLag, judge.CodeNotWarm, judge.CodeFailed} {
		if !reports.ChangesReading[code] {
			t.Errorf("%s changes how figures are read", code)
		}
	}
}
