package ranking

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
)

// op is an operation that succeeded n times with latencies around a median, in ns, and that cost so much.
func op(n int64, median, mean, requests, rows, read float64) results.Op {
	o := results.Op{
		Count: n, Support: results.Native,
		Times: results.Times{Response: results.Latency{P50: int64(median), Mean: mean, P99: int64(10 * median)}},
		Store: results.StoreCost{Requests: requests, RowsScanned: &rows, BytesRead: read, BytesWritten: read / 2},
	}
	for _, share := range results.QuantileShares {
		o.Quantiles = append(o.Quantiles, int64(median*math.Exp(2*(share-0.5))))
	}
	return o
}

// planted makes a run of a measured phase in so many trials. Jitter is how much the latencies of trial n
// are multiplied by.
func planted(trials int, jitter func(model string, n int) float64, models map[string]map[string]results.Op) *results.Run {
	r := &results.Run{}
	var names []string
	for name := range models {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for n := range trials {
			ops := map[string]results.Op{}
			for k, o := range models[name] {
				f := jitter(name, n)
				o.Response.P50, o.Response.Mean = int64(f*float64(o.Response.P50)), f*o.Response.Mean
				o.Quantiles = slices.Clone(o.Quantiles)
				for i := range o.Quantiles {
					o.Quantiles[i] = int64(f * float64(o.Quantiles[i]))
				}
				ops[k] = o
			}
			c := results.Cell{
				Key:  results.Key{Model: name, Engine: "embedded", Phase: "measure", Trial: n + 1, Segment: 1},
				Kind: results.KindMeasure, Arrivals: "poisson", Rate: 100, Verdict: results.OK, Ops: ops,
				Offered: &results.Offered{Rate: 100, Achieved: 100},
			}
			for _, o := range ops {
				c.Offered.Due += o.Attempted()
			}
			r.Cells = append(r.Cells, c)
		}
	}
	return r
}

func steady(string, int) float64 { return 1 }

// busy makes trials differ by up to two times, in other ways for each model.
func busy(model string, n int) float64 {
	return []float64{1, 2, 0.9, 1.4, 1.1}[(n*3+len(model)+int(model[0]))%5]
}

func one(t *testing.T, r *results.Run, by Metric) *Load {
	t.Helper()
	all := Of(r, by)
	if len(all) != 1 {
		t.Fatalf("%d loads, want 1", len(all))
	}
	return all[0]
}

func said(l *Load) string {
	var b strings.Builder
	for _, s := range l.Verdict() {
		b.WriteString(s.Lead + ": " + s.Text + "\n")
	}
	return b.String()
}

func has(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the verdict does not say %q:\n%s", w, text)
		}
	}
}

// A model that needs less of everything wins alone, and dominates the others.
func TestDominatingModel(t *testing.T) {
	l := one(t, planted(3, func(_ string, n int) float64 { return 1 + 0.01*float64(n) }, map[string]map[string]results.Op{
		"a": {"list": op(800, 100e3, 120e3, 1, 20, 1000), "open": op(200, 200e3, 240e3, 1, 2, 8000)},
		"b": {"list": op(800, 300e3, 400e3, 2, 40, 2000), "open": op(200, 600e3, 700e3, 2, 4, 16_000)},
		"c": {"list": op(800, 900e3, 950e3, 4, 400, 9000), "open": op(200, 900e3, 950e3, 2, 9, 90_000)},
	}), Typical)
	if l.First != 1 || l.Models[0].Name != "a" || l.Models[2].Name != "c" {
		t.Errorf("%d first, order %s, %s, %s", l.First, l.Models[0].Name, l.Models[1].Name, l.Models[2].Name)
	}
	has(t, said(l), "Fastest by typical latency: a 0.121 ms. Significantly slower (over 5%, interval above 0, 95% sure for all models at once): "+
		"b 0.364 (+200%, +200 to +200%), c 0.909 (+650%, +650 to +650%).", "Likely why: fewer requests/op: 1.00, others 2.00 to 3.60.",
		"Not worth it: b, c: nowhere in WHOLE LOAD significantly better than a.")
	if strings.Contains(said(l), "But:") {
		t.Errorf("something speaks against a:\n%s", said(l))
	}
}

