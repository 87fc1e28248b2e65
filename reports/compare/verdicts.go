package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mailbench/mailbench/reports/significance"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// judge gives the figures of a cell their verdicts.
func (c *Comparison) judge(cell *Cell) {
	gated, varied := false, false
	for i := range cell.Figures {
		f := &cell.Figures[i]
		gated = gated || f.Gate
		switch {
		case cell.Why != "":
			f.Verdict, f.Why = CannotTell, cell.Why
		case f.kind.Timed():
			f.judgeTime(c.Interleaved)
		default:
			f.judgeCount()
			// A client that stopped may have changed what operations found: counters of invalid trials pass their gate,
			// unless nothing was left to chance. Errors still count.
			if f.Gate && f.Verdict == Worse && f.Name != "errors" && !cell.sequential() &&
				f.of.any(func(o observed) bool { return o.out }) {
				f.Exact = false
				f.Verdict, f.Why = CannotTell, "a trial is invalid, and gates ignore its counters"
			}
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

const tooDifferent = "the trials differ too much"

// drifts is how far the machine may have drifted from one run to the next, in standard
// deviations of the trials. If trials vary much, so do hours.
const drifts = 2

// judgeTime sets the verdict of a timed figure.
func (f *Figure) judgeTime(interleaved bool) {
	e, limit := &f.estimate, math.Log1p(f.Limit)
	if e.Trials < significance.LeastTrials || f.Low == nil || f.High == nil || *f.Low == 0 {
		f.Low, f.High = nil, nil
		f.Verdict, f.Why = CannotTell, fmt.Sprintf("it needs at least %d trials of each side", significance.LeastTrials)
		f.Needed = significance.LeastTrials
		return
	}
	nearest := max(limit, drifts*e.Deviation)
	if interleaved {
		nearest = 0
	}
	switch {
	case (e.Low > nearest || e.High < -nearest) && math.Abs(e.Difference) >= limit:
		f.Verdict = f.kind.Verdict(*f.Base, *f.New)
	case e.Low >= -limit && e.High <= limit:
		f.Verdict = Same
	default:
		width := (e.High - e.Low) / 2
		f.Verdict, f.Why = CannotTell, tooDifferent
		f.Needed = max(e.Trials+1, int(math.Ceil(float64(e.Trials)*(width/limit)*(width/limit))))
	}
}

// Counters depend on the code and on the messages that operations found. Runs
// with the same plan have the same operations, but which existing message an operation
// finds depends on what others did before it.
const (
	// knownErrors is how many standard errors two means must be apart. By chance that
	// happens to one counter in 10⁹, so no correction for many counters is needed.
	knownErrors = 6
	// knownOperations is how many operations it takes to know their deviation.
	knownOperations = 30
	// leastChange is a change of a mean that is more than rounding.
	leastChange = 1e-6
)

// judgeCount sets the verdict of a counter.
func (f *Figure) judgeCount() {
	b, n := f.counts[0], f.counts[1]
	f.Base, f.New = &b.mean, &n.mean
	change, limit, errors := math.Abs(n.mean-b.mean), f.Limit*b.mean, f.Name == "errors"
	if errors { // errors are a share of operations already
		limit = f.Limit
	} else if b.mean > 0 {
		ratio := n.mean / b.mean
		f.Ratio = &ratio
	}
	switch {
	case change <= leastChange*max(1, b.mean):
		f.Verdict = Same
		return
	case errors:
	// Each trial attempts the operation equally often in an open loop, and if a phase ends after a number of operations.
	case f.of.attempted[0]*int64(len(f.of.in[1])) != f.of.attempted[1]*int64(len(f.of.in[0])):
		f.Verdict, f.Why = CannotTell, "the runs did not execute the same operations"
		return
	case f.cell.sequential():
		if f.Exact, f.Verdict = true, Same; change >= limit {
			f.Verdict = f.kind.Verdict(*f.Base, *f.New)
		}
		return
	case f.judgePaired(change, limit):
		return
	}
	err := math.Hypot(b.deviation/math.Sqrt(b.n), n.deviation/math.Sqrt(n.n))
	switch {
	case min(b.n, n.n) < knownOperations:
		f.Verdict, f.Why = CannotTell, fmt.Sprintf("fewer than %d operations", knownOperations)
	case change >= limit && change >= knownErrors*err:
		f.Exact = err == 0
		f.Verdict = f.kind.Verdict(*f.Base, *f.New)
	case change+knownErrors*err <= limit:
		f.Verdict = Same
	default:
		f.Verdict, f.Why = CannotTell, "each run draws its messages at random"
	}
}

// judgePaired sets the verdict of a counter by trials of one number, which draw the same operations on both
// sides: there the counter differs by the code and by what operations found by chance. The trials themselves
// say how large that chance is: single operations differ much more from each other, since they are of
// unlike messages. It returns false if the sides do not have the same trials, each with the same number of
// operations, if there are too few of them, or if they do not decide.
func (f *Figure) judgePaired(change, limit float64) bool {
	byNumber := func(a, b observed) int { return a.cell.Trial - b.cell.Trial }
	base := slices.SortedStableFunc(slices.Values(f.of.in[0]), byNumber)
	new := slices.SortedStableFunc(slices.Values(f.of.in[1]), byNumber)
	if len(base) < significance.LeastTrials || !f.cell.same {
		return false
	}
	differences := make([]float64, len(base))
	for i := range base {
		x, y := &base[i].op, &new[i].op
		if x.Attempted() == 0 || x.Attempted() != y.Attempted() {
			return false
		}
		was, _ := f.kind.count(x)
		is, _ := f.kind.count(y)
		differences[i] = is - was
	}
	// How far the mean of the differences may be from what more trials would give, with
	// a millionth of a doubt: 0 if all trials have the same difference.
	_, chance := growth.Mean(differences, 1e-6)
	switch {
	case change >= limit && change > chance:
		f.Exact = chance <= leastChange*max(1, *f.Base)
		f.Verdict = f.kind.Verdict(*f.Base, *f.New)
	case change+chance <= limit:
		f.Verdict = Same
	default:
		return false
	}
	return true
}

// sequential reports whether nothing was left to chance: in each phase one client or one
// loader executed all operations, as many in all trials of both sides.
func (c *Cell) sequential() bool {
	first := c.trials[0][0].attempts()
	for _, trials := range c.trials {
		for i := range trials {
			if a := trials[i].attempts(); a == nil || !maps.Equal(a, first) {
				return false
			}
		}
	}
	return c.same
}

// attempts is how many operations each phase attempted in a trial and those before, whose writes a
// store may have. It is nil if more than one client executed them.
func (t *trial) attempts() map[string]int64 {
	all := map[string]int64{}
	for c := range t.run.All {
		if c.Model != t.cell.Model || c.Engine != t.cell.Engine || c.Trial > t.cell.Trial ||
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
