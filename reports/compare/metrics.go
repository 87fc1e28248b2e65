package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mailbench/mailbench/reports/significance"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// scope says what a metric is of: each operation, all operations of a phase together, or the search for the highest
// rate of a phase.
type scope int

const (
	ofOperation scope = iota
	ofLoad
	ofSearch
)

// Measure is a metric that operations are compared by.
type Measure struct {
	Name string
	// Limit is the smallest difference that matters, if no gate says another: a share of
	// the base's value, for errors a share of all operations.
	Limit          float64
	HigherIsBetter bool
	Text           func(v float64) string
	scope          scope
	// time is the logarithm of a timed metric, or NaN if a trial does not have it.
	time func(o *observed) float64
	// share is the share of operations below a percentile. It is 0 for other metrics.
	share float64
	// fraction says that the metric is a fraction of operations, as Limit is then. Each operation counts by itself.
	fraction bool
	// count is a counter: its mean over operations, and its standard deviation. The mean is NaN if a trial does not
	// have it.
	count func(o *results.Op) (mean, deviation float64)
}

// Timed reports whether the metric is a time or a rate; else it is a counter.
func (m *Measure) Timed() bool { return m.count == nil }

// Verdict is that on a difference which is certain and matters.
func (m *Measure) Verdict(before, after float64) Verdict {
	if after > before != m.HigherIsBetter {
		return Worse
	}
	return Better
}

// measures are in the order in which they are shown. Typical is the p50 of each operation, weighted by its
// share, as in package ranking.
var measures = []*Measure{
	{Name: "typical", Limit: 0.05, share: 0.5, scope: ofLoad, Text: words.Duration, time: func(o *observed) float64 {
		sum := 0.0
		for _, op := range slices.Sorted(maps.Keys(o.shares)) { // the last digit of a sum depends on its order
			one := o.of.Ops[op]
			ns := one.Scheduled().At(0.5)
			if !one.Enough(0.5) || math.IsInf(ns, 1) {
				return math.NaN()
			}
			sum += o.shares[op] * ns
		}
		return math.Log(sum)
	}},
	wholeLoad("mean", 0.5, 0.05, func(l *results.Latency) float64 { return l.Mean }),
	percentile("p50", 0.5, 0.05),
	percentile("p99", 0.99, 0.10),
	wholeLoad("p99", 0.99, 0.10, func(l *results.Latency) float64 { return float64(l.P99) }),
	percentile("p99.9", 0.999, 0.20),
	{Name: "rate", Limit: 0.05, HigherIsBetter: true, Text: perSecond, time: func(o *observed) float64 {
		if o.of.Arrivals != "closed" || o.op.Rate <= 0 { // an open loop offers a rate of its own
			return math.NaN()
		}
		return math.Log(o.op.Rate)
	}},
	{
		Name: "max-rate", Limit: 0.10, HigherIsBetter: true, scope: ofSearch, Text: perSecond,
		time: func(o *observed) float64 {
			rate, _ := o.maxRate()
			return math.Log(rate)
		},
	},
	{
		Name: "errors", Limit: 0.001, fraction: true, Text: func(v float64) string { return words.Amount(100*v) + "%" },
		count: func(o *results.Op) (mean, deviation float64) { // operations that did not succeed
			p := 1 - float64(o.Count+o.TooLarge)/float64(o.Attempted())
			return p, math.Sqrt(p * (1 - p))
		},
	},
	{Name: "requests", Text: words.Amount, count: counter(results.Requests)},
	// How often a request was sent: 1 and its retries. They depend on the machine, so they are judged as a time is.
	{Name: "attempts", Limit: 0.05, Text: words.Amount, time: func(o *observed) float64 {
		if o.op.Store.Requests <= 0 {
			return math.NaN()
		}
		return math.Log1p(o.op.Store.Retries / o.op.Store.Requests)
	}},
	{Name: "scanned", Limit: 0.05, Text: words.Amount, count: counter(results.Examined)},
	{Name: "rows", Limit: 0.05, Text: words.Amount, count: counter(results.Rows)},
	{Name: "bytes", Limit: 0.05, Text: words.Size, count: counter(results.Bytes)},
}

// Names are the names of all metrics.
var Names = results.Distinct(measures, func(m *Measure) string { return m.Name })

func perSecond(v float64) string { return words.Amount(v) + "/s" }

// wholeLoad is a metric of the latency of all operations of a phase together.
func wholeLoad(name string, share, limit float64, ns func(l *results.Latency) float64) *Measure {
	time := func(o *observed) float64 {
		if o.of.AllOps == nil {
			return math.NaN()
		}
		return math.Log(ns(o.of.AllOps.Scheduled()))
	}
	return &Measure{Name: name, Limit: limit, share: share, scope: ofLoad, Text: words.Duration, time: time}
}

