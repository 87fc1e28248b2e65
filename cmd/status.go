package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
)

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

// usage marks an error as one of wrong usage or input.
func usage(err error) error { return statusError{exitUsage, err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// belong refuses flags that were given without the flag that they belong to. On says whether that is in effect.
func belong(flags *pflag.FlagSet, to string, on bool, names ...string) error {
	for _, name := range names {
		if flags.Changed(name) && !on {
			return usagef("--%s belongs to --%s: add that, or leave it out", name, to)
		}
	}
	return nil
}

// missing gives an error the exit status of wrong input, if a file is missing, is a folder, or
// should be a folder.
func missing(err error) error {
	if errors.Is(err, drivers.ErrCorrupt) {
		return err // a store lacks files of its own
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, plainfile.ErrNotPlain) {
		return usage(err)
	}
	return err
}

// exitStatus is the exit status for a command's error.
func exitStatus(err error) int {
	var status statusError
	var faults strict.Errors
	var format *mail.FormatError
	var option *drivers.OptionError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return status.status
	case errors.Is(err, drivers.ErrCorrupt):
		return exitData
	case errors.As(err, &faults), errors.As(err, &format), errors.As(err, &option),
		errors.Is(err, workloads.ErrPopulation):
		return exitUsage
	default:
		return exitFailed
	}
}

// unknown is the error for a word that is not known. It says which known word was probably meant.
func unknown(what, word string, known []string) error { return strict.Unknown(what, word, known...) }

// parseWord returns the value whose text is word.
func parseWord[T fmt.Stringer](what, word string, values ...T) (T, error) {
	known := make([]string, len(values))
	for i, v := range values {
		if known[i] = v.String(); known[i] == word {
			return v, nil
		}
	}
	var none T
	return none, usage(unknown("value of --"+what, word, known))
}

// told is an error that has been printed.
type told struct{ error }

func (t told) Unwrap() error { return t.error }

// tell prints an error, unless it has been printed.
func tell(w io.Writer, err error) error {
	var before told
	if err == nil || errors.As(err, &before) {
		return err
	}
	if !readerGone(err) {
		fmt.Fprintf(w, "mailbench: %v\n", err)
	}
	return told{err}
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
	flags.Var(f, "fail-on", "exit with 3, or 1 if a cell failed, for these: `LIST` of "+strings.Join(failures, ", ")+
		"; or all, or none")
}

// has reports whether the run must fail for that.
func (f failOn) has(name string) bool { return slices.Contains(f, name) }

// String implements pflag.Value.
func (f *failOn) String() string {
	if len(*f) == 0 {
		return "none"
	}
	return strings.Join(*f, ",")
}

// Type implements pflag.Value.
func (f *failOn) Type() string { return "LIST" }

// expected says which values the flag takes.
func (f *failOn) expected() string {
	return "a list of " + strings.Join(failures, ", ") + "; or all, or none"
}

// Set implements pflag.Value.
func (f *failOn) Set(text string) error {
	switch text {
	case "none":
		*f = nil
		return nil
	case "all":
		*f = failures
		return nil
	}
	var all failOn
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !failures.has(name) {
			return errors.New("unknown name") // flagError says what is expected
		}
		all = append(all, name)
	}
	*f = all
	return nil
}

// verdict is the error for a run's results: the worst of what is wrong, of what on has.
func verdict(r *results.Run, on failOn) error {
	for _, a := range r.Audits {
		if a.Fault != "" {
			return statusError{exitData, fmt.Errorf("the losses of %s on %s are unknown: %s", a.Model,
				a.Engine, a.Fault)}
		}
		if a.Wrong() {
			return statusError{exitData, fmt.Errorf("the audit of %s on %s found data wrong or lost", a.Model, a.Engine)}
		}
	}
	if r.Interrupted {
		return statusError{exitInterrupted, errors.New("interrupted; what was measured is saved")}
	}
	for _, a := range r.Audits {
		if a.Error != "" {
			return fmt.Errorf("the audit of %s on %s was interrupted: %s", a.Model, a.Engine, a.Error)
		}
		if a.Unread > 0 {
			return fmt.Errorf("the audit of %s on %s could not read %d messages", a.Model, a.Engine, a.Unread)
		}
	}
	if failed := cellsOf(r, results.Failed); len(failed) > 0 && on.has("failed") {
		return cellError(failed, exitFailed)
	}
	if err := notFound(r); err != nil && (on.has("missed") || on.has("unclear")) {
		return err
	}
	for _, kind := range []struct {
		name  string
		cells []*results.Cell
	}{
		{"empty", empty(r)},
		{"overloaded", cellsOf(r, results.Overloaded)},
		{"invalid", cellsOf(r, results.Invalid)},
	} {
		if len(kind.cells) > 0 && on.has(kind.name) {
			return cellError(kind.cells, exitBroken)
		}
	}
	if on.has("unusable") {
		if err := unusable(r); err != nil {
			return err
		}
	}
	return broken(r, on)
}

