package reports

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/workloads/results"
)

// TestPatternTimes: the times of patterns are those of all trials, the most frequent first, and a 99th
// percentile needs enough of them.
func TestPatternTimes(t *testing.T) {
	op := func(p50 int64) results.Op {
		return results.Op{Count: 500, Support: results.Native, Patterns: []results.PatternRequests{
			{Name: "size", Requests: 1, Count: 20, Service: &results.PatternTimes{P50: 1000, P99: 5000, Max: 9000}},
			{Name: "chunks", Requests: 2, Count: 1000, Service: &results.PatternTimes{P50: p50, P99: 2 * p50, Max: 3 * p50}},
			{Name: "before", Requests: 1},
		}}
	}
	cell := func(trial int, p50 int64) *results.Cell {
		return &results.Cell{
			Key:  results.Key{Model: "datastax", Engine: "embedded", Phase: "measure", Trial: trial},
			Kind: results.KindMeasure, Verdict: results.OK, Ops: map[string]results.Op{"attachment": op(p50)},
		}
	}
	r := &results.Run{Cells: []results.Cell{*cell(1, 10_000), *cell(2, 20_000)}}
	rows := func() (got [][]string) {
		for _, row := range (&run{Run: r}).patterns(Groups(r)[0]).Table.Rows {
			texts := []string{row.Group}
			for _, c := range row.Cells {
				texts = append(texts, c.Text)
			}
			got = append(got, texts)
		}
		return got
	}
	want := [][]string{
		{"attachment", "datastax", "chunks", "2.00", "0.015", "0.040", "0.060"},
		{"attachment", "datastax", "size", "1.00", "0.001", "-", "0.009"},
		{"attachment", "datastax", "before", "1.00", "-", "-", "-"},
	}
	if diff := cmp.Diff(want, rows()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Cells[1].Verdict = results.Invalid
	want[0] = []string{"attachment", "datastax", "chunks", "2.00", "0.010", "0.020", "0.030"}
	want[1][5] = "-"
	if diff := cmp.Diff(want, rows()); diff != "" {
		t.Errorf("without a trial that does not count (-want +got):\n%s", diff)
	}
}
