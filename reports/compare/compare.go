// Package compare decides whether a run is slower than another.
//
// It takes two sides of saved runs, BASE and NEW. Runs that differ in more than the build are refused. The trials of a
// model on an engine in a phase are a cell, and an operation in all of them is a series (sides.go) with a figure for
// each metric. The interval of a figure's difference is that of a test over trials for times and rates (package
// significance), and nearly nothing for counters; one rule makes a verdict of it (figures.go). Gates say which
// differences matter. A Comparison is the result, as a document (document.go) or JSON.
//
// The package reads no files, and the same runs give the same comparison.
package compare

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/significance"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// Format is the version of the JSON of a Comparison. CHANGELOG.md names the fields that were removed within a version.
const Format = "mailbench.compare/2"

// Comparison is the result of comparing two sides.
type Comparison struct {
	Format string `json:"format"`
	Base   Build  `json:"base"`
	New    Build  `json:"new"`
	// Forced is what the runs differ in although they were compared.
	Forced []string `json:"forced,omitempty"`
	// Paired says that trials of both sides took turns and were compared in pairs.
	Paired bool `json:"paired"`
	// Interleaved says that trials of both sides took turns. If they did not, what changed in
	// the machine between the runs is in the ratios. A figure then differs only if its whole
	// interval lies beyond the limit, and beyond what trials vary.
	Interleaved bool     `json:"interleaved"`
	Notes       []string `json:"notes"`
	Cells       []*Cell  `json:"cells"`
	// Regressions are the figures that a gate fails, as MODEL/ENGINE/PHASE OP.FIGURE, the worst first.
	Regressions []string `json:"regressions"`

	options Options
	folder  string    // of a run of the base, whose results both builds can read
	sorted  []*Figure // of the cells that could be compared: see judge
}

// Build is one side.
type Build struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Dirty   bool   `json:"dirty,omitempty"`
	Go      string `json:"go"`
	Started string `json:"started"`
	Runs    int    `json:"runs"`
}

// Cell is one phase of one model on one engine on both sides.
type Cell struct {
	Subject
	BaseCount int      `json:"base_trials"`
	NewCount  int      `json:"new_trials"`
	Why       string   `json:"why,omitempty"` // why the cell cannot be compared
	Notes     []string `json:"notes,omitempty"`
	Figures   []Figure `json:"figures"`

	trials []trial            // those of the base first, each side in the order in which they began
	shares map[string]float64 // how often each operation ran that all trials have often enough for a p50
	broken bool               // Why is a fault of the new build only
	turns  bool               // the sides took turns: both see the same changes of the machine
	same   bool               // both sides have trials of the same numbers, which draw the same operations
}

// Verdict says what is known of a figure.
type Verdict string

// Verdicts. Same means that the whole interval of the ratio is within the limit.
const (
	Better     Verdict = "improvement"
	Worse      Verdict = "regression"
	Same       Verdict = "unchanged"
	CannotTell Verdict = "inconclusive"
)

// Figure is one figure of one operation. Times are nanoseconds.
type Figure struct {
	Op   string `json:"op"`
	Name string `json:"figure"`
	// Base and New are the means over trials: geometric ones of a time or rate, with outlying trials
	// moved nearer to the others, so that their ratio is Ratio. They are nil if no trial has the figure.
	Base *float64 `json:"base,omitempty"`
	New  *float64 `json:"new,omitempty"`
	// Ratio is new/base, with the bounds of its interval. All intervals of a comparison
	// hold together with 95% confidence.
	Ratio   *float64 `json:"ratio,omitempty"`
	Low     *float64 `json:"low,omitempty"`
	High    *float64 `json:"high,omitempty"`
	Limit   float64  `json:"limit"` // the smallest difference that matters
	Verdict Verdict  `json:"verdict"`
	Why     string   `json:"why,omitempty"` // why the verdict is CannotTell
	// Needed is about how many trials of each side would decide.
	Needed int  `json:"trials_needed,omitempty"`
	Exact  bool `json:"exact,omitempty"` // chance has no part in the difference
	Gate   bool `json:"gate"`            // the figure fails the comparison if it is worse

	Measure *Measure `json:"-"`

	cell     *Cell
	known    bool                  // all trials have it
	times    [2]results.Series     // of a timed figure: its logarithm in each trial
	estimate significance.Estimate // of the difference: of logarithms for a timed figure
	doubt    string                // why the figure is inconclusive, if it is
}

