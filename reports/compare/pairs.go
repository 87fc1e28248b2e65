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
	Name   string // folder of the runs
	Runs   []*results.Run
	Folder string // the first run's, if it is not Name
}

// sides are the names of the sides. The two parts of a pair are in this order.
var sides = [2]string{"base", "new"}

// Subject is what the results of two sides must have in common to be compared. The phase is PHASE:STREAM if it runs
// several streams: each is compared by itself.
type Subject struct {
	Model  string `json:"model"`
	Engine string `json:"engine"`
	Phase  string `json:"phase"`
}

// String is MODEL/ENGINE/PHASE.
func (s Subject) String() string { return s.Model + "/" + s.Engine + "/" + s.Phase }

// WholeLoad is the Op of the latencies of all operations of a phase together.
const WholeLoad = "whole load"

// trial is an operation in one trial, or all of them. The verdict of the cell says what counts: times and counters if
// it is ok, only counters if it is invalid, and of any other nothing.
type trial struct {
	side   int
	run    *results.Run
	cell   *results.Cell
	phase  string
	found  *results.SearchResult // of a search for the highest rate; nil: there was none
	shares map[string]float64    // those of all trials
	op     results.Op            // one that the trial does not have was never attempted
}

// series is an operation, or the whole load, in all trials of both sides.
type series struct {
	op  string
	in  []trial       // those of the base first
	sum [2]results.Op // of the trials of a side
}

// newCells puts the measured trials of both sides together. With force, trials that have metrics and did not fail count
// as ok. Alone names the subjects that only one side has.
func newCells(both [2]Side, force bool) (cells []*Cell, alone []string) {
	var all []trial
	for side, s := range both {
		for _, r := range s.Runs {
			for _, c := range r.Select((*results.Cell).Measured) {
				if force && len(c.Ops) > 0 && c.Verdict != results.Failed {
					forced := *c
					c, forced.Verdict = &forced, results.OK
				}
				one := trial{side: side, run: r, cell: c, phase: c.Where()}
				if at := slices.IndexFunc(r.Searches, func(s results.Search) bool { return s.Key == c.Key }); at >= 0 {
					one.found = r.Searches[at].Found
				}
				if len(c.Streams) == 0 || one.found != nil {
					all = append(all, one)
					continue
				}
				for _, s := range c.Streams {
					one.cell, one.phase = c.Alone(s.Name), c.Where()+":"+s.Name
					all = append(all, one)
				}
			}
		}
	}
	subject := func(t trial) Subject { return Subject{t.cell.Model, t.cell.Engine, t.phase} }
	for _, same := range results.Grouped(all, subject) {
		k, side := subject(same[0]), same[0].side
		if slices.ContainsFunc(same, func(t trial) bool { return t.side != side }) {
			cells = append(cells, newCell(k, same))
		} else {
			alone = append(alone, fmt.Sprintf("only %s has %s", both[side].Name, k))
		}
	}
	return cells, alone
}

// newCell makes the figures of a subject from the trials of both sides: those of the whole load, and of the operations.
func newCell(k Subject, trials []trial) *Cell {
	c := &Cell{Subject: k, Figures: []Figure{}, shares: map[string]float64{}}
	slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(a.cell.Started, b.cell.Started) })
	before := ""
	c.turns = len(trials) > 2 // trial N of both sides began before trial N+1 of either
	for pair := range slices.Chunk(trials, 2) {
		first, last := pair[0], pair[len(pair)-1]
		c.turns = c.turns && first.side != last.side && first.cell.Started > before
		before = last.cell.Started
	}
	slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(a.side, b.side) })
	for i := range trials {
		trials[i].shares = c.shares
	}
	c.trials = trials
	c.check()
	search := slices.ContainsFunc(trials, func(t trial) bool { return t.found != nil })
	for _, s := range c.series() {
		whole := s.op == WholeLoad
		for _, m := range measures {
			// Times and errors of operations are those at the rate that was found, another one in each trial.
			if m.load == whole && m.search == (search && whole) && (whole || !search || !m.Timed() && !m.fraction) {
				c.Figures = append(c.Figures, c.newFigure(s, m))
			}
		}
	}
	return c
}

