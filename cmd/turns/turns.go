// Package turns runs two builds of mailbench in turns: base new, new base, base new and so on, one
// trial of each a turn, so that what changes in the machine is the same for both.
package turns

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// The names of the sides and of their folders.
const (
	Base = "base"
	New  = "new"
)

// Runner makes the runs of rounds of turns.
type Runner struct {
	Turns    int                 // of a round
	Commands map[string][]string // of each side; --output and a folder are appended
	// Poor are the exit statuses of runs that are compared all the same, if they have results: a
	// phase failed, or its figures cannot be used, and the comparison says so.
	Poor []int
	Show func(line string) // shows what is under way, each second; nil if nobody looks
	Done func(line string) // a turn is done; may be nil

	began time.Time
	runs  int // runs of the round that have ended
}

// Interrupted is the Status of a round that its context ended: what shells say of SIGINT.
const Interrupted = 130

// Failure is the error of a run that failed.
type Failure struct {
	Status int // its exit status; Interrupted if the round was, -1 if it did not run
	Err    error
}

func (f *Failure) Error() string { return f.Err.Error() }

func (f *Failure) Unwrap() error { return f.Err }

// Round runs all turns of a round. Results go below dir. It calls compared after the first
// turn, so that runs that cannot be compared do not go on for an hour. What is shown begins with
// name. The results of turn N are in base/N and new/N below dir. The error has a Failure.
func (r *Runner) Round(ctx context.Context, dir, name string, compared func() error) error {
	r.began, r.runs = time.Now(), 0
	for turn := 1; turn <= r.Turns; turn++ {
		order := []string{Base, New}
		if turn%2 == 0 {
			slices.Reverse(order)
		}
		for _, side := range order {
			label := fmt.Sprintf("%sturn %d of %d: %s", name, turn, r.Turns, side)
			err := r.run(ctx, label, side, filepath.Join(dir, side, strconv.Itoa(turn)))
			if err == nil {
				continue
			}
			err = fmt.Errorf("%s: %w", label, err)
			if ctx.Err() != nil {
				err = &Failure{Interrupted, fmt.Errorf("interrupted in %s", label)}
			}
			return r.unfinished(dir, turn, err)
		}
		if turn == 1 {
			if err := compared(); err != nil {
				return err
			}
		}
		if r.Done != nil {
			r.Done(fmt.Sprintf("%sturn %d of %d done%s", name, turn, r.Turns, r.left(0)))
		}
	}
	return nil
}

// run makes one run. It passes an interrupt of this process on to the run, which then saves what
// it measured.
func (r *Runner) run(ctx context.Context, label, side, dir string) error {
	var errs bytes.Buffer
	line := slices.Concat(r.Commands[side], []string{"--output", dir})
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
	err := r.watch(label, ended)
	r.runs++
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
	case errors.As(err, &exit) && slices.Contains(r.Poor, exit.ExitCode()) && saved(dir):
	default:
		f := &Failure{-1, fmt.Errorf("%w: %s", err, cmp.Or(lastLine(errs.String()), "it printed no error"))}
		if exit != nil {
			f.Status = exit.ExitCode()
		}
		return f
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
func (r *Runner) watch(label string, ended <-chan error) error {
	if r.Show == nil {
		return <-ended
	}
	defer r.Show("")
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for began := time.Now(); ; {
		r.Show(label + r.left(time.Since(began)))
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
	}
}

// left estimates how long the rest of the round takes. Under is how long the run that is under
// way has taken.
func (r *Runner) left(under time.Duration) string {
	rest := 2*r.Turns - r.runs
	if r.runs == 0 || rest == 0 {
		return ""
	}
	each := (time.Since(r.began) - under) / time.Duration(r.runs)
	return fmt.Sprintf(", about %s left", words.About(max(each*time.Duration(rest)-under, 0)))
}

// unfinished moves the results of a turn aside, so that the turns before it can be compared. Err
// is why the turn was not finished. The error returned also says how to compare those turns.
func (r *Runner) unfinished(dir string, turn int, err error) error {
	aside := filepath.Join(dir, "unfinished")
	for _, side := range []string{Base, New} {
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
		err, turn-1, filepath.Join(dir, Base), filepath.Join(dir, New))
}
