package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
)

// sameBuild is the note on a build that was compared with itself. It is above the verdict.
const sameBuild = "base and new are the same build; any difference is chance or the machine"

// headline says what to read first: the verdict with its exit status, what to do next, and the notes. All are the
// figures, the worst first.
func (c *Comparison) headline(s *document.Section, all []*Figure) {
	if slices.Contains(c.Notes, sameBuild) {
		s.Say(document.Warn, "Note", sameBuild)
	}
	style := document.Strong
	if len(c.Regressions) > 0 {
		style = document.Bad
	}
	s.Say(style, "", c.conclusion(all))
	next, command := c.next(all)
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
	var notes []string
	of := map[string][]string{} // phases by note
	for _, cell := range c.Cells {
		about := cell.Notes
		if cell.Why != "" {
			about = append([]string{"not compared: " + cell.Why}, about...)
		}
		for _, note := range about {
			if longer && note == shortTrials {
				continue // it is the advice
			}
			if of[note] == nil {
				notes = append(notes, note)
			}
			of[note] = append(of[note], cell.Subject.String())
		}
	}
	for _, note := range notes {
		lead := strings.Join(of[note], ", ")
		if n := len(of[note]); n > 2 {
			lead = fmt.Sprintf("%d of %d phases", n, len(c.Cells))
		}
		s.Say(document.Plain, lead, note)
	}
}

// conclusion is the verdict, with the worst regression, or with how large one could be that was not found.
func (c *Comparison) conclusion(all []*Figure) string {
	if n := len(c.Regressions); n > 0 {
		status := "3"
		if c.noFail {
			status = "0 (--no-fail)"
		}
		worst := c.Regressions[0]
		if i := slices.IndexFunc(all, c.fails); i >= 0 {
			worst = all[i].String() + " " + all[i].change()
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
	text := "No regression."
	switch {
	case few:
		text = "INCONCLUSIVE: no regression found, but latency has too few trials to show one."
	case hidden != nil:
		text = fmt.Sprintf("INCONCLUSIVE: no regression found, but noise could hide up to %s in the typical latency of %s.",
			percent(*hidden.High), hidden.cell.Subject)
	case len(all) > 0 && all[0].Verdict == Worse && !all[0].Gate:
		text = "No regression in the metrics of --threshold."
	case len(all) > 0 && all[0].Verdict == Worse:
		text = "No confirmed regression."
	case inconclusive:
		text = "No regression found, but some metrics are inconclusive."
	}
	return text + " Exit status: 0."
}

// fails reports whether the figure is a regression that fails the comparison.
func (c *Comparison) fails(f *Figure) bool { return slices.Contains(c.Regressions, f.String()) }

// String names the figure as Regressions do.
func (f *Figure) String() string {
	return f.cell.Subject.String() + " " + f.Operation.String() + "." + f.Name
}

// change is by how much the figure changed, and how certain that is.
func (f *Figure) change() string {
	s := f.kind.Text(*f.Base) + " to " + f.kind.Text(*f.New)
	switch {
	case f.Ratio == nil:
		return s
	case f.Exact:
		s += ", exact"
	case f.Low != nil && f.High != nil:
		s += fmt.Sprintf("; %s to %s with 95%% confidence", percent(*f.Low), percent(*f.High))
	}
	return percent(*f.Ratio) + " (" + s + ")"
}

// percent writes a ratio as a difference, such as +12%.
func percent(ratio float64) string { return fmt.Sprintf("%+.0f%%", 100*(ratio-1)) }

// How many trials are usual to compare two builds, how many on a busy machine, and from how many on longer ones are
// better.
const usualTrials, busyTrials, mostTrials = 10, 20, 50

// next says what to do, with the lines of a command for it.
func (c *Comparison) next(all []*Figure) (text string, command []string) {
	if i := slices.IndexFunc(all, c.fails); i >= 0 {
		f := all[i]
		doubtful := func(f *Figure) bool { return f.kind.Timed() && c.fails(f) }
		if !c.Interleaved && slices.ContainsFunc(all, doubtful) {
			return "these runs were sequential: confirm the latency with interleaved trials:", c.again([]*Figure{f}, usualTrials)
		}
		text = "find the cause"
		if f.Ratio != nil {
			accepted := 10*math.Floor(10*math.Expm1(math.Abs(math.Log(*f.Ratio)))) + 10
			text += fmt.Sprintf(", or accept the change with --threshold '*,%s/%s/%s.%s:%.0f%%'", f.cell.Model, f.cell.Engine,
				f.Operation, f.Name, accepted)
		}
		return text, nil
	}
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
	if len(open) == 0 {
		open = others
	}
	if len(open) == 0 {
		return "", nil
	}
	most := slices.MaxFunc(open, func(a, b *Figure) int { return a.Needed - b.Needed })
	if most.Needed > mostTrials {
		return fmt.Sprintf("even %d trials of this length would not decide. Use a quiet machine, or longer trials:", mostTrials),
			c.again(open, busyTrials)
	}
	need := max(most.Needed, usualTrials)
	return fmt.Sprintf("run about %d interleaved trials of each build, which decide %s:", need, words.Plural(len(open), "metric")),
		c.again(open, need)
}

// again is the command that compares the builds again, with longer trials in phases that need them for one of the
// figures. If the command of the runs is not known, it names the models and engines of the figures: more than two
// models are nearly always all of the workload.
func (c *Comparison) again(of []*Figure, trials int) []string {
	names := func(name func(f *Figure) string) (all []string) {
		for _, f := range of {
			if n := name(f); n != "" && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
		return all
	}
	run := c.turns
	if run == (Turns{}) {
		run = Turns{c.New.workload, "bin/old", "bin/new"}
		if models := names(func(f *Figure) string { return f.cell.Model }); len(models) < 3 {
			run.Workload += " -m " + strings.Join(models, ",")
		}
		if e := strings.Join(names(func(f *Figure) string { return f.cell.Engine }), ","); e != "embedded" {
			run.Workload += " -e " + e
		}
	}
	short := func(f *Figure) string {
		if f.Needed > mostTrials {
			return f.cell.Phase
		}
		return ""
	}
	for _, phase := range names(short) {
		run.Workload += fmt.Sprintf(" --set phases.%s.duration=%ds", phase, 3*longTrial)
	}
	return []string{
		"mailbench compare --base " + shellquote.Join(run.Base) + " --new " + shellquote.Join(run.New) +
			fmt.Sprintf(" --trials %d \\", trials),
		"  --run " + shellquote.Join(run.Workload),
	}
}
