//go:build !linux

package run

import (
	"runtime/metrics"
	"time"

	"github.com/mailbench/mailbench/reports"
)

// machine leaves out what is not asked for on this operating system.
func machine(*reports.Environment, string) {}

// usage is what this process used of the machine since it began.
type usage struct {
	cpu     time.Duration // user and system
	machine time.Duration // of all processes together; 0: not known
	rss     int64         // peak resident bytes; 0: not known
}

// processUsage takes the runtime's own estimate, which is renewed by each
// garbage collection.
func processUsage() usage {
	s := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(s)
	return usage{cpu: time.Duration((s[0].Value.Float64() - s[1].Value.Float64()) * float64(time.Second))}
}