// newFigure is a figure without a verdict. A timed one has its logarithm in each trial: NaN in trials whose times are
// left out, as they are those of the load generator. It is known if all trials have it, also those that are left out:
// it is unknown whether theirs is worse.
func (c *Cell) newFigure(s *series, m *Measure) Figure {
	f := Figure{Op: s.op, Name: m.Name, Limit: m.Limit, Measure: m, of: s, cell: c, known: true}
	if !m.Timed() {
		base, _ := m.count(&s.sum[0])
		fresh, _ := m.count(&s.sum[1])
		if f.known = !math.IsNaN(base + fresh); f.known && c.Why == "" {
			f.counted()
		}
		return f
	}
	for i := range s.in {
		o := &s.in[i]
		v, invalid := m.time(o), o.cell.Verdict == results.Invalid
		known := v > 0 && (invalid || !math.IsInf(v, 1))
		f.known = f.known && known
		if invalid || !known {
			v = math.NaN()
		}
		f.times[o.side] = append(f.times[o.side], math.Log(v))
	}
	return f
}

// check counts the trials, and notes those without times. A trial that is neither ok nor invalid says
// that its side did not run the operations, and then nothing can be compared.
func (c *Cell) check() {
	var numbers [2][]int
	var invalid, without [2][]string // reasons of invalid trials, and of searches that found no rate
	for i := range c.trials {
		t := &c.trials[i]
		numbers[t.side] = append(numbers[t.side], t.cell.Trial)
		reason := "no reason is known"
		if t.cell.Reason != nil {
			reason, _, _ = strings.Cut(t.cell.Reason.Text, "\n")
		}
		switch v := t.cell.Verdict; {
		case v == results.OK:
		case v == results.Invalid:
			short, _, _ := strings.Cut(reason, ":") // each has numbers of its own
			invalid[t.side] = append(invalid[t.side], short)
		case c.Why == "":
			c.Why = fmt.Sprintf("%s is %s: %s", sides[t.side], v, words.OneLine(reason))
			c.broken = t.side == 1
		}
		if t.found != nil && math.IsNaN(maxRate(t)) {
			without[t.side] = append(without[t.side], t.found.Text)
		}
	}
	if c.Why != "" {
		c.note("not compared: %s", c.Why)
	}
	for side, all := range numbers {
		if of := invalid[side]; len(of) > 0 {
			c.note("%d of %d trials of %s left out of latency (%s)", len(of), len(all), sides[side], of[0])
		}
		if of := without[side]; len(of) > 0 {
			c.note("%d of %d trials of %s did not find the highest rate, so it is not compared: %s", len(of), len(all),
				sides[side], of[0])
		}
		slices.Sort(all)
	}
	c.BaseCount, c.NewCount, c.same = len(numbers[0]), len(numbers[1]), slices.Equal(numbers[0], numbers[1])
}

// note adds a note of one line.
func (c *Cell) note(format string, args ...any) {
	c.Notes = append(c.Notes, words.OneLine(fmt.Sprintf(format, args...)))
}

// series are the whole load, and the operations that both sides executed, the most frequent first. A note names those
// of one side only.
func (c *Cell) series() []*series {
	var cells []*results.Cell
	for _, t := range c.trials {
		cells = append(cells, t.cell)
	}
	all, sum := []*series{{op: WholeLoad, in: c.trials}}, 0.0
	var only [2][]string
	for _, op := range results.OpsOf(cells) {
		s, enough := &series{op: op, in: slices.Clone(c.trials)}, true
		for i := range s.in {
			t := &s.in[i]
			t.op = t.cell.Ops[op]
			s.sum[t.side].Add(&t.op)
			enough = enough && t.op.Enough(0.5)
		}
		base, fresh := s.sum[0].Attempted(), s.sum[1].Attempted()
		switch {
		case base > 0 && fresh > 0:
			if all = append(all, s); enough {
				c.shares[op] = float64(base + fresh)
				sum += c.shares[op]
			}
		case base > 0:
			only[0] = append(only[0], op)
		case fresh > 0:
			only[1] = append(only[1], op)
		}
	}
	for op := range c.shares {
		c.shares[op] /= sum
	}
	for side, ops := range only {
		if len(ops) > 0 {
			c.note("only %s executed %s: not compared", sides[side], words.List(ops))
		}
	}
	return all
}
