package run

import (
	"fmt"
	"time"

	"github.com/mailbench/mailbench/reports"
)

// evidence is what a phase showed about the generator. Every operation that
// was started is one of three: on time; late although a worker was free when it
// was due (the generator or the processor was late); late because every worker
// was busy with an earlier one (queued).
type evidence struct {
	arrivals  string // constant, poisson or closed
	workers   int
	inProcess bool // engine and generator share a process
	beside    bool // or a machine, in processes of their own
	seconds   float64

	processors int

	started int64
	late    int64 // by more than lateness, although a worker was free
	queued  int64 // by more than lateness, with all workers busy

	// own is what workers took between two operations when the next was due
	// already: making it, writing the ledger, recording. service is what the
	// store and the model took in the same rounds.
	own, service time.Duration

	// serviceFree is the lower quartile of service times of operations that
	// found a free worker: where the rate is above capacity, only the first did,
	// and the later of these wait for the earlier within the engine.
	// serviceQueued is the median of the others. 0: too few.
	serviceFree, serviceQueued time.Duration
	lagMiddle, lagEnd          time.Duration // of windows half way and at the end

	cpuShare    float64 // of the processors, by this process
	othersShare float64 // by others, and by the hypervisor; negative: not known
}

// The rule's numbers.
const (
	// lateness is the target for p99.9 of lag. Where a service takes longer
	// than that, its median is the bound: what is small beside it does no harm.
	lateness = 2 * time.Millisecond
	// lateInvalid puts the generator's own lateness into p99, lateDoubt into p99.9.
	lateInvalid, lateDoubt = 0.01, 0.001
	// ownInvalid: of the time of busy workers, as much was the generator's as
	// the store's and model's.
	ownInvalid = 0.5
	// ownBusy: and that for a quarter of the phase on all processors. Catching
	// up for a moment, after a pause of the engine, is no sign.
	ownBusy = 0.25
	// queuedMost: more than half of all operations found no free worker. One
	// pause of the engine does not make that; a rate above capacity does.
	queuedMost = 0.5
	// serviceRises: an engine that is at its limit takes longer the more wait
	// for it. One that takes hardly longer with all workers busy than with few
	// had room, and what was missing is workers.
	serviceRises = 1.5
	// cpuFull: of all processors, so much is all.
	cpuFull = 0.9
	// othersMost: what other programs may take before late starts are theirs.
	othersMost = 0.1
)

// saturated says why the generator, and not the engine, was the bottleneck; ""
// if it was not.
//
// A slow engine makes operations queue, and that wait is in the response times,
// where it belongs. So queueing alone is no sign. Signs are: operations late
// although a worker was free (an engine in this process may be what took the
// processors, so there other programs must have had a part of them; with one
// beside it nobody can tell whose they were); busy workers that spend their time on making operations; a lasting and growing
// queue before a pool whose service times do not rise; full processors with the
// engine elsewhere.
func (e *evidence) saturated() string {
	if !e.inProcess && e.cpuShare >= cpuFull {
		return fmt.Sprintf("client saturated: the generator used %.0f%% of this machine's processors, and the engine runs outside of it; use more machines or a lower rate", 100*e.cpuShare)
	}
	busy := e.own.Seconds() > ownBusy*e.seconds*float64(min(e.workers, e.processors))
	if own := float64(e.own) / max(1, float64(e.own+e.service)); busy && own > ownInvalid {
		return fmt.Sprintf("client saturated: busy workers spent %.0f%% of their time on making and recording operations; the figures are the generator's", 100*own)
	}
	if e.arrivals == "closed" {
		return ""
	}
	if late := e.share(e.late); late > lateInvalid && !e.beside && (!e.inProcess || e.othersShare > othersMost) {
		return fmt.Sprintf("client saturated: %.1f%% of operations started late although a worker was free; lower the rate or leave the machine alone", 100*late)
	}
	rises := float64(e.serviceQueued) > serviceRises*float64(e.serviceFree)
	if e.share(e.queued) > queuedMost && e.lagEnd > e.lagMiddle && e.serviceFree > 0 && !rises && !e.full() {
		return fmt.Sprintf("client saturated: all %d workers were busy and the queue grew, while an operation took no longer (%v) than with workers free (%v); use more workers",
			e.workers, e.serviceQueued, e.serviceFree)
	}
	return ""
}

