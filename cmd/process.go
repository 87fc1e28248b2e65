package cmd

import (
	"os"
	"runtime"
	"runtime/debug"
)

// spareThreads is how many more goroutines may run than there are processors.
// The embedded engine waits for the disk in this process, and a goroutine in a
// blocking system call keeps its place until the scheduler's monitor takes it
// away, which may be 10 ms later: with one place for each of two processors, two
// fsyncs stop the load generator's clock.
const spareThreads = 4

// tune sets up the process for measuring. The environment's settings of the Go
// runtime take precedence.
//
// The memory limit makes the garbage collector work harder before the process
// grows past it: a 25 MB body in one row passes through several buffers of that
// size in the engine. With it, a run of all models with such a body stays below
// 300 MB.
func tune() {
	tuneMalloc()
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.NumCPU() + spareThreads)
	}
}
