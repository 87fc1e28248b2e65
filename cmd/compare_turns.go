package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/mailbench/mailbench/cmd/turns"
	"github.com/mailbench/mailbench/reports/compare"
)

// defaultTurns is how many turns find a slow-down of 10% on a machine that does nothing else.
const defaultTurns = 10

// commands returns the command of each side: the user's words, "run" if it is missing, and the
// arguments that all runs share.
func (f *compareFlags) commands() (map[string][]string, error) {
	workload, err := shellWords(f.workload)
	if err != nil {
		return nil, usagef("--run %q: %w", f.workload, err)
	}
	all := map[string][]string{}
	for side, text := range map[string]string{turns.Base: f.base, turns.New: f.new} {
		line, err := command(side, text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(line, "run") {
			line = append(line, "run")
		}
		all[side] = slices.Concat(line, workload, []string{"--trials", "1", "--no-floor", "--quiet"})
	}
	return all, nil
}

// command splits the command that a flag gives.
func command(flag, text string) ([]string, error) {
	line, err := shellWords(text)
	switch {
	case err != nil:
		return nil, usagef("--%s %q: %w", flag, text, err)
	case len(line) == 0:
		return nil, usagef("--%s is empty: it takes a command such as bin/mailbench", flag)
	}
	if _, err := exec.LookPath(line[0]); err != nil {
		return nil, usagef("--%s %q: %w", flag, text, err)
	}
	return line, nil
}

// inTurns makes the runs and compares them. A regression counts only if a second round
// finds it too.
func (f *compareFlags) inTurns(ctx context.Context, out, errs io.Writer) error {
	if _, err := f.gates(); err != nil {
		return err
	}
	dir := f.output
	if dir == "" {
		dir = filepath.Join(resultsDir, "compare-"+time.Now().Format("20060102-150405.000"))
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return usagef("%s is not empty: remove it, or choose another folder with -o", dir)
	}
	commands, err := f.commands()
	if err != nil {
		return err
	}
	r := &turns.Runner{Turns: f.turns, Commands: commands, Poor: []int{exitFailed, exitBroken}}
	f.watched(r, errs)
	first, err := f.round(ctx, r, dir, "")
	if err != nil {
		return err
	}
	c := first
	if len(first.Regressions) > 0 {
		if !f.quiet {
			fmt.Fprintf(errs, "%d worse, such as %s; another round must confirm that\n",
				len(first.Regressions), first.Regressions[0])
		}
		if c, err = f.round(ctx, r, filepath.Join(dir, "confirm"), "confirm, "); err != nil {
			return fmt.Errorf("%w; this shows the regression, which is not confirmed yet: mailbench compare %s %s",
				err, filepath.Join(dir, turns.Base), filepath.Join(dir, turns.New))
		}
		c.Confirm(first)
	}
	return f.tell(out, c)
}

// watched lets a terminal show what is under way, and other readers which turns are done.
func (f *compareFlags) watched(r *turns.Runner, errs io.Writer) {
	switch {
	case f.quiet:
	case isTerminal(errs):
		r.Show = func(line string) {
			cells := []rune(line)
			redraw(errs, string(cells[:min(len(cells), max(width(errs)-1, 0))]))
		}
	default:
		r.Done = func(line string) { fmt.Fprintln(errs, line) }
	}
}

// round makes the runs of one round and compares them.
func (f *compareFlags) round(ctx context.Context, r *turns.Runner, dir, name string) (*compare.Comparison, error) {
	var c *compare.Comparison
	compared := func() (err error) {
		c, err = f.compare(filepath.Join(dir, turns.Base), filepath.Join(dir, turns.New))
		return err
	}
	if err := r.Round(ctx, dir, name, compared); err != nil {
		return nil, roundStatus(err)
	}
	err := compared()
	return c, err
}

// roundStatus gives the error of a round the exit status of the run that failed, if that says
// what is wrong with the command or the data.
func roundStatus(err error) error {
	var failure *turns.Failure
	if !errors.As(err, &failure) {
		return err
	}
	switch failure.Status {
	case exitUsage, exitData, exitInterrupted:
		return statusError{failure.Status, err}
	}
	return err
}
