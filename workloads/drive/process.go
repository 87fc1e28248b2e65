package drive

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"

	"github.com/mailbench/mailbench/workloads/results"
)

// clock counts from the start of a phase.
type clock struct {
	base  time.Time
	read  func() time.Duration // precise; tests have a virtual time
	start time.Duration        // that it reads at base
}

var epoch = time.Now()

// precise is the time since the process began.
var precise = func() time.Duration { return time.Since(epoch) }

func startClock() clock { return clock{base: time.Now(), read: precise, start: precise()} }

// now takes 38 ns on Linux; time.Now would take 65.
func (c *clock) now() time.Duration { return c.read() - c.start }

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

	quit  atomic.Bool
	ended chan struct{}
}

// span is a part of a phase.
type span struct{ from, to time.Duration }

// watchHiccups starts a meter. Its close ends it.
func watchHiccups(c *clock) *hiccups {
	h := &hiccups{clock: c, ended: make(chan struct{})}
	h.beat.Store(int64(c.now()))
	go func() {
		runtime.LockOSThread() // the thread goes with the goroutine
		defer close(h.ended)
		for !h.quit.Load() {
			due := time.Duration(h.beat.Load()) + nap
			doze(nap)
			woke := h.clock.now()
			if woke-due >= nap {
				h.note(due, woke)
			}
			h.beat.Store(int64(woke))
		}
	}()
	return h
}

func (h *hiccups) close() {
	h.quit.Store(true)
	<-h.ended
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

// usage is what this process used since it began, or between two moments.
type usage struct {
	cpu     time.Duration // user and system
	machine time.Duration // CPU time of all processes, and of the hypervisor; 0: not known
}

// processUsage is what the process used since it began.
func processUsage() usage {
	u := usage{cpu: processCPU()}
	if all, err := cpu.Times(false); err == nil && len(all) > 0 {
		t := all[0]
		seconds := t.User + t.Nice + t.System + t.Irq + t.Softirq + t.Steal
		u.machine = time.Duration(seconds * float64(time.Second))
	}
	return u
}

// processors is how many processors the process may use: the least of those it may
// run on, GOMAXPROCS and its cgroup's quota.
func processors() float64 {
	n := float64(min(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
	if q := cpuQuota("/"); q > 0 {
		n = min(n, q)
	}
	return n
}

// cpuQuota is the least CPU quota, in processors, of the process' cgroup (version 2) and those above
// it; 0: no limit, or not known. GOMAXPROCS shows it only roughly: Go rounds it up, and to 2 at least. The
// file cpu.max holds quota and period; a quota that is no number is no limit.
func cpuQuota(root string) (least float64) {
	b, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	_, path, ok := strings.Cut("\n"+string(b), "\n0::")
	for dir := filepath.Clean(strings.TrimSpace(path)); ok; dir = filepath.Dir(dir) {
		b, _ := os.ReadFile(filepath.Join(root, "sys/fs/cgroup", dir, "cpu.max"))
		var quota, period float64
		n, _ := fmt.Sscan(string(b), &quota, &period)
		if n == 2 && quota > 0 && period > 0 && (least == 0 || quota/period < least) {
			least = quota / period
		}
		ok = dir != filepath.Dir(dir)
	}
	return least
}

// memoryLimit raises the Go runtime's memory limit with what lives on its heap. Under a
// fixed limit the garbage collector works without end once the existing messages of a large
// data set, or the stacks of many clients, fill it: the client is slow, and the store is
// blamed.
type memoryLimit struct {
	least, now int64 // bytes; least 0: the limit is left alone
	live       int64 // bytes that lived when follow was called last
}

// headroom is how many bytes may be allocated before the next collection if the heap is small.
const headroom = 24 << 20

// follow sets the limit for what lives now. The time of a collection is proportional to the
// memory with pointers. So the limit lets that part double, and memory without pointers, such
// as large messages, grow a little. The limit falls again when they are gone. It is changed
// only by a tenth or more, since a change stops the process for a moment.
//
// A collection counts all that is allocated while it runs as live. On a busy machine it runs long: up to 35 MB
// of large messages are allocated in the meantime, and the next collection frees them. So only memory that was
// live at the last call too raises the limit.
func (m *memoryLimit) follow() {
	if m.least == 0 {
		return
	}
	s := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/scan/heap:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"},
	}
	metrics.Read(s)
	now, scanned := int64(s[0].Value.Uint64()), int64(s[1].Value.Uint64())
	live := min(now, cmp.Or(m.live, now)) // at the start of a phase nothing passes by
	m.live = now
	want := live + scanned + max(0, live-scanned)/16 + headroom
	for _, other := range s[2:] {
		want += int64(other.Value.Uint64())
	}
	if want = max(want, m.least); want > m.now+m.now/10 || want < m.now-m.now/10 {
		m.now = want
		debug.SetMemoryLimit(want)
	}
}

// spareThreads is how many more goroutines may run than there are processors.
// The embedded engine waits for the disk in this process. A goroutine in a blocking
// system call keeps its place among the running ones until the scheduler's monitor
// takes it away, which may be 10 ms later. With one place for each of two processors,
// two fsyncs stop the load generator's clock.
const spareThreads = 4

// tunedMemory is the memory limit of the Go runtime that Tune has set, in bytes; 0: none. Phases raise the limit when
// more lives on the heap, until EndRun.
var tunedMemory int64

// EndRun restores the memory limit that Tune has set. A run calls it when its data is gone.
func EndRun() {
	if tunedMemory > 0 {
		debug.SetMemoryLimit(tunedMemory)
	}
}

// Tune sets up the process for measuring. The environment's settings of the Go
// runtime take precedence.
//
// The memory limit makes the garbage collector work harder before the process
// grows past it: a 10 MB body in one row passes through several buffers of that
// size in the engine. With this limit, and with the bound on large
// messages in memory, a run with such bodies stays below 300 MB.
func Tune() {
	tuneMalloc()
	if os.Getenv("GOMEMLIMIT") == "" {
		tunedMemory = usualMemory
		debug.SetMemoryLimit(tunedMemory)
	}
	// Under a CPU quota, more places would only use it up sooner, and the process would be stopped for the rest of the
	// period. Go lowers GOMAXPROCS to one of 2 or more, also of a cgroup of version 1.
	if os.Getenv("GOMAXPROCS") == "" && processors() == float64(runtime.NumCPU()) {
		runtime.GOMAXPROCS(runtime.NumCPU() + spareThreads)
	}
}
