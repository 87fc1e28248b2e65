//go:build !unix

package paired

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// cpuTime returns the runtime's own estimate, which a garbage collection renews.
func cpuTime() time.Duration {
	runtime.GC()
	s := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(s)
	return time.Duration((s[0].Value.Float64() - s[1].Value.Float64()) * float64(time.Second))
}
