package drive

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/mailbench/mailbench/reports"
)

// usage is what this process used since it began, or between two moments.
type usage struct {
	cpu     time.Duration // user and system
	machine time.Duration // of all processes together; 0: not known
	rss     int64         // peak resident bytes; 0: not known
	paused  time.Duration // stopped by the garbage collector
	gc      float64       // CPU seconds of the garbage collector, by the runtime's estimate
	mallocs uint64
}

// processUsage is what the process used since it began.
func processUsage() usage {
	u := systemUsage()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.paused, u.mallocs = time.Duration(m.PauseTotalNs), m.Mallocs
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(s)
	u.gc = s[0].Value.Float64()
	return u
}

// since is what was used after a moment before.
func (u usage) since(before usage) usage {
	u.cpu -= before.cpu
	u.machine -= before.machine
	u.paused -= before.paused
	u.gc -= before.gc
	u.mallocs -= before.mallocs
	return u
}

// client is the usage of a phase, as results have it.
func (u usage) client(workers int, seconds float64) reports.ClientInfo {
	c := reports.ClientInfo{
		Workers: workers, Processors: runtime.NumCPU(), CPUSeconds: u.cpu.Seconds(), OthersShare: -1,
		GCPauses: int64(u.paused), GCSeconds: u.gc, PeakRSS: u.rss, Limits: limits(),
	}
	all := max(seconds, 1e-9) * float64(c.Processors)
	c.CPUShare = u.cpu.Seconds() / all
	if u.machine > 0 {
		c.OthersShare = u.machine.Seconds()/all - c.CPUShare
	}
	return c
}

// limits are those in force for this process.
func limits() reports.Limits {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(s)
	l := reports.Limits{GOMAXPROCS: runtime.GOMAXPROCS(0), GOGC: -1, CPUQuota: cpuQuota()}
	if v := s[0].Value.Uint64(); v < math.MaxUint32 { // all bits set: off
		l.GOGC = int(v)
	}
	if v := s[1].Value.Uint64(); v < math.MaxInt64 {
		l.GOMEMLIMIT = int64(v)
	}
	return l
}
