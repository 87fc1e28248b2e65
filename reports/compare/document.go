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
)

// Document is the comparison as a report: the verdict, the whole load, the metrics that changed, the worst
// first, those that are inconclusive, and folded all others.
func (c *Comparison) Document() *document.Document {
	d := &document.Document{
		Title: c.New.Name + " against " + c.Base.Name,
		Facts: []string{
			"base: " + c.Base.Describe(), "new: " + c.New.Describe(), "trials: " + c.trials(),
		},
	}
	verdict := document.Section{ID: "verdict"}
	style := document.Strong
	if len(c.Regressions) > 0 {
		style = document.Bad
	}
	verdict.Say(style, "", c.Conclusion())
	verdict.Say(document.Plain, "To decide", c.decide())
	for _, f := range c.Forced {
		verdict.Say(document.Bad, "Forced", "the runs differ in more than the build, so ratios may be caused by that: "+f)
	}
	for _, n := range c.Notes {
		verdict.Say(document.Plain, "Note", n)
	}
	who := map[string][]string{} // by note
	var notes []string
	for i := range c.Cells {
		cell := &c.Cells[i]
		for _, why := range append([]string{cell.Why}, cell.Notes...) {
			if who[why] == nil {
				notes = append(notes, why)
			}
			who[why] = append(who[why], cell.Subject.String())
		}
	}
	for _, why := range notes {
		lead := strings.Join(who[why], ", ")
		if n := len(who[why]); n > 2 {
			lead = fmt.Sprintf("%d of %d phases", n, len(c.Cells))
		}
		verdict.Say(document.Plain, lead, why)
	}
	load := section("load", "Whole load", "all operations together; typical is the p50 of each, weighted by its share")
	changed := section("changed", "Changed", "regressions, then improvements, the largest difference first")
	open := section("inconclusive", "Inconclusive", "the interval includes both no difference and one that matters")
	rest := section("rest", "All other metrics", "")
	rest.Fold = true
	unclear := map[string][]string{} // metrics by why they have no verdict and no interval
	var whys []string
	wide := 0                            // metrics without a verdict because of their interval
	rates, alike := map[string]bool{}, 0 // all operations of a closed loop have one rate, which is shown once
	for _, l := range c.lines() {
		to, interval := &rest, l.kind.Timed() && l.Low != nil
		switch {
		case l.kind.whole:
			to = &load
		case l.Verdict == Worse || l.Verdict == Better:
			to = &changed
		case l.Verdict == CannotTell && interval:
			to = &open
		}
		if l.Verdict == CannotTell && interval {
			wide++
		} else if l.Verdict == CannotTell && l.Why != "" {
			if unclear[l.Why] == nil {
				whys = append(whys, l.Why)
			}
			unclear[l.Why] = append(unclear[l.Why], l.cell.Model+" "+l.Operation.String()+" "+l.Name)
		}
		row := document.Row{Group: l.cell.Subject.String(), Cells: l.cells()}
		if l.kind.Name == "rate" && to != &rest {
			key := row.Group + row.Cells[3].Text + row.Cells[5].Text + l.said()
			if rates[key] {
				to, alike = &rest, alike+1
			}
			rates[key] = true
		}
		to.Table.Rows = append(to.Table.Rows, row)
	}
	if alike > 0 && len(changed.Table.Rows) > 0 {
		changed.Note(document.Plain, "", fmt.Sprintf("rates of one loop go together: %d more have a ratio that is shown above", alike))
	}
	if open.Fold = len(open.Table.Rows) > mostOpen; open.Fold {
		verdict.Say(document.Warn, "Inconclusive", fmt.Sprintf("%d metrics: %s", wide, open.Lead))
	}
	for _, why := range whys {
		verdict.Say(document.Warn, "Inconclusive", words.Plural(len(unclear[why]), "metric")+": "+why)
		rest.Note(document.Plain, "Inconclusive", why+": "+strings.Join(unclear[why], ", "))
	}
	d.Sections = []document.Section{verdict}
	for _, s := range []document.Section{load, changed, open, rest} {
		if len(s.Table.Rows)+len(s.Notes) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
	for i := range slices.Backward(d.Sections) {
		if s := &d.Sections[i]; !s.Fold {
			s.Note(document.Faint, "", c.legend())
			break
		}
	}
	return d
}

// mostOpen is how many inconclusive metrics are not folded.
const mostOpen = 20

func section(id, title, lead string) document.Section {
	return document.Section{ID: id, Title: title, Lead: lead, Table: &document.Table{Columns: []document.Column{
		{Left: true},
		{Title: "base"},
		{Title: "new"},
		{Title: "ratio", Help: "new divided by base"},
		{
			Page: true, Left: true, Title: "interval",
			Help: "line: the interval of the ratio; box: within the limit; dot: the ratio; diamond: equal",
		},
		{Title: "interval", Rank: 2, Help: "all intervals hold together with 95% confidence"},
		{Title: "limit", Rank: 1, Help: "the smallest difference that matters; in brackets, one that does not fail the comparison"},
		{Left: true, Title: "verdict"},
	}}}
}

// lines are the metrics of all cells that could be compared: those that a gate fails first, then those
// that are worse, then those that are better, the largest difference first, and then the others.
func (c *Comparison) lines() (all []*Figure) {
	for i := range c.Cells {
		for j := range c.Cells[i].Figures {
			if c.Cells[i].Why == "" {
				all = append(all, &c.Cells[i].Figures[j])
			}
		}
	}
	rank := func(l *Figure) (int, float64) {
		size := 0.0
		if l.Ratio != nil && *l.Ratio > 0 {
			size = -math.Abs(math.Log(*l.Ratio))
		}
		switch {
		case l.Verdict == Worse && l.Gate:
			return 0, size
		case l.Verdict == Worse:
			return 1, size
		case l.Verdict == Better:
			return 2, size
		}
		return 3, 0
	}
	slices.SortStableFunc(all, func(a, b *Figure) int {
		ra, sa := rank(a)
		rb, sb := rank(b)
		return cmp.Or(cmp.Compare(ra, rb), cmp.Compare(sa, sb))
	})
	return all
}

// cells are the cells of the metric's row.
func (f *Figure) cells() []document.Cell {
	value := func(v *float64, text func(float64) string) document.Cell {
		if v == nil {
			return document.Text("-")
		}
		return document.Text(text(*v))
	}
	interval, limit, verdict := "", strconv.FormatFloat(math.Round(1e4*f.Limit)/100, 'g', -1, 64)+"%", document.Text(f.said())
	if f.Ratio != nil && f.Low != nil && f.High != nil {
		interval = bound(*f.Low) + " to " + bound(*f.High)
	}
	if !f.Gate {
		limit = "(" + limit + ")"
	}
	if f.Verdict == Worse {
		verdict.Style = document.Bad
	}
	name := f.Name
	if !f.kind.whole {
		name = f.Operation.String() + " " + f.Name
	}
	ratio := value(f.Ratio, func(v float64) string { return fmt.Sprintf("%.3f", v) })
	return []document.Cell{
		document.Text(name), value(f.Base, f.kind.Text), value(f.New, f.kind.Text), ratio,
		{Range: f.drawn()},
		document.Text(interval), document.Text(limit), verdict,
	}
}

// drawn is the ratio as a range from a half to the double: the box is what is within the limit.
func (f *Figure) drawn() *document.Range {
	if f.Ratio == nil || *f.Ratio <= 0 {
		return nil
	}
	at := func(v float64) float64 { return min(2, max(0.5, v)) }
	r := &document.Range{Quarter: 1 / (1 + f.Limit), ThreeQuarters: 1 + f.Limit, Typical: at(*f.Ratio), Mean: 1}
	r.Low, r.High = r.Typical, r.Typical
	if f.Low != nil && f.High != nil {
		r.Low, r.High = at(*f.Low), at(*f.High)
	}
	return r
}

// Conclusion is the result of the comparison in one line.
func (c *Comparison) Conclusion() string {
	n, apart := map[Verdict]int{}, 0
	for _, cell := range c.Cells {
		if cell.Why != "" {
			apart++
		}
		for _, f := range cell.Figures {
			n[f.Verdict]++
		}
	}
	counts := fmt.Sprintf("%s, %s, %d unchanged, %d inconclusive", words.Plural(n[Worse], "regression"),
		words.Plural(n[Better], "improvement"), n[Same], n[CannotTell])
	if apart > 0 {
		counts += fmt.Sprintf("; %d of %d phases could not be compared", apart, len(c.Cells))
	}
	switch {
	case len(c.Regressions) > 0:
		return fmt.Sprintf("REGRESSION (%d). Metrics: %s.", len(c.Regressions), counts)
	case slices.ContainsFunc(c.lines(), func(l *Figure) bool {
		return l.kind.whole && l.Name == "typical" && l.Verdict == CannotTell
	}):
		return "INCONCLUSIVE: no regression found, but the latency of the whole load could hide one. Metrics: " + counts + "."
	case n[CannotTell]+apart > 0:
		return "No regression found, but some metrics are inconclusive. Metrics: " + counts + "."
	}
	return "No regression. Metrics: " + counts + "."
}

// decide is the command that is likely to decide what is inconclusive of the whole load: more trials, or longer ones if
// there would be too many.
func (c *Comparison) decide() string {
	need, longer := 0, "" // the first phase that needs longer trials
	var models, engines []string
	for _, l := range c.lines() {
		if !l.kind.whole || l.Verdict != CannotTell {
			continue
		}
		models, engines = append(models, l.cell.Model), append(engines, l.cell.Engine)
		if need = max(need, l.Needed); l.Needed > mostTrials {
			longer = cmp.Or(longer, l.cell.Phase)
		}
	}
	if need == 0 {
		return ""
	}
	workload, trials := c.New.workload, max(need, usualTrials)
	if m := unique(models); strings.Count(m, ",") < mostNamed {
		workload += " -m " + m
	}
	if e := unique(engines); e != "embedded" {
		workload += " -e " + e
	}
	if longer != "" {
		workload, trials = fmt.Sprintf("%s --set phases.%s.duration=%ds", workload, longer, 3*longTrial), busyTrials
	}
	return fmt.Sprintf("mailbench compare --run %s --base bin/old --new bin/new --trials %d", shellquote.Join(workload), trials)
}

// mostNamed is how many models the command names. More are nearly always all of the workload.
const mostNamed = 2

// How many trials are usual to compare two builds, how many on a busy machine, and from how many on longer ones are
// better.
const usualTrials, busyTrials, mostTrials = 10, 20, 50

// unique are the names, each once, separated by commas.
func unique(names []string) string {
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// trials says how many there are and how they were compared.
func (c *Comparison) trials() string {
	base, fresh := 0, 0
	for _, cell := range c.Cells {
		base, fresh = max(base, cell.BaseCount), max(fresh, cell.NewCount)
	}
	s := fmt.Sprintf("%d of base, %d of new, ", base, fresh)
	switch {
	case c.Paired:
		return s + "interleaved: compared in pairs"
	case c.Interleaved:
		return s + "interleaved"
	}
	return s + "sequential runs: changes of the machine between them are in the ratios (compare --run interleaves them)"
}

// legend explains the tables.
func (c *Comparison) legend() string {
	rule := "A timed metric is a regression or an improvement if its interval excludes 1 and its ratio is beyond the limit."
	if !c.Interleaved {
		rule = "A timed metric is a regression or an improvement if all of its interval is beyond the limit, and beyond twice the " +
			"deviation between trials."
	}
	return "base and new are geometric means of the trials, without the effect of outliers; ratio is new/base. All intervals hold " +
		"together with 95% confidence. limit is the smallest difference that matters; one in brackets does not fail the comparison. " + rule +
		" \"needs 40 trials\" is inconclusive: about 40 trials of each side, as long as these, would decide."
}

// Describe names the version of a build and when it ran.
func (b Build) Describe() string {
	s := b.Name + ", mailbench " + b.Version
	if b.Commit != "" {
		s += " (" + b.Commit[:min(12, len(b.Commit))]
		if b.Dirty {
			s += ", changed"
		}
		s += ")"
	}
	s += ", " + b.Go + ", " + b.Started
	if b.Runs > 1 {
		s += ", " + words.Plural(b.Runs, "run")
	}
	return s
}

// bound writes a bound of an interval.
func bound(v float64) string {
	if v >= 100 {
		return ">100"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// said is the verdict, and how many trials it would take to decide.
func (f *Figure) said() string {
	s := string(f.Verdict)
	switch {
	case f.Verdict == Worse:
		s = "REGRESSION"
	case f.Needed > 999:
		s = "needs >999 trials"
	case f.Needed > 0:
		s = fmt.Sprintf("needs %d trials", f.Needed)
	}
	if f.Exact {
		s += ", exact"
	}
	return s
}
