package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/reports"
)

// verdict is the error that a result amounts to, worst first.
func verdict(r *reports.Run) error {
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
	var failed []*reports.Cell
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Verdict == reports.Failed {
			failed = append(failed, c)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	c := failed[0]
	reason, _, _ := strings.Cut(c.Reason, "\n") // what came of it is in the table
	err := fmt.Errorf("%s on %s, phase %s: %s", c.Model, c.Engine, c.Phase, reason)
	if len(failed) > 1 {
		err = fmt.Errorf("%w (and %d more, in the table)", err, len(failed)-1)
	}
	return err
}
