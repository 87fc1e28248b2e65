package drive

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/mailbench/mailbench/workloads/results"
)

// usage is what this process used since it began, or between two moments.
type usage struct {
	cpu       time.Duration // user and system
	machine   time.Duration // CPU time of all processes and steal; 0: not known
	steal     time.Duration // taken by the hypervisor
	throttled time.Duration // stopped by the CPU quota of its cgroup
	rss       int64         // peak resident bytes; 0: not known
	paused    time.Duration // stopped by the garbage collector
	gc        float64       // CPU seconds of the garbage collector, by the runtime's estimate
	mallocs   uint64
	sched     *metrics.Float64Histogram // seconds that goroutines waited for a processor
}

// processUsage is what the process used since it began.
func processUsage() usage {
	u := systemUsage()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.paused, u.mallocs = time.Duration(m.PauseTotalNs), m.Mallocs
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/sched/latencies:seconds"}}
	metrics.Read(s)
	u.gc, u.sched = s[0].Value.Float64(), s[1].Value.Float64Histogram()
	return u
}

// since is what was used after before was read. The peak rss remains that of the process.
func (u usage) since(before usage) usage {
	u.cpu -= before.cpu
	u.machine -= before.machine
	u.steal -= before.steal
	u.throttled -= before.throttled
	u.paused -= before.paused
	u.gc -= before.gc
	u.mallocs -= before.mallocs
	for i, n := range before.sched.Counts {
		u.sched.Counts[i] -= n
	}
	return u
}

// client is the usage of a phase in the form of results.
func (u usage) client(workers int, seconds float64) results.ClientInfo {
	c := results.ClientInfo{
		Workers: workers, Processors: runtime.NumCPU(), Capacity: processors(), CPUSeconds: u.cpu.Seconds(), OthersShare: -1,
		Throttled: int64(u.throttled), SchedP99: int64(quantile(u.sched, 0.99) * 1e9),
		GCPauses: int64(u.paused), GCSeconds: u.gc, PeakRSS: u.rss, Limits: limits(),
	}
	seconds = max(seconds, 1e-9)
	c.CPUShare = u.cpu.Seconds() / (seconds * c.Capacity)
	if u.machine > 0 {
		all := seconds * float64(machineProcessors())
		c.OthersShare, c.StealShare = (u.machine-u.cpu).Seconds()/all, u.steal.Seconds()/all
	}
	return c
}

// processors is how many processors the process may use: the least of those it may
// run on, GOMAXPROCS and its cgroup's quota.
func processors() float64 {
	n := float64(min(runtime.NumCPU(), runtime.GOMAXPROCS(0)))
	if q := CPUQuota(); q > 0 {
		n = min(n, q)
	}
	return n
}

// quantile is the upper bound of the bucket that holds the quantile q, or the lower bound if
// the upper one is infinite.
func quantile(h *metrics.Float64Histogram, q float64) float64 {
	var all uint64
	for _, n := range h.Counts {
		all += n
	}
	left := q * float64(all)
	for i, n := range h.Counts {
		if left -= float64(n); left <= 0 && n > 0 {
			if top := h.Buckets[i+1]; !math.IsInf(top, 1) {
				return top
			}
			return h.Buckets[i]
		}
	}
	return 0
}

// limits are the limits of this process. GOGC is -1 if it is off.
func limits() results.Limits {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(s)
	l := results.Limits{GOMAXPROCS: runtime.GOMAXPROCS(0), GOGC: -1, CPUQuota: CPUQuota()}
	if v := s[0].Value.Uint64(); v < math.MaxUint32 { // all bits set: off
		l.GOGC = int(v)
	}
	if v := s[1].Value.Uint64(); v < math.MaxInt64 {
		l.GOMEMLIMIT = int64(v)
	}
	return l
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
		{Name: "/memory/classes/os-stacks:bytes"},
		{Name: "/memory/classes/metadata/mcache/inuse:bytes"},
		{Name: "/memory/classes/metadata/mspan/inuse:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"},
		{Name: "/memory/classes/other:bytes"},
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
