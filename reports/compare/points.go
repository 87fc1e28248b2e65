package compare

import (
	"math"

	"github.com/mailbench/mailbench/reports/results"
)

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
	for _, f := range figures {
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

// Points are the figures of a run, those of its first phase first. Phases that are not ok have
// none. Trials that are invalid have no times.
func Points(r *results.Run) []Point {
	trials, order := Side{Runs: []*results.Run{r}}.trials()
	var all []Point
	for _, k := range order {
		p := &pair{key: k, base: trials[k], new: trials[k]}
		if p.check(false); p.why != "" {
			continue
		}
		search := p.searched()
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
