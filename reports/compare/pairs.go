package compare

import (
	"cmp"
	"fmt"
	"maps"
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

// sides are the names of the sides. The two parts of a pair are in this order.
var sides = [2]string{"base", "new"}

// Subject is what two cells must have in common to be compared.
type Subject struct {
	Model  string `json:"model"`
	Engine string `json:"engine"`
	Phase  string `json:"phase"`
}

// String is MODEL/ENGINE/PHASE.
func (s Subject) String() string { return s.Model + "/" + s.Engine + "/" + s.Phase }

// trial is the cell of one trial with its run.
type trial struct {
	run  *results.Run
	cell *results.Cell
	out  bool // the trial's times are left out
}

// Operation is what metrics are of: an operation of a whole phase, or of one of the streams that the phase
// runs at once.
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

// observed is an operation in a trial. If the trial does not have it, it was never attempted.
type observed struct {
	*trial
	of     *results.Cell // the trial's cell, or one with the operation's stream alone
	op     results.Op
	shares map[string]float64 // the pair's; of everything only
}

// series is an operation in all trials of both sides.
type series struct {
	Operation
	in [2][]observed
}

func (s *series) all() []observed { return slices.Concat(s.in[0], s.in[1]) }

// pair has the trials of one key on both sides, in the order in which they began.
type pair struct {
	Subject
	trials [2][]trial
	timed  [2]int // trials whose times are not left out
	// series are the operations that both sides executed: first the search for the highest rate, then operations
	// of the phase, then those of its streams, each the most frequent first. An operation of a single stream is
	// listed for that stream only: the phase has the same metrics.
	series []series
	shares map[string]float64 // the load by operation: of those that all trials have often enough for a p50
	search bool               // some trial searched for the highest rate
	notes  []string
	why    string // why the cells cannot be compared, or ""
	broken bool   // why is a fault of the new build only
}

// pairs puts the measured cells of both sides together, in the order of the base. It also says which cells only
// one side has.
func pairs(base, new Side, force bool) (all []*pair, alone []string) {
	b, order := base.trials()
	n, others := new.trials()
	for _, k := range order {
		if n[k] == nil {
			alone = append(alone, fmt.Sprintf("only %s has %s", base.Name, k))
			continue
		}
		all = append(all, newPair(k, b[k], n[k], force))
	}
	for _, k := range others {
		if b[k] == nil {
			alone = append(alone, fmt.Sprintf("only %s has %s", new.Name, k))
		}
	}
	return all, alone
}

// trials are the measured cells of a side by key, and the keys in their order.
func (s Side) trials() (of map[Subject][]trial, order []Subject) {
	of = map[Subject][]trial{}
	for _, r := range s.Runs {
		for i := range r.Cells {
			c := &r.Cells[i]
			if c.Kind != results.KindMeasure {
				continue
			}
			k := Subject{c.Model, c.Engine, c.Where()}
			if of[k] == nil {
				order = append(order, k)
			}
			of[k] = append(of[k], trial{run: r, cell: c})
		}
	}
	for _, trials := range of {
		slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(a.cell.Started, b.cell.Started) })
	}
	return of, order
}

func newPair(k Subject, base, new []trial, force bool) *pair {
	p := &pair{Subject: k, trials: [2][]trial{base, new}, shares: map[string]float64{}}
	p.check(force)
	whole := p.executed("")
	p.share(whole)
	var streams [2][]string
	for side, trials := range p.trials {
		for _, t := range trials {
			p.search = p.search || t.found() != nil
			for _, s := range t.cell.Streams {
				if !slices.Contains(streams[side], s.Name) {
					streams[side] = append(streams[side], s.Name)
				}
			}
		}
	}
	var own []series
	for side, names := range streams {
		for _, name := range names {
			if !slices.Contains(streams[1-side], name) {
				p.notes = append(p.notes, fmt.Sprintf("only %s has stream %s: its metrics are not compared", sides[side], name))
			} else if side == 0 {
				own = append(own, p.executed(name)...)
			}
		}
	}
	whole = slices.DeleteFunc(whole, func(s series) bool {
		return slices.ContainsFunc(own, func(o series) bool {
			return o.Op == s.Op && slices.EqualFunc(o.all(), s.all(), func(a, b observed) bool {
				return a.op.Attempted() == b.op.Attempted()
			})
		})
	})
	if p.search {
		p.series = append(p.series, p.seriesOf(searched))
		p.saySearches()
	}
	p.series = slices.Concat(p.series, whole, own)
	return p
}

// check leaves out the times of invalid trials. They measured the generator, and say nothing
// about the build. Counters stay. Every other verdict that is not ok says that one side
// did not run its operations, and then nothing can be compared. With force all trials that have
// metrics and did not fail stay.
func (p *pair) check(force bool) {
	for side, trials := range p.trials {
		invalid := 0
		for i := range trials {
			t := &trials[i]
			switch v := t.cell.Verdict; {
			case v == results.OK || force && len(t.cell.Ops) > 0 && v != results.Failed:
			case v == results.Invalid:
				invalid++
				t.out = true
			case p.why == "":
				reason := "without a reason"
				if t.cell.Reason != nil {
					reason, _, _ = strings.Cut(t.cell.Reason.Text, "\n")
				}
				p.why = fmt.Sprintf("%s is %s: %s", sides[side], v, words.OneLine(reason))
				p.broken = side == 1
			}
		}
		if p.timed[side] = len(trials) - invalid; invalid > 0 {
			p.notes = append(p.notes, fmt.Sprintf("%d of %d trials of %s are invalid: their times are left out",
				invalid, len(trials), sides[side]))
		}
	}
}