// full reports whether engine and generator together have no processor left: more
// workers would not get more done. (Times fall while such an engine warms up, so
// that they do not rise says nothing.)
func (e *evidence) full() bool {
	return (e.inProcess || e.beside) && e.cpuShare+max(0, e.othersShare) >= cpuFull
}

func (e *evidence) share(n int64) float64 { return float64(n) / float64(max(1, e.started)) }

// doubts says what of the generator's work a reader of the figures should know.
func (e *evidence) doubts() []string {
	var d []string
	if e.inProcess {
		d = append(d, "shared machine: engine and client run in one process and share its processors; such figures rank models, they do not size clusters")
	}
	if e.beside {
		d = append(d, "shared machine: engine and client run on one machine and share its processors; such figures rank models, they do not size clusters")
	}
	if late := e.share(e.late); late > lateDoubt {
		d = append(d, fmt.Sprintf("late starts: %.2f%% of operations started late although a worker was free; p99.9 contains it", 100*late))
	}
	if queued := e.share(e.queued); queued > lateInvalid {
		d = append(d, fmt.Sprintf("overloaded: %.0f%% of operations found all %d workers waiting for the engine; response times contain that wait", 100*queued, e.workers))
	}
	return d
}

// condition is what a phase showed about the store and the figures.
type condition struct {
	ops           map[string]reports.Op
	windows       []float64 // service time by window, in ns
	before, after *reports.EngineInfo
	seconds       float64
	gc            time.Duration
	settled       bool // the store came to rest before the phase
	warm          bool // and so did the warm-up
}

const (
	// steadyWithin is how far the medians of the two halves of a phase may be
	// apart, and how far windows of a warm-up that is done.
	steadyWithin = 0.2
	// debtGrows is what compaction may come to owe during a phase, in bytes
	// and as a share of the data: the size of one memtable.
	debtGrows, debtShare = 64 << 20, 0.1
	// samplesFor is how many operations p99.9 needs: ten slower than it.
	samplesFor = 10000
	// gcMost is the share of the time that the collector may stop the world.
	gcMost = 0.01
)

func (c *condition) doubts() []string {
	var d []string
	add := func(format string, args ...any) { d = append(d, fmt.Sprintf(format, args...)) }
	if first, last, ok := halves(c.windows); ok && apart(first, last) > steadyWithin {
		add("not steady: the service time went from %v in the first half to %v in the second", rounded(first), rounded(last))
	}
	if !c.settled {
		add("not settled: the engine had not come to rest within %v", settleAtMost)
	}
	if !c.warm {
		add("not steady: the warm-up had not come to rest in the time allowed")
	}
	if b, a := c.before, c.after; b != nil && a != nil && b.CompactionDebt >= 0 && a.CompactionDebt >= 0 {
		if grown := a.CompactionDebt - b.CompactionDebt; grown > debtGrows && float64(grown) > debtShare*float64(a.DiskBytes) {
			add("not steady: compaction debt grew by %d MB", grown>>20)
		}
	}
	if a := c.after; a != nil && a.CacheBytes > 0 && a.DiskBytes > 0 && a.DiskBytes < a.CacheBytes {
		add("in memory: the data set is %.2f of the block cache", float64(a.DiskBytes)/float64(a.CacheBytes))
	}
	if c.seconds > 0 && c.gc.Seconds() > gcMost*c.seconds {
		add("garbage collection: the process stood still for %v in all", c.gc.Round(time.Millisecond))
	}
	return append(d, opDoubts(c.ops)...)
}

// opDoubts names the operations that a doubt holds for, in one line a doubt.
func opDoubts(ops map[string]reports.Op) []string {
	var d []string
	each := func(text string, count func(reports.Op) int64) {
		if line := naming(ops, count); line != "" {
			d = append(d, text+": "+line)
		}
	}
	each("dropped, due but never started", func(o reports.Op) int64 { return o.Dropped })
	each("failed", func(o reports.Op) int64 { return o.Failed })
	each("outcome unknown", func(o reports.Op) int64 { return o.Unknown })
	each("too large for the engine", func(o reports.Op) int64 { return o.TooLarge })
	each("not found", func(o reports.Op) int64 { return o.NotFound })
	each(fmt.Sprintf("times beyond %v, counted as that", 100*time.Second), func(o reports.Op) int64 { return o.Clamped })
	each(fmt.Sprintf("too few operations for p99.9 (%d are needed)", samplesFor), func(o reports.Op) int64 {
		if o.Count >= samplesFor {
			return 0
		}
		return o.Count
	})
	return d
}
