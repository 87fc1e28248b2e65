package reports

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/reports/results"
)

// TestPatternTimes: the times of patterns are those of all trials, the longest first, and a 99th
// percentile needs enough of them.
func TestPatternTimes(t *testing.T) {
	op := func(p50 int64) results.Op {
		return results.Op{Count: 500, Support: results.Native, Patterns: []results.PatternCalls{
			{Name: "size", Calls: 1, Count: 20, Service: &results.PatternTimes{P50: 1000, P99: 5000, Max: 9000}},
			{Name: "chunks", Calls: 2, Count: 1000, Service: &results.PatternTimes{P50: p50, P99: 2 * p50, Max: 3 * p50}},
			{Name: "before", Calls: 1},
		}}
	}
	cell := func(trial int, p50 int64) *results.Cell {
		return &results.Cell{
			Key:  results.Key{Model: "datastax", Engine: "embedded", Phase: "measure", Trial: trial},
			Kind: results.KindMeasure, Verdict: results.OK, Ops: map[string]results.Op{"attachment": op(p50)},
		}
	}
	s := Section{Cells: []*results.Cell{cell(1, 10_000), cell(2, 20_000)}, Ops: []string{"attachment"}}
	want := []PatternRow{
		{"attachment", "datastax", "embedded", "chunks", []string{"2.00", "15.0µs", "40.0µs", "60.0µs"}},
		{"attachment", "datastax", "embedded", "size", []string{"0.04", "1.00µs", "-", "9.00µs"}},
	}
	if diff := cmp.Diff(want, s.Patterns()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Cells[1].Verdict = results.Invalid
	if rows := s.Patterns(); len(rows) != 0 {
		t.Errorf("a cell that is not ok has times: %v", rows)
	}
}
