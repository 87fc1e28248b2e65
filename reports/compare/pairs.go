package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// Side is one side of a comparison: the runs of one build. Their trials are put together.
type Side struct {
	Name string // folder of the runs
	Runs []*results.Run
}

// sides are the names of the sides. The two parts of a pair are in this order.
var sides = [2]string{"base", "new"}

// Subject is what the results of two sides must have in common to be compared.
type Subject struct {
	Model  string `json:"model"`
	Engine string `json:"engine"`
	Phase  string `json:"phase"`
}

// String is MODEL/ENGINE/PHASE.
func (s Subject) String() string { return s.Model + "/" + s.Engine + "/" + s.Phase }

// Operation is what metrics are of: an operation of a whole phase, or of one of the streams that the phase
// runs together.
type Operation struct {
	Stream string `json:"stream,omitempty"` // "": the whole phase
	Op     string `json:"op"`
}

// String is the operation, or STREAM:OPERATION.
func (o Operation) String() string {
	if o.Stream == "" {
		return o.Op
	}
	return results.StreamOp(o.Stream, o.Op)
}

// WholeLoad is the Op of the latencies of all operations of a phase together.
const WholeLoad = "whole load"

// The operations that stand for all of a phase: for its latencies, and for the highest rate of a search.
var everything, searched = Operation{Op: WholeLoad}, Operation{Op: "all"}

// trial is the result of one trial with its run.
type trial struct {
	run   *results.Run
	cell  *results.Cell
	found *results.SearchResult // of a search for the highest rate; nil: there was none
	out   bool                  // the trial's times are left out
}

// observed is an operation in a trial. If the trial does not have it, it was never attempted.
type observed struct {
	*trial
	of     *results.Cell // the trial's result, or one with the operation's stream alone
	op     results.Op
	shares map[string]float64 // those of the cell
}

// series is an operation in all trials of both sides.
type series struct {
	Operation
	in        [2][]observed
	attempted [2]int64 // operations of each side
}

// any reports whether that holds for some trial.
func (s *series) any(holds func(o observed) bool) bool {
	return slices.ContainsFunc(s.in[0], holds) || slices.ContainsFunc(s.in[1], holds)
}

// trials are the measured trials of a side by subject, in the order in which they began, and the subjects in theirs.
func (s Side) trials() (of map[Subject][]trial, order []Subject) {
	of = map[Subject][]trial{}
	for _, r := range s.Runs {
		for _, c := range r.Select((*results.Cell).Measured) {
			k := Subject{c.Model, c.Engine, c.Where()}
			if of[k] == nil {
				order = append(order, k)
			}
			one := trial{run: r, cell: c}
			if at := slices.IndexFunc(r.Searches, func(s results.Search) bool { return s.Key == c.Key }); at >= 0 {
				one.found = r.Searches[at].Found
			}
			of[k] = append(of[k], one)
		}
	}
	for _, trials := range of {
		slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(a.cell.Started, b.cell.Started) })
	}
	return of, order
}

// newCell puts the trials of a subject together. Its figures are of the whole load, of the search for the highest rate,
// of the operations of the phase, and of those of its streams, each the most frequent first. An operation of a single
// stream is listed for that stream only: the phase has the same metrics.
func newCell(k Subject, base, new []trial, force bool) *Cell {
	c := &Cell{
		Subject: k, Load: "open", BaseCount: len(base), NewCount: len(new), Figures: []Figure{},
		trials: [2][]trial{base, new}, shares: map[string]float64{},
	}
	if base[0].cell.Arrivals == "closed" {
		c.Load = "closed"
	}
	c.check(force)
	load, whole := c.executed("")
	own := c.streams()
	sum := 0.0
	for _, s := range whole {
		if s.any(func(o observed) bool { return !o.op.Enough(0.5) }) {
			continue
		}
		c.shares[s.Op] = float64(s.attempted[0] + s.attempted[1])
		sum += c.shares[s.Op]
	}
	for op := range c.shares {
		c.shares[op] /= sum
	}
	whole = slices.DeleteFunc(whole, func(s *series) bool {
		return slices.ContainsFunc(own, func(o *series) bool {
			same := func(a, b observed) bool { return a.op.Attempted() == b.op.Attempted() }
			return o.Op == s.Op && slices.EqualFunc(o.in[0], s.in[0], same) && slices.EqualFunc(o.in[1], s.in[1], same)
		})
	})
	search := load.any(func(o observed) bool { return o.found != nil })
	if search {
		load.Operation = searched
	}
	for _, s := range slices.Concat([]*series{load}, whole, own) {
		for _, m := range measures {
			of := !m.whole && m != highestRate
			switch {
			case search && s == load:
				of = m == highestRate
			case s == load:
				of = m.whole
			case search: // times and errors are those at the rate that was found, another one in each trial
				of = of && !m.Timed() && m.Name != "errors"
			}
			if of {
				c.Figures = append(c.Figures, c.newFigure(s, m))
			}
		}
	}
	return c
}

