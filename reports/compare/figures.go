package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/mailbench/mailbench/reports/significance"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// Measure is a metric that operations are compared by. It has either a time or rate, or a counter.
type Measure struct {
	Name string
	// Limit is the smallest difference that matters, if no gate says another: a share of
	// the base's value, for errors a share of all operations.
	Limit          float64
	HigherIsBetter bool
	Text           func(v float64) string
	load           bool // it is of all operations of a phase together, and not of each
	search         bool // it is of the search for the highest rate of a phase, in place of all others of the whole load
	// time is a time or rate of an operation in a trial: NaN if it does not have it, and infinite if it never ended.
	time func(c *Cell, t *trial, o *results.Op) float64
	// count is a counter: its mean over operations, and its standard deviation. The mean is NaN if a trial does not
	// have it.
	count func(o *results.Op) (mean, deviation float64)
	// fraction says that the counter is a fraction of operations, as Limit is then. Each operation counts by itself.
	fraction bool
}

// Timed reports whether the metric is a time or a rate; else it is a counter.
func (m *Measure) Timed() bool { return m.count == nil }

// Worse reports whether a difference that is certain and matters is a regression.
func (m *Measure) Worse(before, after float64) bool { return after > before != m.HigherIsBetter }

// measures are in the order in which they are shown.
var measures = []*Measure{
	{Name: "typical", Limit: 0.05, load: true, Text: words.Duration, time: func(c *Cell, t *trial, _ *results.Op) float64 {
		// The p50 of each operation, weighted by its share, as in package ranking.
		sum, all := 0.0, 0.0
		for _, op := range slices.Sorted(maps.Keys(c.shares)) { // the last digit of a sum depends on its order
			one := t.cell.Ops[op]
			if !one.Enough(0.5) {
				return math.NaN()
			}
			sum, all = sum+c.shares[op]*one.Scheduled().At(0.5), all+c.shares[op]
		}
		return sum / all
	}},
	{Name: "p50", Limit: 0.05, Text: words.Duration, time: percentile(0.5)},
	{Name: "p99", Limit: 0.10, Text: words.Duration, time: percentile(0.99)},
	{Name: "p99", Limit: 0.10, load: true, Text: words.Duration, time: func(_ *Cell, t *trial, _ *results.Op) float64 {
		if t.cell.AllOps == nil {
			return math.NaN()
		}
		return t.cell.AllOps.Scheduled().At(0.99)
	}},
	{Name: "p99.9", Limit: 0.20, Text: words.Duration, time: percentile(0.999)},
	{
		Name: "rate", Limit: 0.05, HigherIsBetter: true, Text: perSecond,
		time: func(_ *Cell, t *trial, o *results.Op) float64 {
			if t.cell.Arrivals != "closed" { // an open loop offers a rate of its own
				return math.NaN()
			}
			return o.Rate
		},
	},
	{Name: "max-rate", Limit: 0.10, HigherIsBetter: true, load: true, search: true, Text: perSecond, time: maxRate},
	{
		Name: "errors", Limit: 0.001, fraction: true, Text: func(v float64) string { return words.Amount(100*v) + "%" },
		count: func(o *results.Op) (mean, deviation float64) { // operations that did not succeed
			p := 1 - float64(o.Count+o.TooLarge)/float64(o.Attempted())
			return p, math.Sqrt(p * (1 - p))
		},
	},
	{Name: "requests", Text: words.Amount, count: counter(results.Requests)},
	{Name: "scanned", Limit: 0.05, Text: words.Amount, count: counter(results.Examined)},
	{Name: "rows", Limit: 0.05, Text: words.Amount, count: counter(results.Rows)},
	{Name: "bytes", Limit: 0.05, Text: words.Size, count: counter(results.Bytes)},
}

// Names are the names of all metrics.
var Names = results.Distinct(measures, func(m *Measure) string { return m.Name })

func perSecond(v float64) string { return words.Amount(v) + "/s" }

// percentile is the percentile p, 0 to 1, of everything that was scheduled.
func percentile(p float64) func(c *Cell, t *trial, o *results.Op) float64 {
	return func(_ *Cell, _ *trial, o *results.Op) float64 {
		if !o.Enough(p) {
			return math.NaN()
		}
		return o.Scheduled().At(p)
	}
}

// maxRate is the middle of the bracket that a search for the highest rate ended with, in operations a second. If
// engine and load generator filled the machine that they share, it is the highest rate that held. It is NaN if the
// search found no rate, or only that the store holds more.
func maxRate(_ *Cell, t *trial, _ *results.Op) float64 {
	switch r := t.found; {
	case r == nil:
	case r.Limit == results.LimitStore && r.High > 0:
		return (r.Low + r.High) / 2
	case r.Limit == results.LimitMachine:
		return r.Rate
	}
	return math.NaN()
}

// counter is a counter of the store, of the operations that succeeded. A few traced operations are no gate.
func counter(f results.Figure) func(o *results.Op) (mean, deviation float64) {
	return func(o *results.Op) (float64, float64) {
		if o.Count == 0 || f == results.Examined && o.Store.Traced > 0 {
			return math.NaN(), 0
		}
		return o.Counted(f)
	}
}

