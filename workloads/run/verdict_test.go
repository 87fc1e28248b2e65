package run

import (
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/reports"
)

// healthy is a phase at 2000/s on a remote engine with nothing to say against it.
func healthy() evidence {
	return evidence{
		arrivals: "poisson", workers: 32, seconds: 30, processors: 2, started: 60000, late: 10, cpuShare: 0.3,
		own: 10 * time.Millisecond, service: time.Second,
		serviceFree: time.Millisecond, serviceQueued: 0,
	}
}

func TestSaturated(t *testing.T) {
	cases := []struct {
		name   string
		change func(*evidence)
		want   string // part of the reason; "" is not saturated
	}{
		{"healthy", func(*evidence) {}, ""},

		// The generator was the bottleneck.
		{"late with workers free", func(e *evidence) { e.late = 1200 }, "although a worker was free"},
		{"making operations takes longer than running them", func(e *evidence) {
			e.queued, e.own, e.service = 30000, 50*time.Second, 10*time.Second
		}, "making and recording"},
		{"the same in a closed loop", func(e *evidence) {
			e.arrivals, e.own, e.service = "closed", 50*time.Second, 10*time.Second
		}, "making and recording"},
		{"processors full, engine elsewhere", func(e *evidence) { e.cpuShare = 0.95 }, "processors"},
		{"a pool too small for a fast engine", func(e *evidence) {
			e.queued, e.service = 50000, 900*time.Second
			e.serviceFree, e.serviceQueued = 20*time.Millisecond, 21*time.Millisecond
			e.lagMiddle, e.lagEnd = 4*time.Second, 8*time.Second
		}, "use more workers"},

		// The engine was: its slowness is the result, not a fault of the run.
		{"a slow engine", func(e *evidence) {
			e.queued, e.service = 59000, 900*time.Second
			e.serviceFree, e.serviceQueued = time.Millisecond, 30*time.Millisecond
			e.lagMiddle, e.lagEnd = 4*time.Second, 8*time.Second
		}, ""},
		{"an engine that was slow from the first operation", func(e *evidence) {
			e.queued, e.service = 59990, 900*time.Second
			e.serviceFree, e.serviceQueued = 0, 30*time.Millisecond
			e.lagMiddle, e.lagEnd = 4*time.Second, 8*time.Second
		}, ""},
		{"an engine frozen for 1 s in 12", func(e *evidence) {
			e.queued, e.service = 6000, 40*time.Second
			e.serviceFree, e.serviceQueued = time.Millisecond, time.Millisecond
			e.lagMiddle = 900 * time.Millisecond
		}, ""},
		{"catching up with an instant engine after a pause", func(e *evidence) {
			e.queued, e.own, e.service = 6000, 60*time.Millisecond, 20*time.Millisecond
		}, ""},
		{"an embedded engine that takes all processors", func(e *evidence) {
			e.inProcess, e.cpuShare, e.late = true, 0.99, 5000
			e.queued, e.service = 20000, 900*time.Second
			e.serviceFree, e.serviceQueued = time.Millisecond, 5*time.Millisecond
		}, ""},
		{"an embedded engine that compacts in bursts", func(e *evidence) {
			e.inProcess, e.cpuShare, e.late = true, 0.5, 5000
		}, ""},
		{"an engine beside it that takes the processors", func(e *evidence) {
			e.beside, e.cpuShare, e.othersShare, e.late = true, 0.3, 0.6, 5000
		}, ""},
		{"an engine beside it that is slow until it is warm, on full processors", func(e *evidence) {
			e.beside, e.cpuShare, e.othersShare = true, 0.2, 0.75
			e.queued, e.service = 50000, 900*time.Second
			e.serviceFree, e.serviceQueued = 170*time.Millisecond, 75*time.Millisecond
			e.lagMiddle, e.lagEnd = 4*time.Second, 8*time.Second
		}, ""},
		{"the same with processors to spare", func(e *evidence) {
			e.beside, e.cpuShare, e.othersShare = true, 0.2, 0.3
			e.queued, e.service = 50000, 900*time.Second
			e.serviceFree, e.serviceQueued = 170*time.Millisecond, 75*time.Millisecond
			e.lagMiddle, e.lagEnd = 4*time.Second, 8*time.Second
		}, "use more workers"},
		// But not one beside which another program took them.
		{"an embedded engine on a busy machine", func(e *evidence) {
			e.inProcess, e.cpuShare, e.othersShare, e.late = true, 0.4, 0.5, 5000
		}, "although a worker was free"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := healthy()
			c.change(&e)
			got := e.saturated()
			if c.want == "" && got != "" {
				t.Errorf("false alarm: %s", got)
			}
			if c.want != "" && (!strings.HasPrefix(got, "client saturated: ") || !strings.Contains(got, c.want)) {
				t.Errorf("reason = %q, want one with %q", got, c.want)
			}
		})
	}
}

