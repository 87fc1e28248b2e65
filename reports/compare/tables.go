package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// mostOpen is how many inconclusive metrics are not folded.
const mostOpen = 20

// mostOperations is how many operations of a phase are shown where too many metrics are inconclusive to show all.
const mostOperations = 5

// operations are the p50 and p99 of the most frequent operations, in the phases that have a rate.
func (c *Comparison) operations() document.Section {
	t := &document.Table{Columns: []document.Column{
		{Left: true},
		{Group: "p50", Title: "base"},
		{Group: "p50", Title: "new"},
		{Group: "p50", Title: "ratio"},
		{Group: "p99", Title: "base"},
		{Group: "p99", Title: "new"},
		{Group: "p99", Title: "ratio"},
	}}
	section := document.Section{ID: "operations", Title: "Operation", Table: t}
	verdicts := map[Verdict]bool{}
	for _, cell := range c.Cells {
		if cell.Load != "open" {
			continue
		}
		rows := map[Operation][]document.Cell{}
		for i := range cell.Figures {
			f := &cell.Figures[i]
			at := map[string]int{"p50": 1, "p99": 4}[f.Name]
			if f.Measure.scope != ofOperation || at == 0 {
				continue
			}
			if rows[f.Operation] == nil {
				if len(rows) == mostOperations {
					break
				}
				rows[f.Operation] = t.Add(cell.Subject.String(), f.Operation, "-", "-", "-", "-", "-", "-").Cells
			}
			copy(rows[f.Operation][at:], f.cells()[1:4])
			verdicts[f.Verdict] = true
		}
	}
	if len(t.Rows) == 0 {
		return section
	}
	said := "all inconclusive"
	switch {
	case verdicts[Worse] || verdicts[Better]:
		said = "changes are under CHANGED, all others inconclusive or unchanged"
	case verdicts[Same]:
		said = "inconclusive or unchanged"
	}
	section.Note(document.Plain, "", "latency of the most frequent operations in phases with a rate: "+said)
	if t.Has("-") {
		section.Note(document.Plain, "", "-: too few operations for this percentile")
	}
	return section
}

// columns are those of all tables of metrics.
var columns = []document.Column{
	{Left: true},
	{Title: "base"},
	{Title: "new"},
	{Title: "ratio", Help: "new/base, of means over the trials, outliers damped"},
	{
		Page: true, Left: true, Title: "ratio and interval",
		Help: "line: the interval of the ratio; box: within the limit; dot: the ratio; diamond: equal; arrow: " +
			"beyond the axis",
	},
	{Title: "interval", Rank: 1, Help: "the true ratio is in it: 95% sure for all metrics at once"},
	{Title: "limit", Rank: 2, Help: "smaller differences do not matter"},
	{Title: "verdict", Left: true, Help: "a change if the interval excludes 1 and the ratio differs by over the limit"},
}

// legend has the help of columns and cells, each once.
func legend(tables []document.Section) (all []document.Sentence) {
	add := func(term, help string) {
		if help != "" && !slices.ContainsFunc(all, func(s document.Sentence) bool { return s.Text == help }) {
			all = append(all, document.Sentence{Lead: term, Text: help, Style: document.Faint})
		}
	}
	for _, s := range tables {
		for _, c := range s.Table.Columns {
			if !c.Page {
				add(c.Title, c.Help)
			}
		}
		for _, r := range s.Table.Rows {
			for _, c := range r.Cells {
				add(c.Text, c.Help)
			}
		}
	}
	return all
}

