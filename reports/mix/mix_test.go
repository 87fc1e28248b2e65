package mix

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
)

// op was carried out n times and asked for so much, with that deviation in all.
func op(n int64, calls, examined, bytes, deviation float64) results.Op {
	return results.Op{Count: n, Support: results.Native, Store: results.StoreCost{
		Calls: calls, CallsDeviation: deviation * calls, RowsExamined: &examined, ExaminedDeviation: deviation * examined,
		BytesRead: bytes, BytesWritten: bytes / 2, BytesDeviation: deviation * bytes,
	}}
}

// timed gives an operation times around a median.
func timed(o results.Op, median float64) results.Op {
	for _, share := range results.QuantileShares {
		o.Quantiles = append(o.Quantiles, int64(median*math.Exp(2*(share-0.5))))
	}
	return o
}

// runOf has a measured cell for each trial of a model.
func runOf(models map[string]map[string]results.Op, count int) *results.Run {
	r := &results.Run{}
	var names []string
	for name := range models {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for n := range count {
			c := results.Cell{
				Key: results.Key{Model: name, Engine: "embedded", Phase: "measure", Trial: n + 1, Shard: 1}, Kind: results.KindMeasure,
				Arrivals: "poisson", Rate: 100, Durability: "power", Verdict: results.OK, Ops: models[name], Offered: &results.Offered{},
			}
			for _, o := range c.Ops {
				c.Offered.Due += o.Attempted() + o.NoTarget
			}
			r.Cells = append(r.Cells, c)
		}
	}
	return r
}

func of(t *testing.T, r *results.Run) *Mix {
	t.Helper()
	all := Of(r, func(model, _ string) string { return model })
	if len(all) != 1 {
		t.Fatalf("%d mixes", len(all))
	}
	return &all[0]
}

// A model that asks for less of everything is named, with how much less.
func TestOneDominates(t *testing.T) {
	m := of(t, runOf(map[string]map[string]results.Op{
		"a": {"list": timed(op(800, 1, 20, 1000, 0.1), 100_000), "open": timed(op(200, 1, 2, 8000, 0.1), 200_000)},
		"b": {"list": timed(op(800, 2, 40, 2000, 0.1), 300_000), "open": timed(op(200, 2, 4, 16_000, 0.1), 600_000)},
		"c": {"list": timed(op(800, 4, 400, 9000, 0.1), 900_000), "open": timed(op(200, 2, 9, 90_000, 0.1), 900_000)},
	}, 4))
	if got := m.Leaders(); !slices.Equal(got, []int{0}) {
		t.Errorf("leaders %v", got)
	}
	says := m.Says()
	want := "a asks least of the engine: calls (0.5 × the next, b); rows examined (0.5 × the next, b); " +
		"bytes read (0.5 × the next, b); bytes written (0.5 × the next, b)."
	if says[0] != want {
		t.Errorf("%s\nwant\n%s", says[0], want)
	}
	if want := "Fastest: a (0.33 × the next, b) at p50, a (0.33 × the next, b) at p99."; says[1] != want {
		t.Errorf("%s\nwant\n%s", says[1], want)
	}
}