// A dominating model that supports fewer operations than the dominated one names them.
func TestDominatedWithoutAnOperation(t *testing.T) {
	cheap, dear := op(800, 100e3, 120e3, 1, 20, 1000), op(800, 300e3, 400e3, 2, 40, 2000)
	l := one(t, planted(3, steady, map[string]map[string]results.Op{
		"a": {"list": cheap, "seen": {Support: results.NotOffered}}, "b": {"list": dear, "seen": op(10, 1, 1, 1, 1, 1)},
		"c": {"list": dear, "seen": {Support: results.NotOffered}},
	}), Typical)
	has(t, said(l), "Not worth it: b, c: nowhere in SHARED LOAD significantly better than a, which does not support all of their operations.")
}

// A model that leads in a column where the other does not is not dominated, also if the two do not differ significantly:
// both are marked in the table.
func TestLeadingIsNotDominated(t *testing.T) {
	jitter := func(model string, n int) float64 {
		if model == "b" { // its trials differ much
			return []float64{1, 0.5, 1.5}[n]
		}
		return 1
	}
	cheap := op(800, 100e3, 600e3, 1, 20, 1000)
	l := one(t, planted(3, jitter, map[string]map[string]results.Op{
		"a": {"list": cheap}, "b": {"list": op(800, 900e3, 550e3, 2, 40, 2000)}, "c": {"list": op(800, 300e3, 500e3, 1, 20, 1000)},
	}), Typical)
	mean := l.Leading(Mean)
	for k, m := range l.Models {
		if mean[k] != (m.Name != "a") {
			t.Errorf("%s leads by its mean: %v", m.Name, mean[k])
		}
	}
	if strings.Contains(said(l), "better than a") {
		t.Errorf("a dominates a model that leads by its mean:\n%s", said(l))
	}
}

// A model that was offered more than it achieves gets a rate that it achieves: 70% of its max ops/s, or of what it
// achieved if that is not known.
func TestLower(t *testing.T) {
	r := planted(2, steady, map[string]map[string]results.Op{"a": {"list": op(800, 100e3, 120e3, 1, 20, 1000)}, "b": {"list": op(800, 300e3, 320e3, 1, 20, 1000)}})
	lower := func() string {
		return Lower(one(t, r, Typical).Models)
	}
	if got := lower(); got != "" {
		t.Errorf("all was achieved: %q", got)
	}
	for i := range r.Cells {
		r.Cells[i].Rate, r.Cells[i].Offered = 2000, &results.Offered{Rate: 1731, Achieved: 900 + 100*float64(i/2)}
	}
	if got, want := lower(), "phases.measure.rate=630/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, c := range slices.Clone(r.Cells) {
		c.Phase, c.Arrivals, c.Offered = Unthrottled, "closed", &results.Offered{Achieved: 1900}
		if c.Model == "b" {
			c.Offered.Achieved = 9000
		}
		r.Cells = append(r.Cells, c)
	}
	if got, want := lower(), "phases.measure.rate=1300/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := one(t, r, Typical); math.Abs(got.Models[0].OfMaximum()-1731.0/1900) > 1e-9 {
		t.Errorf("%v of the maximum", got.Models[0].OfMaximum())
	}
	r.Cells[0].Streams = []results.Stream{{Name: "readers"}} // with rates of their own
	if got := lower(); got != "" {
		t.Errorf("of streams: %q", got)
	}
}

