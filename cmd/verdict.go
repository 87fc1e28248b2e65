package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports"
)

// verdict is the error for a run's results: the worst of what is wrong. With noFail, figures
// that cannot be used and missed objectives are no error.
func verdict(r *reports.Run, noFail bool) error {
	for _, a := range r.Audits {
		if a.Wrong() {
			return statusError{exitData, fmt.Errorf("the audit of %s on %s found data wrong or lost", a.Model, a.Engine)}
		}
	}
	if r.Interrupted {
		return statusError{exitInterrupted, errors.New("interrupted; what was measured is saved")}
	}
	for _, a := range r.Audits {
		if a.Unread > 0 {
			return fmt.Errorf("the audit of %s on %s could not read %d messages", a.Model, a.Engine, a.Unread)
		}
	}
	if failed := cellsOf(r, reports.Failed); len(failed) > 0 {
		return cellError(failed, exitFailed)
	}
	if noFail {
		return nil
	}
	if err := notFound(r); err != nil {
		return err
	}
	unusable := slices.Concat(empty(r), cellsOf(r, reports.Overloaded), cellsOf(r, reports.Invalid))
	if len(unusable) > 0 {
		return cellError(unusable, exitBroken)
	}
	return broken(r)
}

// notFound is the error of the first search that did not find a rate.
func notFound(r *reports.Run) error {
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
func broken(r *reports.Run) error {
	for _, verdict := range []reports.Attainment{reports.Missed, reports.Unclear} {
		var errs []error
		for i := range r.Cells {
			c := &r.Cells[i]
			for _, a := range c.Objectives {
				if a.Verdict != verdict {
					continue
				}
				what := map[reports.Attainment]string{reports.Missed: "misses", reports.Unclear: "may miss"}[verdict]
				errs = append(errs, fmt.Errorf("%s on %s, phase %s, %s %s %s: %s", c.Model, c.Engine, c.Where(), what,
					a.Objective, a.Bound, a.Text))
			}
		}
		switch len(errs) {
		case 0:
		case 1:
			return statusError{exitBroken, errs[0]}
		default:
			return statusError{exitBroken, fmt.Errorf("%w (and %d more, in the table)", errs[0], len(errs)-1)}
		}
	}
	return nil
}

func cellsOf(r *reports.Run, v reports.Verdict) []*reports.Cell {
	var cells []*reports.Cell
	for i := range r.Cells {
		if r.Cells[i].Verdict == v {
			cells = append(cells, &r.Cells[i])
		}
	}
	return cells
}

// empty returns the cells that measured nothing, and should have.
func empty(r *reports.Run) []*reports.Cell {
	return slices.DeleteFunc(cellsOf(r, reports.Empty), r.Excused)
}

// cellError is the error of the first of the cells. The table shows the others.
func cellError(cells []*reports.Cell, status int) error {
	c, reason := cells[0], ""
	if c.Reason != nil {
		reason, _, _ = strings.Cut(c.Reason.Text, "\n") // the table has the other lines
	}
	where := fmt.Sprintf("%s on %s, phase %s", c.Model, c.Engine, c.Where())
	if c.Verdict != reports.Failed {
		where += ", is " + string(c.Verdict)
	}
	err := fmt.Errorf("%s: %s", where, reason)
	if len(cells) > 1 {
		err = fmt.Errorf("%w (and %d more, in the table)", err, len(cells)-1)
	}
	return statusError{status, err}
}
