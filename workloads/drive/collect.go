package drive

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

// tickEvery is how long a window is: a tenth of the phase, at least 0.1 s and at most 1 s. A
// warm-up has shorter ones, from 20 ms, so that it can end early. Without a duration it is 0.5 s.
func (p *phase) tickEvery() time.Duration {
	parts, least := time.Duration(10), 100*time.Millisecond
	if p.Phase.Kind == workloads.Warmup {
		parts, least = 25, 20*time.Millisecond
	}
	if d := p.Phase.Duration; d > 0 {
		return min(time.Second, max(least, d/parts))
	}
	return time.Second / 2
}

// window adds the service time of a window. Ops are by slot. The service time is the
// mean of the medians of the operations, weighted by their share of the mix, so that it does not change
// when chance brings more of one operation. An operation without values in the window is left out.
func (p *phase) window(ops []latency.Op) {
	var service, weights float64
	for i := range ops {
		if h := &ops[i].Times[latency.Service]; h.Count() > 0 {
			weight := float64(p.recorder.Total[i].Counts[latency.OK])
			service += weight * float64(h.At(50, 0))
			weights += weight
		}
	}
	if weights > 0 {
		p.windows = append(p.windows, math.Round(service/weights))
	}
}

// progress is how far the phase is, after a tick of all operations between two moments of it.
func (p *phase) progress(all *latency.Op, from, to time.Duration, last bool) Progress {
	soFar := &p.recorder.Total[p.slots.whole]
	done, length := all.Counts[latency.OK], to-from
	if last { // the last window says little: report the rate of the whole phase
		done, length = soFar.Counts[latency.OK], to
	}
	c, times := &soFar.Counts, &soFar.Times[latency.Latency]
	percentile := func(share float64) time.Duration {
		if c[latency.OK] < results.EnoughFor(share) {
			return 0
		}
		return time.Duration(times.At(100*share, 0))
	}
	pr := Progress{
		OK: c[latency.OK], Dropped: c[latency.Dropped],
		Rate: float64(done) / max(length.Seconds(), 1e-3), Fraction: -1, Finished: last,
		P50: percentile(0.5), P99: percentile(0.99),
	}
	scheduled := int64(0)
	for _, n := range c {
		scheduled += n
	}
	pr.Failed = scheduled - pr.OK - pr.Dropped
	total := cmp.Or(p.Total, int64(p.Phase.Operations))
	switch {
	case last:
		pr.Fraction = 1
	case total > 0:
		pr.Fraction = min(1, float64(scheduled)/float64(total))
	case p.Phase.Duration > 0:
		pr.Fraction = min(1, float64(to)/float64(p.Phase.Duration))
	}
	return pr
}

const (
	// loggedTicks is how many of a phase's first ticks are a window of the log each.
	loggedTicks = 64
	// A later window lasts at least 1/loggedPart of the phase until the window's end. An
	// hour has about 130 windows.
	loggedPart = 16
)

// logged is the window that the log has not got yet. Its memory does not grow with the phase.
type logged struct {
	windows int           // that the log has got
	from    time.Duration // begin of the window
	waits   bool          // it has ticks
	ops     []latency.Op  // their sum; nil as long as each tick is a window of its own
}

// writeLog adds a tick that ends at to, and gives the window to the log if it is long enough for the phase's age.
// Short phases copy nothing: a copy of all histograms brings the heap to the client's memory limit, and doubled p99.
// Histograms add exactly, so the sum of the windows is the same however ticks are put together.
func (p *phase) writeLog(ticked []latency.Op, to time.Duration, last bool) {
	if p.Log == nil && p.Observe == nil {
		return
	}
	l := &p.logged
	full := last || l.windows < loggedTicks || loggedPart*(to-l.from) >= to
	if l.waits || !full {
		if l.ops == nil {
			l.ops = make([]latency.Op, len(ticked))
		}
		for i, name := range p.slots.names {
			if name != "" {
				l.ops[i].Add(&ticked[i])
			}
		}
		ticked = l.ops
	}
	if l.waits = !full; l.waits {
		return
	}
	if p.Observe != nil {
		first, ops := p.slots.ops, p.Phase.Patterns.Ops()
		p.Observe(p.Cell.Key, func(op int) string { return p.slots.names[first+op] }, ticked[first:first+ops])
	}
	if p.Log != nil {
		p.Log.Write(p.Cell.Tag, p.slots.names, ticked, p.clock.base.Add(l.from), p.clock.base.Add(to))
	}
	for i := range l.ops {
		l.ops[i].Reset()
	}
	l.windows, l.from = l.windows+1, to
}