// Every model leads in something.
func TestNoneDominates(t *testing.T) {
	m := of(t, runOf(map[string]map[string]results.Op{
		"a": {"list": op(800, 1, 40, 9000, 0.1)}, "b": {"list": op(800, 2, 20, 2000, 0.1)},
	}, 1))
	want := "No model asks least of the engine in all: fewest calls: a (0.5 × the next, b); " +
		"fewest rows examined: b (0.5 × the next, a); fewest bytes read: b (0.22 × the next, a); fewest bytes written: b (0.22 × the next, a)."
	if got := m.Says()[0]; got != want || m.Leaders() != nil {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Where nothing can be told, no model is named.
func TestNothingCanBeTold(t *testing.T) {
	for name, c := range map[string]struct {
		a, b results.Op
		want string
	}{
		"chance":             {op(800, 1, 20, 1000, 9), op(800, 1.3, 26, 1300, 9), "cannot be told"},
		"too few operations": {op(9, 1, 20, 1000, 1), op(9, 9, 260, 13_000, 1), "cannot be told"},
		"equal":              {op(800, 1, 20, 1000, 0), op(800, 1, 20, 1000, 0), "These models ask alike"},
	} {
		m := of(t, runOf(map[string]map[string]results.Op{"a": {"list": c.a}, "b": {"list": c.b}}, 1))
		says := strings.Join(m.Says(), " ")
		if !strings.Contains(says, c.want) || strings.Contains(says, "a (") || strings.Contains(says, "b (") || m.Leaders() != nil {
			t.Errorf("%s: %s (leaders %v)", name, says, m.Leaders())
		}
	}
}

// What one figure cannot tell is said of it, and a model that may have less in it is not behind.
func TestUnsureOfOneFigure(t *testing.T) {
	a, b := op(800, 1, 20, 1000, 0.1), op(800, 2, 19, 2000, 0.1)
	a.Store.ExaminedDeviation, b.Store.ExaminedDeviation = 200, 200
	m := of(t, runOf(map[string]map[string]results.Op{"a": {"list": a}, "b": {"list": b}}, 1))
	if got := m.Says()[0]; !strings.HasSuffix(got, "; of rows examined it cannot be told.") || !strings.HasPrefix(got, "a asks least") {
		t.Error(got)
	}
}

// Operations weigh as in the workload: a model that lacks one, and in its place was asked for more of
// the others, weighs these as the other models do.
func TestSharesAreTheWorkloads(t *testing.T) {
	m := of(t, runOf(map[string]map[string]results.Op{
		"all":   {"list": op(600, 1, 1, 1, 0), "open": op(200, 11, 1, 1, 0), "seen": op(200, 100, 1, 1, 0)},
		"lacks": {"list": op(750, 1, 1, 1, 0), "open": op(250, 11, 1, 1, 0), "seen": {Support: results.NotOffered}},
	}, 1))
	if want := []trials.Share{{Op: "list", Weight: 750}, {Op: "open", Weight: 250}}; !slices.Equal(m.Shares, want) {
		t.Errorf("shares %v, want %v", m.Shares, want)
	}
	calls := m.Line(results.Calls)
	for i := range calls.Values {
		if got := calls.Values[i].Median; math.Abs(got-3500) > 1e-6 {
			t.Errorf("%s makes %v calls for 1000 operations", m.Rows[i].Name, got)
		}
	}
	if len(m.Left) != 1 || m.Left[0].Op != "seen" || m.Left[0].Share != 0.2 || !slices.Equal(m.Left[0].Lacking, []string{"lacks"}) || m.Covers != 0.8 {
		t.Errorf("left %+v, covers %v", m.Left, m.Covers)
	}
}

// Percentiles of the mix are those of all operations together, each weighed by its share.
func TestTimesOfTheMix(t *testing.T) {
	fast, slow := timed(op(900, 1, 1, 1, 0), 1000), timed(op(900, 1, 1, 1, 0), 1_000_000)
	fast.Count, slow.Count = 940, 60 // the slowest 6% are of slow
	m := of(t, runOf(map[string]map[string]results.Op{"a": {"list": fast, "open": slow}}, 1))
	// p50 of the mix is the fast operation's p53.2, and p99 the slow one's p83.3.
	for f, want := range map[results.Figure]float64{
		results.P50: 1000 * math.Exp(2*(0.5/0.94-0.5)), results.P99: 1_000_000 * math.Exp(2*(0.05/0.06-0.5)),
	} {
		if got := m.Line(f).Values[0].Median; math.Abs(got/want-1) > 0.01 {
			t.Errorf("%s is %v, want %v", f, got, want)
		}
	}
	withheld := runOf(map[string]map[string]results.Op{"a": {"list": fast, "open": slow}}, 1)
	o := withheld.Cells[0].Ops["open"]
	o.Withheld = []string{"p99"}
	withheld.Cells[0].Ops["open"] = o
	if m := of(t, withheld); m.Line(results.P99) != nil || m.Line(results.P50) == nil {
		t.Error("a withheld percentile that decides the mix's is in it")
	}
	withheld.Cells[0].Verdict = results.Invalid
	if m := of(t, withheld); m.Line(results.P50) != nil {
		t.Error("times of an invalid cell are shown")
	}
}

// A message takes what the files grew by, and the log is not in it.
func TestStored(t *testing.T) {
	r := runOf(map[string]map[string]results.Op{"a": {"list": op(800, 1, 1, 1, 0)}}, 1)
	key := r.Cells[0].Key
	load := results.Cell{
		Key: key, Kind: results.KindLoad, Before: &results.EngineInfo{DiskBytes: 1000},
		Evidence: &results.Evidence{Copies: 100, MailBytes: 200_000}, Engines: &results.EngineInfo{DiskBytes: 999_999},
	}
	settle := results.Cell{
		Key: key, Kind: results.KindSettle, Evidence: &results.Evidence{Settled: true},
		Engines: &results.EngineInfo{DiskBytes: 301_500, LogBytes: 500},
	}
	r.Cells = append([]results.Cell{load, settle}, r.Cells...)
	if m := of(t, r); m.Line(results.Stored).Values[0].Median != 3000 || m.Rows[0].Mail != 1.5 {
		t.Errorf("%v a message, %v of the mail", m.Line(results.Stored).Values[0].Median, m.Rows[0].Mail)
	}
	r.Cells[1].Evidence.Settled = false
	if of(t, r).Line(results.Stored) != nil {
		t.Error("files that were not at rest tell what is stored")
	}
}

// Of a model that cannot be told apart from the best nothing is said that holds for the best alone.
func TestUnsureIsNamedAsSuch(t *testing.T) {
	a, b, c := op(800, 1, 20, 9000, 0.1), op(800, 1.3, 26, 1000, 0.1), op(800, 9, 260, 9000, 0.1)
	a.Store.CallsDeviation, a.Store.ExaminedDeviation = 9, 200
	m := of(t, runOf(map[string]map[string]results.Op{"a": {"list": a}, "b": {"list": b}, "c": {"list": c}}, 1))
	want := "b asks least of the engine: bytes read (0.11 × the next, a); bytes written (0.11 × the next, a); " +
		"of calls, rows examined it cannot be told."
	if got := m.Says()[0]; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := m.lead(m.Line(results.Calls)), "a or b"; got != want {
		t.Errorf("fewest calls: %s, want %s", got, want)
	}
}