// newFigure is a figure without a verdict. A counter has an estimate, whose interval is as wide as the chance in the
// difference can be: a counter depends on the code and on the messages that operations find. Runs with the same plan
// have the same operations, but which existing message one finds depends on what others did before it. A timed figure
// has its logarithm in each trial: NaN in trials whose times are left out, since they are those of the load generator.
// It is known if all trials have it, also those that are left out: it is unknown whether theirs is worse.
func (c *Cell) newFigure(s *series, m *Measure) Figure {
	f := Figure{Op: s.op, Name: m.Name, Limit: m.Limit, Measure: m, cell: c, known: true}
	if m.Timed() {
		for i := range c.trials {
			t := &c.trials[i]
			o := t.cell.Ops[s.op]
			v, invalid := m.time(c, t, &o), t.cell.Verdict == results.Invalid
			known := v > 0 && (invalid || !math.IsInf(v, 1))
			f.known = f.known && known
			if invalid || !known {
				v = math.NaN()
			}
			f.times[t.side] = append(f.times[t.side], math.Log(v))
		}
		return f
	}
	base, deviation := m.count(&s.sum[0])
	fresh, other := m.count(&s.sum[1])
	if f.known = !math.IsNaN(base + fresh); !f.known || c.Why != "" {
		return f
	}
	if f.Base, f.New = &base, &fresh; base > 0 && !m.fraction {
		f.Ratio = growth.Known(fresh / base)
	}
	difference, rounding := fresh-base, 1e-6*max(1, base)
	if math.Abs(difference) <= rounding {
		return f
	}
	before, after := s.sum[0].Attempted(), s.sum[1].Attempted()
	// By chance two means are six standard errors apart in one counter of 10⁹, so many counters need no correction.
	chance := 6 * math.Hypot(deviation/math.Sqrt(float64(before)), other/math.Sqrt(float64(after)))
	f.doubt = "which messages an operation meets depends on timing; use longer or more trials"
	if min(before, after) < 30 { // which it takes to know their deviation
		chance, f.doubt = math.Inf(1), "fewer than 30 operations"
	}
	switch {
	case m.fraction:
	// Each trial attempts the operation equally often in an open loop, and if a phase ends after a number of operations.
	case before*int64(c.NewCount) != after*int64(c.BaseCount):
		chance, f.doubt = math.Inf(1), "the runs did not execute the same operations"
	case c.sequential():
		chance = 0
	default:
		chance = min(chance, f.chance())
	}
	f.Exact = chance <= rounding
	f.estimate = significance.Estimate{Difference: difference, Low: difference - chance, High: difference + chance}
	return f
}

// chance is how far a counter's difference may be from what more trials would give, with a millionth of a doubt, by
// trials of one number, which draw the same operations on both sides: there it differs by the code and by what
// operations found by chance. The trials themselves say how large that chance is: single operations differ much more
// from each other, since they are of unlike messages. It is infinite if the sides do not have the same trials, each
// with the same number of operations, or if there are too few of them.
func (f *Figure) chance() float64 {
	all := slices.SortedStableFunc(slices.Values(f.cell.trials), func(a, b trial) int {
		return cmp.Or(a.side-b.side, a.cell.Trial-b.cell.Trial)
	})
	base, fresh := all[:f.cell.BaseCount], all[f.cell.BaseCount:]
	if len(base) < significance.LeastTrials || !f.cell.same {
		return math.Inf(1)
	}
	differences := make([]float64, len(base))
	for i := range base {
		x, y := base[i].cell.Ops[f.Op], fresh[i].cell.Ops[f.Op]
		if min(x.Count, y.Count) == 0 || x.Attempted() != y.Attempted() {
			return math.Inf(1)
		}
		was, _ := f.Measure.count(&x)
		is, _ := f.Measure.count(&y)
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
		// The machine may have drifted from one run to the next: if trials vary much, so do hours.
		nearest = max(limit, 2*e.Deviation)
	}
	invalid := func(t trial) bool { return t.cell.Verdict == results.Invalid }
	switch {
	case math.Abs(e.Difference) >= limit && (e.Low > nearest || e.High < -nearest):
		if f.Verdict = Better; f.Measure.Worse(*f.Base, *f.New) {
			f.Verdict = Worse
		}
		if !f.Measure.Timed() && f.Ratio != nil && !math.IsInf(e.High, 1) {
			f.Low, f.High = growth.Known(1 + e.Low / *f.Base), growth.Known(1 + e.High / *f.Base)
		}
		// A client that stopped may have changed what operations found: counters of invalid trials pass their gate,
		// unless nothing was left to chance. Errors still count.
		if f.Gate && f.Verdict == Worse && !f.Measure.Timed() && !f.Measure.fraction && !f.cell.sequential() &&
			slices.ContainsFunc(f.cell.trials, invalid) {
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