// slots numbers what the recorder has: a slot for each operation of each stream, which is recorded
// once, then sums of slots. A phase without streams has one slot for each operation, with
// its number.
type slots struct {
	at  [][workloads.MaxOps]int // by stream and operation
	all []slot
	// of are the slots of each number: itself, and for a sum those that are added: of each
	// operation and of each stream, if the phase has streams, and of all.
	of [][]int
	// The first operation, the first stream, and the sum of all.
	ops, streams, whole int
	// names are those in the log; "": it does not have it. An operation that several streams of the phase have is
	// there as STREAM:OPERATION, too.
	names []string
}

type slot struct {
	stream int
	op     workloads.Op
}

func newSlots(p *workloads.Phase) slots {
	streams := p.Streams
	if !p.HasStreams() {
		streams = []workloads.Phase{{}} // one with all operations
	}
	s := slots{at: make([][workloads.MaxOps]int, len(streams))}
	ofOp, ofStream := make([][]int, p.Patterns.Ops()), make([][]int, len(streams))
	for i := range streams {
		rates := streams[i].PerSecond()
		for op := range ofOp {
			s.at[i][op] = math.MaxInt // never used, unless the stream has the operation
			if k := len(s.all); !p.HasStreams() || rates.Has(workloads.Op(op)) {
				s.at[i][op], s.all, s.of = k, append(s.all, slot{i, workloads.Op(op)}), append(s.of, []int{k})
				ofStream[i], ofOp[op] = append(ofStream[i], k), append(ofOp[op], k)
			}
		}
	}
	if p.HasStreams() {
		s.ops, s.streams = len(s.all), len(s.all)+len(ofOp)
		s.of = slices.Concat(s.of, ofOp, ofStream)
	}
	s.whole, s.of = len(s.of), append(s.of, slices.Concat(ofStream...))
	s.names = make([]string, len(s.of))
	for op, of := range ofOp {
		name := p.Patterns.Name(workloads.Op(op))
		s.names[s.ops+op] = name
		for _, k := range of {
			if len(of) > 1 { // else the operation has the same
				s.names[k] = results.StreamOp(streams[s.all[k].stream].Name, name)
			}
		}
	}
	return s
}

// tally has the worker's counts of the stream of the operation under way.
func (w *worker) tally() *tally { return &w.stats.streams[w.op.Stream] }

// timeline is how a phase went, interval by interval.
type timeline struct {
	tick      time.Duration // time between ticks, except for late ones and the last
	intervals []results.Interval
	full      float64 // length of an interval in seconds; 0: one tick
	gap       results.Gap
	ended     time.Duration // when the last operation that was ok ended
}

// intervalsMost is how many intervals a timeline has. A timeline that grows longer
// merges its intervals two by two, so that a phase of a day takes no more room than
// one of ten minutes.
const intervalsMost = 600

// addInterval adds a tick between two moments of the phase to its timeline. Last says that the phase has
// ended.
func (p *phase) addInterval(ticked []latency.Op, from, to time.Duration, last bool) {
	from, to = from.Round(100*time.Microsecond), to.Round(100*time.Microsecond)
	all := &ticked[p.slots.whole]
	in := interval(all)
	in.At, in.Seconds = from.Seconds(), (to - from).Seconds()
	if in.OK > 0 {
		p.timeline.endGap(all.First)
		p.timeline.ended = max(p.timeline.ended, all.Last)
	}
	p.timeline.append(in, last)
}

// interval has the counts and latencies of operations.
func interval(o *latency.Op) results.Interval {
	c := &o.Counts
	in := results.Interval{
		OK: c[latency.OK], NotFound: c[latency.NotFound], Failed: c[latency.Failed],
		Unknown: c[latency.Unknown], Dropped: c[latency.Dropped], TooLarge: c[latency.TooLarge],
	}
	if h := &o.Times[latency.Latency]; in.OK > 0 {
		in.P50, in.P99 = h.At(50, 0), h.At(99, 0)
		if slowest := h.Max(); slowest > in.P99 {
			in.Max = slowest
		}
	}
	return in
}

