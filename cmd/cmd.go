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
	"strings"
	"syscall"

	"github.com/mailbench/mailbench/models"
)

// Main runs the command line of this process and ends the process with its exit
// status. The models given are offered beside mailbench's own.
func Main(more ...models.Model) {
	tune()
	os.Exit(execute(bundled(more...), os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns its exit status.
func execute(known registry, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first Ctrl-C ends the run and saves what was measured; a second one
	// ends the process at once.
	context.AfterFunc(ctx, stop)

	root := newRoot(known)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if errors.Is(err, context.Canceled) {
		err = statusError{exitInterrupted, errors.New("interrupted before anything was measured")}
	}
	if err != nil {
		fmt.Fprintln(stderr, "mailbench: "+printable(err.Error()))
	}
	return exitStatus(err)
}

// printable keeps control characters in file names and mail away from the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, s)
}