// newFigure is a figure without a verdict. A timed one has its logarithm in each trial: NaN in trials whose times are
// left out. It is known if all trials have it. A percentile of a client-bound trial counts: it is unknown whether it is
// worse.
func (c *Cell) newFigure(s *series, m *Measure) Figure {
	f := Figure{Operation: s.Operation, Name: m.Name, Limit: m.Limit, kind: m, of: s, cell: c, known: true}
	for side, in := range s.in {
		if !m.Timed() {
			f.counts[side] = pooled(in, m)
			f.known = f.known && !math.IsNaN(f.counts[side].mean)
			continue
		}
		for i := range in {
			o := &in[i]
			v := m.time(o)
			if m.share > 0 && o.of.Verdict == results.Invalid {
				f.known = f.known && (m.whole || o.op.Enough(m.share))
			} else {
				f.known = f.known && !math.IsNaN(v)
			}
			if o.out {
				v = math.NaN()
			}
			f.times[side] = append(f.times[side], v)
		}
	}
	switch {
	case m == highestRate:
		f.BaseUncertainty, f.NewUncertainty = growth.Known(uncertainty(s.in[0])), growth.Known(uncertainty(s.in[1]))
		c.saySearches(&f)
	case m.whole:
		f.known = f.known && len(c.shares) > 1 // of one operation it would be the same
	case m.Name == "attempts":
		f.known = f.known && s.any(func(o observed) bool { return o.op.Store.Retries > 0 })
	}
	return f
}

// count is a counter over all trials of a side. N is how many operations it is of.
type count struct{ mean, deviation, n float64 }

// pooled puts trials together.
func pooled(trials []observed, m *Measure) count {
	var n, sum, squares float64
	for i := range trials {
		o := &trials[i].op
		of := float64(o.Attempted())
		if of == 0 {
			continue
		}
		mean, deviation := m.count(o)
		n += of
		sum += of * mean
		squares += of * (deviation*deviation + mean*mean)
	}
	mean := sum / n
	return count{mean, math.Sqrt(max(0, squares/n-mean*mean)), n}
}

// check leaves out the times of invalid trials. They measured the generator, and say nothing
// about the build. Counters stay. Every other verdict that is not ok says that one side
// did not run its operations, and then nothing can be compared. With force all trials that have
// metrics and did not fail stay.
func (c *Cell) check(force bool) {
	var timed [2]int
	var numbers [2][]int
	for side, trials := range c.trials {
		invalid, because := 0, ""
		for i := range trials {
			t, reason := &trials[i], ""
			numbers[side] = append(numbers[side], t.cell.Trial)
			if t.cell.Reason != nil {
				reason, _, _ = strings.Cut(t.cell.Reason.Text, "\n")
			}
			switch v := t.cell.Verdict; {
			case v == results.OK || force && len(t.cell.Ops) > 0 && v != results.Failed:
			case v == results.Invalid:
				invalid++
				t.out = true
				if because, _, _ = strings.Cut(cmp.Or(reason, "invalid"), ";"); invalid > 1 {
					because, _, _ = strings.Cut(because, ":") // each has numbers of its own
				}
			case c.Why == "":
				c.Why = fmt.Sprintf("%s is %s: %s", sides[side], v, words.OneLine(cmp.Or(reason, "without a reason")))
				c.broken = side == 1
			}
			c.short = c.short || t.cell.Offered != nil && !t.out && t.cell.Offered.Span < longTrial
		}
		if invalid > 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("%d of %d trials of %s left out of latency (%s)", invalid,
				len(trials), sides[side], words.OneLine(because)))
		}
		timed[side] = len(trials) - invalid
		slices.Sort(numbers[side])
	}
	c.BaseTimed, c.NewTimed, c.same = timed[0], timed[1], slices.Equal(numbers[0], numbers[1])
}

// streams are the operations of all streams that both sides have. A note names the other streams.
func (c *Cell) streams() (own []*series) {
	var names [2][]string
	for side, trials := range c.trials {
		for _, t := range trials {
			for _, s := range t.cell.Streams {
				if !slices.Contains(names[side], s.Name) {
					names[side] = append(names[side], s.Name)
				}
			}
		}
	}
	for side := range names {
		for _, name := range names[side] {
			if !slices.Contains(names[1-side], name) {
				c.Notes = append(c.Notes, fmt.Sprintf("only %s has stream %s: its metrics are not compared", sides[side], name))
			} else if side == 0 {
				_, operations := c.executed(name)
				own = append(own, operations...)
			}
		}
	}
	return own
}

// executed are a stream, or the phase, as a whole, and its operations that both sides executed, the most frequent
// first.
func (c *Cell) executed(stream string) (load *series, operations []*series) {
	load = &series{Operation: everything}
	var cells []*results.Cell
	for side, trials := range c.trials {
		for i := range trials {
			t := &trials[i]
			o := observed{trial: t, of: cmp.Or(t.cell.Alone(stream), &results.Cell{}), shares: c.shares}
			load.in[side] = append(load.in[side], o)
			if side == 0 {
				cells = append(cells, o.of)
			}
		}
	}
	for _, op := range results.OpsOf(cells) {
		s := &series{Operation: Operation{stream, op}}
		for side, in := range load.in {
			for _, o := range in {
				o.op = o.of.Ops[op]
				s.attempted[side] += o.op.Attempted()
				s.in[side] = append(s.in[side], o)
			}
		}
		if s.attempted[0] > 0 && s.attempted[1] > 0 {
			operations = append(operations, s)
		}
	}
	return load, operations
}

// interleaved reports whether the trials of all cells took turns: trial N of both sides began
// before trial N+1 of either side. Then both sides see the same changes of the machine.
func interleaved(all []*Cell) bool {
	for _, c := range all {
		base, new := c.trials[0], c.trials[1]
		if len(base) != len(new) || len(base) < 2 {
			return false
		}
		for i := 1; i < len(base); i++ {
			before := max(base[i-1].cell.Started, new[i-1].cell.Started)
			if before >= min(base[i].cell.Started, new[i].cell.Started) {
				return false
			}
		}
	}
	return true
}