// endGap ends a time without a successful operation, and keeps it if it is the longest. A
// gap within one interval is not seen.
func (t *timeline) endGap(until time.Duration) {
	if s := (until - t.ended).Seconds(); s > t.gap.Seconds {
		t.gap = results.Gap{At: t.ended.Seconds(), Seconds: s}
	}
}

// append puts an interval at the end, or adds it to one that is not full yet. The
// last interval of a phase is added to the one before if it is too short to be
// compared. A late tick makes one long interval, and changes no other.
func (t *timeline) append(in results.Interval, last bool) {
	if n := len(t.intervals); n > 0 {
		end := &t.intervals[n-1]
		if tick := t.tick.Seconds(); end.Seconds+tick/2 <= t.full || last && in.Seconds < max(tick, t.full)/2 {
			end.Follow(&in)
			return
		}
	}
	t.intervals = append(t.intervals, in)
	if len(t.intervals) < intervalsMost {
		return
	}
	t.intervals, t.full = results.Halved(t.intervals), 2*max(t.full, t.tick.Seconds())
}

// stats are what one worker, or all of them, counted besides latencies.
type stats struct {
	streams []tally   // by number; a phase without streams has one
	dropped int64     // operations that were only dropped because of client delay
	ops     []opStats // by slot
}

// tally is what is counted of one stream, or of all.
type tally struct {
	results.Offered  // without what follows from the length of the phase
	results.Evidence // the counts that workers add to
}

func (t *tally) add(b *tally) {
	results.Add(&t.Offered, &b.Offered)
	results.Add(&t.Evidence, &b.Evidence)
}

// sum is the tally of all streams.
func (s *stats) sum() (all tally) {
	for i := range s.streams {
		all.add(&s.streams[i])
	}
	return all
}

func newStats(s *slots) stats {
	return stats{streams: make([]tally, len(s.at)), ops: make([]opStats, len(s.all))}
}

// opStats are the counts of one slot. Cost and squares count only successful calls.
type opStats struct {
	cost       drivers.Cost
	squares    [4]float64 // sums of squares of countsOf, for standard deviations between operations
	missing    models.Known
	fallbacks  []string
	errors     []results.ErrorCount
	noTarget   int64
	notOffered bool // a call returned models.ErrNotOffered
}

// countsOf are requests, rows, bytes and rows scanned.
func countsOf(c *drivers.Cost) [4]float64 {
	return [4]float64{
		float64(c.Requests), float64(c.RowsRead + c.RowsWritten), float64(c.BytesRead + c.BytesWritten),
		float64(c.RowsScanned),
	}
}

func (o *opStats) addCost(c *drivers.Cost) {
	o.cost.Add(c)
	for i, v := range countsOf(c) {
		o.squares[i] += v * v
	}
}

// deviation is the standard deviation of n values with that sum and sum of squares. It
// is 0 if the values differ by no more than rounding.
func deviation(n, sum, squares float64) float64 {
	mean := sum / n
	variance := squares/n - mean*mean
	if n < 2 || variance <= 1e-12*mean*mean {
		return 0
	}
	return math.Sqrt(variance * n / (n - 1))
}

// fellBack notes the name of a pattern whose fallback ran.
func (o *opStats) fellBack(name string) {
	if !slices.Contains(o.fallbacks, name) {
		o.fallbacks = append(o.fallbacks, name)
	}
}

// add adds what another worker counted.
func (s *stats) add(b *stats) {
	for i := range b.streams {
		s.streams[i].add(&b.streams[i])
	}
	s.dropped += b.dropped
	for i := range b.ops {
		s.ops[i].merge(&b.ops[i])
	}
}

func (o *opStats) merge(p *opStats) {
	o.cost.Add(&p.cost)
	for i, v := range p.squares {
		o.squares[i] += v
	}
	o.missing |= p.missing
	o.noTarget += p.noTarget
	o.notOffered = o.notOffered || p.notOffered
	for _, name := range p.fallbacks {
		o.fellBack(name)
	}
	o.errors = results.AddErrors(o.errors, p.errors...)
}
