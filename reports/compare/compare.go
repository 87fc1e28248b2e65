// Package compare decides whether a run is slower than another.
//
// It takes two sides of saved runs, BASE and NEW. Cells of the same model, engine and
// phase are a pair, and an operation in all their trials is a series (pairs.go). Runs that differ in more
// than the build are refused (differ.go). Times and rates are compared by a test over trials, counters almost
// exactly (stats.go). Gates say which differences matter (gates.go). A Comparison is the result, as a document
// or JSON.
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
	Cells       []Cell   `json:"cells"`
	// Regressions are the figures that a gate fails, as MODEL/ENGINE/PHASE OP.FIGURE.
	Regressions []string `json:"regressions"`
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

	workload string
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

	kind   *Measure
	of     *series
	cell   *Cell
	trials int     // trials of each side that have a timed figure: the lesser number
	spread float64 // standard deviation of the logarithm between trials
}

// Options say how to compare.
type Options struct {
	Gates []Gate
	// Force compares runs that differ in more than the build, and trials that are not ok.
	Force bool
	// Builds says that the sides are builds of one program, run in the same way. Schemas and
	// engines belong to a build: if they differ, that is a note and no error.
	Builds bool

	permutations int // permutations that are tried; 0: maxPermutations
}

// Runs compares two sides. It is an error if they have nothing in common, and if
// the runs differ in more than the build, unless o.Force is set.
func Runs(base, new Side, o Options) (*Comparison, error) {
	c := &Comparison{
		Format: Format, Base: base.build(), New: new.build(), Notes: []string{}, Cells: []Cell{}, Regressions: []string{},
	}
	for _, s := range []Side{base, new} {
		for _, r := range s.Runs {
			if r.Shard.Of > 1 {
				return nil, fmt.Errorf("%s is shard %d of %d: compare whole runs", s.Name, r.Shard.Index, r.Shard.Of)
			}
		}
	}
	all, alone := pairs(base, new, o.Force)
	if len(all) == 0 { // there is nothing to force
		has := cmp.Or(strings.Join(alone, "; "), "neither has a measured phase")
		return nil, fmt.Errorf("there is nothing to compare: no model, engine and phase was measured in both; %s (mailbench report "+
			"%s %s puts them side by side)", has, base.Name, new.Name)
	}
	var held []string
	if c.Forced, held = differences(base, new, o.Builds); len(c.Forced) > 0 && !o.Force {
		return nil, fmt.Errorf("the runs cannot be compared: %s (--force compares them all the same)", strings.Join(c.Forced, "; "))
	}
	for _, d := range held {
		c.Notes = append(c.Notes, "the builds differ in "+d)
	}
	if len(c.Forced)+len(held) == 0 && c.Base.same(&c.New) {
		c.Notes = append(c.Notes, "base and new are the same build: they differ by chance, or by the machine")
	}
	c.Notes = append(c.Notes, alone...)
	c.Interleaved = interleaved(all)
	for _, p := range all {
		c.Cells = append(c.Cells, p.compared(o.Gates))
	}
	c.time(all, cmp.Or(o.permutations, maxPermutations))
	for i, p := range all {
		for j := range c.Cells[i].Figures {
			c.Cells[i].Figures[j].cell = &c.Cells[i]
		}
		c.judge(&c.Cells[i], p)
	}
	return c, c.unused(o.Gates)
}

func (s Side) build() Build {
	r := s.Runs[0]
	e := &r.Environment
	return Build{s.Name, e.Version, e.Commit, e.Dirty, e.Go, r.Started, len(s.Runs), r.Workload.Name}
}

// same reports whether both are builds of one commit, without other changes.
func (b *Build) same(o *Build) bool {
	return b.Commit != "" && b.Commit == o.Commit && b.Go == o.Go && !b.Dirty && !o.Dirty
}

// compared lists the figures of a pair.
func (p *pair) compared(gates []Gate) Cell {
	c := Cell{
		Subject: p.Subject, Load: "open", Why: p.why, Notes: p.notes, Figures: []Figure{},
		BaseCount: len(p.trials[0]), NewCount: len(p.trials[1]), BaseTimed: p.timed[0], NewTimed: p.timed[1],
	}
	if p.trials[0][0].cell.Arrivals == "closed" {
		c.Load = "closed"
	}
	for s, m := range p.each {
		if m.whole && len(p.shares) < 2 || !s.knows(m) { // of one operation it would be the same
			continue
		}
		f := s.figure(m)
		if m.Name == maxRate {
			f.BaseUncertainty, f.NewUncertainty = growth.Known(uncertainty(s.in[0])), growth.Known(uncertainty(s.in[1]))
		}
		if g := gateOf(gates, p.Subject, s.Operation, m.Name); g != nil {
			f.Gate = true
			if g.limit >= 0 {
				f.Limit = g.limit
			}
		}
		c.Figures = append(c.Figures, f)
	}
	return c
}

func (s *series) figure(m *Measure) Figure {
	return Figure{Operation: s.Operation, Name: m.Name, Limit: m.Limit, kind: m, of: s}
}

