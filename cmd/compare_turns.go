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

	"github.com/kballard/go-shellquote"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// The names of the sides of compare --run, of their flags and of their folders.
const (
	baseSide = "base"
	newSide  = "new"
)

// turns runs two builds of mailbench in turns: base new, new base, base new and so on, one trial of each a
// turn, so that changes of the machine are the same for both.
type turns struct {
	*compareFlags
	commands map[string][]string // of each side; --output and a folder are appended
	errs     io.Writer
	bar      bar
	began    time.Time // of the round
	runs     int       // of the round that have ended
}

// inTurns makes the runs and compares them. A regression counts only if a second round
// finds it too.
func (f *compareFlags) inTurns(ctx context.Context, out, errs io.Writer) error {
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
	t := turns{compareFlags: f, commands: commands, errs: errs, bar: newBar(errs, f.quiet)}
	first, err := t.round(ctx, dir, "")
	if err != nil {
		return err
	}
	c := first
	if len(first.Regressions) > 0 {
		if !f.quiet {
			fmt.Fprintf(errs, "%d worse, such as %s; another round must confirm that\n",
				len(first.Regressions), first.Regressions[0])
		}
		if c, err = t.round(ctx, filepath.Join(dir, "confirm"), "confirm, "); err != nil {
			return fmt.Errorf("%w; to see the unconfirmed regression, run: %s", err, compareCommand(dir))
		}
		c.Confirm(first)
	}
	return f.tell(out, c)
}

func compareCommand(dir string) string {
	return "mailbench compare " + filepath.Join(dir, baseSide) + " " + filepath.Join(dir, newSide)
}

// commands returns the command of each side: the user's words, "run" if it is missing, and the
// arguments that all runs share.
func (f *compareFlags) commands() (map[string][]string, error) {
	workload, err := wordsOf("run", f.workload)
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for side, text := range map[string]string{baseSide: f.base, newSide: f.new} {
		line, err := wordsOf(side, text)
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			return nil, usagef("--%s is empty: expected a command such as bin/mailbench", side)
		}
		if _, err := exec.LookPath(line[0]); err != nil {
			return nil, usagef("--%s %q: %w", side, text, err)
		}
		if !slices.Contains(line, "run") {
			line = append(line, "run")
		}
		all[side] = slices.Concat(line, workload, []string{"--trials", "1", "--no-floor", "--quiet"})
	}
	return all, nil
}

// wordsOf splits the value of a flag as a shell splits a command line.
func wordsOf(flag, text string) ([]string, error) {
	all, err := shellquote.Split(text)
	if err != nil {
		err = usagef("--%s %q: a quote is not closed, or nothing follows a \\", flag, text)
	}
	return all, err
}

// round makes all turns of a round and compares them. The results of turn N are in base/N and new/N below dir.
// It also compares after the first turn, so that runs that cannot be compared do not go on for an hour.
func (t *turns) round(ctx context.Context, dir, name string) (c *compare.Comparison, err error) {
	t.began, t.runs = time.Now(), 0
	for turn := 1; turn <= t.turns; turn++ {
		order := []string{baseSide, newSide}
		if turn%2 == 0 {
			slices.Reverse(order)
		}
		done := fmt.Sprintf("%sturn %d of %d", name, turn, t.turns)
		for _, side := range order {
			label := done + ": " + side
			if err = t.run(ctx, label, side, filepath.Join(dir, side, strconv.Itoa(turn))); err == nil {
				continue
			}
			if err = fmt.Errorf("%s: %w", label, err); ctx.Err() != nil {
				err = statusError{exitInterrupted, fmt.Errorf("interrupted in %s", label)}
			}
			return nil, t.unfinished(dir, turn, err)
		}
		if turn == 1 || turn == t.turns {
			if c, err = t.compare(filepath.Join(dir, baseSide), filepath.Join(dir, newSide)); err != nil {
				return nil, err
			}
		}
		if !t.quiet && !t.bar.terminal {
			fmt.Fprintf(t.errs, "%s done%s\n", done, t.left(0))
		}
	}
	return c, nil
}

// run makes one run, and shows it until it has ended. It passes an interrupt of this process on to the run,
// which then saves what it measured. A run of which a phase failed, or cannot be used, is compared all the same,
// if it has results: the comparison says so.
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
	_, missing := os.Stat(filepath.Join(dir, results.RunFile))
	var exit *exec.ExitError
	status := exitOK
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && (status != exitFailed && status != exitBroken || missing != nil):
		last := strings.TrimSpace(errs.String())
		last = strings.TrimPrefix(last[strings.LastIndexByte(last, '\n')+1:], "mailbench: ")
		err = fmt.Errorf("%w: %s", err, cmp.Or(last, "it printed no error"))
		if status == exitUsage || status == exitData || status == exitInterrupted { // it says what is wrong
			err = statusError{status, err}
		}
		return err
	case missing != nil:
		return fmt.Errorf("there are no results in %s: is %q a mailbench?", dir, line[0])
	}
	return nil
}

// watch shows the run that is under way until it has ended.
func (t *turns) watch(label string, ended <-chan error) error {
	defer t.bar.close()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for began := time.Now(); ; {
		t.bar.show(label + t.left(time.Since(began)))
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
	rest := 2*t.turns - t.runs
	if t.runs == 0 || rest == 0 {
		return ""
	}
	each := (time.Since(t.began) - under) / time.Duration(t.runs)
	return fmt.Sprintf(", about %s left", words.About(max(each*time.Duration(rest)-under, 0)))
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
			if merr := cmp.Or(os.MkdirAll(aside, 0o755), os.Rename(from, filepath.Join(aside, side+end))); merr != nil {
				err = fmt.Errorf("%w; and %s has results of an unfinished turn: %w", err, from, merr)
			}
		}
	}
	if turn == 1 {
		return err
	}
	return fmt.Errorf("%w; this compares the %d turns before it: %s", err, turn-1, compareCommand(dir))
}
