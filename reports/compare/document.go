package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Document is the comparison as a report: the verdict, the number of metrics with each verdict, the whole load, the
// metrics that changed, the worst first, the first 20 inconclusive ones, and folded all others.
func (c *Comparison) Document() *document.Document {
	section := func(id, title string) document.Section {
		return document.Section{ID: id, Title: title, Table: &document.Table{Columns: []document.Column{
			{Left: true},
			{Title: "base"},
			{Title: "new"},
			{Title: "ratio"},
			{Title: "interval", Rank: 1},
			{Title: "limit", Rank: 2},
			{Title: "verdict", Left: true},
		}}}
	}
	load, changed := section("load", "Whole load"), section("changed", "Changed")
	open, rest := section("inconclusive", "Inconclusive"), section("rest", "All other metrics")
	rest.Fold = true
	rates := map[string]bool{}
	for _, f := range c.sorted {
		to, differs := &rest, f.Verdict == Worse || f.Verdict == Better
		switch {
		case f.Measure.load:
			to = &load
		case differs:
			to = &changed
		case f.Verdict == CannotTell && f.Low != nil && len(open.Table.Rows) < 20:
			to = &open
		}
		// All operations of a closed loop have one ratio of rates, which is shown once.
		if f.Name == "rate" && f.Ratio != nil {
			rate := fmt.Sprintf("%s %s %.3f", to.ID, f.cell.Subject, *f.Ratio)
			if rates[rate] {
				to = &rest
			}
			rates[rate] = true
		}
		f.addTo(to.Table)
	}
	verdict := document.Section{ID: "verdict"}
	c.headline(&verdict)
	notes := document.Section{ID: "legend"}
	notes.Note(document.Faint, "", "ratio: new/base of means over the trials, outliers damped; interval: the true ratio is in it, 95% sure "+
		"for all metrics at once; exact: without chance; limit: smaller differences do not matter; a change: the interval "+
		"excludes 1 (in sequential runs by the limit and 2 deviations of trials) and the ratio differs by over the limit; "+
		"typical: the p50 of each operation, weighted by its share of the load; needs N trials: inconclusive, about N of "+
		fmt.Sprintf("each side would decide; too noisy: even %d this short would not", mostTrials))
	notes.Note(document.Plain, "All metrics", "mailbench compare "+shellquote.Join(c.Base.Name, c.New.Name)+" --all")
	sections := []document.Section{verdict, load, changed, open, notes, rest}
	sections = slices.DeleteFunc(sections, func(s document.Section) bool {
		return s.Table != nil && len(s.Table.Rows) == 0
	})
	return &document.Document{Title: c.New.Name + " against " + c.Base.Name, Facts: c.facts(), Sections: sections}
}

// facts are the version of each build and when it ran, and how trials were compared.
func (c *Comparison) facts() (facts []string) {
	for side, b := range []Build{c.Base, c.New} {
		commit := b.Commit[:min(12, len(b.Commit))]
		if b.Dirty {
			commit += ", changed"
		}
		facts = append(facts, fmt.Sprintf("%s: %s, mailbench %s (%s), %s, %s, %s", sides[side], b.Name, b.Version,
			cmp.Or(commit, "commit unknown"), b.Go, b.Started, words.Plural(b.Runs, "run")))
	}
	base, fresh := 0, 0
	for _, cell := range c.Cells {
		base, fresh = max(base, cell.BaseCount), max(fresh, cell.NewCount)
	}
	how := "sequential runs: changes of the machine between them are in the ratios (compare --run interleaves them)"
	if c.Interleaved {
		how = "interleaved"
	}
	return append(facts, fmt.Sprintf("trials: %d of base, %d of new, %s", base, fresh, how))
}

// headline says what to read first: the verdict, what to do next, the notes, and how many metrics have each verdict.
func (c *Comparison) headline(s *document.Section) {
	style := document.Strong
	if len(c.Regressions) > 0 {
		style = document.Bad
	}
	s.Say(style, "", c.conclusion())
	next, trials := c.next()
	s.Say(document.Plain, "Next", next)
	if trials > 0 {
		s.Say(document.Command, "", fmt.Sprintf("mailbench compare --base bin/old --new bin/new --trials %d --run %s", trials,
			shellquote.Join("--from "+shellquote.Join(c.folder))))
	}
	if len(c.Forced) > 0 {
		s.Say(document.Bad, "Forced", "the runs differ in more than the build, so ratios may be caused by that: "+
			strings.Join(c.Forced, "; "))
	}
	for _, n := range c.Notes {
		s.Say(document.Plain, "Note", n)
	}
	var remarks [][2]string // phase and note
	for _, cell := range c.Cells {
		for _, note := range cell.Notes {
			remarks = append(remarks, [2]string{cell.Subject.String(), note})
		}
	}
	for _, same := range results.Grouped(remarks, func(r [2]string) string { return r[1] }) {
		lead, note := same[0][0], same[0][1]
		if len(same) > 1 {
			lead = fmt.Sprintf("%d of %d phases", len(same), len(c.Cells))
		}
		s.Say(document.Plain, lead, note)
	}
	counts := map[Verdict]int{}
	var unclear []*Figure // without an interval
	for _, f := range c.sorted {
		if counts[f.Verdict]++; f.Verdict == CannotTell && f.Low == nil {
			unclear = append(unclear, f)
		}
	}
	s.Say(document.Plain, "Metrics", fmt.Sprintf("%s, %s, %d unchanged, %d inconclusive",
		words.Plural(counts[Worse], "regression"), words.Plural(counts[Better], "improvement"),
		counts[Same], counts[CannotTell]))
	for _, same := range results.Grouped(unclear, func(f *Figure) string { return f.Why }) {
		s.Say(document.Warn, "Inconclusive", words.Plural(len(same), "metric")+": "+same[0].Why)
	}
}

