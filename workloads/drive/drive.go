// Package drive executes one phase on one target: Drive(ctx, target, spec)
// completes its cell of the results.
//
// One operation goes this way: a worker takes the next operation from the phase's
// stream, chooses what it works on from the target's live set, makes the message,
// and waits until the operation is scheduled. It reads the clock, calls the model's
// Mailbox, reads the clock again, and records what that took and how it ended. The
// Mailbox runs on a session of the engine, which counts calls, rows and bytes
// too. At each tick a collector takes what the workers recorded.
//
// Between the two readings of the clock nothing allocates but model and engine.
package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
)

// Spec says what to execute.
type Spec struct {
	Phase  workloads.Phase
	Stream plan.Stream
	// Cell has what is known of the phase before it begins. Drive completes it.
	Cell *results.Cell
	// Workers is how many operations may be under way. A phase with clients has
	// its own number. An open loop begins with FirstWorkers, and adds workers as it needs them.
	Workers int
	// MaxWait is how late an operation may start. A later one is dropped.
	MaxWait time.Duration
	// Lateness is how late a start may be and still count as on time: at least 2 ms, the target for p99.9 of wait.
	// Where calls take longer, their median is the bound: a delay that is small compared with it does no harm.
	Lateness time.Duration
	// Total is how many operations there will be, if the phase does not say; 0: not
	// known.
	Total int64

	// Log, if set, gets the windows of the phase: what was recorded of each operation. Windows follow each
	// other without a gap, and grow longer as the phase goes on. An error of the log does not stop the
	// phase, whose figures do not need it.
	Log *latency.Log
	// Observe, if set, gets what was recorded of the operations in the same windows. Op names the
	// operation with an index of ops.
	Observe func(cell results.Key, op func(int) string, ops []latency.Op)
	// Progress, if set, gets the progress of the phase, from one goroutine.
	Progress func(Progress)
}

// Progress is how far a phase is.
type Progress struct {
	OK       int64   // operations that succeeded
	Failed   int64   // operations that were executed and did not succeed
	Dropped  int64   // scheduled, and never started
	Fraction float64 // share of the phase that is done, 0 to 1; negative: not known
	Rate     float64 // successful operations a second: of the last window, at the end of the phase
	// P50 and P99 are those of all operations of the phase that succeeded so far; 0: too few.
	P50, P99 time.Duration
	Finished bool
}

// Drive executes the phase, and looks at the engine before and after. When ctx ends, no more
// operations begin, and those under way get a while to end. It enters everything that
// the phase showed into Spec.Cell; AllOps is nil if the phase did not begin. The error says why the phase could
// not go on; what was measured until then is in the cell.
func Drive(ctx context.Context, t *subject.Target, s Spec) error {
	p := newPhase(t, s)
	s.Cell.Before = t.Observe()
	s.Cell.Before.Settings = nil // Engines has them
	err := crash.Guard(func() error { return p.run(ctx) })
	p.complete()
	return errors.Join(err, crash.Guard(func() error { s.Cell.Engines = t.Observe(); return nil }))
}

// phase is one phase while it runs. Its workers share it.
type phase struct {
	Spec
	target   *subject.Target
	recorder *latency.Recorder
	memory   memoryLimit
	slots    slots
	pool     pool
	clock    clock
	hiccups  *hiccups

	bulk        atomic.Bool           // the load is not durable before the store has settled
	undelivered atomic.Int64          // messages of a load that could not be delivered
	lastCause   atomic.Pointer[error] // why a delivery of a load failed last

	// One goroutine collects these from what the workers record.
	timeline timeline
	logged   logged
	windows  []float64 // service time of each window in nanoseconds
	vanished error     // the engine did not answer a load any more
	// These are known when all workers have ended.
	span   time.Duration // how much of the schedule workers took operations from
	length time.Duration
	stats  stats
	used   usage
}

// grace is how long operations under way may take to end when a run is
// interrupted.
const grace = 5 * time.Second

func newPhase(t *subject.Target, s Spec) *phase {
	s.Workers, s.Lateness = max(1, cmp.Or(s.Phase.Clients, s.Workers)), max(s.Lateness, 2*time.Millisecond)
	slots := newSlots(&s.Phase)
	return &phase{
		Spec: s, target: t, slots: slots,
		recorder: latency.NewRecorder(len(slots.all), s.Workers, s.Stream.Open(), slots.of[len(slots.all):]...),
		clock:    startClock(), stats: newStats(&slots), pool: pool{usual: make([]atomic.Int64, len(slots.all))},
	}
}

