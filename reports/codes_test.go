package reports_test

import (
	"slices"
	"testing"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/judge"
)

// The overview sorts doubts by their codes, which only package judge lists.
func TestCodesOfTheOverviewExist(t *testing.T) {
	known := judge.Codes()
	for code := range reports.ChangesReading {
		if !slices.ContainsFunc(known, func(e judge.Entry) bool { return e.Code == code }) {
			t.Errorf("judge knows no code %q", code)
		}
	}
	for _, code := range []reports.Code{judge.CodeClientLag, judge.CodeNotWarm, judge.CodeFailed} {
		if !reports.ChangesReading[code] {
			t.Errorf("%s changes how figures are read", code)
		}
	}
}
