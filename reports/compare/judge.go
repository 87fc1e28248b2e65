package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mailbench/mailbench/reports/significance"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// judge gives all figures their verdicts. Phases that failed are the first of the regressions.
func (c *Comparison) judge() {
	for _, cell := range c.Cells {
		gated := false
		for i := range cell.Figures {
			f := &cell.Figures[i]
			if cell.Why == "" {
				f.judge(c.Interleaved)
			} else {
				f.Verdict, f.Why, f.Needed = CannotTell, cell.Why, 0
			}
			gated = gated || f.Gate
		}
		if cell.broken && (gated || len(cell.Figures) == 0) {
			c.Regressions = append(c.Regressions, cell.Subject.String()+": "+cell.Why)
		}
	}
	all, _ := c.sorted()
	for _, f := range all {
		if f.Gate && f.Verdict == Worse {
			c.Regressions = append(c.Regressions, f.String())
		}
	}
}

// drifts is how far the machine may have drifted from one run to the next, in standard
// deviations of the trials. If trials vary much, so do hours.
const drifts = 2

// judge sets the verdict by the interval of the difference. The figure differs if the interval excludes 0, or for a
// timed one of sequential runs all that may be drift. It is unchanged if the whole interval is within the limit.
func (f *Figure) judge(interleaved bool) {
	e, limit, nearest := &f.estimate, math.Log1p(f.Limit), 0.0
	switch {
	case f.Measure.fraction:
		limit = f.Limit
	case !f.Measure.Timed():
		limit = f.Limit * *f.Base
	case !interleaved:
		nearest = max(limit, drifts*e.Deviation)
	}
	invalid := func(t trial) bool { return t.cell.Verdict == results.Invalid }
	switch {
	case math.Abs(e.Difference) >= limit && (e.Low > nearest || e.High < -nearest):
		f.Verdict = f.Measure.Verdict(*f.Base, *f.New)
		if !f.Measure.Timed() && f.Ratio != nil && !math.IsInf(e.High, 1) {
			f.Low, f.High = growth.Known(1 + e.Low / *f.Base), growth.Known(1 + e.High / *f.Base)
		}
		// A client that stopped may have changed what operations found: counters of invalid trials pass their gate,
		// unless nothing was left to chance. Errors still count.
		if f.Gate && f.Verdict == Worse && !f.Measure.Timed() && !f.Measure.fraction && !f.cell.sequential() &&
			slices.ContainsFunc(f.of.in, invalid) {
			f.Verdict, f.Why, f.Exact = CannotTell, "a trial is invalid, and gates ignore its counters", false
			f.Low, f.High = nil, nil
		}
	case e.Low >= -limit && e.High <= limit:
		f.Verdict = Same
	default:
		f.Verdict, f.Why, f.Exact = CannotTell, f.doubt, false
		if f.Low != nil {
			width := (e.High - e.Low) / 2
			f.Needed = max(e.Trials+1, int(math.Ceil(float64(e.Trials)*(width/limit)*(width/limit))))
		}
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

// counted estimates a counter. Its interval is as wide as the chance in the difference can be.
func (f *Figure) counted() {
	s := f.of
	base, deviation := f.Measure.count(&s.sum[0])
	fresh, other := f.Measure.count(&s.sum[1])
	if f.Base, f.New = &base, &fresh; base > 0 && !f.Measure.fraction {
		f.Ratio = growth.Known(fresh / base)
	}
	difference, rounding := fresh-base, leastChange*max(1, base)
	if math.Abs(difference) <= rounding {
		return
	}
	n, m := s.sum[0].Attempted(), s.sum[1].Attempted()
	chance := knownErrors * math.Hypot(deviation/math.Sqrt(float64(n)), other/math.Sqrt(float64(m)))
	f.doubt = "which messages an operation meets depends on timing; use longer or more trials"
	if min(n, m) < knownOperations {
		chance, f.doubt = math.Inf(1), fmt.Sprintf("fewer than %d operations", knownOperations)
	}
	switch {
	case f.Measure.fraction:
	// Each trial attempts the operation equally often in an open loop, and if a phase ends after a number of operations.
	case n*int64(f.cell.NewCount) != m*int64(f.cell.BaseCount):
		chance, f.doubt = math.Inf(1), "the runs did not execute the same operations"
	case f.cell.sequential():
		chance = 0
	default:
		chance = min(chance, f.chance())
	}
	f.Exact = chance <= rounding
	f.estimate = significance.Estimate{Difference: difference, Low: difference - chance, High: difference + chance}
}

// chance is how far a counter's difference may be from what more trials would give, with a millionth of a doubt, by
// trials of one number, which draw the same operations on both sides: there it differs by the code and by what
// operations found by chance. The trials themselves say how large that chance is: single operations differ much more
// from each other, since they are of unlike messages. It is infinite if the sides do not have the same trials, each
// with the same number of operations, or if there are too few of them.
func (f *Figure) chance() float64 {
	all := slices.SortedStableFunc(slices.Values(f.of.in), func(a, b trial) int {
		return cmp.Or(a.side-b.side, a.cell.Trial-b.cell.Trial)
	})
	base, fresh := all[:f.cell.BaseCount], all[f.cell.BaseCount:]
	if len(base) < significance.LeastTrials || !f.cell.same {
		return math.Inf(1)
	}
	differences := make([]float64, len(base))
	for i := range base {
		x, y := &base[i].op, &fresh[i].op
		if min(x.Count, y.Count) == 0 || x.Attempted() != y.Attempted() {
			return math.Inf(1)
		}
		was, _ := f.Measure.count(x)
		is, _ := f.Measure.count(y)
		differences[i] = is - was
	}
	_, chance := growth.Mean(differences, 1e-6)
	return chance
}

// sequential reports whether nothing was left to chance: in each phase one client or one loader executed all
// operations, as many in all trials of one number. The phases are those of a trial and of the trials before, whose
// writes a store may have.
func (c *Cell) sequential() bool {
	attempted := map[results.Key]int64{}
	for _, t := range c.trials {
		for of := range t.run.All {
			if of.Model != c.Model || of.Engine != c.Engine || of.Point != t.cell.Point || of.Trial > t.cell.Trial ||
				len(of.Ops) == 0 {
				continue
			}
			alone := of.Arrivals == "closed" && of.Clients == 1
			if of.Kind == results.KindLoad {
				alone = of.Client != nil && of.Client.Workers == 1
			}
			n := int64(0)
			for _, o := range of.Ops {
				n += o.Attempted()
			}
			if first, ok := attempted[of.Key]; !alone || ok && n != first {
				return false
			}
			attempted[of.Key] = n
		}
	}
	return c.same
}

// Cells are the measured phases of a run. Base of a figure is the median over the trials of a time or rate, and the
// mean of a counter; nil if it is not known, or the phase is not ok. Trials that are invalid have no times.
func Cells(r *results.Run) []*Cell {
	one := Side{Runs: []*results.Run{r}}
	cells, _ := newCells([2]Side{one, one}, false)
	for _, c := range cells {
		for i := range c.Figures {
			if f := &c.Figures[i]; c.Why == "" && f.Measure.Timed() {
				f.Base = growth.Known(math.Exp(results.Median(f.times[0])))
			}
		}
	}
	return cells
}

// Counted are the counters that differ between two runs by more than chance, however little that is, by their String.
// Errors must differ by their limit.
func Counted(base, new *results.Run) map[string]Figure {
	differ := map[string]Figure{}
	cells, _ := newCells([2]Side{{Runs: []*results.Run{base}}, {Runs: []*results.Run{new}}}, false)
	for _, c := range cells {
		for _, f := range c.Figures {
			if c.Why != "" || f.Measure.Timed() || !f.known {
				continue
			}
			if !f.Measure.fraction {
				f.Limit = 0
			}
			if f.judge(true); f.Verdict == Worse || f.Verdict == Better {
				differ[f.String()] = f
			}
		}
	}
	return differ
}
