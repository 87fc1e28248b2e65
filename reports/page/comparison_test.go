package page

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/workloads/results"
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
				o.Store.Requests++
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
		one.Segment = results.Segment{Index: 1, Of: 1}
		return compare.Side{Name: name, Runs: []*results.Run{&one}}
	}
	c, err := compare.Runs(side("base <b>", base.Run), side("new", &worse), compare.Options{Gates: gates, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Document(&b, c.Document()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Worse metrics are above the settings of the comparison, and the rest is folded.
func TestComparisonPage(t *testing.T) {
	got := writeComparison(t, sample(t))
	at := -1
	for _, want := range []string{
		"<h1>new against base &lt;b&gt;</h1>", "base: base &lt;b&gt;, mailbench", "REGRESSION (", "<h2>Changed", "list requests</th>", ">exact<", ">REGRESSION<",
		"All other metrics", "open requests</th>", "<h2>Glossary",
	} {
		i := strings.Index(got, want)
		if i <= at {
			t.Errorf("%q is missing, or before what stands before it", want)
		}
		at = max(at, i)
	}
}