// percentile is the metric for the percentile p, 0 to 1, of everything that was scheduled.
func percentile(name string, p, limit float64) *Measure {
	return &Measure{Name: name, Limit: limit, share: p, Text: words.Duration, time: func(o *observed) float64 {
		ns := o.op.Scheduled().At(p)
		if !o.op.Enough(p) || ns <= 0 || math.IsInf(ns, 1) { // too few, or it never ended
			return math.NaN()
		}
		return math.Log(ns)
	}}
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

// maxRate is the middle of the bracket that a search for the highest rate ended with, and half
// of its width, in operations a second. If engine and load generator filled the machine that
// they share, it is the highest rate that held. It is NaN if the search found no rate, or only
// that the store holds more.
func (t *trial) maxRate() (rate, uncertain float64) {
	switch r := t.found; {
	case r == nil:
	case r.Limit == results.LimitStore && r.High > 0:
		return (r.Low + r.High) / 2, (r.High - r.Low) / 2
	case r.Limit == results.LimitMachine && r.Rate > 0:
		return r.Rate, 0
	}
	return math.NaN(), math.NaN()
}

// saySearch notes what the searches of a side found, each by itself. It returns the median over trials of half the
// bracket.
func (c *Cell) saySearch(f *Figure, side int) *float64 {
	var halves results.Series
	none, why, searches := 0, "", false
	for i := range c.trials[side] {
		o := &c.trials[side][i]
		rate, half := o.maxRate()
		if o.cell.Verdict != results.Invalid {
			halves = append(halves, half)
		}
		searches = searches || o.found != nil
		if math.IsNaN(rate) {
			if none++; o.found != nil && why == "" {
				why = ": " + o.found.Text
			}
		}
	}
	uncertain := results.Median(halves)
	if rate := math.Exp(results.Median(f.times[side])); !math.IsNaN(rate) {
		note := fmt.Sprintf("max-rate of %s: %s", sides[side], perSecond(rate))
		if uncertain > 0 {
			note += fmt.Sprintf(" ± %s by each search alone", perSecond(uncertain))
		}
		c.Notes = append(c.Notes, note)
	}
	if none > 0 && searches {
		c.Notes = append(c.Notes, fmt.Sprintf("%d of %d trials of %s did not find the highest rate, so it is not compared%s",
			none, len(c.trials[side]), sides[side], why))
	}
	return growth.Known(uncertain)
}

// judge gives all figures their verdicts. Phases that failed are the first of the regressions.
func (c *Comparison) judge() {
	for _, cell := range c.Cells {
		gated, varied := false, false
		for i := range cell.Figures {
			f := &cell.Figures[i]
			if cell.Why == "" {
				f.judge(c.Interleaved)
			} else {
				f.Verdict, f.Why, f.Needed = CannotTell, cell.Why, 0
			}
			gated, varied = gated || f.Gate, varied || f.Why == tooDifferent
		}
		if varied && cell.short {
			cell.Notes = append(cell.Notes, shortTrials)
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

// longTrial is the length of a trial in seconds from which on more trials help more than
// longer ones (docs/internals/comparing.md).
const longTrial = 10

var shortTrials = fmt.Sprintf("trials measured less than %d s: longer ones vary less (set the duration of the phase)", longTrial)

const tooDifferent = "the trials differ too much"

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
	invalid := func(o observed) bool { return o.cell.Verdict == results.Invalid }
	switch {
	case math.Abs(e.Difference) >= limit && (e.Low > nearest || e.High < -nearest):
		f.Verdict = f.Measure.Verdict(*f.Base, *f.New)
		// A client that stopped may have changed what operations found: counters of invalid trials pass their gate,
		// unless nothing was left to chance. Errors still count.
		if f.Gate && f.Verdict == Worse && !f.Measure.Timed() && !f.Measure.fraction && !f.cell.sequential() &&
			slices.ContainsFunc(f.of.in, invalid) {
			f.Verdict, f.Why, f.Exact = CannotTell, "a trial is invalid, and gates ignore its counters", false
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
		ratio := fresh / base
		f.Ratio = &ratio
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
	all := slices.SortedStableFunc(slices.Values(f.of.in), func(a, b observed) int {
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
	first := map[int]map[string]int64{} // by the number of the trial
	for _, t := range slices.Concat(c.trials[0], c.trials[1]) {
		attempted := map[string]int64{}
		for of := range t.run.All {
			if of.Model != c.Model || of.Engine != c.Engine || of.Point != t.cell.Point || of.Trial > t.cell.Trial ||
				len(of.Ops) == 0 {
				continue
			}
			alone := of.Arrivals == "closed" && of.Clients == 1
			if of.Kind == results.KindLoad {
				alone = of.Client != nil && of.Client.Workers == 1
			}
			if !alone {
				return false
			}
			for _, o := range of.Ops {
				attempted[of.Phase] += o.Attempted()
			}
		}
		if same := first[t.cell.Trial]; same != nil && !maps.Equal(attempted, same) {
			return false
		}
		first[t.cell.Trial] = attempted
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
			f := &c.Figures[i]
			if value := math.Exp(results.Median(f.times[0])); c.Why == "" && f.Measure.Timed() && f.Name != "attempts" &&
				(value > 0 || f.Measure.scope != ofLoad) {
				f.Base = growth.Known(value)
			}
		}
	}
	return cells
}

// Counted are the counters of each phase that differ between two runs by more than chance, however little that is.
// Errors must differ by their limit.
func Counted(base, new *results.Run) map[Subject][]Figure {
	differ := map[Subject][]Figure{}
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
				differ[c.Subject] = append(differ[c.Subject], f)
			}
		}
	}
	return differ
}