// seriesOf is an operation in all trials.
func (p *pair) seriesOf(o Operation) series {
	s := series{Operation: o}
	for side := range p.trials {
		for i := range p.trials[side] {
			t := &p.trials[side][i]
			x := observed{trial: t, of: t.cell}
			if o.Stream == "" {
				x.op = t.cell.Ops[o.Op]
			} else if one := t.cell.Stream(o.Stream); one != nil {
				x.of, x.op = t.cell.Alone(one), one.Ops[o.Op]
			}
			if o == everything {
				x.shares = p.shares
			}
			s.in[side] = append(s.in[side], x)
		}
	}
	return s
}

// executed are the operations of a stream, or of the phase, that both sides executed, the most
// frequent first.
func (p *pair) executed(stream string) (all []series) {
	var cells []*results.Cell
	for i := range p.trials[0] {
		c := p.trials[0][i].cell
		if one := c.Stream(stream); one != nil {
			c = c.Alone(one)
		} else if stream != "" {
			continue
		}
		cells = append(cells, c)
	}
	attempted := func(o observed) bool { return o.op.Attempted() > 0 }
	for _, op := range results.OpsOf(cells) {
		s := p.seriesOf(Operation{stream, op})
		if slices.ContainsFunc(s.in[0], attempted) && slices.ContainsFunc(s.in[1], attempted) {
			all = append(all, s)
		}
	}
	return all
}

// share sets the shares of the operations of the whole phase.
func (p *pair) share(whole []series) {
	sum := 0.0
	for i := range whole {
		n := 0.0
		for _, o := range whole[i].all() {
			if n += float64(o.op.Attempted()); !o.op.Enough(0.5) {
				n = math.NaN()
			}
		}
		if !math.IsNaN(n) {
			p.shares[whole[i].Op], sum = n, sum+n
		}
	}
	for op := range p.shares {
		p.shares[op] /= sum
	}
}

// each yields the metrics that are compared. If the highest rate was searched, that rate is compared, and times
// and errors at that rate are not: it differs from trial to trial.
func (p *pair) each(yield func(s *series, m *Measure) bool) {
	load := p.seriesOf(everything)
	for i := -1; i < len(p.series); i++ {
		s := &load
		if i >= 0 {
			s = &p.series[i]
		}
		for _, m := range measures {
			fits := m.whole == (s.Operation == everything) && (m.Name == maxRate) == (p.search && i == 0)
			if p.search && m.Name != maxRate {
				fits = fits && !m.Timed() && m.Name != "errors"
			}
			if fits && !yield(s, m) {
				return
			}
		}
	}
}

// saySearches notes what was found on both sides, each search by itself.
func (p *pair) saySearches() {
	all := &p.series[0]
	for side, in := range all.in {
		if rate := highestRate.value(in); !math.IsNaN(rate) {
			note := fmt.Sprintf("max-rate of %s: %s", sides[side], perSecond(rate))
			if u := uncertainty(in); u > 0 {
				note += fmt.Sprintf(" ± %s by each search alone", perSecond(u))
			}
			p.notes = append(p.notes, note)
		}
		none, why, searches := 0, "", false
		for i := range in {
			r := in[i].found()
			searches = searches || r != nil
			if rate, _ := in[i].maxRate(); math.IsNaN(rate) {
				if none++; r != nil && why == "" {
					why = ": " + r.Text
				}
			}
		}
		if none > 0 && searches {
			p.notes = append(p.notes, fmt.Sprintf("%d of %d trials of %s did not find the highest rate, so it is not compared%s",
				none, len(in), sides[side], why))
		}
	}
}

// interleaved reports whether the trials of all pairs took turns: trial N of both sides began
// before trial N+1 of either side. Then both sides see the same changes of the machine.
func interleaved(all []*pair) bool {
	for _, p := range all {
		base, new := p.trials[0], p.trials[1]
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
	return len(all) > 0
}

// sequential reports whether nothing was left to chance: in each phase one client or one
// loader executed all operations, as many in all trials of both sides.
func (p *pair) sequential() bool {
	first := p.attempts(&p.trials[0][0])
	for _, trials := range p.trials {
		for i := range trials {
			if a := p.attempts(&trials[i]); a == nil || !maps.Equal(a, first) {
				return false
			}
		}
	}
	return p.sameTrials()
}

// attempts is how many operations each phase attempted in a trial and those before, whose writes a
// store may have. It is nil if more than one client executed them.
func (p *pair) attempts(t *trial) map[string]int64 {
	all := map[string]int64{}
	for i := range t.run.Cells {
		c := &t.run.Cells[i]
		if c.Model != p.Model || c.Engine != p.Engine || c.Trial > t.cell.Trial ||
			c.Point != t.cell.Point || len(c.Ops) == 0 {
			continue
		}
		alone := c.Arrivals == "closed" && c.Clients == 1
		if c.Kind == results.KindLoad {
			alone = c.Client != nil && c.Client.Workers == 1
		}
		if !alone {
			return nil
		}
		for _, o := range c.Ops {
			all[c.Phase] += o.Attempted()
		}
	}
	return all
}

// sameTrials reports whether both sides have trials of the same numbers. Trials of one number draw the same
// operations.
func (p *pair) sameTrials() bool {
	var numbers [2][]int
	for side, trials := range p.trials {
		for _, t := range trials {
			numbers[side] = append(numbers[side], t.cell.Trial)
		}
		slices.Sort(numbers[side])
	}
	return slices.Equal(numbers[0], numbers[1])
}
