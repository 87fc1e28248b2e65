package drive

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

// collect takes what the workers recorded, tick by tick, until they have ended, and
// once more then. stop lets no more operations begin, and kill ends those under way.
func (p *phase) collect(ended <-chan struct{}, stop, kill context.CancelFunc) {
	p.timeline.tick, p.timeline.patterns = p.tickEvery(), p.Phase.Patterns
	ticks := time.NewTicker(p.timeline.tick)
	defer ticks.Stop()
	from := time.Duration(0)
	for {
		last := false
		select {
		case <-ended:
			last = true
		case <-ticks.C:
		}
		to := p.clock.now()
		if last {
			to = max(from, p.length)
		}
		p.take(from, to, last)
		if last {
			return
		}
		// A warm-up bounded by operations runs them all.
		if p.Phase.Kind == workloads.Warmup && p.Phase.Duration > 0 && warm(p.windows) {
			stop()
		}
		if p.vanished == nil && p.silent(to) {
			stop()
			time.AfterFunc(grace, kill)
		}
		from = to
	}
}

// silenceMost is by when another node has taken over from one that died.
const silenceMost = time.Minute

// silent reports whether no request of a load was answered for so long that it must end, and notes why.
func (p *phase) silent(now time.Duration) bool {
	if !p.loads() || !p.target.Engine.Remote || now-p.timeline.soFar.Last < p.Silence {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	cause := p.lastCause
	if cause == nil {
		cause = errors.New("no call has ended")
	}
	p.vanished = fmt.Errorf("%s has acknowledged nothing for %v, after %d of %d messages: %w", p.target.Engine.Name,
		p.Silence, p.timeline.soFar.Counts[latency.OK], p.Total, cause)
	return true
}

// take takes what was recorded between two moments of the phase. Last says that it has ended.
func (p *phase) take(from, to time.Duration, last bool) {
	ticked, hiccups := p.recorder.Tick(), p.hiccups.tick()
	ops := p.byOp(ticked)
	p.writeLog(ops, hiccups, from, to, last)
	p.memory.follow()
	if p.Stream.Open() {
		p.learn()
	}
	p.timeline.add(ops[:p.Phase.Patterns.Ops()], p.streamIntervals(ticked), from, to, last)
	if last { // the last window is too short to compare
		p.timeline.endGap(to)
	} else {
		p.window(ticked)
	}
	if p.Progress != nil {
		p.Progress(p.progress(from, to, last))
	}
}

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

// window adds the service time and the wait of a window. Ops are by slot. The service time is the
// mean of the medians of the operations, weighted by their share of the mix, so that it does not change
// when chance brings more of one operation. An operation without values in the window is left out.
func (p *phase) window(ops []latency.Op) {
	var service, weights, wait, waits float64
	for i := range ops {
		if h := ops[i].Times[latency.Wait]; h != nil && h.TotalCount() > 0 {
			wait += h.Mean() * float64(h.TotalCount())
			waits += float64(h.TotalCount())
		}
		if h := ops[i].Times[latency.Service]; h != nil && h.TotalCount() > 0 {
			weight := float64(p.recorder.Total(i).Counts[latency.OK])
			service += weight * float64(latency.At(h, 50))
			weights += weight
		}
	}
	if weights > 0 {
		p.windows = append(p.windows, math.Round(service/weights))
		p.waits = append(p.waits, int64(wait/max(1, waits)))
	}
}

// progress is how far the phase is, after a tick between two moments of it.
func (p *phase) progress(from, to time.Duration, last bool) Progress {
	done, length := p.timeline.all.Counts[latency.OK], to-from
	if last { // the last window says little: report the rate of the whole phase
		done, length = p.timeline.soFar.Counts[latency.OK], to
	}
	c, times := &p.timeline.soFar.Counts, p.timeline.soFar.Times[latency.Latency]
	percentile := func(share float64) time.Duration {
		if c[latency.OK] < results.EnoughFor(share) {
			return 0
		}
		return time.Duration(latency.At(times, 100*share))
	}
	pr := Progress{
		OK: c[latency.OK], Dropped: c[latency.Dropped],
		Total: p.Total, Rate: float64(done) / max(length.Seconds(), 1e-3), Fraction: -1, Finished: last,
		P50: percentile(0.5), P99: percentile(0.99),
	}
	all := int64(0)
	for _, n := range c {
		all += n
	}
	pr.Failed = all - pr.OK - pr.Dropped
	if pr.Total == 0 {
		pr.Total = int64(p.Phase.Operations)
	}
	switch {
	case last:
		pr.Fraction = 1
	case pr.Total > 0:
		pr.Fraction = min(1, float64(all)/float64(pr.Total))
	case p.Phase.Duration > 0:
		pr.Fraction = min(1, float64(to)/float64(p.Phase.Duration))
	}
	if pr.Fraction > 0 && !last {
		pr.ETA = time.Duration(float64(to)/pr.Fraction) - to
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

// logged holds the ticks of a window that the log has not got yet. Its memory does not
// grow with the phase.
type logged struct {
	windows int           // windows that the log has got
	from    time.Duration // begin of the window, if waits
	waits   bool          // the window has ticks
	ops     []latency.Op
	hiccups *hdr.Histogram
}

// writeLog gives a tick to the log, together with those before it that waited. A window
// that is too short for the phase's age waits for the next tick. Histograms add exactly, so
// the sum of the windows is the same however ticks are put together.
func (p *phase) writeLog(ops []latency.Op, hiccups *hdr.Histogram, from, to time.Duration, last bool) {
	if p.Log == nil && p.Observe == nil {
		return
	}
	l := &p.logged
	if l.waits {
		from = l.from
	}
	if full := last || l.windows < loggedTicks || loggedPart*(to-from) >= to; !full {
		l.add(ops, hiccups, from)
		return
	}
	l.windows++
	if !l.waits {
		p.writeWindow(ops, hiccups, from, to)
		return
	}
	l.add(ops, hiccups, from)
	p.writeWindow(l.ops, l.hiccups, from, to)
	l.waits = false
	for i := range l.ops {
		l.ops[i].Reset()
	}
	l.hiccups.Reset()
}

// writeWindow gives a window to the log and the observer. Its times follow from the begin of the phase: the
// machine's clock may be set while the phase lasts.
func (p *phase) writeWindow(ops []latency.Op, hiccups *hdr.Histogram, from, to time.Duration) {
	name := func(op int) string { return p.slots.names[op] }
	if p.Observe != nil {
		p.Observe(p.Cell.Key, name, ops[:p.Phase.Patterns.Ops()])
	}
	if p.Log != nil {
		began, ended := p.began.Add(from), p.began.Add(to)
		p.Log.Write(func(op int, k latency.Kind) string { return p.Cell.Tag(name(op), k.String()) }, ops, began, ended)
		p.Log.WriteOne(p.Cell.Tag("client", "hiccup"), hiccups, began, ended)
	}
}

// add adds a tick to the window that begins at from.
func (l *logged) add(ops []latency.Op, hiccups *hdr.Histogram, from time.Duration) {
	if l.ops == nil {
		l.ops = make([]latency.Op, len(ops))
		l.hiccups = newLateness()
	}
	l.from, l.waits = from, true
	for i := range ops {
		l.ops[i].Add(&ops[i])
	}
	l.hiccups.Merge(hiccups)
}

// slots numbers the counters and histograms of a phase: one slot for each operation of each
// stream. Each operation is recorded once, and the figures of operations and of streams are
// sums of slots. A phase without streams has one slot for each operation, with its number.
type slots struct {
	at       [][workloads.MaxOps]int // by stream and operation
	all      []slot
	ofOp     [][]int // by operation
	ofStream [][]int // by stream
	shared   []int   // those of operations that several streams have
	// names are those of what byOp returns. First come all operations. Then come, as
	// STREAM:OPERATION, those operations that several streams of the phase have, one name
	// for each stream.
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
	s := slots{
		at: make([][workloads.MaxOps]int, len(streams)), ofStream: make([][]int, len(streams)),
		ofOp: make([][]int, p.Patterns.Ops()),
	}
	for op := range s.ofOp {
		s.names = append(s.names, p.Patterns.Name(workloads.Op(op)))
	}
	for i := range streams {
		rates := streams[i].PerSecond()
		for op := range s.ofOp {
			s.at[i][op] = math.MaxInt // never used, unless the stream has the operation
			if k := len(s.all); !p.HasStreams() || rates.Has(workloads.Op(op)) {
				s.at[i][op], s.all = k, append(s.all, slot{i, workloads.Op(op)})
				s.ofStream[i], s.ofOp[op] = append(s.ofStream[i], k), append(s.ofOp[op], k)
			}
		}
	}
	for k, one := range s.all {
		if len(s.ofOp[one.op]) > 1 {
			s.shared = append(s.shared, k)
			s.names = append(s.names, results.StreamOp(streams[one.stream].Name, p.Patterns.Name(one.op)))
		}
	}
	return s
}

// every are all slots.
func (s *slots) every() []int { return slices.Concat(s.ofStream...) }

// tally has the worker's counts of the stream of the operation under way.
func (w *worker) tally() *tally { return &w.stats.streams[w.op.Stream] }

// byOp sums a tick's records by operation, and puts the slots of operations that several
// streams have after that. It is valid until the next tick.
func (p *phase) byOp(ticked []latency.Op) []latency.Op {
	if !p.Phase.HasStreams() {
		return ticked
	}
	all, shared := p.Phase.Patterns.Ops(), p.slots.shared
	if p.ops == nil {
		p.ops = make([]latency.Op, all+len(shared))
	}
	for op, of := range p.slots.ofOp {
		if len(of) == 1 {
			p.ops[op] = ticked[of[0]]
			continue
		}
		p.ops[op].Reset()
		for _, i := range of {
			p.ops[op].Add(&ticked[i])
		}
	}
	for i, k := range shared {
		p.ops[all+i] = ticked[k]
	}
	return p.ops
}

// streams are the figures of each stream; nil for a phase without streams.
func (p *phase) streams() (all []results.Stream) {
	if !p.Phase.HasStreams() {
		return nil
	}
	for i := range p.Phase.Streams {
		s, of, counted := &p.Phase.Streams[i], p.slots.ofStream[i], &p.stats.streams[i]
		one := results.Stream{
			Name: s.Name, Arrivals: s.Arrivals.String(), Clients: s.Clients, Ops: map[string]results.Op{},
			Offered: p.offered(counted, of), AllOps: p.together(of), Late: counted.Late, Queued: counted.Queued,
		}
		if rates := s.PerSecond(); s.Arrivals != workloads.Closed {
			for _, n := range rates {
				one.Rate += n
			}
		}
		for _, k := range of {
			one.Ops[p.Phase.Patterns.Name(p.slots.all[k].op)] = p.op([]int{k})
		}
		all = append(all, one)
	}
	return all
}

// streamIntervals counts how each stream's operations of a tick ended, by name of the stream.
func (p *phase) streamIntervals(ticked []latency.Op) map[string]results.Outcomes {
	if !p.Phase.HasStreams() {
		return nil
	}
	all := map[string]results.Outcomes{}
	for i := range p.Phase.Streams {
		var of []latency.Op
		for _, k := range p.slots.ofStream[i] {
			of = append(of, ticked[k])
		}
		if sum := p.timeline.together(of); sum.Counts != ([latency.NumOutcomes]int64{}) {
			all[p.Phase.Streams[i].Name] = outcomes(sum)
		}
	}
	return all
}

// timeline is how a phase went, interval by interval.
type timeline struct {
	patterns  workloads.Patterns
	tick      time.Duration // time between calls of add, except for late calls and the last
	intervals []results.Interval
	full      float64 // length of an interval in seconds; 0: one tick
	gap       results.Gap
	all       latency.Op // the operations that together has added up last
	soFar     latency.Op // all operations of the phase, up to the last call of add
}

// intervalsMost is how many intervals a timeline has. A timeline that grows longer
// merges its intervals two by two, so that a phase of a day takes no more room than
// one of ten minutes.
const intervalsMost = 600

// add adds the interval between two moments of the phase. Last says that the phase has
// ended.
func (t *timeline) add(ops []latency.Op, streams map[string]results.Outcomes, from, to time.Duration, last bool) {
	from, to = from.Round(100*time.Microsecond), to.Round(100*time.Microsecond)
	in := results.Interval{
		At: from.Seconds(), Seconds: (to - from).Seconds(), Ops: map[string]results.Outcomes{}, Streams: streams,
	}
	for i := range ops {
		if ops[i].Counts != ([latency.NumOutcomes]int64{}) {
			in.Ops[t.patterns.Name(workloads.Op(i))] = outcomes(&ops[i])
		}
	}
	all := t.together(ops)
	if in.Outcomes = outcomes(all); in.OK > 0 {
		t.endGap(all.First)
	}
	t.soFar.Add(all)
	t.append(in, last)
}

// together sums the counts and latencies of operations. The result is valid until the next call.
func (t *timeline) together(ops []latency.Op) *latency.Op {
	t.all.Reset()
	for i := range ops {
		o := ops[i]
		o.Times = [latency.NumKinds]*hdr.Histogram{latency.Latency: o.Times[latency.Latency]}
		t.all.Add(&o)
	}
	return &t.all
}

// outcomes has the counts and latencies of operations in an interval.
func outcomes(o *latency.Op) results.Outcomes {
	c := &o.Counts
	in := results.Outcomes{
		OK: c[latency.OK], NotFound: c[latency.NotFound], Failed: c[latency.Failed],
		Unknown: c[latency.Unknown], Dropped: c[latency.Dropped], TooLarge: c[latency.TooLarge],
	}
	if h := o.Times[latency.Latency]; in.OK > 0 {
		in.P50, in.P99 = latency.At(h, 50), latency.At(h, 99)
		if slowest := h.Max(); slowest > in.P99 {
			in.Max = slowest
		}
	}
	return in
}

// endGap ends a time without a successful operation, and keeps it if it is the longest. A
// gap within one interval is not seen.
func (t *timeline) endGap(until time.Duration) {
	if s := (until - t.soFar.Last).Seconds(); s > t.gap.Seconds {
		t.gap = results.Gap{At: t.soFar.Last.Seconds(), Seconds: s}
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