// failing are the figures of Regressions, the worst first.
func (c *Comparison) failing() []*Figure {
	return slices.DeleteFunc(slices.Clone(c.sorted), func(f *Figure) bool {
		return !slices.Contains(c.Regressions, f.String())
	})
}

// conclusion is the verdict, with the worst regression, or with how large one could be that was not found.
func (c *Comparison) conclusion() string {
	if n := len(c.Regressions); n > 0 {
		worst := c.Regressions[0] // a phase that failed
		if failing := c.failing(); len(failing) > 0 {
			f := failing[0]
			values, sure := f.Measure.Text(*f.Base)+" to "+f.Measure.Text(*f.New), ""
			if f.Exact {
				sure = ", exact"
			} else if f.Low != nil {
				sure = fmt.Sprintf("; %s to %s with 95%% confidence", percent(*f.Low), percent(*f.High))
			}
			if worst = f.String() + " " + values; f.Ratio != nil {
				worst = fmt.Sprintf("%s %s (%s%s)", f, percent(*f.Ratio), values, sure)
			}
		}
		return fmt.Sprintf("REGRESSION (%d). Worst: %s.", n, worst)
	}
	var hidden *Figure // the largest slowdown that the trials do not exclude
	few, inconclusive := false, slices.ContainsFunc(c.Cells, func(c *Cell) bool { return c.Why != "" })
	for _, f := range c.sorted {
		open := f.Verdict == CannotTell
		inconclusive = inconclusive || open
		switch {
		case !open || f.Name != "typical":
		case f.High == nil:
			few = true
		case *f.High > 1+f.Limit && (hidden == nil || *f.High > *hidden.High):
			hidden = f
		}
	}
	none := "no regression"
	if len(c.sorted) > 0 && c.sorted[0].Verdict == Worse {
		none = "no confirmed regression in the metrics of --threshold"
	}
	switch {
	case few:
		return "INCONCLUSIVE: " + none + ", but latency has too few trials to show one."
	case hidden != nil:
		return fmt.Sprintf("INCONCLUSIVE: %s, but noise could hide up to %s in the typical latency of %s.", none,
			percent(*hidden.High), hidden.cell.Subject)
	case inconclusive:
		none += ", but some metrics are inconclusive"
	}
	return "N" + none[1:] + "."
}

// percent writes a ratio as a difference, such as +12%.
func percent(ratio float64) string { return fmt.Sprintf("%+.0f%%", 100*(ratio-1)) }

// How many trials are usual to compare two builds, how many on a busy machine, and from how many on longer ones are
// better.
const usualTrials, busyTrials, mostTrials = 10, 20, 50

// next says what to do, and how many interleaved trials it takes; 0: none.
func (c *Comparison) next() (text string, trials int) {
	failing := c.failing()
	switch {
	case !c.Interleaved && slices.ContainsFunc(failing, func(f *Figure) bool { return f.Measure.Timed() }):
		return "these runs were sequential: confirm the latency with interleaved trials:", usualTrials
	case len(failing) > 0 && failing[0].Ratio != nil:
		f, gates := failing[0], strings.Join(results.Distinct(c.options.Gates, Gate.String), ",")
		accepted := 10*math.Floor(10*math.Expm1(math.Abs(math.Log(*f.Ratio)))) + 10
		return fmt.Sprintf("find the cause, or accept the change with --threshold '%s,%s/%s/%s.%s:%.0f%%'", gates, f.cell.Model,
			f.cell.Engine, f.Op, f.Name, accepted), 0
	case len(c.Regressions) > 0:
		return "find the cause", 0
	}
	n := 0 // trials that would decide the typical latencies
	for _, f := range c.sorted {
		if f.Name == "typical" && f.Verdict == CannotTell {
			n = max(n, f.Needed)
		}
	}
	switch {
	case n > mostTrials:
		return fmt.Sprintf("even %d trials this short would not decide. Use a quiet machine, or longer ones (add "+
			"--set phases.PHASE.duration=30s):", mostTrials), busyTrials
	case n > 0:
		n = max(n, usualTrials)
		return fmt.Sprintf("run about %d interleaved trials of each build:", n), n
	}
	return "", 0
}

// addTo adds the metric's row to a table.
func (f *Figure) addTo(t *document.Table) {
	value := func(v *float64, text func(float64) string) string {
		if v == nil {
			return "-"
		}
		return text(*v)
	}
	name, interval := f.Op+" "+f.Name, ""
	if f.Measure.load {
		name = f.Name
	}
	if f.Exact {
		interval = "exact"
	} else if f.Low != nil {
		interval = fmt.Sprintf("%.2f to %.2f", *f.Low, *f.High)
	}
	verdict := document.Cell{Text: string(f.Verdict)}
	switch { // or how many trials it would take to decide
	case f.Verdict == Worse && f.Gate:
		verdict = document.Styled("REGRESSION", document.Bad)
	case f.Verdict == Worse:
		verdict.Text = "regression, does not fail"
	case f.Needed > mostTrials:
		verdict.Text = "too noisy"
	case f.Needed > 0:
		verdict.Text = fmt.Sprintf("needs %d trials", f.Needed)
	}
	t.Add(f.cell.Subject.String(), name, value(f.Base, f.Measure.Text), value(f.New, f.Measure.Text),
		value(f.Ratio, func(v float64) string { return fmt.Sprintf("%.3f", v) }), interval,
		strconv.FormatFloat(math.Round(1e4*f.Limit)/100, 'g', -1, 64)+"%", verdict)
}
