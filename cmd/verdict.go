package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
)

// verdict is the error for a run's results: the worst of what is wrong, of what on has.
func verdict(r *results.Run, on failOn) error {
	for _, a := range r.Audits {
		if a.Fault != "" {
			return statusError{exitData, fmt.Errorf("the audit of %s on %s cannot tell what is lost: %s", a.Model,
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
