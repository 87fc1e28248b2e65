// Package cmd is the command line of mailbench. Each command has a file of its
// own, which binds flags, calls packages and prints. A program with models of its
// own is one line:
//
//	func main() { cmd.Main(mymodel.Model()) }
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/drive"
)

// Main runs the command line of this process and ends the process with its exit
// status. It has the given models and mailbench's own; a given one replaces that of the same name.
func Main(more ...models.Model) {
	tune()
	os.Exit(execute(bundled(more...), os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns its exit status.
func execute(known registry, args []string, stdout, stderr io.Writer) int {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	out, errs := &screen{out: stdout}, &screen{out: stderr}
	root := newRoot(known)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	err := crash.Guard(func() error { return root.ExecuteContext(ctx) })
	if err == nil {
		err = out.err
	}
	if errors.Is(err, context.Canceled) {
		err = statusError{exitInterrupted, errors.New("interrupted before anything was measured")}
	}
	err = printError(errs, err)
	var panicked *crash.Error
	if errors.As(err, &panicked) {
		fmt.Fprintf(errs, "\n%s", panicked.Stack)
	}
	return exitStatus(err)
}

// untilSignal returns a context that the first Ctrl-C, SIGTERM or SIGHUP ends. A run then ends
// and saves what was measured. A second Ctrl-C or SIGTERM ends the process at once. A second
// SIGHUP does not, because a terminal that is closed may send two.
func untilSignal(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	// With SIGPIPE taken, a write to a pipe without a reader is an error and does not end
	// the process. Child processes inherit an ignored signal, but not one that is taken.
	signals, taken := []os.Signal{os.Interrupt, syscall.SIGTERM}, []os.Signal{syscall.SIGPIPE}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals, taken = append(signals, syscall.SIGHUP), append(taken, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), taken...)
	ctx, stop = signal.NotifyContext(parent, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

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

// tune sets up the process for measuring. The environment's settings of the Go
// runtime take precedence.
//
// The memory limit makes the garbage collector work harder before the process
// grows past it: a 10 MB body in one row passes through several buffers of that
// size in the engine. With this limit, and with the bound of workloads/drive on large
// messages in memory, a run with such bodies stays below 300 MB.
func tune() {
	tuneMalloc()
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(places(runtime.GOMAXPROCS(0), runtime.NumCPU(), drive.CPUQuota()))
	}
}
