package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// memoryLimit makes the garbage collector work harder before the process
	// grows past it. A 25 MB body in one row passes through buffers of that size
	// in the engine: with the limit, runs that have a few of them peak below 300 MB.
	memoryLimit = 200 << 20
	// spareThreads is how many more goroutines may run than there are
	// processors. The embedded engine waits for the disk in this process, and a
	// goroutine in a blocking system call keeps its place until the scheduler's
	// monitor takes it away, which may be 10 ms later: with one place for each
	// of two processors, two fsyncs stop the load generator's clock.
	spareThreads = 4
)

// tune sets up the Go runtime for measuring. What the environment says goes first.
func tune() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.NumCPU() + spareThreads)
	}
}
