package compare

import (
	"slices"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// streamed are two sides whose phase runs two streams: both list, and one alone delivers.
func streamed(n int) (base, new Side) {
	base, new = pairOf(n)
	for _, s := range []Side{base, new} {
		for i := range s.Runs[0].Cells {
			c := &s.Runs[0].Cells[i]
			slower := int64(1000 * i)
			c.Streams = []results.Stream{
				{Name: "readers", Arrivals: "closed", Ops: map[string]results.Op{"list": op(2000, 200_000+slower, 2_000_000+slower)}},
				{Name: "inbound", Arrivals: "poisson", Ops: map[string]results.Op{
					"list": op(1000, 210_000+slower, 2_100_000+slower), "deliver": op(500, 400_000+slower, 4_000_000+slower),
				}},
			}
		}
	}
	return base, new
}

// judged are the metrics of a comparison with a verdict, as PHASE OPERATION.METRIC.
func judged(c *Comparison, v Verdict) (all []string) {
	for _, cell := range c.Cells {
		for _, f := range cell.Figures {
			if f.Verdict == v {
				all = append(all, cell.Phase+" "+f.Op+"."+f.Name)
			}
		}
	}
	return all
}

// A change in one stream only is found, and named by the stream. The phase as a whole is not compared, else a difference
// would be there twice.
func TestStreams(t *testing.T) {
	base, fresh := streamed(10)
	for side, s := range []Side{base, fresh} {
		for i := range s.Runs[0].Cells {
			readers := s.Runs[0].Cells[i].Streams[0].Ops
			o := readers["list"]
			if o.Rate = 100; side == 1 {
				o.Rate, o.Response.P50, o.Store.Requests = 80, 2*o.Response.P50, 3
			}
			readers["list"] = o
		}
	}
	c := compared(t, base, fresh, "*", false)
	want := []string{
		"measure:readers whole load.typical", "measure:readers list.p50", "measure:readers list.rate", "measure:readers list.requests",
	}
	if got := judged(c, Worse); !slices.Equal(got, want) {
		t.Errorf("worse: %q, want %q", got, want)
	}
	if r := c.Regressions; len(r) != len(want) || !slices.Contains(r, "james/embedded/measure:readers list.requests") {
		t.Errorf("regressions: %q", r)
	}
	if len(c.Cells) != 2 || c.Cells[1].Phase != "measure:inbound" || len(judged(c, CannotTell)) > 0 {
		t.Errorf("%d cells, inconclusive %q", len(c.Cells), judged(c, CannotTell))
	}
}

// A stream or operation that only one side has is named, and not compared.
func TestStreamsOfOneSide(t *testing.T) {
	base, fresh := streamed(10)
	for i := range fresh.Runs[0].Cells {
		streams := fresh.Runs[0].Cells[i].Streams
		streams[0].Name = "users"
		delete(streams[1].Ops, "deliver")
	}
	c := compared(t, base, fresh, "*", true)
	if len(c.Cells) != 1 || !slices.Equal(c.Cells[0].Notes, []string{"only base executed deliver: not compared"}) {
		t.Errorf("%d cells, notes %q", len(c.Cells), c.Cells[0].Notes)
	}
	for _, note := range []string{"only old has james/embedded/measure:readers", "only fresh has james/embedded/measure:users"} {
		if !slices.Contains(c.Notes, note) {
			t.Errorf("notes %q, want %q", c.Notes, note)
		}
	}
}