func TestDoubts(t *testing.T) {
	whole := map[string]reports.Op{"open": {Count: 20000}}
	steady := []float64{100, 101, 99, 100, 102, 100}
	cases := []struct {
		name string
		c    condition
		want string
	}{
		{"none", condition{ops: whole, windows: steady, settled: true, warm: true, seconds: 30}, ""},
		{"drift", condition{ops: whole, windows: []float64{100, 100, 100, 150, 150, 150}, settled: true, warm: true}, "not steady: the service time went"},
		{"too few windows to tell", condition{ops: whole, windows: []float64{100, 150}, settled: true, warm: true}, ""},
		{"not settled", condition{ops: whole, warm: true}, "not settled: the engine had not come to rest within 5m0s"},
		{"not warm", condition{ops: whole, settled: true}, "not steady: the warm-up"},
		{"debt", condition{
			ops: whole, settled: true, warm: true,
			before: &reports.EngineInfo{CompactionDebt: 0}, after: &reports.EngineInfo{CompactionDebt: 1 << 30, DiskBytes: 4 << 30},
		}, "compaction debt"},
		{"debt not known", condition{
			ops: whole, settled: true, warm: true,
			before: &reports.EngineInfo{CompactionDebt: -1}, after: &reports.EngineInfo{CompactionDebt: -1},
		}, ""},
		{"cached", condition{ops: whole, settled: true, warm: true, after: &reports.EngineInfo{DiskBytes: 1, CacheBytes: 2}}, "in memory"},
		{"collector", condition{ops: whole, settled: true, warm: true, seconds: 10, gc: time.Second}, "garbage collection"},
		{"few samples", condition{ops: map[string]reports.Op{"flag": {Count: 9999}}, settled: true, warm: true}, "p99.9 (10000 are needed): flag 9999"},
		{"drops", condition{ops: map[string]reports.Op{"flag": {Count: 20000, Dropped: 3}}, settled: true, warm: true}, "never started: flag 3"},
		{"failures", condition{ops: map[string]reports.Op{"flag": {Count: 20000, Failed: 3}}, settled: true, warm: true}, "failed: flag 3"},
		{"clamped", condition{ops: map[string]reports.Op{"flag": {Count: 20000, Clamped: 3}}, settled: true, warm: true}, "beyond 1m40s"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := c.c.doubts()
			if c.want == "" && len(got) > 0 {
				t.Errorf("doubts %q, want none", got)
			}
			if c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("doubts %q, want one with %q", got, c.want)
			}
		})
	}
}

func TestWarm(t *testing.T) {
	for _, c := range []struct {
		windows []float64
		want    bool
	}{
		{[]float64{100, 100}, false},
		{[]float64{400, 200, 100}, false},
		{[]float64{400, 200, 100, 105, 98}, true},
	} {
		if got := warm(c.windows); got != c.want {
			t.Errorf("warm(%v) = %v", c.windows, got)
		}
	}
}
