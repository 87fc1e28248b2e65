package drive

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/summary"
)

const (
	// nap is how long the hiccup meter sleeps at a time.
	nap = time.Millisecond
	// leastHiccup is how late it must wake for a hiccup. Ordinary timers are late
	// by less.
	leastHiccup = time.Millisecond
	// afterHiccup is how long after a hiccup workers still notice answers that came in it.
	afterHiccup = time.Millisecond
	// ran is the part of a hiccup in which other threads of the process used a processor. Above it
	// the process did not stand still.
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

	mu       sync.Mutex
	last     [hiccupsKept]span
	count    int64
	total    time.Duration
	stopped  time.Duration  // part of total in which the process neither ran nor waited for a processor
	interval *hdr.Histogram // since the last tick
	all      *hdr.Histogram // up to the last tick

	quit, ended chan struct{}
}

// span is a part of a phase.
type span struct{ from, to time.Duration }

// watchHiccups starts a meter. Its close ends it.
func watchHiccups(c *clock) *hiccups {
	h := &hiccups{
		clock: c, procs: processors(), quit: make(chan struct{}), ended: make(chan struct{}),
		interval: newLateness(), all: newLateness(),
	}
	h.beat.Store(int64(c.now()))
	go h.watch()
	return h
}

// newLateness is a histogram of how late the meter woke.
func newLateness() *hdr.Histogram { return hdr.New(1, int64(latency.Highest), 2) }

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
			// What they may have used in the nap before is left out.
			if used := processCPU() - cpu; used.Seconds()-h.procs*nap.Seconds() > ran*late.Seconds() {
				stopped = 0
			}
			h.note(due, woke, max(0, stopped))
			waited = all
		}
		cpu = processCPU()
		h.mu.Lock()
		_ = h.interval.RecordValue(min(max(0, int64(woke-due)), int64(latency.Highest))) // in range
		h.mu.Unlock()
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

// near reports whether the method before may return more than 0. It takes no lock.
func (h *hiccups) near(start, end time.Duration) bool {
	return int64(end-nap-leastHiccup) >= h.beat.Load() || h.end.Load() > int64(max(start, end-afterHiccup))
}

// before returns how long the process could not run just before an operation ended. The
// answer may have come at any time in that hiccup. A hiccup in the middle of a call does not
// count, since the store goes on. A hiccup at the end counts even if the meter, which may
// wake after the caller, has not noticed it yet.
func (h *hiccups) before(start, end time.Duration) (d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if due := time.Duration(h.beat.Load()) + nap; end-due >= leastHiccup {
		d = end - max(start, due)
	}
	for i := h.count - 1; i >= max(0, h.count-hiccupsKept); i-- {
		s := h.last[i%hiccupsKept]
		if s.to <= max(start, end-afterHiccup) {
			break
		}
		if s.from < end {
			d = max(d, end-max(start, s.from))
		}
	}
	return d
}

// tick returns the lateness of the wakings since the last tick. The histogram is
// valid until the next.
func (h *hiccups) tick() *hdr.Histogram {
	h.mu.Lock()
	defer h.mu.Unlock()
	taken := h.interval
	h.interval = newLateness()
	h.all.Merge(taken)
	return taken
}

// report is what the meter measured. Its histogram ends with the last tick.
func (h *hiccups) report() results.Hiccups {
	h.mu.Lock()
	defer h.mu.Unlock()
	return results.Hiccups{Count: h.count, Total: int64(h.total), Stopped: int64(h.stopped), Lateness: summary.Of(h.all)}
}
