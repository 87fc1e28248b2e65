package page

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/results"
)

// writeComparison is the page of a run against the same run with one request more to list.
func writeComparison(t testing.TB, base Source) string {
	t.Helper()
	worse := *base.Run
	worse.Cells = append([]results.Cell(nil), base.Run.Cells...)
	for n := range worse.Cells {
		ops := map[string]results.Op{}
		for name, o := range worse.Cells[n].Ops {
			if name == "list" {
				o.Store.Calls++
			}
			ops[name] = o
		}
		worse.Cells[n].Ops = ops
	}
	gates, err := compare.ParseGates(compare.DefaultGates)
	if err != nil {
		t.Fatal(err)
	}
	side := func(name string, r *results.Run) compare.Side {
		one := *r
		one.Shard = results.Shard{Index: 1, Of: 1}
		return compare.Side{Name: name, Runs: []*results.Run{&one}}
	}
	c, err := compare.Runs(side("base <b>", base.Run), side("new", &worse), compare.Options{Gates: gates, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Comparison(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What is worse stands before what was compared, and the rest is folded.
func TestComparisonPage(t *testing.T) {
	got := writeComparison(t, sample(t))
	at := -1
	for _, want := range []string{
		"<h1>new against base &lt;b&gt;</h1>", `<strong class="bad">REGRESSION (`, "list calls<br>", "WORSE", "What was compared",
		"<dt>base</dt>", "All other figures", "open calls<br>", "Glossary",
	} {
		i := strings.Index(got, want)
		if i <= at {
			t.Errorf("%q is missing, or before what stands before it", want)
		}
		at = max(at, i)
	}
}

// A ratio is drawn between a half and the double.
func TestRatioBar(t *testing.T) {
	n := func(v float64) *float64 { return &v }
	for _, test := range []struct {
		f             compare.Figure
		low, at, high float64
	}{
		{compare.Figure{Ratio: n(1), Limit: 0.05}, 60, 60, 60},
		{compare.Figure{Ratio: n(2), Low: n(0.5), High: n(200), Limit: 0.05}, 0, 120, 120},
		{compare.Figure{Ratio: n(0.01), Limit: 0.05}, 0, 0, 0},
	} {
		b := newRatioBar(&test.f)
		if b.Low != test.low || b.At != test.at || b.High != test.high || b.From >= 60 || b.To <= 60 {
			t.Errorf("ratio %v: %+v", *test.f.Ratio, b)
		}
	}
	if newRatioBar(&compare.Figure{}) != nil {
		t.Error("a figure without a ratio is drawn")
	}
}