// The facts say what was offered, and for how long each trial measured.
func TestFacts(t *testing.T) {
	list := map[string]results.Op{"list": op(800, 100e3, 120e3, 1, 20, 1000)}
	for trials, want := range map[int]string{1: "1 trial of 1.25s; 100 ops/s offered", 3: "medians of up to 3 trials of 1.25s; 100 ops/s offered"} {
		r := planted(trials, steady, map[string]map[string]results.Op{"a": list, "b": list})
		for i := range r.Cells {
			r.Cells[i].Offered.Span = 1.25
		}
		if got := Fact(Of(r, Typical), false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Models without a significant difference share the first place, and the costs of each are printed.
func TestTie(t *testing.T) {
	l := one(t, planted(3, busy, map[string]map[string]results.Op{
		"a": {"list": op(800, 100e3, 120e3, 1, 20, 50_000)}, "b": {"list": op(800, 110e3, 130e3, 1, 20, 1000)},
	}), Typical)
	if l.First != 2 {
		t.Errorf("%d first, want 2:\n%s", l.First, said(l))
	}
	has(t, said(l), "Fastest by typical latency: b 0.110 ms; not significantly slower: a 0.140 (+27%, -47 to +234%).", "But: a needs 50.0 KB/op read (b 1.00), costly over networks")
	if d := Compare(l.Models[0].Values[Typical], l.Models[1].Values[Typical], true, 1); d.Significant || d.Trials != 3 {
		t.Errorf("%+v", d)
	}
}

// The same difference without noise is significant, and one of 5% or less never is.
func TestSignificance(t *testing.T) {
	for ratio, want := range map[float64]bool{1.5: true, 1.06: true, 1.04: false} {
		l := one(t, planted(3, steady, map[string]map[string]results.Op{
			"a": {"list": op(800, 100e3, 120e3, 1, 20, 1000)}, "b": {"list": op(800, ratio*100e3, 120e3, 1, 20, 1000)},
		}), Typical)
		if got := l.First == 1; got != want {
			t.Errorf("ratio %v: significant %v", ratio, got)
		}
	}
	l := one(t, planted(1, steady, map[string]map[string]results.Op{
		"a": {"list": op(800, 100e3, 120e3, 1, 20, 1000)}, "b": {"list": op(800, 900e3, 920e3, 1, 20, 1000)},
	}), Typical)
	has(t, said(l), "Fastest by typical latency of one trial (significance unknown, use --trials 5): a 0.100 ms. Slower: b 0.900 (+800%).")
}

// Another metric may rank otherwise.
func TestOtherMetric(t *testing.T) {
	l := one(t, planted(4, steady, map[string]map[string]results.Op{
		"a": {"list": op(800, 100e3, 900e3, 1, 20, 1000)}, "b": {"list": op(800, 200e3, 300e3, 1, 20, 1000)},
	}), Typical)
	has(t, said(l), "Fastest by typical latency: a 0.100 ms. Significantly slower (over 5%, interval above 0, 95% sure for all models at once): b 0.200 (+100%, +100 to +100%).")
	if by := one(t, planted(4, steady, map[string]map[string]results.Op{
		"a": {"list": op(800, 100e3, 900e3, 1, 20, 1000)}, "b": {"list": op(800, 200e3, 300e3, 1, 20, 1000)},
	}), Mean); by.Models[0].Name != "b" {
		t.Errorf("by mean %s is first", by.Models[0].Name)
	}
}

// A model that did not execute the offered load, or whose data is lost, is named with the reason, has
// its latencies in the table, and is not ranked.
func TestNotRanked(t *testing.T) {
	r := planted(3, steady, map[string]map[string]results.Op{
		"a": {"list": op(800, 100e3, 120e3, 1, 20, 1000)}, "b": {"list": op(800, 50e3, 60e3, 1, 20, 1000)}, "c": {"list": op(800, 20e3, 30e3, 1, 20, 1000)},
	})
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Model == "b" {
			c.Verdict, c.Offered.Achieved = results.Overloaded, 61
		}
	}
	r.Audits = []results.Audit{{Model: "c", Engine: "embedded", Lost: 1}, {Model: "a", Engine: "cassandra", Lost: 1}}
	l := one(t, r, Typical)
	if l.First != 1 || l.Models[0].Name != "a" {
		t.Errorf("%s", said(l))
	}
	has(t, said(l), "Fastest by typical latency: a 0.100 ms.", "Not ranked: c (its data is wrong or lost); b (overloaded: it executed 61 of 100 operations/s).")
	for i := range l.Models {
		if math.IsNaN(l.Models[i].Value(Typical)) {
			t.Errorf("%s has no latency", l.Models[i].Name)
		}
		if l.Leading(Typical)[i] != (i == 0) {
			t.Errorf("%s is marked: %v", l.Models[i].Name, l.Leading(Typical)[i])
		}
	}
	for i := range r.Cells { // an overloaded trial is the reason before an invalid one
		if r.Cells[i].Model == "b" && r.Cells[i].Trial == 1 {
			r.Cells[i].Verdict = results.Invalid
		}
	}
	has(t, said(one(t, r, Typical)), "b (overloaded: it executed 61 of 100 operations/s)")
	for i := range r.Cells {
		r.Cells[i].Verdict = results.Invalid
	}
	has(t, said(one(t, r, Typical)), "No model is ranked by typical latency: do not decide by the latencies below.", "(half of the trials or more are invalid)")
}

// A single model on several engines has their names.
func TestNamesOfEngines(t *testing.T) {
	r := planted(2, steady, map[string]map[string]results.Op{"a": {"list": op(800, 100e3, 120e3, 1, 20, 1000)}})
	r.Cells[1].Engine, r.Cells[1].Trial = "cassandra", 1
	if all := Of(r, Typical); len(all) != 2 || all[0].Models[0].Name != "embedded" || all[1].Models[0].Name != "cassandra" {
		t.Errorf("%+v", all)
	}
}

// Of a few invalid trials the others count.
func TestOneInvalidTrial(t *testing.T) {
	r := planted(3, steady, map[string]map[string]results.Op{"a": {"list": op(800, 100e3, 120e3, 1, 20, 1000)}, "b": {"list": op(800, 300e3, 320e3, 1, 20, 1000)}})
	r.Cells[0].Verdict = results.Invalid
	slow := op(800, 100e6, 120e6, 1, 20, 1000)
	r.Cells[0].Ops = map[string]results.Op{"list": slow}
	if l := one(t, r, Typical); l.Models[0].Name != "a" || l.Models[0].Value(Typical) != 100e3 {
		t.Errorf("%s %v", l.Models[0].Name, l.Models[0].Value(Typical))
	}
}

// A model of which one of three trials is valid has the values of that one, and is not ranked.
func TestOneValidTrial(t *testing.T) {
	r := planted(3, steady, map[string]map[string]results.Op{"a": {"list": op(800, 100e3, 120e3, 1, 20, 1000)}, "b": {"list": op(800, 300e3, 320e3, 1, 20, 1000)}})
	for i := range 2 {
		r.Cells[i].Verdict, r.Cells[i].Ops = results.Invalid, map[string]results.Op{"list": op(800, 100e6, 120e6, 1, 20, 1000)}
	}
	l := one(t, r, Typical)
	if a := l.Models[1]; a.Name != "a" || a.Value(Typical) != 100e3 {
		t.Errorf("%s %v", a.Name, a.Value(Typical))
	}
	has(t, said(l), "Not ranked: a (half of the trials or more are invalid).")
}

// Of equal models one is called slower in 5% of all runs, or few more if there are many, and one that takes 40% longer
// is found in most. Trials differ by 15%, as those of the workload quick do on a quiet machine.
func TestChanceOfManyModels(t *testing.T) {
	const runs, trials, noise = 2000, 5, 0.15
	for _, models := range []int{2, 5} {
		random := rand.New(rand.NewPCG(1, uint64(models)))
		wrong, found := 0, 0
		for range runs {
			all := make([]results.Series, models)
			for i := range all {
				for range trials {
					all[i] = append(all[i], math.Exp(noise/math.Sqrt2*random.NormFloat64()))
				}
			}
			if slices.Contains(Leading(all, true), false) {
				wrong++
			}
			for k := range all[0] {
				all[0][k] *= 1.4
			}
			if !Leading(all, true)[0] {
				found++
			}
		}
		t.Logf("%d models: in %.1f%% of the runs an equal one is slower, in %.0f%% one that takes 40%% longer",
			models, 100*float64(wrong)/runs, 100*float64(found)/runs)
		if wrong > runs*8/100 || found < runs*8/10 {
			t.Errorf("%d models: %d of %d runs find an equal one slower, %d one that takes 40%% longer", models, wrong, runs, found)
		}
	}
}

// Marks go from the best on, and no better value is without one.
func TestMarksAreMonotone(t *testing.T) {
	leads := Leading([]results.Series{{1, 1.1, 1}, {1.3, 0.9, 1.4}, {1.25, 1.376, 1.25}, {1.9, 0.7, 1.6}, {math.NaN(), math.NaN(), math.NaN()}}, true)
	if want := []bool{true, false, false, false, false}; !slices.Equal(leads[2:], want[2:]) || !leads[0] {
		t.Errorf("%v", leads)
	}
	if leads := Leading([]results.Series{{1, math.NaN()}, {math.NaN(), 1.01}}, true); !leads[0] || leads[1] {
		t.Errorf("without a trial in common: %v", leads)
	}
}

// Only operations that all models support are summed, each as often as in the workload: a model that lacks
// one, and executed others instead, weighs these as the other models do.
func TestShares(t *testing.T) {
	l := one(t, planted(1, steady, map[string]map[string]results.Op{
		"all":   {"list": op(600, 500, 500, 1, 1, 1), "open": op(200, 500, 500, 11, 1, 1), "seen": op(200, 1e3, 1e3, 100, 1, 1)},
		"lacks": {"list": op(750, 1e3, 1e3, 1, 1, 1), "open": op(250, 1e3, 1e3, 11, 1, 1), "seen": {Support: results.NotOffered}},
	}), Typical)
	if want := []Share{{"list", 0.75}, {"open", 0.25}}; !slices.Equal(l.Shares, want) {
		t.Errorf("shares %v, want %v", l.Shares, want)
	}
	for i := range l.Models {
		if got := l.Models[i].Value(Requests); math.Abs(got-3.5) > 1e-9 {
			t.Errorf("%s needs %v requests", l.Models[i].Name, got)
		}
	}
	if len(l.Left) != 1 || l.Left[0].Op != "seen" || l.Left[0].Share.Share != 0.2 || l.Covers != 0.8 {
		t.Errorf("left %+v, covers %v", l.Left, l.Covers)
	}
	l = one(t, planted(1, steady, map[string]map[string]results.Op{
		"all":   {"list": op(600, 9e3, 9e3, 1, 1, 1), "seen": op(200, 1e3, 1e3, 100, 1, 1)},
		"lacks": {"list": op(600, 1e3, 1e3, 1, 1, 1), "seen": {Support: results.NotOffered}},
	}), Typical)
	has(t, said(l), "But: load unsupported: lacks 25%.")
}

// Percentiles of the whole load are those of all operations together.
func TestPercentilesOfTheLoad(t *testing.T) {
	fast, slow := op(940, 1000, 1000, 1, 1, 1), op(60, 1e6, 1e6, 1, 1, 1) // the slowest 6% are of slow
	l := one(t, planted(1, steady, map[string]map[string]results.Op{"a": {"list": fast, "open": slow}}), Typical)
	for p, want := range map[float64]float64{0.5: 1000 * math.Exp(2*(0.5/0.94-0.5)), 0.99: 1e6 * math.Exp(2*(0.05/0.06-0.5))} {
		if got := l.Quantile(l.Models[0], p); math.Abs(got/want-1) > 0.01 {
			t.Errorf("p%v is %v, want %v", 100*p, got, want)
		}
	}
	slow.Quantiles = nil
	l = one(t, planted(1, steady, map[string]map[string]results.Op{"a": {"list": fast, "open": slow}}), Typical)
	if got := l.Quantile(l.Models[0], 0.5); !math.IsNaN(got) {
		t.Errorf("without quantiles of an operation p50 is %v", got)
	}
}

// A message takes what the files grew by, and the log is not in it.
func TestDisk(t *testing.T) {
	r := planted(1, steady, map[string]map[string]results.Op{"a": {"list": op(800, 1e3, 1e3, 1, 1, 1)}})
	key := r.Cells[0].Key
	load := results.Cell{
		Key: key, Kind: results.KindLoad, Before: &results.EngineInfo{DiskBytes: 1000},
		Evidence: &results.Evidence{Copies: 100, MailBytes: 200_000}, Engines: &results.EngineInfo{DiskBytes: 999_999},
	}
	settle := results.Cell{Key: key, Kind: results.KindSettle, Evidence: &results.Evidence{Settled: true}, Engines: &results.EngineInfo{DiskBytes: 301_500, LogBytes: 500}}
	r.Cells = append([]results.Cell{load, settle}, r.Cells...)
	if got := one(t, r, Typical).Models[0].Value(Disk); got != 3000 {
		t.Errorf("%v bytes a message, want 3000", got)
	}
	r.Cells[1].Engines.DiskExcess = 31_000 // a tenth is too much
	if got := one(t, r, Typical).Models[0].Value(Disk); !math.IsNaN(got) {
		t.Errorf("files of a size that is not known say %v", got)
	}
	r.Cells[1].Engines.DiskExcess, r.Cells[1].Evidence.Settled = 0, false
	if got := one(t, r, Typical).Models[0].Value(Disk); !math.IsNaN(got) {
		t.Errorf("files that were not compacted say %v", got)
	}
}

// The unthrottled phase is a metric of the phase before it.
func TestThroughput(t *testing.T) {
	r := planted(2, steady, map[string]map[string]results.Op{"a": {"list": op(800, 100e3, 120e3, 1, 20, 1000)}, "b": {"list": op(800, 300e3, 320e3, 1, 20, 1000)}})
	for i, rate := range []float64{4000, 9000} {
		c := r.Cells[2*i]
		c.Phase, c.Arrivals, c.Offered = Unthrottled, "closed", &results.Offered{Achieved: rate}
		r.Cells = append(r.Cells, c)
	}
	l := one(t, r, Typical)
	if got := Throughput.Number(l.Models[0].Value(Throughput)); got != "4000" {
		t.Errorf("%s operations/s, want 4000", got)
	}
}

// A value that is not known counts as neither best nor worst, wherever its model is.
func TestUnknownValues(t *testing.T) {
	r := planted(3, steady, map[string]map[string]results.Op{
		"a": {"list": op(800, 100e3, 120e3, 1, 20, 50_000)}, "b": {"list": op(800, 300e3, 320e3, 2, 20, 1000)},
		"c": {"list": op(800, 500e3, 520e3, 2, 20, 1000)},
	})
	for i := range r.Cells {
		if o := r.Cells[i].Ops["list"]; r.Cells[i].Model == "b" {
			o.Store.Requests, o.Store.BytesRead = math.NaN(), math.NaN()
			r.Cells[i].Ops["list"] = o
		}
	}
	has(t, said(one(t, r, Typical)), "Likely why: fewer requests/op: 1.00, others 2.00.",
		"But: a needs 50.0 KB/op read (c 1.00)")
}

// A percentile among operations that never started has no time, and says so.
func TestDroppedPercentile(t *testing.T) {
	o := op(1000, 1e6, 1e6, 1, 1, 1)
	for i := len(o.Quantiles) / 2; i < len(o.Quantiles); i++ {
		o.Quantiles[i] = results.NeverEnded
	}
	l := one(t, planted(3, steady, map[string]map[string]results.Op{"a": {"list": o}}), Typical)
	if text := said(l); strings.Contains(text, "never") || !math.IsInf(l.Models[0].Value(P99), 1) {
		t.Errorf("p99 %v: %s", l.Models[0].Value(P99), text)
	}
	has(t, said(l), "1.00 on average, and more than 1% of the operations were dropped.")
}

// A single model names the operations that it does not support, and no others that never succeeded.
func TestNotSupported(t *testing.T) {
	l := one(t, planted(1, steady, map[string]map[string]results.Op{"a": {
		"list": op(800, 100e3, 120e3, 1, 20, 1000), "seen": {Support: results.NotOffered}, "move": {Failed: 3, Support: results.Native},
	}}), Typical)
	has(t, said(l), "Not supported by a: seen.")
}

// A model whose trials differ by more than two times is marked where its value is compared.
func TestTrialsVary(t *testing.T) {
	jitter := func(model string, n int) float64 {
		if model == "b" {
			return []float64{1, 2.5, 1.1}[n]
		}
		return []float64{1, 1.9, 1.1}[n]
	}
	ops := func(ns float64) map[string]results.Op {
		return map[string]results.Op{"list": op(800, ns, ns, 1, 20, 1000)}
	}
	l := one(t, planted(3, jitter, map[string]map[string]results.Op{"a": ops(100e3), "b": ops(120e3), "c": ops(130e3)}), Typical)
	has(t, said(l), "not significantly slower: b 0.132 (+20%, -25 to +132%)", "c 0.143 (+30%, +30 to +30%)")
	// The interval of one that varies is wide.
	l = one(t, planted(3, jitter, map[string]map[string]results.Op{"b": ops(1000e3), "c": ops(110e3), "d": ops(500e3)}), Typical)
	has(t, said(l), "d 0.550 (+355%, +355 to +355%), b 1.10 (+809%, +465 to +1657%)")
	// One that may be last by chance is behind a model that is significantly slower, and is not called so.
	chance := func(model string, n int) float64 {
		if model == "b" {
			return []float64{0.1, 9, 1.1}[n]
		}
		return 1
	}
	l = one(t, planted(3, chance, map[string]map[string]results.Op{"b": ops(1000e3), "c": ops(110e3), "d": ops(500e3)}), Typical)
	has(t, said(l), "models at once): d 0.500 (+355%, +355 to +355%); slower, not significantly: b 1.10 (+900%, -100 to +")
	// Two trials do not say where the ratio is, nor does an interval of ratios that does not have that of the medians.
	l = one(t, planted(2, jitter, map[string]map[string]results.Op{"a": ops(100e3), "b": ops(120e3)}), Typical)
	has(t, said(l), "b 0.210 (+45%)")
	b, x := l.Models[1], results.Series{1000e3, 900e3, 110e3}
	l.Models[0].Values[Typical], b.Values[Typical] = results.Series{100e3, 100e3, 100e3}, x
	has(t, l.over(l.Models[0], b), "b 0.900 (+800%, -79 to +")
	l.Models[0].Values[Typical] = results.Series{1000e3, 100e3, 10e3}
	has(t, l.over(l.Models[0], b), "b 0.900 (+800%, ")
}

// The operation that takes the most time is named.
func TestLongest(t *testing.T) {
	for slow, want := range map[float64]string{900e3: "open takes the most time (69%).", 200e3: "list takes the most time (67%)."} {
		l := one(t, planted(3, steady, map[string]map[string]results.Op{
			"a": {"list": op(800, 100e3, 100e3, 1, 20, 1000), "open": op(200, slow, slow, 1, 2, 8000)},
		}), Typical)
		has(t, said(l), want)
	}
}
