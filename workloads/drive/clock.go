package drive

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mailbench/mailbench/workloads/results"
)

// clock counts from the start of a phase.
type clock struct {
	base  time.Time
	start time.Duration // of precise, at base
	// virtual, if set, is the time. Tests set it, so that waiting takes no real time.
	virtual *time.Duration
}

var epoch = time.Now()

// precise is the time since the process began.
var precise = func() time.Duration { return time.Since(epoch) }

func startClock() clock { return clock{base: time.Now(), start: precise()} }

// now takes 38 ns on Linux; time.Now would take 65.
func (c *clock) now() time.Duration {
	if c.virtual != nil {
		return *c.virtual
	}
	return precise() - c.start
}

// wait returns true when the operation is scheduled, and false if ctx ended before.
func (w *worker) wait(ctx context.Context, due time.Duration) (bool, error) {
	const look = 100 * time.Millisecond // how long a worker may not notice that ctx ended
	clock := &w.phase.clock
	if clock.virtual != nil && ctx.Err() == nil {
		*clock.virtual = max(*clock.virtual, due)
	}
	for {
		left := due - clock.now()
		if left <= 0 {
			return true, nil
		}
		if err := w.timer.sleep(min(left, look)); err != nil || ctx.Err() != nil {
			return false, err
		}
	}
}

const (
	// nap is how long the hiccup meter sleeps at a time. If it wakes that much too late, which ordinary timers
	// do not, that is a hiccup, and workers notice answers that came in it for as long after.
	nap = time.Millisecond
	// hiccupsKept is how many of the last hiccups are remembered.
	hiccupsKept = 16
)

// hiccups measures when this process could not run, whatever stopped it: a signal,
// a quota, other processes, the hypervisor, the garbage collector. A thread of its
// own sleeps a millisecond at a time. If it wakes too late, that delay is a hiccup. The
// idea is jHiccup's (Gil Tene, https://github.com/giltene/jHiccup).
type hiccups struct {
	clock *clock
	beat  atomic.Int64 // when the thread last woke
	end   atomic.Int64 // end of the last hiccup

	mu    sync.Mutex
	last  [hiccupsKept]span // in any order
	found results.Hiccups

	quit, ended chan struct{}
}

// span is a part of a phase.
type span struct{ from, to time.Duration }

// watchHiccups starts a meter. Its close ends it.
func watchHiccups(c *clock) *hiccups {
	h := &hiccups{clock: c, quit: make(chan struct{}), ended: make(chan struct{})}
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
	for {
		select {
		case <-h.quit:
			return
		default:
		}
		due := time.Duration(h.beat.Load()) + nap
		doze(nap)
		woke := h.clock.now()
		if woke-due >= nap {
			h.note(due, woke)
		}
		h.beat.Store(int64(woke))
	}
}

// note notes a hiccup.
func (h *hiccups) note(due, woke time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last[h.found.Count%hiccupsKept] = span{due, woke}
	h.found.Count++
	h.found.Total += int64(woke - due)
	h.found.Longest = max(h.found.Longest, int64(woke-due))
	h.end.Store(int64(woke))
}

// before returns how long the process could not run just before an operation ended. The
// answer may have come at any time in that hiccup. A hiccup in the middle of a call does not
// count, since the store goes on. Neither does one that began before the call did: the worker ran in
// it, so only the meter stopped. A hiccup at the end counts even if the meter, which may
// wake after the caller, has not noticed it yet. It takes no lock if none is near.
func (h *hiccups) before(start, end time.Duration) (d time.Duration) {
	since := max(start, end-nap)
	if int64(end-nap-nap) < h.beat.Load() && h.end.Load() <= int64(since) {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if due := time.Duration(h.beat.Load()) + nap; due >= start && end-due >= nap {
		d = end - due
	}
	for _, s := range h.last {
		if s.to > since && s.from >= start && s.from < end {
			d = max(d, end-s.from)
		}
	}
	return d
}
