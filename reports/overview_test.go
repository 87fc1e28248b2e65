package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports/results"
)

// trial is one cell of a run that an overview is made of.
func trial(model string, n int, verdict results.Verdict, ops map[string]results.Op) results.Cell {
	c := results.Cell{
		Key: results.Key{Model: model, Engine: "embedded", Phase: "measure", Trial: n, Shard: 1}, Kind: results.KindMeasure,
		Arrivals: "poisson", Rate: 500, Durability: "process", Verdict: verdict, Ops: ops,
	}
	if verdict != results.OK {
		c.Reason = &results.Reason{Code: "behind", Text: "only 1/s"}
	}
	return c
}

// timed is an operation with these percentiles, and calls, rows and bytes that do not vary.
func timed(count, p50, p99 int64, calls, rows, bytes float64) results.Op {
	return results.Op{
		Count: count, Support: results.Native, Response: results.Latency{P50: p50, P99: p99},
		Store: results.StoreCost{Calls: calls, RowsRead: rows, BytesRead: bytes},
	}
}

// shown writes the lines of a row: figure, then how each column compares.
func shown(row *OverviewRow) string {
	var lines []string
	for _, l := range row.Lines {
		words := []string{string(l.Figure)}
		for i := range l.Values {
			words = append(words, RatioText(&l.Values[i]))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "; ")
}

func TestOverviewCompares(t *testing.T) {
	// list makes a run with one operation: of each model the p50s of its trials.
	list := func(models ...[]int64) *results.Run {
		r := &results.Run{}
		for i, times := range models {
			for n, p50 := range times {
				op := timed(1000, p50, 10*p50, 1, 20, 1000)
				r.Cells = append(r.Cells, trial(fmt.Sprintf("m%d", i), n+1, results.OK, map[string]results.Op{"list": op}))
			}
		}
		return r
	}
	withIntervals := func(r *results.Run, spread int64) *results.Run {
		for i := range r.Cells {
			c := &r.Cells[i]
			p50 := c.Ops["list"].Response.P50
			for n := range int64(8) {
				at := p50 + (n-4)*spread
				c.Timeline = append(c.Timeline, results.Interval{Ops: map[string]results.OpInterval{"list": {OK: 125, P50: at, P99: 10 * at}}})
			}
		}
		return r
	}
	change := func(r *results.Run, cell int, f func(c *results.Cell, o *results.Op)) *results.Run {
		o := r.Cells[cell].Ops["list"]
		f(&r.Cells[cell], &o)
		r.Cells[cell].Ops["list"] = o
		return r
	}
	four := []int64{100, 101, 102, 103}
	for _, tc := range []struct {
		name string
		run  *results.Run
		want string
	}{
		{"four trials apart", list(four, []int64{120, 121, 122, 123}), "p50 1.0× 1.2×; p99 1.0× 1.2×; calls 1.0× 1.0×"},
		{"four trials that overlap", list(four, []int64{103, 150, 151, 152}), "p50 1.0× ?; p99 1.0× ?; calls 1.0× 1.0×"},
		{"three trials apart, but not far", list(four[:3], []int64{120, 121, 122}), "p50 1.0× ?; p99 1.0× ?; calls 1.0× 1.0×"},
		{"three trials far apart", list(four[:3], []int64{200, 201, 202}), "p50 1.0× 2.0×; p99 1.0× 2.0×; calls 1.0× 1.0×"},
		{"one trial, no intervals", list(four[:1], []int64{500}), "calls 1.0× 1.0×"},
		{"one trial with intervals", withIntervals(list(four[:1], []int64{500}), 1), "p50 1.0× 5.0×; calls 1.0× 1.0×"},
		{"one trial, not far apart", withIntervals(list(four[:1], []int64{140}), 1), "p50 1.0× ?; calls 1.0× 1.0×"},
		{"one trial, intervals overlap", withIntervals(list([]int64{1000}, []int64{1600}), 300), "p50 1.0× ?; calls 1.0× 1.0×"},
		{"three models", list(four, []int64{250, 251, 252, 253}, []int64{100, 104, 105, 106}), "p50 1.0× 2.5× ≈; p99 1.0× 2.5× ≈; calls 1.0× 1.0× 1.0×"},
		{
			"a trial that is not ok is left out",
			change(list(four, []int64{1, 121, 122, 123, 124}), 4, func(c *results.Cell, _ *results.Op) { c.Verdict, c.Reason = results.Invalid, &results.Reason{} }),
			"p50 1.0× 1.2×; p99 1.0× 1.2×; calls 1.0× 1.0×",
		},
		{
			"the client's timer hides the times",
			change(withIntervals(list(four[:1], []int64{500}), 1), 0, func(c *results.Cell, _ *results.Op) {
				c.Doubts = []results.Doubt{{Code: "client-lag", Ops: []results.OpCount{{Op: "list", Count: 7}}}}
			}),
			"calls 1.0× 1.0×",
		},
		{
			"failing is not fast",
			change(withIntervals(list(four[:1], []int64{200}), 1), 0, func(_ *results.Cell, o *results.Op) { o.Due = &results.Latency{P50: 900, P99: results.NeverEnded} }),
			"p50 4.5× 1.0×; calls 1.0× 1.0×",
		},
		{
			"operations that never end",
			change(withIntervals(list(four[:1], []int64{200}), 1), 0, func(_ *results.Cell, o *results.Op) {
				o.Due = &results.Latency{P50: results.NeverEnded, P99: results.NeverEnded}
			}),
			"p50 never 1.0×; calls 1.0× 1.0×",
		},
		{
			"the counted figure that differs most",
			change(list(four[:1], four[:1]), 0, func(_ *results.Cell, o *results.Op) { o.Store.Calls, o.Store.BytesRead = 2, 160_000 }),
			"bytes 160× 1.0×",
		},
		{
			"bytes that drawn messages explain",
			change(list(four[:1], four[:1]), 0, func(_ *results.Cell, o *results.Op) { o.Store.BytesRead, o.Store.BytesDeviation = 160_000, 2e6 }),
			"bytes ? 1.0×",
		},
		{
			"bytes of few drawn messages",
			change(list(four[:1], four[:1]), 0, func(_ *results.Cell, o *results.Op) {
				o.Count, o.Store.BytesRead, o.Store.BytesDeviation = 29, 160_000, 60_000
			}),
			"bytes ? 1.0×",
		},
		{
			"bytes of few drawn messages that are much alike",
			change(list(four[:1], four[:1]), 0, func(_ *results.Cell, o *results.Op) {
				o.Count, o.Store.BytesRead, o.Store.BytesDeviation = 29, 160_000, 1
			}),
			"bytes 160× 1.0×",
		},
		{
			"counted figures that differ for certain by little",
			change(list(four[:1], four[:1]), 0, func(_ *results.Cell, o *results.Op) { o.Store.Calls = 1.04 * o.Store.Calls }),
			"calls 1.04× 1.0×",
		},
		{
			"counted figures that chance may let differ by little",
			change(list(four[:1], four[:1]), 0, func(_ *results.Cell, o *results.Op) {
				o.Store.Calls, o.Store.CallsDeviation = 1.01*o.Store.Calls, 0.2*o.Store.Calls
			}),
			"calls ≈ 1.0×",
		},
		{
			"bytes of many drawn messages",
			change(list(four[:1], four[:1]), 0, func(_ *results.Cell, o *results.Op) { o.Store.BytesRead, o.Store.BytesDeviation = 160_000, 1e5 }),
			"bytes 160× 1.0×",
		},
	} {
		o := OverviewOf(tc.run)
		if got := shown(&o.Parts[0].Rows[0]); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// Where the noise hides the difference, the value is near the best and its range is told.
func TestOverviewSpread(t *testing.T) {
	r := &results.Run{}
	for n, p50 := range []int64{130, 100, 110, 120} {
		for _, m := range []string{"a", "b"} {
			r.Cells = append(r.Cells, trial(m, n+1, results.OK, map[string]results.Op{"list": timed(1000, p50, p50, 1, 1, 1)}))
		}
	}
	v := OverviewOf(r).Parts[0].Rows[0].Lines[0].Values[0]
	if v.Low != 100 || v.Median != 115 || v.High != 130 {
		t.Errorf("of four trials %v to %v with median %v, want 100 to 130 with 115", v.Low, v.High, v.Median)
	}
}

func TestOverviewMarks(t *testing.T) {
	emulated, lacking, none := timed(10, 1, 1, 1, 1, 1), timed(10, 1, 1, 1, 1, 1), results.Op{Support: results.NotOffered}
	emulated.Support, emulated.Fallback = results.EmulatedOp, "by_id"
	lacking.Missing = "subject"
	r := &results.Run{Cells: []results.Cell{
		trial("a", 1, results.OK, map[string]results.Op{"list": emulated, "open": timed(9, 1, 1, 1, 1, 1), "seen": none, "purge": none}),
		trial("b", 1, results.Overloaded, map[string]results.Op{"list": lacking, "open": {Support: results.Native}, "seen": timed(8, 1, 1, 1, 1, 1), "purge": none}),
		trial("c", 1, results.OK, map[string]results.Op{"list": none, "open": none, "seen": none, "purge": none}),
	}}
	o := OverviewOf(r)
	p := &o.Parts[0]
	if len(p.Rows) != 2 || p.Rows[0].Op != "list" || p.Rows[1].Op != "open" {
		t.Fatalf("rows are %v", p.Rows)
	}
	for i, want := range []OverviewMarks{
		{Verdict: results.OK, Emulated: "by_id"}, {Verdict: results.Overloaded, Lacks: "subject"}, {Verdict: results.OK, NotOffered: true, None: true},
	} {
		if got := p.Rows[0].Marks[i]; got != want {
			t.Errorf("list, column %d: %+v, want %+v", i, got, want)
		}
	}
	if got, want := p.Rows[1].Marks[1], (OverviewMarks{Verdict: results.Overloaded, None: true}); got != want {
		t.Errorf("open was never ok: %+v, want %+v", got, want)
	}
	if got, want := fmt.Sprint(p.Alone, p.Nobody), "[{b [seen]}] [purge]"; got != want {
		t.Errorf("offered alone and by none: %s, want %s", got, want)
	}
	if got, want := o.Verdicts[0].String(), "b is OVERLOADED: only 1/s"; len(o.Verdicts) != 1 || got != want {
		t.Errorf("verdicts are %v, want %s", o.Verdicts, want)
	}
}

// A notice names trials only where it does not hold for all of them.
func TestNoticeNamesTrials(t *testing.T) {
	r := &results.Run{}
	for n := 1; n <= 3; n++ {
		for _, m := range []string{"a", "b"} {
			c := trial(m, n, results.OK, map[string]results.Op{})
			if m == "a" || n == 2 {
				c.Doubts = []results.Doubt{{Code: "not-warm", Text: "not warm"}}
			}
			c.Doubts = append(c.Doubts, results.Doubt{Code: "shared-machine", Text: "shared"})
			r.Cells = append(r.Cells, c)
		}
	}
	o := OverviewOf(r)
	if got, want := o.Doubts[0].String(), "not warm [a, b #2]"; len(o.Doubts) != 1 || got != want {
		t.Errorf("doubts are %v, want %s", o.Doubts, want)
	}
	if got, want := o.Further[0].String(), "shared [all]"; len(o.Further) != 1 || got != want {
		t.Errorf("the other doubts are %v, want %s", o.Further, want)
	}
}
