package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Document is the comparison as a report: the verdict, the number of metrics with each verdict, the whole load, the
// metrics that changed, the worst first, the inconclusive ones, and folded all others.
func (c *Comparison) Document() *document.Document {
	sorted, failing := c.sorted()
	columns := slices.Clone(columns)
	if !c.Interleaved {
		columns[len(columns)-1].Help = "a change if the interval is beyond the limit and 2 deviations of trials"
	}
	section := func(id, title string) document.Section {
		return document.Section{ID: id, Title: title, Table: &document.Table{Columns: columns}}
	}
	load, changed := section("load", "Whole load"), section("changed", "Changed")
	open, rest := section("inconclusive", "Inconclusive"), section("rest", "All other metrics")
	alike := 0 // rates of a closed loop: all operations have one, which is shown once
	for _, f := range sorted {
		row := document.Row{Group: f.cell.Subject.String(), Cells: f.cells()}
		sameRate := func(r document.Row) bool {
			return r.Group == row.Group && strings.HasSuffix(r.Cells[0].Text, " rate") && r.Cells[3].Text == row.Cells[3].Text
		}
		to, differs := &rest, f.Verdict == Worse || f.Verdict == Better
		switch {
		case f.Measure.scope == ofLoad && (differs || f.Name == "typical" || f.Name == "p99"):
			to = &load
		case f.Measure.scope == ofLoad:
		case differs:
			to = &changed
		case f.Verdict == CannotTell && f.Low != nil:
			to = &open
		}
		if f.Name == "rate" && to != &rest && slices.ContainsFunc(to.Table.Rows, sameRate) {
			if differs {
				alike++
			}
			to = &rest
		}
		to.Table.Rows = append(to.Table.Rows, row)
	}
	if alike > 0 {
		changed.Note(document.Plain, "", fmt.Sprintf("rates of one loop go together: %d more have a ratio that is shown above", alike))
	}
	open.Fold, rest.Fold = len(open.Table.Rows) > mostOpen, true
	verdict := document.Section{ID: "verdict"}
	c.headline(&verdict, sorted, failing)
	overview(sorted, &verdict, &rest)
	sections := []document.Section{verdict, load, changed, open, rest}
	if open.Fold {
		sections = slices.Insert(sections, 3, c.operations())
	}
	sections = slices.DeleteFunc(sections, func(s document.Section) bool { return len(s.Table.Rows)+len(s.Notes) == 0 })
	shown := slices.DeleteFunc(slices.Clone(sections), func(s document.Section) bool { return s.Fold })
	last := &sections[len(shown)-1] // folded ones are the last
	last.Notes = append(last.Notes, legend(shown)...)
	last.Note(document.Plain, "All metrics", "mailbench compare "+shellquote.Join(c.Base.Name, c.New.Name)+" --all")
	return &document.Document{Title: c.New.Name + " against " + c.Base.Name, Facts: c.facts(), Sections: sections}
}

// facts are the version of each build and when it ran, with its Go if they differ, how trials were compared, and what
// is equal on both sides.
func (c *Comparison) facts() []string {
	base, fresh := 0, 0
	for _, cell := range c.Cells {
		base, fresh = max(base, cell.BaseCount), max(fresh, cell.NewCount)
	}
	how := "sequential runs: changes of the machine between them are in the ratios (compare --run interleaves them)"
	switch {
	case c.Paired && base != fresh:
		how = "interleaved: compared in pairs; half a pair does not count"
	case c.Paired:
		how = "interleaved: compared in pairs"
	case c.Interleaved:
		how = "interleaved"
	}
	describe := func(b, other *Build) string {
		s := b.Name + ", mailbench " + b.Version
		if b.Commit != "" {
			s += " (" + b.Commit[:min(12, len(b.Commit))]
			if b.Dirty {
				s += ", changed"
			}
			s += ")"
		}
		if b.Go != other.Go {
			s += ", " + b.Go
		}
		s += ", " + b.Started
		if b.Runs > 1 {
			s += ", " + words.Plural(b.Runs, "run")
		}
		return s
	}
	facts := []string{
		"base: " + describe(&c.Base, &c.New), "new: " + describe(&c.New, &c.Base),
		fmt.Sprintf("trials: %d of base, %d of new, %s", base, fresh, how),
	}
	if len(c.Forced) == 0 {
		own, _ := properties(&results.Run{}) // every run has the same ones
		classes := results.Distinct(own, func(p property) string { return p.class })
		facts = append(facts, "both: the same "+words.List(classes))
	}
	return facts
}

