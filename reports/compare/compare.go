// Package compare decides whether a run is slower than another.
//
// It takes two sides of saved runs, BASE and NEW. Runs that differ in more than the build are refused (differ.go). The
// trials of a model on an engine in a phase are a cell, and an operation in all of them is a series (pairs.go) with
// metrics (metrics.go). Times and rates are compared by a test over trials (package significance), counters almost
// exactly (counters.go). Gates say which differences matter (gates.go). A Comparison is the result, as a document
// (document.go) or JSON.
//
// The package reads no files, and the same runs give the same comparison.
package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/mailbench/mailbench/reports/significance"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// Format is the version of the JSON of a Comparison. Within a version fields are only
// added.
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
	// Regressions are the figures that a gate fails, as MODEL/ENGINE/PHASE OP.FIGURE.
	Regressions []string `json:"regressions"`

	turns  Turns
	noFail bool
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

	workload string // words of run that measure it again
}

// Cell is one phase of one model on one engine on both sides.
type Cell struct {
	Subject
	Load      string   `json:"load"` // open or closed loop
	BaseCount int      `json:"base_trials"`
	NewCount  int      `json:"new_trials"`
	BaseTimed int      `json:"base_trials_timed"` // trials whose times were not left out
	NewTimed  int      `json:"new_trials_timed"`
	Why       string   `json:"why,omitempty"` // why the cell cannot be compared
	Notes     []string `json:"notes,omitempty"`
	Figures   []Figure `json:"figures"`

	trials [2][]trial         // of each side, in the order in which they began
	shares map[string]float64 // the load by operation: of those that all trials have often enough for a p50
	broken bool               // Why is a fault of the new build only
	short  bool               // a trial that is compared measured less than longTrial
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
	Operation
	Name string `json:"figure"`
	// Base and New are the means over trials: geometric ones of a time or rate, with outlying trials
	// moved nearer to the others, so that their ratio is Ratio. They are nil if no trial has the figure.
	Base *float64 `json:"base,omitempty"`
	New  *float64 `json:"new,omitempty"`
	// BaseUncertainty and NewUncertainty are half of the bracket that a search for the highest
	// rate ended with: the median over trials. The interval of the ratio does not depend on them.
	BaseUncertainty *float64 `json:"base_uncertainty,omitempty"`
	NewUncertainty  *float64 `json:"new_uncertainty,omitempty"`
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

	kind     *Measure
	of       *series
	cell     *Cell
	known    bool              // all trials have it
	times    [2]results.Series // of a timed figure: its logarithm in each trial
	estimate significance.Estimate
}

// Options say how to compare.
type Options struct {
	Gates []Gate
	// Force compares runs that differ in more than the build, and trials that are not ok.
	Force bool
	// Turns are how the runs were made, if compare made them: by builds of one program. Schemas and engines belong
	// to a build: if they differ, that is a note and no error.
	Turns Turns
	// Saved is the folder of a run of the new build, whose workload may be of a file and have overrides; "": not known.
	Saved string
	// NoFail says that the exit status is 0 even if there is a regression.
	NoFail bool

	permutations int // permutations that are tried; 0: significance.MostPermutations
}

// Turns are the workload with its flags and the commands of both sides that compare --run takes turns with.
type Turns struct{ Workload, Base, New string }

// Runs compares two sides. It is an error if they have nothing in common, and if
// the runs differ in more than the build, unless o.Force is set.
func Runs(base, new Side, o Options) (*Comparison, error) {
	c := &Comparison{
		Format: Format, Base: base.build(), New: new.build(), Notes: []string{}, Cells: []*Cell{}, Regressions: []string{},
		turns: o.Turns, noFail: o.NoFail,
	}
	if o.Saved != "" {
		c.New.workload = "--from " + shellquote.Join(o.Saved)
	}
	for _, s := range []Side{base, new} {
		for _, r := range s.Runs {
			if r.Shard.Of > 1 {
				return nil, fmt.Errorf("%s is shard %d of %d: compare whole runs", s.Name, r.Shard.Index, r.Shard.Of)
			}
		}
	}
	alone := c.pair(base, new, o.Force)
	if len(c.Cells) == 0 { // there is nothing to force
		has := cmp.Or(strings.Join(alone, "; "), "neither has a measured phase")
		return nil, fmt.Errorf("there is nothing to compare: no model, engine and phase was measured in both; %s (mailbench report "+
			"%s %s puts them side by side)", has, base.Name, new.Name)
	}
	var held []string
	if c.Forced, held = differences(base, new, o.Turns != Turns{}); len(c.Forced) > 0 && !o.Force {
		return nil, fmt.Errorf("the runs cannot be compared: %s (--force compares them all the same)", strings.Join(c.Forced, "; "))
	}
	for _, d := range held {
		c.Notes = append(c.Notes, "the builds differ in "+d)
	}
	if b, n := c.Base, c.New; len(c.Forced)+len(held) == 0 && b.Commit != "" && b.Commit == n.Commit && b.Go == n.Go &&
		!b.Dirty && !n.Dirty {
		c.Notes = append(c.Notes, sameBuild)
	}
	c.Notes = append(c.Notes, alone...)
	c.Interleaved = interleaved(c.Cells)
	c.measure(o)
	for _, cell := range c.Cells {
		c.judge(cell)
	}
	return c, c.unused(o.Gates)
}

func (s Side) build() Build {
	r := s.Runs[0]
	e := &r.Environment
	return Build{s.Name, e.Version, e.Commit, e.Dirty, e.Go, r.Started, len(s.Runs), r.Workload.Name}
}

