package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// mostOpen is how many inconclusive metrics are not folded.
const mostOpen = 20

// columns are those of all tables of metrics.
var columns = []document.Column{
	{Left: true},
	{Title: "base"},
	{Title: "new"},
	{Title: "ratio"},
	{
		Page: true, Left: true, Title: "ratio and interval",
		Help: "line: the interval of the ratio; box: within the limit; dot: the ratio; diamond: equal; arrow: " +
			"beyond the axis",
	},
	{Title: "interval", Rank: 1},
	{Title: "limit", Rank: 2},
	{Title: "verdict", Left: true},
}

// legend has what columns mean, and cells that begin with a term.
var legend = []struct {
	term, text string
	always     bool
}{
	{"ratio", "new/base, of means over the trials, outliers damped", true},
	{"interval", "the true ratio is in it: 95% sure for all metrics at once", true},
	{"limit", "smaller differences do not matter", true},
	{"verdict", "a change if the interval excludes 1 (in sequential runs by the limit and 2 deviations of trials), and the ratio " +
		"differs by over the limit", true},
	{"typical", "the p50 of each operation, weighted by its share of the load", false},
	{"exact", "chance has no part in the difference", false},
	{"regression,", "not in --threshold", false},
	{"needs", "inconclusive; about as many trials of each side would decide", false},
	{"too noisy", fmt.Sprintf("inconclusive; even %d trials this short would not decide", mostTrials), false},
}

// overview counts the verdicts. It says why metrics without an interval are inconclusive; the folded rest names them.
func overview(all []*Figure, verdict, rest *document.Section) {
	counts := map[Verdict]int{}
	var unclear []*Figure
	for _, f := range all {
		counts[f.Verdict]++
		if f.Verdict == CannotTell && f.Low == nil {
			unclear = append(unclear, f)
		}
	}
	verdict.Say(document.Plain, "Metrics", fmt.Sprintf("%s, %s, %d unchanged, %d inconclusive",
		words.Plural(counts[Worse], "regression"), words.Plural(counts[Better], "improvement"),
		counts[Same], counts[CannotTell]))
	for _, same := range results.Grouped(unclear, func(f *Figure) string { return f.Why }) {
		names := results.Distinct(same, (*Figure).String)
		verdict.Say(document.Warn, "Inconclusive", words.Plural(len(same), "metric")+": "+same[0].Why)
		rest.Note(document.Plain, "Inconclusive", same[0].Why+": "+strings.Join(names, ", "))
	}
}

// cells are the cells of the metric's row.
func (f *Figure) cells() []document.Cell {
	value := func(v *float64, text func(float64) string) string {
		if v == nil {
			return "-"
		}
		return text(*v)
	}
	bound := func(v float64) string {
		if v >= 100 {
			return ">100"
		}
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	name, interval := f.Operation.String()+" "+f.Name, ""
	if f.Measure.scope == ofLoad {
		name = f.Name
	}
	var drawn *document.Range
	if r := f.Ratio; r != nil && *r > 0 { // the box is within the limit
		drawn = &document.Range{
			Low: *r, Quarter: 1 / (1 + f.Limit), Typical: *r, ThreeQuarters: 1 + f.Limit, High: *r, Mean: 1,
		}
		if f.Low != nil {
			drawn.Low, drawn.High, interval = *f.Low, *f.High, bound(*f.Low)+" to "+bound(*f.High)
		}
	}
	if f.Exact {
		interval = "exact"
	}
	return []document.Cell{
		{Text: name},
		{Text: value(f.Base, f.Measure.Text)},
		{Text: value(f.New, f.Measure.Text)},
		{Text: value(f.Ratio, func(v float64) string { return fmt.Sprintf("%.3f", v) })},
		{Range: drawn},
		{Text: interval},
		{Text: strconv.FormatFloat(math.Round(1e4*f.Limit)/100, 'g', -1, 64) + "%"},
		f.said(),
	}
}

// said is the verdict, or how many trials it would take to decide.
func (f *Figure) said() document.Cell {
	switch {
	case f.Verdict == Worse && f.Gate:
		return document.Styled("REGRESSION", document.Bad)
	case f.Verdict == Worse:
		return document.Cell{Text: "regression, does not fail"}
	case f.Needed > mostTrials:
		return document.Cell{Text: "too noisy"}
	case f.Needed > 0:
		return document.Cell{Text: fmt.Sprintf("needs %d trials", f.Needed)}
	}
	return document.Cell{Text: string(f.Verdict)}
}
