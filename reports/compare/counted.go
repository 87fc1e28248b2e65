package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/mailbench/mailbench/workloads/results"
)

// Counted figures depend on the code and on the messages that operations found. Runs
// with the same plan ask for the same operations, but which live message an operation
// finds depends on what others did before it.
const (
	// tellErrors is how many standard errors two means must be apart. By chance that
	// happens to one figure in 10⁹, so no correction for many figures is needed.
	tellErrors = 6
	// tellOperations is how many operations it takes to know their deviation.
	tellOperations = 30
	// leastChange is a change of a mean that is more than rounding.
	leastChange = 1e-6
)

// count is a counted figure over all trials of a side. N is how many operations it is of.
type count struct{ mean, deviation, n float64 }

// pooled puts trials together.
func pooled(trials []trial, s operation, f *figure) count {
	var n, sum, squares float64
	for _, t := range trials {
		_, o := t.of(s)
		if o.Attempted() == 0 {
			continue
		}
		mean, deviation, of := f.count(&o)
		n += of
		sum += of * mean
		squares += of * (deviation*deviation + mean*mean)
	}
	mean := sum / n
	return count{mean, math.Sqrt(max(0, squares/n-mean*mean)), n}
}

// compareCount compares a counted figure.
func (p *pair) compareCount(f *Figure) {
	b, n := pooled(p.base, f.operation(), f.kind), pooled(p.new, f.operation(), f.kind)
	f.Base, f.New = &b.mean, &n.mean
	change := math.Abs(n.mean - b.mean)
	relative := change / b.mean
	if f.kind.name == "errors" { // errors are a share of operations already
		relative = change
	} else if b.mean > 0 {
		ratio := n.mean / b.mean
		f.Ratio = &ratio
	}
	err := math.Hypot(b.deviation/math.Sqrt(b.n), n.deviation/math.Sqrt(n.n))
	few := min(b.n, n.n) < tellOperations
	switch same := p.sameOperations(f.operation()); {
	case change <= leastChange*max(1, b.mean):
		f.Verdict = Same
	case f.kind.name != "errors" && !same:
		f.cannotTell("the runs did not execute the same operations")
	case f.kind.name != "errors" && p.sequential():
		f.Exact = true
		f.differs(n.mean > b.mean, relative >= f.Limit)
	case f.kind.name != "errors" && p.compareTurns(f, change, relative, b.mean, n.mean > b.mean):
	case f.kind.name != "errors" && !p.spreadKnown():
		if f.kind.name == "calls" && !few && whole(b.mean) && whole(n.mean) {
			f.Exact = true // all operations made the same number of calls
			f.differs(n.mean > b.mean, relative >= f.Limit)
			return
		}
		f.cannotTell("these results have no standard deviation of single operations")
	case few:
		f.cannotTell(fmt.Sprintf("fewer than %d operations", tellOperations))
	case relative >= f.Limit && change >= tellErrors*err:
		f.Exact = err == 0
		f.differs(n.mean > b.mean, true)
	case change+tellErrors*err <= f.Limit*b.mean || f.kind.name == "errors" && change+tellErrors*err <= f.Limit:
		f.Verdict = Same
	default:
		f.cannotTell("which messages operations find is chance, and the difference is within it")
	}
}

func whole(v float64) bool { return math.Abs(v-math.Round(v)) < leastChange }

// sameTrials reports whether both sides have trials of the same numbers. Trials of one
// number draw the same operations.
func (p *pair) sameTrials() bool {
	numbers := func(trials []trial) []int {
		var all []int
		for _, t := range trials {
			all = append(all, t.cell.Trial)
		}
		slices.Sort(all)
		return all
	}
	return slices.Equal(numbers(p.base), numbers(p.new))
}

// sameOperations reports whether both sides attempted the operation equally often in
// each trial. They do in an open loop, and if a phase ends after a number of operations.
func (p *pair) sameOperations(s operation) bool {
	attempted := func(trials []trial) (n, of int64) {
		for _, t := range trials {
			_, o := t.of(s)
			n += o.Attempted()
			of++
		}
		return n, of
	}
	b, trials := attempted(p.base)
	n, others := attempted(p.new)
	return b*others == n*trials
}

// sequential reports whether nothing was left to chance: in each phase one client or one
// loader carried out all operations, as many in all trials of both sides.
func (p *pair) sequential() bool {
	if !p.sameTrials() {
		return false
	}
	first := p.attempts(p.base[0])
	for _, trials := range [][]trial{p.base, p.new} {
		for _, t := range trials {
			a := p.attempts(t)
			if a == nil || len(a) != len(first) {
				return false
			}
			for phase, n := range a {
				if first[phase] != n {
					return false
				}
			}
		}
	}
	return true
}

// attempts is how many operations each phase attempted in a trial and those before, whose writes a
// store may have. It is nil if more than one client carried them out.
func (p *pair) attempts(t trial) map[string]int64 {
	all := map[string]int64{}
	for i := range t.run.Cells {
		c := &t.run.Cells[i]
		if c.Model != p.model || c.Engine != p.engine || c.Trial > t.cell.Trial ||
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

// spreadKnown reports whether the results have standard deviations. Older results do not.
// Results that have them have one above 0 if bodies are drawn.
func (p *pair) spreadKnown() bool {
	for _, trials := range [][]trial{p.base, p.new} {
		known := false
		for _, t := range trials {
			for _, o := range t.cell.Ops {
				known = known || o.Store.CallsDeviation+o.Store.RowsDeviation+o.Store.BytesDeviation > 0
			}
		}
		if !known {
			return false
		}
	}
	return true
}
