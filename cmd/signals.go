package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that the first Ctrl-C, SIGTERM or SIGHUP ends. A run then ends
// and saves what was measured. A second Ctrl-C or SIGTERM ends the process at once. A second
// SIGHUP does not, because a terminal that is closed may send two.
func untilSignal(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	// With SIGPIPE taken, a write to a pipe that nobody reads from is an error and does not end
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
