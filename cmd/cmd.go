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

	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
)

// Main runs the command line of this process and ends the process with its exit
// status. It offers the given models beside mailbench's own, or in place of those of the same name.
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
	err = tell(errs, err)
	var panicked *crash.Error
	if errors.As(err, &panicked) {
		fmt.Fprintf(errs, "\n%s", panicked.Stack)
	}
	return exitStatus(err)
}
