//go:build !linux

package drive

import (
	"runtime/metrics"
	"time"
)

// timer wakes one worker at a scheduled time, as well as the runtime can.
type timer struct{}

func newTimer() (*timer, error) { return &timer{}, nil }

func (*timer) until(c *clock, at time.Duration) error {
	if c.virtual != nil {
		*c.virtual = max(*c.virtual, at)
		return nil
	}
	time.Sleep(at - c.now())
	return nil
}

func (*timer) close() {}

// systemUsage takes the runtime's own estimate, which is renewed by each
// garbage collection.
func systemUsage() usage {
	s := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(s)
	return usage{cpu: time.Duration((s[0].Value.Float64() - s[1].Value.Float64()) * float64(time.Second))}
}

// cpuQuota is not known on this operating system.
func cpuQuota() float64 { return 0 }

// The figures that follow are not known on this operating system.

func machineProcessors() int { return 1 }

func processCPU() time.Duration { return 0 }

func queuedForCPU() time.Duration { return time.Duration(time.Now().UnixNano()) } // never stopped

func doze(d time.Duration) { time.Sleep(d) }