// time estimates all timed figures together.
func (c *Comparison) time(all []*pair, permutations int) {
	var most [2]int // trials of a pair
	for _, p := range all {
		most[0], most[1] = max(most[0], len(p.trials[0])), max(most[1], len(p.trials[1]))
	}
	var of []*Figure
	var samples []sample
	var matters []float64
	for i := range c.Cells {
		for j := range c.Cells[i].Figures {
			if f := &c.Cells[i].Figures[j]; f.kind.Timed() {
				s := sample{f.kind.values(f.of.in[0], most[0]), f.kind.values(f.of.in[1], most[1])}
				of, samples, matters = append(of, f), append(samples, s), append(matters, math.Log1p(max(f.Limit, 0.01)))
			}
		}
	}
	c.Paired = c.Interleaved && most[0] == most[1] && most[0] >= leastPaired
	for i, e := range maxT(samples, matters, c.Paired, permutations) {
		f := of[i]
		f.trials = min(len(samples[i].base.Known()), len(samples[i].new.Known()))
		f.Base, f.New = growth.Known(math.Exp(e.base)), growth.Known(math.Exp(e.new))
		f.Ratio, f.spread = growth.Known(math.Exp(e.ratio)), e.spread
		f.Low, f.High = growth.Known(math.Exp(e.low)), growth.Known(math.Exp(e.high))
	}
}

// values are the logarithms of the metric by trial, filled up to n with NaN.
func (m *Measure) values(trials []observed, n int) results.Series {
	values := make(results.Series, n)
	for i := range values {
		values[i] = math.NaN()
		if i < len(trials) && !trials[i].out {
			values[i] = m.time(&trials[i])
		}
	}
	return values
}

// judge gives the figures of a cell their verdicts.
func (c *Comparison) judge(cell *Cell, p *pair) {
	gated, varied := false, false
	for i := range cell.Figures {
		f := &cell.Figures[i]
		gated = gated || f.Gate
		switch {
		case p.why != "":
			f.cannotTell(p.why)
		case f.kind.Timed():
			f.judgeTime(c.Interleaved)
		default:
			p.judgeCount(f)
			p.release(f)
		}
		varied = varied || f.Why == tooDifferent
		if f.Gate && f.Verdict == Worse {
			c.Regressions = append(c.Regressions, cell.Subject.String()+" "+f.Operation.String()+"."+f.Name)
		}
	}
	shortest := math.Inf(1)
	for _, t := range slices.Concat(p.trials[0], p.trials[1]) {
		if o := t.cell.Offered; o != nil && !t.out {
			shortest = min(shortest, o.Span)
		}
	}
	if varied && shortest < longTrial {
		cell.Notes = append(cell.Notes, fmt.Sprintf("trials measured less than %d s: longer ones differ less from each other", longTrial))
	}
	if p.broken && (gated || len(cell.Figures) == 0) {
		c.Regressions = append(c.Regressions, cell.Subject.String()+": "+p.why)
	}
}

// longTrial is the length of a trial in seconds from which on more trials help more than
// longer ones (docs/internals/comparing.md).
const longTrial = 10

// release lets a counter of invalid trials through its gate, unless nothing was left to chance:
// a client that stood still may have changed what operations found. Errors still count.
func (p *pair) release(f *Figure) {
	if f.Gate && f.Verdict == Worse && f.Name != "errors" && !p.sequential() &&
		slices.ContainsFunc(f.of.all(), func(o observed) bool { return o.out }) {
		f.Exact = false
		f.cannotTell("a trial is invalid, and gates ignore its counters")
	}
}

func (f *Figure) cannotTell(why string) { f.Verdict, f.Why = CannotTell, why }

// differs sets the verdict for a difference that is certain.
func (f *Figure) differs(more, matters bool) {
	switch {
	case !matters:
		f.Verdict = Same
	case more != f.kind.HigherIsBetter:
		f.Verdict = Worse
	default:
		f.Verdict = Better
	}
}

const tooDifferent = "the trials differ too much"

// leastTrials is how many trials of each side it takes to find a difference. Eight trials have
// 70 permutations, which is enough.
const leastTrials = 4

// drifts is how far the machine may have drifted from one run to the next, in standard
// deviations of the trials. If trials vary much, so do hours.
const drifts = 2

// judgeTime sets the verdict of a timed figure.
func (f *Figure) judgeTime(interleaved bool) {
	limit := math.Log1p(f.Limit)
	if f.trials < leastTrials || f.Low == nil || f.High == nil || *f.Low == 0 {
		f.Low, f.High = nil, nil
		f.cannotTell(fmt.Sprintf("it needs at least %d trials of each side", leastTrials))
		f.Needed = leastTrials
		return
	}
	estimate, low, high := math.Log(*f.Ratio), math.Log(*f.Low), math.Log(*f.High)
	nearest := max(limit, drifts*f.spread)
	if interleaved {
		nearest = 0
	}
	switch {
	case (low > nearest || high < -nearest) && math.Abs(estimate) >= limit:
		f.differs(estimate > 0, true)
	case low >= -limit && high <= limit:
		f.Verdict = Same
	default:
		width := (high - low) / 2
		f.cannotTell(tooDifferent)
		f.Needed = max(f.trials+1, int(math.Ceil(float64(f.trials)*(width/limit)*(width/limit))))
	}
}

// unused is the error for a gate that matches no figure of the comparison.
func (c *Comparison) unused(gates []Gate) error {
	for _, g := range gates {
		used, ops := false, map[string]bool{}
		for _, cell := range c.Cells {
			used = used || len(cell.Figures) == 0
			for _, f := range cell.Figures {
				used = used || g.Holds(cell.Subject, f.Operation, f.Name)
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