// sameBuild is the note on a build that was compared with itself. It is above the verdict.
const sameBuild = "base and new are the same build; any difference is chance or the machine"

// headline says what to read first: the verdict with its exit status, what to do next, and the notes. All are the
// figures, the worst first.
func (c *Comparison) headline(s *document.Section, all, failing []*Figure) {
	if slices.Contains(c.Notes, sameBuild) {
		s.Say(document.Warn, "Note", sameBuild)
	}
	style := document.Strong
	if len(c.Regressions) > 0 {
		style = document.Bad
	}
	s.Say(style, "", c.conclusion(all, failing))
	next, command := c.next(all, failing)
	s.Say(document.Plain, "Next", next)
	longer := strings.Contains(next, "longer trials")
	for _, line := range command {
		s.Say(document.Command, "", line)
	}
	if len(c.Forced) > 0 {
		s.Say(document.Bad, "Forced", "the runs differ in more than the build, so ratios may be caused by that: "+
			strings.Join(c.Forced, "; "))
	}
	for _, n := range c.Notes {
		if n != sameBuild {
			s.Say(document.Plain, "Note", n)
		}
	}
	type remark struct{ phase, note string }
	var remarks []remark
	for _, cell := range c.Cells {
		if cell.Why != "" {
			remarks = append(remarks, remark{cell.Subject.String(), "not compared: " + cell.Why})
		}
		for _, note := range cell.Notes {
			if !longer || note != shortTrials { // else it is the advice
				remarks = append(remarks, remark{cell.Subject.String(), note})
			}
		}
	}
	for _, same := range results.Grouped(remarks, func(r remark) string { return r.note }) {
		lead := same[0].phase
		if n := len(same); n == 2 {
			lead += ", " + same[1].phase
		} else if n > 2 {
			lead = fmt.Sprintf("%d of %d phases", n, len(c.Cells))
		}
		s.Say(document.Plain, lead, same[0].note)
	}
}

