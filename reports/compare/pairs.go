package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Side is one side of a comparison: the runs of one build. Their trials are put together.
type Side struct {
	Name string // folder of the runs
	Runs []*results.Run
}

// key is what two cells must have in common to be compared.
type key struct{ model, engine, phase string }

// trial is the cell of one trial with its run.
type trial struct {
	run   *results.Run
	cell  *results.Cell
	began string // RFC 3339 in UTC
	out   bool   // the trial's times are left out
	force bool   // latencies of invalid trials are compared all the same
}

// pair holds the trials of one key on both sides, in the order in which they began.
type pair struct {
	key
	base, new []trial
	notes     []string
	why       string // why the cells cannot be compared, or ""
	broken    bool   // why is a fault of the new build only
}

// pairs puts the measured cells of both sides beside each other, in the order of the
// base. It also says which cells only one side has.
func pairs(base, new Side, force bool) (all []*pair, alone []string) {
	b, order := base.trials()
	n, others := new.trials()
	for _, k := range order {
		if n[k] == nil {
			alone = append(alone, fmt.Sprintf("only %s has %s", base.Name, k))
			continue
		}
		p := &pair{key: k, base: b[k], new: n[k]}
		p.check(force)
		p.notes = append(p.notes, p.streamsAlone()...)
		p.notes = append(p.notes, p.searches()...)
		all = append(all, p)
	}
	for _, k := range others {
		if b[k] == nil {
			alone = append(alone, fmt.Sprintf("only %s has %s", new.Name, k))
		}
	}
	return all, alone
}

func (k key) String() string { return k.model + "/" + k.engine + "/" + k.phase }

// trials are the measured cells of a side by key, and the keys in their order.
func (s Side) trials() (of map[key][]trial, order []key) {
	of = map[key][]trial{}
	for _, r := range s.Runs {
		for i := range r.Cells {
			c := &r.Cells[i]
			if c.Kind != results.KindMeasure {
				continue
			}
			k := key{c.Model, c.Engine, c.Where()}
			if of[k] == nil {
				order = append(order, k)
			}
			of[k] = append(of[k], trial{run: r, cell: c, began: c.Started})
		}
	}
	for _, trials := range of {
		slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(a.began, b.began) })
	}
	return of, order
}

// check leaves out the times of invalid trials. They measured the generator, and say nothing
// about the build. Counted figures stay. Every other verdict that is not ok says that one side
// did not do what was asked, and then nothing can be compared. With force all trials that have
// figures and did not fail stay.
func (p *pair) check(force bool) {
	for _, side := range []struct {
		name   string
		trials []trial
	}{{"base", p.base}, {"new", p.new}} {
		invalid := 0
		for i, t := range side.trials {
			side.trials[i].force = force
			switch v := t.cell.Verdict; {
			case v == results.OK || force && len(t.cell.Ops) > 0 && v != results.Failed:
			case v == results.Invalid:
				invalid++
				side.trials[i].out = true
			case p.why == "":
				p.why = fmt.Sprintf("%s is %s: %s", side.name, v, reason(t.cell))
				p.broken = side.name == "new"
			}
		}
		if invalid > 0 {
			p.notes = append(p.notes, fmt.Sprintf("%d of %d trials of %s are invalid: their times are left out",
				invalid, len(side.trials), side.name))
		}
	}
}

// reason is the first line of the reason of a cell that is not ok.
func reason(c *results.Cell) string {
	if c.Reason == nil {
		return "without a reason"
	}
	first, _, _ := strings.Cut(c.Reason.Text, "\n")
	return words.OneLine(first)
}

// timed counts the trials whose times were not left out.
func timed(trials []trial) int {
	n := 0
	for _, t := range trials {
		if !t.out {
			n++
		}
	}
	return n
}

// interleaved reports whether the trials of all pairs took turns: trial N of both sides began
// before trial N+1 of either side. Then both sides see the same changes of the machine.
func interleaved(all []*pair) bool {
	for _, p := range all {
		if len(p.base) != len(p.new) || len(p.base) < 2 {
			return false
		}
		for i := 1; i < len(p.base); i++ {
			if max(p.base[i-1].began, p.new[i-1].began) >= min(p.base[i].began, p.new[i].began) {
				return false
			}
		}
	}
	return len(all) > 0
}