// String names the figure as Regressions do.
func (f *Figure) String() string {
	return f.cell.Subject.String() + " " + f.Op + "." + f.Name
}

// Options say how to compare.
type Options struct {
	Gates []Gate
	// Force compares runs that differ in more than the build, and trials that are not ok.
	Force bool
	// Builds says that the sides are builds of one program that took turns. Schemas and engines belong to a build: if
	// they differ, that is a note and no error.
	Builds bool

	permutations int // permutations that are tried; 0: significance.Permutations
}

// Runs compares two sides. It is an error if they have nothing in common, and if
// the runs differ in more than the build, unless o.Force is set.
func Runs(base, new Side, o Options) (*Comparison, error) {
	c := &Comparison{Format: Format, Notes: []string{}, Regressions: []string{}, options: o}
	c.folder = cmp.Or(base.Folder, base.Name)
	both := [2]Side{base, new}
	for side, to := range []*Build{&c.Base, &c.New} {
		s := both[side]
		for _, r := range s.Runs {
			if r.Segment.Of > 1 {
				return nil, fmt.Errorf("%s is segment %d of %d: compare whole runs", s.Name, r.Segment.Index, r.Segment.Of)
			}
		}
		r, e := s.Runs[0], &s.Runs[0].Environment
		*to = Build{s.Name, e.Version, e.Commit, e.Dirty, e.Go, r.Started, len(s.Runs)}
	}
	cells, alone := newCells(both, o.Force)
	if c.Cells = cells; len(cells) == 0 { // there is nothing to force
		has := cmp.Or(strings.Join(alone, "; "), "neither has a measured phase")
		return nil, fmt.Errorf("there is nothing to compare: no model, engine and phase was measured in both; %s (mailbench report "+
			"%s %s puts them side by side)", has, base.Name, new.Name)
	}
	var held []string
	if c.Forced, held = Differences(base, new, o.Builds); len(c.Forced) > 0 && !o.Force {
		return nil, fmt.Errorf("the runs cannot be compared: %s (--force compares them all the same)", strings.Join(c.Forced, "; "))
	}
	for _, d := range held {
		c.Notes = append(c.Notes, "the builds differ in "+d)
	}
	if b, n := c.Base, c.New; len(c.Forced)+len(held) == 0 && b.Commit != "" && b.Commit == n.Commit && b.Go == n.Go &&
		!b.Dirty && !n.Dirty {
		c.Notes = append(c.Notes, "base and new are the same build; any difference is chance or the machine")
	}
	c.Notes = append(c.Notes, alone...)
	c.Interleaved = !slices.ContainsFunc(cells, func(c *Cell) bool { return !c.turns })
	if err := c.measure(); err != nil {
		return nil, err
	}
	c.judge()
	return c, nil
}