// run lets the workers execute the phase, and collects what they record.
func (p *phase) run(ctx context.Context) (err error) {
	runtime.GC() // this phase does not pay for the garbage of the one before
	p.memory = memoryLimit{least: tunedMemory, now: debug.SetMemoryLimit(-1)}
	p.memory.follow()
	first := p.Workers
	if p.Stream.Open() {
		first = min(first, FirstWorkers)
	}
	workers, err := p.add(first)
	defer func() {
		for _, w := range p.pool.all {
			err = errors.Join(err, w.close())
		}
	}()
	if err != nil {
		return err
	}
	p.clock = startClock()
	p.hiccups = watchHiccups(&p.clock)
	before := processUsage()

	workCtx, stop := context.WithCancel(ctx)
	defer stop()
	opCtx, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, kill) })()
	g, gctx := errgroup.WithContext(workCtx)
	stopped := make(chan time.Duration, 1)
	context.AfterFunc(gctx, func() { stopped <- p.clock.now() }) // g.Wait ends gctx at the latest
	start := func(w *worker) {
		g.Go(func() error { return crash.Guard(func() error { return w.work(gctx, opCtx) }) })
	}
	growing, drained := context.WithCancel(gctx)
	defer drained()
	p.pool.drained = drained
	for _, w := range workers {
		start(w)
	}
	if first < p.Workers {
		g.Go(func() error { return crash.Guard(func() error { p.grow(growing, start); return nil }) })
	}
	ended := make(chan struct{})
	var workErr error
	go func() {
		defer close(ended)
		workErr = g.Wait()
		p.length, p.used = p.clock.now(), processUsage()
		p.used = usage{p.used.cpu - before.cpu, p.used.machine - before.machine}
		p.hiccups.close() // what the collector then does is no part of the phase
	}()
	collectErr := crash.Guard(func() error { p.collect(ended, stop, kill); return nil })
	if collectErr != nil {
		stop()
	}
	<-ended

	for _, w := range p.pool.all {
		p.stats.add(&w.stats)
	}
	p.span = p.Stream.Span()
	if at := <-stopped; p.Stream.Open() && (workCtx.Err() != nil || workErr != nil) {
		p.span = at
		p.countOverdue(at)
	}
	return errors.Join(p.vanished, workErr, collectErr)
}

// unsupported reports whether the model does not support the operation.
func (p *phase) unsupported(o *plan.Operation) bool {
	return p.target.Lacks[o.Op] || o.Op == workloads.Flag && p.target.LacksFlag[o.Flag]
}