// conclusion is the verdict, with the worst regression, or with how large one could be that was not found.
func (c *Comparison) conclusion(all, failing []*Figure) string {
	if n := len(c.Regressions); n > 0 {
		status := "3"
		if c.options.NoFail {
			status = "0 (--no-fail)"
		}
		worst := c.Regressions[0]
		if len(failing) > 0 {
			f, how := failing[0], ""
			switch {
			case f.Exact:
				how = ", exact"
			case f.Low != nil && f.High != nil:
				how = fmt.Sprintf("; %s to %s with 95%% confidence", percent(*f.Low), percent(*f.High))
			}
			change := f.Measure.Text(*f.Base) + " to " + f.Measure.Text(*f.New)
			if f.Ratio != nil {
				change = percent(*f.Ratio) + " (" + change + how + ")"
			}
			worst = f.String() + " " + change
		}
		times := slices.DeleteFunc(slices.Clone(all), func(f *Figure) bool { return !f.Measure.Timed() })
		if len(times) > 0 && !slices.ContainsFunc(times, func(f *Figure) bool { return f.Verdict != CannotTell }) {
			worst += ". Latencies and rates: all inconclusive"
		}
		return fmt.Sprintf("REGRESSION (%d). Worst: %s. Exit status: %s.", n, worst, status)
	}
	var hidden *Figure // the largest slowdown that the trials do not exclude
	few, inconclusive := false, slices.ContainsFunc(c.Cells, func(c *Cell) bool { return c.Why != "" })
	for _, f := range all {
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
	none, worse := "regression", len(all) > 0 && all[0].Verdict == Worse
	switch {
	case worse && !all[0].Gate:
		none = "regression in the metrics of --threshold"
	case worse:
		none = "confirmed regression"
	case few || inconclusive:
		none = "regression found"
	}
	text := "No " + none + "."
	switch {
	case few:
		text = fmt.Sprintf("INCONCLUSIVE: no %s, but latency has too few trials to show one.", none)
	case hidden != nil:
		text = fmt.Sprintf("INCONCLUSIVE: no %s, but noise could hide up to %s in the typical latency of %s.", none,
			percent(*hidden.High), hidden.cell.Subject)
	case inconclusive && !worse:
		text = "No regression found, but some metrics are inconclusive."
	}
	return text + " Exit status: 0."
}

// percent writes a ratio as a difference, such as +12%.
func percent(ratio float64) string { return fmt.Sprintf("%+.0f%%", 100*(ratio-1)) }

// How many trials are usual to compare two builds, how many on a busy machine, and from how many on longer ones are
// better.
const usualTrials, busyTrials, mostTrials = 10, 20, 50

// next says what to do, with the lines of a command for it.
func (c *Comparison) next(all, failing []*Figure) (text string, command []string) {
	var open, others []*Figure // without a verdict: typical latencies, and others that more trials would decide
	for _, f := range all {
		switch {
		case f.Verdict != CannotTell || f.Needed == 0:
		case f.Name == "typical":
			open = append(open, f)
		case f.Needed <= mostTrials:
			others = append(others, f)
		}
	}
	noisy := slices.ContainsFunc(open, func(f *Figure) bool { return f.Needed > mostTrials })
	text = "find the cause"
	if len(failing) > 0 {
		f := failing[0]
		if !c.Interleaved && slices.ContainsFunc(failing, func(f *Figure) bool { return f.Measure.Timed() }) {
			return "these runs were sequential: confirm the latency with interleaved trials:", c.again([]*Figure{f}, usualTrials)
		}
		if f.Ratio != nil {
			accepted := 10*math.Floor(10*math.Expm1(math.Abs(math.Log(*f.Ratio)))) + 10
			gates := strings.Join(results.Distinct(c.options.Gates, func(g Gate) string { return g.text }), ",")
			text += fmt.Sprintf(", or accept the change with --threshold '%s,%s/%s/%s.%s:%.0f%%'", gates, f.cell.Model, f.cell.Engine,
				f.Operation, f.Name, accepted)
			if gates == "*" {
				text += " (in all phases; *: all other limits stay)"
			}
			if len(c.Regressions) > 1 {
				text += ", and the others likewise after commas"
			}
		}
		if noisy {
			return text + ". For the latencies run longer trials of your builds:", c.again(open, usualTrials)
		}
		return text, nil
	}
	if len(c.Regressions) > 0 { // a phase that failed
		return text, nil
	}
	if len(open) == 0 {
		open = others
	}
	if len(open) == 0 {
		return "", nil
	}
	if noisy {
		return fmt.Sprintf("even %d trials this short would not decide. Use a quiet machine, or %d longer ones of your builds:", mostTrials, busyTrials),
			c.again(open, busyTrials)
	}
	need := usualTrials
	for _, f := range open {
		need = max(need, f.Needed)
	}
	return fmt.Sprintf("run about %d interleaved trials of each build, which decide %s:", need, words.Plural(len(open), "metric")),
		c.again(open, need)
}

// again is the command that compares the builds again, with longer trials in phases that need them for one of the
// figures. If the command of the runs is not known, it names the models and engines of the figures: more than two
// models are nearly always all of the workload.
func (c *Comparison) again(of []*Figure, trials int) []string {
	run := c.options.Turns
	if run == (Turns{}) {
		run = Turns{c.New.workload, "bin/old", "bin/new"}
		if models := results.Distinct(of, func(f *Figure) string { return f.cell.Model }); len(models) < 3 {
			run.Workload += " -m " + strings.Join(models, ",")
		}
		engines := results.Distinct(of, func(f *Figure) string { return f.cell.Engine })
		if e := strings.Join(engines, ","); e != "embedded" {
			run.Workload += " -e " + e
		}
	}
	short := slices.DeleteFunc(slices.Clone(of), func(f *Figure) bool { return f.Needed <= mostTrials })
	for _, phase := range results.Distinct(short, func(f *Figure) string { return f.cell.phase }) {
		run.Workload += fmt.Sprintf(" --set phases.%s.duration=%ds", phase, 3*longTrial)
	}
	return []string{
		"mailbench compare --base " + shellquote.Join(run.Base) + " --new " + shellquote.Join(run.New) +
			fmt.Sprintf(" --trials %d \\", trials),
		"  --run " + shellquote.Join(run.Workload),
	}
}