// measure applies gates to the figures that all trials have, and estimates all timed ones together. It is an error if a
// gate matches no figure.
func (c *Comparison) measure() error {
	var all []*Figure
	var names []string
	most, empty := 0, false // trials of a side; a cell without figures
	for _, cell := range c.Cells {
		cell.Figures = slices.DeleteFunc(cell.Figures, func(f Figure) bool { return !f.known })
		most, empty = max(most, cell.BaseCount), empty || len(cell.Figures) == 0
		for i := range cell.Figures {
			f := &cell.Figures[i]
			all, names = append(all, f), append(names, NameOf(cell.Subject, f.Op, f.Name))
		}
	}
	for _, g := range c.options.Gates { // the last one counts
		at, err := g.Match(names)
		if err != nil && !empty {
			return fmt.Errorf("--threshold: %s matches no metric for which both runs have enough operations: %w", g, err)
		}
		for _, i := range at {
			all[i].Gate, all[i].Limit = true, *cmp.Or(g.limit, &all[i].Measure.Limit)
		}
	}
	var samples []significance.Sample
	timed := slices.DeleteFunc(all, func(f *Figure) bool { return !f.Measure.Timed() })
	for _, f := range timed {
		limit := math.Log1p(max(f.Limit, 0.01))
		samples = append(samples, significance.Sample{Base: f.times[0], New: f.times[1], Limit: limit})
	}
	c.Paired = c.Interleaved && most >= significance.LeastPairs
	for i, e := range significance.MaxT(samples, c.Paired, cmp.Or(c.options.permutations, significance.Permutations)) {
		f := timed[i]
		f.estimate, f.doubt = e, "the trials differ too much"
		f.Base, f.New = growth.Known(math.Exp(e.Base)), growth.Known(math.Exp(e.New))
		f.Ratio = growth.Known(math.Exp(e.Difference))
		if f.Low, f.High = growth.Known(math.Exp(e.Low)), growth.Known(math.Exp(e.High)); f.High == nil {
			f.Low, f.Needed = nil, significance.LeastTrials
			f.doubt = fmt.Sprintf("it needs at least %d trials of each side", significance.LeastTrials)
		}
	}
	return nil
}

// judge gives all figures their verdicts, and sorts those of cells that could be compared: those that a gate fails
// first, then those that are worse, then those that are better, the largest difference first, and then the others.
// Phases that failed are the first of the regressions.
func (c *Comparison) judge() {
	for _, cell := range c.Cells {
		gated := false
		for i := range cell.Figures {
			f := &cell.Figures[i]
			if gated = gated || f.Gate; cell.Why != "" {
				f.Verdict, f.Why, f.Needed = CannotTell, cell.Why, 0
				continue
			}
			f.judge(c.Interleaved)
			c.sorted = append(c.sorted, f)
		}
		if cell.broken && (gated || len(cell.Figures) == 0) {
			c.Regressions = append(c.Regressions, cell.Subject.String()+": "+cell.Why)
		}
	}
	rank := func(f *Figure) (rank int, size float64) {
		if f.Ratio != nil && *f.Ratio > 0 {
			size = math.Abs(math.Log(*f.Ratio))
		}
		switch {
		case f.Verdict == Worse && f.Gate:
			return 0, size
		case f.Verdict == Worse:
			return 1, size
		case f.Verdict == Better:
			return 2, size
		}
		return 3, 0
	}
	slices.SortStableFunc(c.sorted, func(a, b *Figure) int {
		first, sizeA := rank(a)
		second, sizeB := rank(b)
		return cmp.Or(cmp.Compare(first, second), cmp.Compare(sizeB, sizeA))
	})
	for _, f := range c.sorted {
		if f.Gate && f.Verdict == Worse {
			c.Regressions = append(c.Regressions, f.String())
		}
	}
}

// Confirm keeps the regressions that the first round, of other trials, found too. It notes
// the regressions that only one of the rounds found. The metrics stay those of c: the second
// round was made because of what the first one found, so only its own metrics are unbiased.
func (c *Comparison) Confirm(first *Comparison) {
	both := func(r string) bool {
		subject, _, _ := strings.Cut(r, ": ") // the reason may have other values in another round
		of := func(other string) bool { return other == subject || strings.HasPrefix(other, subject+": ") }
		return slices.ContainsFunc(c.Regressions, of) && slices.ContainsFunc(first.Regressions, of)
	}
	unconfirmed := slices.DeleteFunc(slices.Concat(c.Regressions, first.Regressions), both)
	c.Regressions = slices.DeleteFunc(slices.Clone(c.Regressions), func(r string) bool { return !both(r) })
	if n := len(c.Regressions); n > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("this is the second round of trials; it confirms %d of %d regressions of the first",
			n, len(first.Regressions)))
	}
	if len(unconfirmed) > 0 {
		c.Notes = append(c.Notes, "not confirmed, since only one of two rounds found it: "+strings.Join(unconfirmed, ", "))
	}
}

