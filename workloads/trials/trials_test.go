package trials

import (
	"math"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// A row has the outcomes of all trials, and medians of the best. A trial in which all operations were dropped
// has a time of everything that was scheduled, and none of successful operations.
func TestRow(t *testing.T) {
	trial := func(verdict results.Verdict, o results.Op) *results.Cell {
		return &results.Cell{Verdict: verdict, Ops: map[string]results.Op{"list": o}}
	}
	took := func(ns int64) results.Op {
		return results.Op{Count: 10, Times: results.Times{Latency: &results.Latency{P50: ns}}, Store: results.StoreCost{Requests: float64(ns)}}
	}
	dropped := results.Op{Dropped: 10, Times: results.Times{Due: &results.Latency{P50: results.NeverEnded}}}
	median := func(o *results.Op) float64 { return o.OK().At(0.5) }

	cs := Column{
		trial(results.Invalid, took(1000)), trial(results.OK, took(1)), trial(results.OK, dropped), trial(results.OK, dropped),
		trial(results.OK, took(3)), trial(results.OK, dropped),
		{Ops: map[string]results.Op{"open": took(7)}},
	}
	r := cs.Row("list")
	if r.Trials != 6 || r.Counted != 5 || r.Count != 20 || r.Sum.Count != 30 || r.Sum.Dropped != 30 {
		t.Errorf("%+v", r)
	}
	if got := r.Median(median); got != 2 || r.Latency[0.5].NS != 2 || r.Cost().Requests != 2 {
		t.Errorf("median %v, cost %+v", got, r.Cost())
	}
	if got := r.Scheduled(0.5); !math.IsInf(got.NS, 1) || !got.Enough {
		t.Errorf("most scheduled operations were dropped, p50 %+v", got)
	}
	scanned := 7.0
	traced, unknown := results.Op{Count: 10, Store: results.StoreCost{RowsScanned: &scanned, Traced: 5}}, took(1)
	r = Column{trial(results.Invalid, unknown), trial(results.OK, traced)}.Row("list")
	if got := r.Cost(); got.RowsScanned == nil || *got.RowsScanned != 7 || got.Traced != 5 {
		t.Errorf("the best trial has its rows scanned: %+v", got)
	}
	if r = (Column{trial(results.OK, unknown), trial(results.OK, traced)}).Row("list"); r.Cost().RowsScanned != nil {
		t.Errorf("rows scanned are not known of all best trials: %+v", r.Cost())
	}
	bad := Column{trial(results.Overloaded, took(9)), trial(results.Invalid, took(5)), trial(results.OK, took(1))}
	for n, want := range []float64{2: 9, 3: 1} {
		if r = bad[:n].Row("list"); n > 1 && (r.Median(median) != want || r.Counted != 1) {
			t.Errorf("of overloaded, invalid and ok the first %d: %d count, median %v", n, r.Counted, r.Median(median))
		}
	}
	if r = cs[:1].Row("list"); r.Trials != 1 || r.Median(median) != 1000 {
		t.Errorf("the only trial is invalid: %+v", r)
	}
	if cs.Row("move").Trials > 0 {
		t.Error("a row of an operation that no trial has")
	}
}
