package page

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/document"
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

// An axis of ratios ends at a half and the double. A line that goes on beyond the axis has an arrow there. An axis of
// latencies has room for all.
func TestBeyondTheAxis(t *testing.T) {
	for _, tc := range []struct {
		unit             string
		low, high        float64
		less, more, ends bool
	}{
		{"", 0.9, 1.1, false, false, true},
		{"", 0.5, 2, false, false, true},
		{"", 0.4, 1.1, true, false, true},
		{"", -0.1, 120, true, true, false},
		{"", 3, 4, false, true, false},
		{"", 0.2, 0.3, true, false, false},
		{"ms", 0.2, 1e9, false, false, true},
	} {
		table := &document.Table{Columns: []document.Column{{Left: true}, {Page: true, Left: true, Unit: tc.unit}}}
		table.Add("", "list p50", document.Cell{Range: &document.Range{
			Low: tc.low, Quarter: 0.95, Typical: max(tc.low, 0.1), ThreeQuarters: 1.05, High: tc.high, Mean: 1,
		}})
		var b strings.Builder
		if err := Document(&b, &document.Document{Sections: []document.Section{{ID: "load", Table: table}}}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		less, more, ends := strings.Contains(got, "10h-14"), strings.Contains(got, "10h14"), strings.Contains(got, `y1="5" y2="15"`)
		if less != tc.less || more != tc.more || ends != tc.ends {
			t.Errorf("%g to %g %s: arrows %t, %t, an end %t", tc.low, tc.high, tc.unit, less, more, ends)
		}
		for _, m := range regexp.MustCompile(`(?: c?x[12]?="|[MH])(-?[0-9.]+)`).FindAllStringSubmatch(got, -1) {
			if x, err := strconv.ParseFloat(m[1], 64); err != nil || x < 0 || x > 300 {
				t.Errorf("%g to %g %s: a part is at %s", tc.low, tc.high, tc.unit, m[1])
			}
		}
	}
}
