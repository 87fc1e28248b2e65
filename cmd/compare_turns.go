package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/results"
)

// defaultTurns is how many turns find a slow-down of 10% on a machine that does nothing else.
const defaultTurns = 10

// turns runs two builds in turns: base new, new base, base new and so on, one trial of each
// a turn. The results of turn N are in base/N and new/N below dir.
type turns struct {
	dir      string
	n        int                 // turns of a round
	commands map[string][]string // command of each side; run appends the folder of results
	progress io.Writer
	quiet    bool

	began time.Time
	runs  int // runs that have ended so far
}

// The names of the sides and of their folders.
const (
	baseSide = "base"
	newSide  = "new"
)

// commands returns the command of each side: the user's words, "run" if it is missing, and the
// arguments that all runs share.
func (f *compareFlags) commands() (map[string][]string, error) {
	workload, err := shellWords(f.workload)
	if err != nil {
		return nil, usagef("--run %q: %w", f.workload, err)
	}
	all := map[string][]string{}
	for side, text := range map[string]string{baseSide: f.base, newSide: f.new} {
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

// round runs all turns of a round. Results go below dir. It calls compared after the first
// turn, so that runs that cannot be compared do not go on for an hour.
func (t *turns) round(ctx context.Context, dir, name string, compared func() error) error {
	t.began, t.runs = time.Now(), 0
	for turn := 1; turn <= t.n; turn++ {
		order := []string{baseSide, newSide}
		if turn%2 == 0 {
			slices.Reverse(order)
		}
		for _, side := range order {
			label := fmt.Sprintf("%sturn %d of %d: %s", name, turn, t.n, side)
			err := t.run(ctx, label, side, filepath.Join(dir, side, strconv.Itoa(turn)))
			if err == nil {
				continue
			}
			err = fmt.Errorf("%s: %w", label, err)
			if ctx.Err() != nil {
				err = statusError{exitInterrupted, fmt.Errorf("interrupted in %s", label)}
			}
			return t.unfinished(dir, turn, err)
		}
		if turn == 1 {
			if err := compared(); err != nil {
				return err
			}
		}
		if !t.quiet && !isTerminal(t.progress) {
			fmt.Fprintf(t.progress, "%sturn %d of %d done%s\n", name, turn, t.n, t.left(0))
		}
	}
	return nil
}

// run makes one run. It passes an interrupt of this process on to the run, which then saves what
// it measured.
func (t *turns) run(ctx context.Context, label, side, dir string) error {
	var errs bytes.Buffer
	line := slices.Concat(t.commands[side], []string{"--output", dir})
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stderr = &errs
	// Ctrl-C in the terminal goes to this process alone, so that the run gets it only once.
	ownGroup(cmd)
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := t.watch(label, ended)
	t.runs++
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
	case errors.As(err, &exit) && (exit.ExitCode() == exitFailed || exit.ExitCode() == exitBroken) && saved(dir):
		// A phase failed, or its figures cannot be used. The comparison reports it.
	default:
		text := cmp.Or(lastLine(errs.String()), "it printed no error")
		status := exitFailed
		if errors.As(err, &exit) && (exit.ExitCode() == exitUsage || exit.ExitCode() == exitData) {
			status = exit.ExitCode()
		}
		return statusError{status, fmt.Errorf("%w: %s", err, text)}
	}
	if !saved(dir) {
		return fmt.Errorf("there are no results in %s: is %q a mailbench?", dir, line[0])
	}
	return nil
}

func saved(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, results.RunFile))
	return err == nil
}

// lastLine is the last line of a mailbench's errors, without the prefix "mailbench: ".
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimPrefix(text[strings.LastIndexByte(text, '\n')+1:], "mailbench: ")
}

// watch shows the run that is under way until it has ended.
func (t *turns) watch(label string, ended <-chan error) error {
	if t.quiet || !isTerminal(t.progress) {
		return <-ended
	}
	defer redraw(t.progress, "")
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for began := time.Now(); ; {
		line := []rune(label + t.left(time.Since(began)))
		redraw(t.progress, string(line[:min(len(line), max(width(t.progress)-1, 0))]))
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
	}
}

// left estimates how long the rest of the round takes. Under is how long the run that is under
// way has taken.
func (t *turns) left(under time.Duration) string {
	rest := 2*t.n - t.runs
	if t.runs == 0 || rest == 0 {
		return ""
	}
	each := (time.Since(t.began) - under) / time.Duration(t.runs)
	return fmt.Sprintf(", about %s left", about(max(each*time.Duration(rest)-under, 0)))
}

// unfinished moves the results of a turn aside, so that the turns before it can be compared. Err
// is why the turn was not finished. The error returned also says how to compare those turns.
func (t *turns) unfinished(dir string, turn int, err error) error {
	aside := filepath.Join(dir, "unfinished")
	for _, side := range []string{baseSide, newSide} {
		for _, end := range []string{"", ".partial"} {
			from := filepath.Join(dir, side, strconv.Itoa(turn)+end)
			if _, serr := os.Stat(from); serr != nil {
				continue
			}
			merr := os.MkdirAll(aside, 0o755)
			if merr == nil {
				merr = os.Rename(from, filepath.Join(aside, side+end))
			}
			if merr != nil {
				err = fmt.Errorf("%w; and %s has results of an unfinished turn: %w", err, from, merr)
			}
		}
	}
	if turn == 1 {
		return err
	}
	return fmt.Errorf("%w; this compares the %d turns before it: mailbench compare %s %s",
		err, turn-1, filepath.Join(dir, baseSide), filepath.Join(dir, newSide))
}

// inTurns makes the runs and compares them. A regression counts only if a second round
// finds it too.
func (f *compareFlags) inTurns(ctx context.Context, out, errs io.Writer) error {
	if _, err := f.gates(); err != nil {
		return err
	}
	t := &turns{dir: f.output, n: f.turns, progress: errs, quiet: f.quiet}
	if t.dir == "" {
		t.dir = filepath.Join(resultsDir, "compare-"+time.Now().Format("20060102-150405.000"))
	}
	if entries, err := os.ReadDir(t.dir); err == nil && len(entries) > 0 {
		return usagef("%s is not empty: remove it, or choose another folder with -o", t.dir)
	}
	var err error
	if t.commands, err = f.commands(); err != nil {
		return err
	}
	first, err := f.round(ctx, t, t.dir, "")
	if err != nil {
		return err
	}
	c := first
	if len(first.Regressions) > 0 {
		if !f.quiet {
			fmt.Fprintf(errs, "%d worse, such as %s; another round must confirm that\n",
				len(first.Regressions), first.Regressions[0])
		}
		if c, err = f.round(ctx, t, filepath.Join(t.dir, "confirm"), "confirm, "); err != nil {
			return fmt.Errorf("%w; this shows the regression, which is not confirmed yet: mailbench compare %s %s",
				err, filepath.Join(t.dir, baseSide), filepath.Join(t.dir, newSide))
		}
		c.Confirm(first)
	}
	return f.tell(out, c)
}

// round makes the runs of one round and compares them.
func (f *compareFlags) round(ctx context.Context, t *turns, dir, name string) (*compare.Comparison, error) {
	var c *compare.Comparison
	compared := func() (err error) {
		c, err = f.compare(filepath.Join(dir, baseSide), filepath.Join(dir, newSide))
		return err
	}
	if err := t.round(ctx, dir, name, compared); err != nil {
		return nil, err
	}
	err := compared()
	return c, err
}