// unusable is the error of a run in which no measured phase is valid, or in which a model dropped at
// least half of its operations.
func unusable(r *results.Run) error {
	var invalid *results.Cell
	measured, used := 0, 0
	for i := range r.Cells {
		c := &r.Cells[i]
		if !c.Measured() {
			continue
		}
		if measured++; c.Verdict == results.Invalid {
			invalid = c
		} else {
			used++
		}
		if o := c.Offered; o != nil && o.Due > 0 && 2*o.Dropped >= o.Due-o.Skipped-o.NoTarget && o.Dropped > 0 {
			return statusError{exitBroken, fmt.Errorf("%s on %s, phase %s, dropped %d of %d operations: lower the rate", c.Model,
				c.Engine, c.Where(), o.Dropped, o.Due-o.Skipped-o.NoTarget)}
		}
	}
	if measured > 0 && used == 0 {
		why := ""
		if invalid.Reason != nil {
			why = ": " + invalid.Reason.Text
		}
		return statusError{exitBroken, fmt.Errorf("no measured phase is valid: %s on %s%s", invalid.Model, invalid.Engine,
			why)}
	}
	return nil
}

// notFound is the error of the first search that did not find a rate.
func notFound(r *results.Run) error {
	for i := range r.Searches {
		if s := &r.Searches[i]; s.Found != nil && !s.Found.OK() {
			return statusError{exitBroken, fmt.Errorf("%s on %s, phase %s: highest rate: %s", s.Model, s.Engine,
				s.Phase, s.Found.Text)}
		}
	}
	return nil
}

// broken is the error of the first objective that is missed, or else of the first that
// cannot be judged, which is no success either.
func broken(r *results.Run, on failOn) error {
	for _, verdict := range []results.Attainment{results.Missed, results.Unclear} {
		if !on.has(string(verdict)) {
			continue
		}
		var errs []error
		for i := range r.Cells {
			c := &r.Cells[i]
			for _, a := range c.Objectives {
				if a.Verdict != verdict {
					continue
				}
				what := map[results.Attainment]string{results.Missed: "misses", results.Unclear: "may miss"}[verdict]
				errs = append(errs, fmt.Errorf("%s on %s, phase %s, %s %s %s: %s", c.Model, c.Engine, c.Where(), what,
					a.Objective, a.Bound, a.Text))
			}
		}
		if len(errs) > 0 {
			return firstOf(errs[0], len(errs), exitBroken)
		}
	}
	return nil
}

// firstOf is the first of n errors of the same kind.
func firstOf(err error, n, status int) error {
	if n > 1 {
		err = fmt.Errorf("%w (and %d more, in the table)", err, n-1)
	}
	return statusError{status, err}
}

func cellsOf(r *results.Run, v results.Verdict) []*results.Cell {
	var cells []*results.Cell
	for i := range r.Cells {
		if r.Cells[i].Verdict == v {
			cells = append(cells, &r.Cells[i])
		}
	}
	return cells
}

// empty returns the cells that measured nothing, and should have.
func empty(r *results.Run) []*results.Cell {
	return slices.DeleteFunc(cellsOf(r, results.Empty), r.Excused)
}

// cellError is the error of the first of the cells. The table shows the others.
func cellError(cells []*results.Cell, status int) error {
	c, reason := cells[0], ""
	if c.Reason != nil {
		reason, _, _ = strings.Cut(c.Reason.Text, "\n") // the table has the other lines
	}
	where := fmt.Sprintf("%s on %s, phase %s", c.Model, c.Engine, c.Where())
	if c.Verdict != results.Failed {
		where += ", is " + string(c.Verdict)
	}
	return firstOf(fmt.Errorf("%s: %s", where, reason), len(cells), status)
}