// Measure says how a figure is read.
type Measure struct {
	Name           string
	Timed          bool // a time or a rate; else a counted figure
	HigherIsBetter bool
	Limit          float64 // the smallest difference that matters, as a share of the base's value
	Text           func(v float64) string
}

// Measures are the figures that runs are compared by, in the order in which they are shown.
func Measures() []Measure {
	var all []Measure
	for _, f := range append(wholeLoad(nil)[:2], figures...) {
		if f.name == "attempts" { // most runs have none
			continue
		}
		all = append(all, Measure{f.name, f.timed(), f.higherIsBetter(), f.limit, f.text})
	}
	return all
}

// Point is one figure of one operation in one run: the median over trials of a time or a
// rate, or the mean of a counted figure. Times are nanoseconds.
type Point struct {
	Model, Engine, Phase string
	Stream, Op           string // Stream is "" for the whole phase
	Figure               string
	Value                float64
	Uncertain            float64 // the value of a highest rate may be off by this; 0: not known
}

// WholeLoad is the Op of the latencies of all operations of a phase together.
const WholeLoad = "whole load"

// Points are the figures of a run, those of its first phase first. Phases that are not ok have
// none. Trials that are invalid have no times. With force all phases that did not fail have all figures.
func Points(r *results.Run, force bool) []Point {
	trials, order := Side{Runs: []*results.Run{r}}.trials()
	var all []Point
	for _, k := range order {
		p := &pair{key: k, base: trials[k], new: trials[k]}
		if p.check(force); p.why != "" {
			continue
		}
		search := p.searched()
		for _, f := range wholeLoad(p.shares()) {
			if v := f.value(p.base, everything); !search && v > 0 {
				all = append(all, Point{k.model, k.engine, k.phase, "", everything.op, f.name, v, 0})
			}
		}
		for _, s := range p.operations() {
			for _, f := range figures {
				if !s.has(f, search) || f.name == "attempts" {
					continue
				}
				if v := f.value(p.base, s); !math.IsNaN(v) {
					point := Point{k.model, k.engine, k.phase, s.stream, s.op, f.name, v, 0}
					if f.found != nil {
						point.Uncertain = uncertainty(p.base)
					}
					all = append(all, point)
				}
			}
		}
	}
	return all
}

// value is the figure of an operation over trials, or NaN.
func (f *figure) value(trials []trial, s operation) float64 {
	if !f.timed() {
		return pooled(trials, s, f).mean
	}
	var logs []float64
	for _, t := range trials {
		if !t.out {
			logs = append(logs, f.timeOf(t, s))
		}
	}
	return math.Exp(median(logs))
}

// Counted are the counted figures of a phase that differ between two runs by more than
// chance, however little that is. Errors must differ by their limit.
func Counted(base, new *results.Run, model, engine, phase string) []Figure {
	k := key{model, engine, phase}
	b, _ := Side{Runs: []*results.Run{base}}.trials()
	n, _ := Side{Runs: []*results.Run{new}}.trials()
	p := &pair{key: k, base: b[k], new: n[k]}
	if len(p.base) == 0 || len(p.new) == 0 {
		return nil
	}
	if p.check(false); p.why != "" {
		return nil
	}
	var differ []Figure
	search := p.searched()
	for _, s := range p.operations() {
		for _, is := range figures {
			if is.timed() || !s.has(is, search) || !p.knows(s, is) {
				continue
			}
			f := Figure{Stream: s.stream, Op: s.op, Name: is.name, kind: is}
			if is.name == "errors" {
				f.Limit = is.limit
			}
			if p.compareCount(&f); f.Verdict == Worse || f.Verdict == Better {
				differ = append(differ, f)
			}
		}
	}
	return differ
}

// Differences are what two sides differ in besides the build.
func Differences(base, new Side) []string {
	all, _ := differences(base, new, false)
	return all
}