// Gate says which difference of some figures fails a comparison.
type Gate struct {
	text    string
	pattern string   // of path.Match: MODEL/ENGINE/OP/FIGURE
	limit   *float64 // nil: the figure's own limit
}

// DefaultGates fail a comparison if any figure is worse by its own limit.
const DefaultGates = "*"

// ParseGates reads gates such as "list.p99:10%,*.p50:5%,requests". Each is
// [MODEL/[ENGINE/]][OP.]FIGURE[:LIMIT].
func ParseGates(text string) (gates []Gate, err error) {
	isMetric := func(pattern string) bool {
		return slices.ContainsFunc(Names, func(name string) bool {
			ok, _ := path.Match(pattern, name)
			return ok
		})
	}
	for one := range strings.SplitSeq(text, ",") {
		wrong := func(format string, args ...any) ([]Gate, error) {
			return nil, fmt.Errorf("%q: %w", one, fmt.Errorf(format, args...))
		}
		g := Gate{text: strings.TrimSpace(one)}
		name, limit, has := strings.Cut(g.text, ":")
		if has {
			percent, err := strconv.ParseFloat(strings.TrimSuffix(limit, "%"), 64)
			if err != nil || !strings.HasSuffix(limit, "%") || !(percent >= 0 && percent <= 1000) {
				return wrong("expected a limit such as 10%% after the colon, from 0%% to 1000%% (streams have no gates of their own)")
			}
			g.limit = growth.Known(percent / 100)
		}
		parts := strings.Split(name, "/")
		if len(parts) > 3 {
			return wrong("expected [MODEL/[ENGINE/]][OP.]METRIC[:LIMIT]")
		}
		figure, op := parts[len(parts)-1], "*"
		if before, after, has := strings.Cut(figure, "."); has && (isMetric(after) || !isMetric(figure)) { // p99.9 is one
			op, figure = before, after
		}
		if !isMetric(figure) {
			return wrong("unknown metric %q; expected one of %s, or OP.METRIC such as list.p99%s", figure,
				strings.Join(Names, ", "), strict.Suggest(figure, Names))
		}
		of := append(parts[:len(parts)-1], "*", "*")[:2] // model and engine
		g.pattern = strings.Join(append(of, op, figure), "/")
		if _, err := path.Match(g.pattern, ""); err != nil {
			return wrong("%q is no pattern", g.text)
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// String is the gate as it was written.
func (g Gate) String() string { return g.text }

// NameOf names a metric as the patterns of gates do.
func NameOf(s Subject, op, figure string) string {
	return strings.Join([]string{s.Model, s.Engine, op, figure}, "/")
}

// Match is which of the metrics with these names the gate matches: see NameOf. If it is none, the error says which part
// of the gate is unknown to those that match the parts before it.
func (g Gate) Match(names []string) (at []int, err error) {
	for i := range names {
		at = append(at, i)
	}
	pattern := strings.Split(g.pattern, "/")
	for part, what := range []string{"model", "engine", "operation", "metric"} {
		word := func(i int) string { return strings.Split(names[i], "/")[part] }
		match := slices.DeleteFunc(slices.Clone(at), func(i int) bool {
			ok, _ := path.Match(pattern[part], word(i))
			return !ok
		})
		if len(match) == 0 {
			return nil, strict.Unknown(what, pattern[part], results.Distinct(at, word)...)
		}
		at = match
	}
	return at, nil
}
