package drive

import (
	"os"
	"runtime"
	"runtime/debug"
)

// spareThreads is how many more goroutines may run than there are processors.
// The embedded engine waits for the disk in this process. A goroutine in a blocking
// system call keeps its place among the running ones until the scheduler's monitor
// takes it away, which may be 10 ms later. With one place for each of two processors,
// two fsyncs stop the load generator's clock.
const spareThreads = 4

// places is GOMAXPROCS for a process that may run on so many processors. Own is Go's choice. It
// stays if the cgroup has a CPU quota below the processors: more places would only use the quota
// up sooner, and the process would be stopped for the rest of the period.
func places(own, processors int, quota float64) int {
	if quota > 0 && quota < float64(processors) {
		return own
	}
	return own + spareThreads
}

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
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(places(runtime.GOMAXPROCS(0), runtime.NumCPU(), cpuQuota()))
	}
}