// collect takes what the workers recorded, tick by tick, until they have ended, and
// once more then. stop lets no more operations begin, and kill ends those under way.
func (p *phase) collect(ended <-chan struct{}, stop, kill context.CancelFunc) {
	p.timeline.tick = p.tickEvery()
	ticks := time.NewTicker(p.timeline.tick)
	defer ticks.Stop()
	for from := time.Duration(0); ; {
		select {
		case <-ended:
			p.take(from, max(from, p.length), true)
			return
		case <-ticks.C:
		}
		to := p.clock.now()
		p.take(from, to, false)
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

// SilenceMost is how long a load goes on without a delivery that succeeds, on an engine that is reached over a network:
// by then another node has taken over from one that died. Tests lower it.
var SilenceMost = time.Minute

// silent reports whether no request of a load was answered for so long that it must end, and notes why.
func (p *phase) silent(now time.Duration) bool {
	if p.Phase.Kind != workloads.Load || !p.target.Engine.Remote || now-p.timeline.ended < SilenceMost {
		return false
	}
	cause := errors.New("no call has ended")
	if last := p.lastCause.Load(); last != nil {
		cause = *last
	}
	p.vanished = fmt.Errorf("%s has acknowledged nothing for %v, after %d of %d messages: %w", p.target.Engine.Name,
		SilenceMost, p.recorder.Total[p.slots.whole].Counts[latency.OK], p.Total, cause)
	return true
}

// take takes what was recorded between two moments of the phase. Last says that it has ended.
func (p *phase) take(from, to time.Duration, last bool) {
	ticked := p.recorder.Tick()
	p.writeLog(ticked, to, last)
	p.memory.follow()
	p.learn()
	p.addInterval(ticked, from, to, last)
	if last { // the last window is too short to compare
		p.timeline.endGap(to)
	} else {
		p.window(ticked[:len(p.slots.all)])
	}
	if p.Progress != nil {
		p.Progress(p.progress(&ticked[p.slots.whole], from, to, last))
	}
}

// complete enters what the phase showed into its cell.
func (p *phase) complete() {
	m := p.Cell
	if p.bulk.Load() {
		m.Durability = drivers.Memory.String()
	}
	sum := p.stats.sum()
	offered := p.offered(&sum, p.slots.whole)
	used, capacity, seconds, gap := p.used, processors(), max(p.length.Seconds(), 1e-9), p.timeline.gap
	client := results.ClientInfo{
		Workers: p.pool.most, Processors: runtime.NumCPU(), Capacity: capacity,
		CPUSeconds: used.cpu.Seconds(), CPUShare: used.cpu.Seconds() / (seconds * capacity), OthersShare: -1,
	}
	// The machine may have processors that this process may not use.
	if n, err := cpu.Counts(true); err == nil && n > 0 && used.machine > 0 {
		client.OthersShare = (used.machine - used.cpu).Seconds() / (seconds * float64(n))
	}
	// The evidence is of the generator.
	e, t := sum.Evidence, p.target
	if known := p.Cell.Evidence; known != nil {
		e.Settled, e.Warm = known.Settled, known.Warm
	}
	e.InProcess, e.SameMachine, e.Discards = t.Caps.InProcess, t.SameMachine, t.Caps.Discards
	e.Lateness, e.Cap, e.Missed, e.Messages = int64(p.Lateness), p.Workers, p.undelivered.Load(), p.Total
	e.Windows = p.windows
	m.SetTime(p.clock.base, p.clock.base.Add(p.length))
	m.Offered, m.Client, m.Evidence, m.Timeline, m.Gap = &offered, &client, &e, p.timeline.intervals, &gap
	if m.AllOps = p.together(p.slots.whole); m.AllOps != nil {
		hiccups := p.hiccups.found // a pointer to found would keep the phase in memory
		e.Hiccups = &hiccups
		e.Delays = &results.Delays{Dropped: p.stats.dropped}
	}
	m.Streams, m.Ops = p.streams(), map[string]results.Op{}
	for i := range p.Phase.Patterns.Ops() {
		op := workloads.Op(i)
		if p.Phase.Mix.Has(op) || p.Phase.Kind == workloads.Load && op == workloads.Deliver {
			at := p.slots.ops + i
			p.op(m.Ops, at)
			if p.recorder.Total[at].Counts[latency.Unknown] > 0 && op.Changes() {
				p.target.Broken()
			}
		}
	}
}

// offered is the scheduled and the executed load, from a tally and what was recorded of the same operations.
func (p *phase) offered(s *tally, of int) results.Offered {
	o := s.Offered
	// A closed loop has no span of a schedule.
	o.Span, o.Dropped = cmp.Or(p.span, p.length).Seconds(), p.recorder.Total[of].Counts[latency.Dropped]
	if o.Span > 0 {
		o.Rate = float64(o.Due-o.Skipped-o.NoTarget) / o.Span
		o.Achieved = float64(s.Started) / max(o.Span, o.LastStart)
	}
	return o
}

// together has the times of a sum of operations; nil if the phase did not begin.
func (p *phase) together(of int) *results.Times {
	if p.hiccups == nil {
		return nil
	}
	all, _ := results.TimesOf(&p.recorder.Total[of])
	return &all
}

// op enters the figures of one operation, of all streams or of one.
func (p *phase) op(ops map[string]results.Op, at int) {
	total, s, of := &p.recorder.Total[at], &opStats{}, p.slots.of[at]
	i := p.slots.all[of[0]].op
	for _, k := range of {
		s.merge(&p.stats.ops[k])
	}
	var lacking []string // fields, in the order of the bits of models.Known
	for i, name := range []string{"from", "subject", "date", "size", "seen", "messages", "unread", "bytes"} {
		if s.missing.Has(1 << i) {
			lacking = append(lacking, name)
		}
	}
	c := &total.Counts
	o := results.Op{
		Count: c[latency.OK], NotFound: c[latency.NotFound], Failed: c[latency.Failed],
		Unknown: c[latency.Unknown], Dropped: c[latency.Dropped], TooLarge: c[latency.TooLarge],
		NoTarget: s.noTarget, Clamped: total.Clamped(),
		Fallback: strings.Join(s.fallbacks, ", "),
		Missing:  strings.Join(lacking, ", "),
		Rate:     digits(float64(c[latency.OK]) / max(p.length.Seconds(), 1e-9)),
		Errors:   s.errors,
	}
	switch {
	case p.target.Lacks[i] || s.notOffered:
		o.Support = results.NotOffered
	case len(s.fallbacks) > 0:
		o.Support = results.EmulatedOp
	case o.Count+o.NotFound+o.Failed+o.Unknown+o.TooLarge > 0:
		o.Support = results.Native
	default:
		o.Support = results.NotObserved
	}
	o.Times, o.Quantiles = results.TimesOf(total)
	if n := float64(o.Count); n > 0 {
		o.Patterns = perOperation(o.Count, p.recorder.Parts(of...))
		c, deviations := &s.cost, s.squares
		for i, sum := range countsOf(c) {
			deviations[i] = digits(deviation(n, sum, s.squares[i]))
		}
		mean := func(sum int64) float64 { return digits(float64(sum) / n) }
		o.Store = results.StoreCost{
			Requests: mean(c.Requests), Retries: mean(c.Retries), Throttled: mean(c.Throttled), Backoff: mean(int64(c.Backoff)),
			RowsRead: mean(c.RowsRead), RowsWritten: mean(c.RowsWritten),
			BytesRead: mean(c.BytesRead), BytesWritten: mean(c.BytesWritten), BytesAdded: mean(c.BytesAdded),
			BlobRequests: mean(c.BlobRequests), BlobBytesRead: mean(c.BlobBytesRead), BlobBytesWritten: mean(c.BlobBytesWritten),
			RequestsDeviation: deviations[0], RowsDeviation: deviations[1], BytesDeviation: deviations[2],
		}
		if c.Unreported == 0 {
			examined := mean(c.RowsScanned)
			o.Store.RowsScanned, o.Store.ScannedDeviation = &examined, deviations[3]
		}
	}
	ops[p.Phase.Patterns.Name(i)] = o
}

// streams are the figures of each stream; nil for a phase without streams.
func (p *phase) streams() (all []results.Stream) {
	if !p.Phase.HasStreams() {
		return nil
	}
	for i := range p.Phase.Streams {
		s, of, counted := &p.Phase.Streams[i], p.slots.streams+i, &p.stats.streams[i]
		one := results.Stream{
			Name: s.Name, Arrivals: s.Arrivals.String(), Clients: s.Clients, Ops: map[string]results.Op{},
			Offered: p.offered(counted, of), AllOps: p.together(of),
		}
		if rates := s.PerSecond(); s.Arrivals != workloads.Closed {
			for _, n := range rates {
				one.Rate += n
			}
		}
		for _, k := range p.slots.of[of] {
			p.op(one.Ops, k)
		}
		all = append(all, one)
	}
	return all
}

// digits keeps nine digits of a value: no difference between runs is smaller, and run.json has thousands of values.
func digits(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64) // it is a number
	return short
}

// perOperation returns the patterns with the mean of their calls and their times, the most calls
// first.
func perOperation(n int64, parts []latency.Part) []results.PatternRequests {
	var all []results.PatternRequests
	for _, p := range parts {
		all = append(all, results.PatternRequests{
			Name: p.Name, Requests: digits(float64(p.Calls) / float64(n)), Count: p.Times.Count(),
			Service: &results.PatternTimes{P50: p.Times.At(50, 0), P99: p.Times.At(99, 0), Max: p.Times.Max()},
		})
	}
	slices.SortFunc(all, func(a, b results.PatternRequests) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// traced notes a call of a pattern, and those in whose place a fallback runs.
func (w *worker) traced(st drivers.Statement, took time.Duration, calls int64) {
	w.took = append(w.took, latency.PartTime{Name: st.Pattern().Name, Took: took, Calls: calls})
	if p := st.Emulates(); p != nil {
		w.stats.ops[w.slot].fellBack(p.Name)
	}
}