// newFigure is a figure without a verdict.
func newFigure(c *Cell, s *series, m *Measure) Figure {
	f := Figure{Operation: s.Operation, Name: m.Name, Limit: m.Limit, kind: m, of: s, cell: c}
	if !m.Timed() {
		f.known = !math.IsNaN(pooled(s.in[0], m).mean + pooled(s.in[1], m).mean)
		return f
	}
	f.times, f.known = m.sample(s)
	switch {
	case m == highestRate:
		f.BaseUncertainty, f.NewUncertainty = growth.Known(uncertainty(s.in[0])), growth.Known(uncertainty(s.in[1]))
	case m.whole:
		f.known = f.known && len(c.shares) > 1 // of one operation it would be the same
	case m.Name == "attempts":
		f.known = f.known && s.any(func(o observed) bool { return o.op.Store.Retries > 0 })
	}
	return f
}

// measure applies gates to the figures that all trials have, and estimates all timed ones together.
func (c *Comparison) measure(o Options) {
	var timed []*Figure
	var samples []significance.Sample
	most := 0 // trials of a side
	for _, cell := range c.Cells {
		most = max(most, cell.BaseCount)
		cell.Figures = slices.DeleteFunc(cell.Figures, func(f Figure) bool { return !f.known })
		for i := range cell.Figures {
			f := &cell.Figures[i]
			if g := gateOf(o.Gates, f); g != nil {
				f.Gate = true
				if g.limit >= 0 {
					f.Limit = g.limit
				}
			}
			if f.kind.Timed() {
				limit := math.Log1p(max(f.Limit, 0.01))
				timed = append(timed, f)
				samples = append(samples, significance.Sample{Base: f.times[0], New: f.times[1], Limit: limit})
			}
		}
	}
	c.Paired = c.Interleaved && most >= significance.LeastPairs
	for i, e := range significance.MaxT(samples, c.Paired, cmp.Or(o.permutations, significance.MostPermutations)) {
		f := timed[i]
		f.estimate = e
		f.Base, f.New = growth.Known(math.Exp(e.Base)), growth.Known(math.Exp(e.New))
		f.Ratio = growth.Known(math.Exp(e.Difference))
		f.Low, f.High = growth.Known(math.Exp(e.Low)), growth.Known(math.Exp(e.High))
	}
}

// judge gives the figures of a cell their verdicts.
func (c *Comparison) judge(cell *Cell) {
	gated, varied := false, false
	for i := range cell.Figures {
		f := &cell.Figures[i]
		gated = gated || f.Gate
		switch {
		case cell.Why != "":
			f.cannotTell(cell.Why)
		case f.kind.Timed():
			f.judgeTime(c.Interleaved)
		default:
			f.judgeCount()
			f.release()
		}
		varied = varied || f.Why == tooDifferent
		if f.Gate && f.Verdict == Worse {
			c.Regressions = append(c.Regressions, f.String())
		}
	}
	if varied && cell.short {
		cell.Notes = append(cell.Notes, shortTrials)
	}
	if cell.broken && (gated || len(cell.Figures) == 0) {
		c.Regressions = append(c.Regressions, cell.Subject.String()+": "+cell.Why)
	}
}

// longTrial is the length of a trial in seconds from which on more trials help more than
// longer ones (docs/internals/comparing.md).
const longTrial = 10

var shortTrials = fmt.Sprintf("trials measured less than %d s: longer ones vary less", longTrial)

func (f *Figure) cannotTell(why string) { f.Verdict, f.Why = CannotTell, why }

// differs sets the verdict for a difference that is certain and matters.
func (f *Figure) differs() {
	f.Verdict = Better
	if *f.New > *f.Base != f.kind.HigherIsBetter {
		f.Verdict = Worse
	}
}

const tooDifferent = "the trials differ too much"

// drifts is how far the machine may have drifted from one run to the next, in standard
// deviations of the trials. If trials vary much, so do hours.
const drifts = 2

// judgeTime sets the verdict of a timed figure.
func (f *Figure) judgeTime(interleaved bool) {
	e, limit := &f.estimate, math.Log1p(f.Limit)
	if e.Trials < significance.LeastTrials || f.Low == nil || f.High == nil || *f.Low == 0 {
		f.Low, f.High = nil, nil
		f.cannotTell(fmt.Sprintf("it needs at least %d trials of each side", significance.LeastTrials))
		f.Needed = significance.LeastTrials
		return
	}
	nearest := max(limit, drifts*e.Deviation)
	if interleaved {
		nearest = 0
	}
	switch {
	case (e.Low > nearest || e.High < -nearest) && math.Abs(e.Difference) >= limit:
		f.differs()
	case e.Low >= -limit && e.High <= limit:
		f.Verdict = Same
	default:
		width := (e.High - e.Low) / 2
		f.cannotTell(tooDifferent)
		f.Needed = max(e.Trials+1, int(math.Ceil(float64(e.Trials)*(width/limit)*(width/limit))))
	}
}

// unused is the error for a gate that matches no figure of the comparison.
func (c *Comparison) unused(gates []Gate) error {
	for _, g := range gates {
		used, ops := false, map[string]bool{}
		for _, cell := range c.Cells {
			used = used || len(cell.Figures) == 0
			for _, f := range cell.Figures {
				used = used || g.Holds(f.cell.Subject, f.Operation, f.Name)
				ops[f.Operation.String()] = true
			}
		}
		if !used {
			return fmt.Errorf("--threshold: %s matches no metric for which both runs have enough operations; the operations "+
				"that were compared are %s", g.text, strings.Join(slices.Sorted(maps.Keys(ops)), ", "))
		}
	}
	return nil
}
