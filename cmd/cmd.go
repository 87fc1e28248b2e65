// Package cmd is the command line of mailbench. Each command has a file of its
// own, which binds flags, calls packages and prints. A program with models of its
// own is one line:
//
//	func main() { cmd.Main(mymodel.Model()) }
package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
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

// Exit statuses of every command.
const (
	exitOK          = 0
	exitFailed      = 1 // it could not be done: engine unreachable, I/O
	exitUsage       = 2 // wrong usage or input
	exitBroken      = 3 // done, but not good: a run invalid, overloaded or empty, a schema with errors, a regression
	exitData        = 4 // data wrong or lost
	exitInterrupted = 130
)

// statusError is an error with its exit status.
type statusError struct {
	status int
	error
}

func (e statusError) Unwrap() error { return e.error }

// usage marks an error, if there is one, as one of wrong usage or input.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return statusError{exitUsage, err}
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// missing gives an error the exit status of wrong input, if a file is missing, is a folder, or
// should be a folder.
func missing(err error) error {
	if errors.Is(err, drivers.ErrCorrupt) {
		return err // a store has lost files of its own
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, plainfile.ErrNotPlain) {
		return usage(err)
	}
	return err
}

// input gives an error about files that the user named the exit status of wrong input, unless a file that is there
// cannot be read.
func input(err error) error {
	if err = missing(err); err == nil || errors.As(err, new(*fs.PathError)) || errors.Is(err, context.Canceled) {
		return err
	}
	return usage(err)
}

// exitStatus is the exit status for a command's error.
func exitStatus(err error) int {
	var status statusError
	var faults strict.Errors
	var format *mail.FormatError
	var option *drivers.OptionError
	var engine launch.UsageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return status.status
	case errors.Is(err, drivers.ErrCorrupt):
		return exitData
	case errors.As(err, &faults), errors.As(err, &format), errors.As(err, &option),
		errors.As(err, &engine), errors.Is(err, workloads.ErrPopulation):
		return exitUsage
	default:
		return exitFailed
	}
}

// unknown is the error for a word that is not known. It says which known word was probably meant.
func unknown(what, word string, known []string) error {
	if why := schemas.Withdrawn[word]; why != "" {
		return fmt.Errorf("%s %s: %s", what, word, why)
	}
	return strict.Unknown(what, word, known...)
}

// alreadyPrinted is an error that has been printed.
type alreadyPrinted struct{ error }

func (t alreadyPrinted) Unwrap() error { return t.error }

// printError prints an error, unless it has been printed.
func printError(w io.Writer, err error) error {
	var before alreadyPrinted
	if err == nil || errors.As(err, &before) {
		return err
	}
	if !readerGone(err) {
		fmt.Fprintf(w, "mailbench: %v\n", err)
	}
	return alreadyPrinted{err}
}

// failOn is what makes a run or a merge end with a status that is not 0: the value of --fail-on.
// Wrong or lost data, an interruption, and results that cannot be saved always do.
type failOn []string

// failures are the names that --fail-on takes. By default all but invalid count: an invalid phase is
// marked and not ranked, so the others can still be used. Unusable: no measured phase is valid, or a
// model dropped at least half of its operations.
var (
	failures     = failOn{"missed", "unclear", "failed", "overloaded", "empty", "unusable", "invalid"}
	failsDefault = failures[:6]
)

func bindFailOn(flags *pflag.FlagSet, f *failOn) {
	*f = failsDefault
	list := "of " + strings.Join(failures, ", ") + "; or all, or none"
	flags.Var(&accepted{expected: "a list " + list, get: f.String, set: f.set}, "fail-on",
		"exit with 3, or 1 if a result failed, for these: `LIST` "+list)
}

// has reports whether the run must fail for that.
func (f failOn) has(name string) bool { return slices.Contains(f, name) }

// String is the value of the flag.
func (f *failOn) String() string { return cmp.Or(strings.Join(*f, ","), "none") }

func (f *failOn) set(text string) error {
	switch text {
	case "none":
		*f = nil
		return nil
	case "all":
		*f = failures
		return nil
	}
	names := strings.Split(strings.ReplaceAll(text, " ", ""), ",")
	for _, name := range names {
		if !failures.has(name) {
			return errors.New("unknown name")
		}
	}
	*f = names
	return nil
}

// verdict is the error for a run's results: the worst of what is wrong, of what on has.
func verdict(r *results.Run, on failOn) error {
	var incomplete error
	for _, a := range r.Audits {
		switch of := a.Model + " on " + a.Engine; {
		case a.Fault != "":
			return statusError{exitData, fmt.Errorf("the losses of %s are unknown: %s", of, a.Fault)}
		case a.Wrong():
			return statusError{exitData, fmt.Errorf("verification of %s found wrong or lost data", of)}
		case a.Error != "":
			incomplete = cmp.Or(incomplete, fmt.Errorf("verification of %s was interrupted: %s", of, a.Error))
		case a.Unread > 0:
			incomplete = cmp.Or(incomplete, fmt.Errorf("verification of %s could not read %d messages", of, a.Unread))
		}
	}
	switch {
	case r.Interrupted:
		return statusError{exitInterrupted, errors.New("interrupted; measured values are saved")}
	case incomplete != nil:
		return incomplete
	}
	all := judge.Faults(r)
	for _, name := range []string{"failed", "search", "empty", "overloaded", "invalid", "unusable", "missed", "unclear"} {
		wanted := on.has(name) || name == "search" && (on.has("missed") || on.has("unclear"))
		if len(all[name]) == 0 || !wanted {
			continue
		}
		err, status := all[name][0], exitBroken
		if name == "failed" {
			status = exitFailed
		}
		if more := len(all[name]) - 1; more > 0 {
			err = fmt.Errorf("%w (and %d more, in the table)", err, more)
		}
		return statusError{status, err}
	}
	return nil
}
