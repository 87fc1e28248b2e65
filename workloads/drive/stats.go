package drive

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/results"
)

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
	squares    squares
	missing    models.Known
	fallbacks  []string
	errors     []results.ErrorCount
	noTarget   int64
	notOffered bool // a call returned models.ErrNotOffered
}

// squares are sums of squares of countsOf, for standard deviations between operations.
type squares [4]float64

// countsOf are requests, rows, bytes and rows scanned.
func countsOf(c *drivers.Cost) [4]float64 {
	return [4]float64{
		float64(c.Requests), float64(c.RowsRead + c.RowsWritten), float64(c.BytesRead + c.BytesWritten),
		float64(c.RowsScanned),
	}
}

func (q *squares) add(c *drivers.Cost) {
	for i, v := range countsOf(c) {
		q[i] += v * v
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

// noteTiming counts an operation that has ended. It counts as queued if it started too late, because its worker was
// still busy when it was scheduled.
func (w *worker) noteTiming(queued bool, due, start, end time.Duration) {
	t, service := w.tally(), end-start
	t.Started++
	t.LastStart = start.Seconds()
	if queued || w.timer == nil {
		t.Own += int64(start - w.last)
		t.Service += int64(service)
	}
	if w.timer == nil {
		return
	}
	switch {
	case !queued:
		w.usualTime = 0
	case start-due > w.phase.Lateness:
		t.Queued++
		// There were too few workers: none may be added, and this one has spent longer in usual
		// calls than a start may be late.
		if w.usualTime > w.phase.Lateness && w.phase.pool.whole.Load() {
			t.Crowded++
		}
	}
	// A longer call than usual starts again from 0: the store is the cause of the wait for that call.
	if w.usualTime += service; int64(service) > w.phase.pool.usual[w.slot].Load() {
		w.usualTime = 0
	}
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

// client is the usage of a phase in the form of results.
func (u usage) client(workers int, seconds float64) results.ClientInfo {
	seconds = max(seconds, 1e-9)
	capacity, cpuSeconds := processors(), u.cpu.Seconds()
	c := results.ClientInfo{
		Workers: workers, Processors: runtime.NumCPU(), Capacity: capacity,
		CPUSeconds: cpuSeconds, CPUShare: cpuSeconds / (seconds * capacity), OthersShare: -1,
	}
	// The machine may have processors that this process may not use.
	if n, err := cpu.Counts(true); err == nil && n > 0 && u.machine > 0 {
		c.OthersShare = (u.machine - u.cpu).Seconds() / (seconds * float64(n))
	}
	return c
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
	live := now // at the start of a phase nothing passes by
	if m.live > 0 {
		live = min(now, m.live)
	}
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
