// Command mailbench benchmarks and validates mailbox data models: five
// documented models behind one interface, driven by YAML workloads on real
// engines. "mailbench run" with no arguments compares all of them on the
// embedded engine.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	tune()
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns its exit status.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first Ctrl-C ends the run and saves what was measured; a second one
	// ends the process at once.
	context.AfterFunc(ctx, stop)

	root := newRoot()
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