// overview counts the verdicts, of metrics that vary and of counters. It says why metrics without an interval are
// inconclusive; the folded rest names them.
func overview(all []*Figure, verdict, rest *document.Section) {
	const ofClock, ofRequests, ofOthers = "latency, rates", "requests", "other counters" // classes of metrics
	t := &document.Table{Columns: []document.Column{
		{Title: "metrics", Left: true},
		{Title: string(Worse)},
		{Title: string(Better)},
		{Title: string(Same)},
		{Title: string(CannotTell)},
	}}
	counts := map[string]map[Verdict]int{ofClock: {}, ofRequests: {}, ofOthers: {}}
	for _, f := range all {
		class := ofOthers
		switch {
		case f.Measure.Timed():
			class = ofClock
		case f.Name == ofRequests:
			class = ofRequests
		}
		counts[class][f.Verdict]++
	}
	for _, class := range []string{ofClock, ofRequests, ofOthers} {
		of := counts[class]
		row := t.Add("", class, of[Worse], of[Better], of[Same], of[CannotTell])
		row.Cells[0].Help = map[string]string{
			ofClock:  "those of the whole load, and p50, p99 and others of each operation",
			ofOthers: "rows scanned; rows and bytes, those read plus those written; errors",
		}[class]
	}
	verdict.Table = t
	decided := func(f *Figure) bool { return f.Verdict != CannotTell || f.Low != nil }
	unclear := slices.DeleteFunc(slices.Clone(all), decided)
	for _, same := range results.Grouped(unclear, func(f *Figure) string { return f.Why }) {
		noun, names, requests := "counter", []string(nil), []*Figure(nil)
		for _, f := range same {
			if f.Measure.Timed() {
				noun = "metric"
			}
			if names = append(names, f.String()); f.Name == ofRequests {
				requests = append(requests, f)
			}
		}
		which := words.Plural(len(same), noun)
		if n := len(requests); n > 0 && n < len(same) {
			operations := results.Distinct(requests, func(f *Figure) string { return f.cell.Model + " " + f.Operation.String() })
			which += fmt.Sprintf(" (requests of %s; %d others)", words.List(operations), len(same)-n)
		}
		verdict.Say(document.Warn, "Inconclusive", which+": "+same[0].Why)
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
	name := document.Cell{Text: f.Operation.String() + " " + f.Name}
	var interval document.Cell
	var drawn *document.Range
	if r := f.Ratio; r != nil && *r > 0 { // the box is within the limit
		drawn = &document.Range{
			Low: *r, Quarter: 1 / (1 + f.Limit), Typical: *r, ThreeQuarters: 1 + f.Limit, High: *r, Mean: 1,
		}
		if low, high, ok := f.interval(); ok {
			drawn.Low, drawn.High, interval.Text = low, high, bound(low)+" to "+bound(high)
		}
	}
	if f.Exact {
		interval = document.Cell{Text: "exact", Help: "chance has no part in the difference"}
	}
	if f.Measure.scope == ofLoad {
		name.Text = f.Name
	}
	switch {
	case f.Name == "typical":
		name.Help = "the p50 of each operation, weighted by its share of the load"
	case f.Name == "p99" && f.Measure.scope == ofLoad:
		name.Help = "the 99th percentile of all operations"
	}
	return []document.Cell{
		name,
		{Text: value(f.Base, f.Measure.Text)},
		{Text: value(f.New, f.Measure.Text)},
		{Text: value(f.Ratio, func(v float64) string { return fmt.Sprintf("%.3f", v) })},
		{Range: drawn},
		interval,
		{Text: strconv.FormatFloat(math.Round(1e4*f.Limit)/100, 'g', -1, 64) + "%"},
		f.said(),
	}
}

// interval has the bounds of the ratio. A counter that differs has them if they are finite.
func (f *Figure) interval() (low, high float64, ok bool) {
	switch e := &f.estimate; {
	case f.Low != nil && f.High != nil:
		return *f.Low, *f.High, true
	case f.Measure.Timed() || f.Verdict != Worse && f.Verdict != Better || math.IsInf(e.High, 0):
		return 0, 0, false
	default:
		return 1 + e.Low / *f.Base, 1 + e.High / *f.Base, true
	}
}

// said is the verdict, or how many trials it would take to decide.
func (f *Figure) said() document.Cell {
	c := document.Cell{Text: string(f.Verdict)}
	switch {
	case f.Verdict == Worse && f.Gate:
		c = document.Styled("REGRESSION", document.Bad)
	case f.Verdict == Worse:
		c.Text, c.Help = "regression, does not fail", "not in --threshold"
	case f.Needed > mostTrials:
		c.Text, c.Help = "too noisy", fmt.Sprintf("inconclusive; even %d trials this short would not decide", mostTrials)
	case f.Needed > 0:
		c.Text, c.Help = fmt.Sprintf("needs %d trials", f.Needed), "inconclusive; about as many trials of each side would decide"
	}
	return c
}
