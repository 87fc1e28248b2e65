package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that the first Ctrl-C, SIGTERM or SIGHUP ends: then a run
// ends and saves what was measured. A second Ctrl-C or SIGTERM ends the process at once. A
// second SIGHUP does not: a terminal that is closed may send two.
func untilSignal(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	// A write to a pipe that nobody reads from is an error, and does not end the process.
	// Unlike an ignored signal, one taken here has its usual meaning in child processes.
	signals, taken := []os.Signal{os.Interrupt, syscall.SIGTERM}, []os.Signal{syscall.SIGPIPE}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals, taken = append(signals, syscall.SIGHUP), append(taken, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), taken...)
	ctx, stop = signal.NotifyContext(parent, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
