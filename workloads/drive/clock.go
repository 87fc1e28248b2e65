package drive

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

// clock counts from the start of a phase.
type clock struct {
	base  time.Time
	start time.Duration // of precise, at base
	// virtual, if set, is the time. Tests set it, so that waiting takes no real time.
	virtual *time.Duration
}

func startClock() clock { return clock{base: time.Now(), start: precise()} }

// now takes 38 ns on Linux; time.Now would take 65.
func (c *clock) now() time.Duration {
	if c.virtual != nil {
		return *c.virtual
	}
	return precise() - c.start
}

// A timer wakes some 40 µs late. Workers wake up to spinMost before their operation is scheduled and watch
// the clock. Each operation may cost spinShare of a processor divided by the rate, so that all of them
// take at most that share: spinning at 10,000/s would keep processors from the engine.
const (
	spinMost  = 100 * time.Microsecond
	spinShare = 0.05
)

// spinOf is how long workers may spin before each operation, at that many operations a second on that
// many processors. With one processor it would take the engine's.
func spinOf(perSecond, processors float64) time.Duration {
	if perSecond <= 0 || processors < 2 {
		return 0
	}
	return min(spinMost, time.Duration(spinShare/perSecond*float64(time.Second)))
}

// wait returns true when the operation is scheduled, and false if ctx ended before.
func (w *worker) wait(ctx context.Context, due time.Duration) (bool, error) {
	const look = 100 * time.Millisecond // how long a worker may not notice that ctx ended
	clock, spin, spins := &w.phase.clock, w.phase.spin, &w.phase.pool.spins
	wake := due - spin
	for at := w.last; at < wake; {
		at = min(wake, at+look)
		if err := w.timer.until(clock, at); err != nil || ctx.Err() != nil {
			return false, err
		}
	}
	if spin == 0 {
		return true, nil
	}
	if clock.virtual != nil || !spins.CompareAndSwap(false, true) {
		return true, w.timer.until(clock, due)
	}
	for clock.now() < due {
	}
	spins.Store(false)
	return true, nil
}

const (
	// nap is how long the hiccup meter sleeps at a time.
	nap = time.Millisecond
	// leastHiccup is how late it must wake for a hiccup. Ordinary timers are late
	// by less.
	leastHiccup = time.Millisecond
	// afterHiccup is how long after a hiccup workers still notice answers that came in it.
	afterHiccup = time.Millisecond
	// ran is the part of a hiccup in which other threads of the process used a processor. Above it
	// the process did not stop.
	ran = 0.1
	// hiccupsKept is how many of the last hiccups are remembered.
	hiccupsKept = 64
)

// hiccups measures when this process could not run, whatever stopped it: a signal,
// a quota, other processes, the hypervisor, the garbage collector. A thread of its
// own sleeps a millisecond at a time. If it wakes too late, that delay is a hiccup. The
// idea is jHiccup's (Gil Tene, https://github.com/giltene/jHiccup).
type hiccups struct {
	clock *clock
	procs float64 // processors that the process may use

	beat atomic.Int64 // when the thread last woke
	end  atomic.Int64 // end of the last hiccup

	mu      sync.Mutex
	last    [hiccupsKept]span
	count   int64
	total   time.Duration
	stopped time.Duration // part of total in which the process neither ran nor waited for a processor

	recorder    *latency.Worker // gets how late each waking was
	quit, ended chan struct{}
}

// span is a part of a phase.
type span struct{ from, to time.Duration }

// watchHiccups starts a meter. Its close ends it.
func watchHiccups(c *clock, recorder *latency.Worker) *hiccups {
	h := &hiccups{
		clock: c, procs: processors(), recorder: recorder, quit: make(chan struct{}), ended: make(chan struct{}),
	}
	h.beat.Store(int64(c.now()))
	go h.watch()
	return h
}

func (h *hiccups) close() {
	close(h.quit)
	<-h.ended
}

// watch sleeps and wakes until the meter is closed.
func (h *hiccups) watch() {
	runtime.LockOSThread() // the thread goes with the goroutine
	defer close(h.ended)
	cpu, waited := processCPU(), queuedForCPU()
	for {
		select {
		case <-h.quit:
			return
		default:
		}
		due := time.Duration(h.beat.Load()) + nap
		doze(nap)
		woke := h.clock.now()
		if late := woke - due; late >= leastHiccup {
			all := queuedForCPU()
			stopped := late - (all - waited)
			// Only this thread waited, for the Go runtime or for a processor that others of the process had.
			// Their time in the nap before is left out.
			if used := processCPU() - cpu; used.Seconds()-h.procs*nap.Seconds() > ran*late.Seconds() {
				stopped = 0
			}
			h.note(due, woke, max(0, stopped))
			waited = all
		}
		cpu = processCPU()
		h.recorder.Woke(woke - due)
		h.beat.Store(int64(woke))
	}
}

// note notes a hiccup, and how long the process was stopped in it.
func (h *hiccups) note(due, woke, stopped time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[h.count%hiccupsKept] = span{due, woke}
	h.count++
	h.total += woke - due
	h.stopped += stopped
	h.end.Store(int64(woke))
}

// before returns how long the process could not run just before an operation ended. The
// answer may have come at any time in that hiccup. A hiccup in the middle of a call does not
// count, since the store goes on. Neither does one that began before the call did: the worker ran in
// it, so only the meter stopped. A hiccup at the end counts even if the meter, which may
// wake after the caller, has not noticed it yet. It takes no lock if none is near.
func (h *hiccups) before(start, end time.Duration) (d time.Duration) {
	since := max(start, end-afterHiccup)
	if int64(end-nap-leastHiccup) < h.beat.Load() && h.end.Load() <= int64(since) {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if due := time.Duration(h.beat.Load()) + nap; due >= start && end-due >= leastHiccup {
		d = end - due
	}
	for i := h.count - 1; i >= max(0, h.count-hiccupsKept); i-- {
		s := h.last[i%hiccupsKept]
		if s.to <= since {
			break
		}
		if s.from >= start && s.from < end {
			d = max(d, end-s.from)
		}
	}
	return d
}

// report is what the meter measured, with how late each waking was.
func (h *hiccups) report(lateness *latency.Histogram) results.Hiccups {
	h.mu.Lock()
	defer h.mu.Unlock()
	return results.Hiccups{
		Count: h.count, Total: int64(h.total), Stopped: int64(h.stopped), Lateness: results.LatencyOf(lateness, 0),
	}
}
