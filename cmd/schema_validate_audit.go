package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas"
)

// modelAudit is models.Audit in JSON.
type modelAudit struct {
	Accounts     int64    `json:"accounts"`
	Folders      int64    `json:"folders"`
	Messages     int64    `json:"messages"`
	Deleted      int64    `json:"deleted"`
	Unreferenced int64    `json:"unreferenced"`
	Dangling     int64    `json:"dangling"`
	Duplicated   int64    `json:"duplicated"`
	BrokenBodies int64    `json:"broken_bodies"`
	BrokenOff    int64    `json:"broken_off,omitempty"`
	CounterDrift int64    `json:"counter_drift"`
	Notes        []string `json:"notes,omitempty"`
	Error        string   `json:"error,omitempty"` // what ended the audit before its end

	interrupted bool // by an engine that does not answer, a read that failed, or the user, and not by the data
	remote      bool
}

// broken reports whether the audit found damage, by the rule of a run's audit. Exact says that no operation
// on the data set was interrupted.
func (a *modelAudit) broken(exact bool) bool {
	found := results.Audit{
		Interrupted: a.remote && !exact, Exact: exact,
		Dangling: a.Dangling, BrokenBodies: a.BrokenBodies, CounterDrift: a.CounterDrift,
	}
	return found.Damaged() || a.Error != "" && !a.interrupted
}

// auditOf runs a model's own audit over a store that is open for reading only.
func auditOf(
	ctx context.Context, known registry, name string, st drivers.Store, s *schemas.Schema, pace *validate.Pace,
	blobs string,
) (*modelAudit, error) {
	picked, err := known.pickModels([]string{name})
	if err != nil {
		return nil, err
	}
	p, err := drivers.PrepareAll(ctx, st, s)
	if err != nil {
		return nil, err
	}
	bound, err := picked[0].Bind(ctx, p, models.Options{Blobs: blobs})
	if err != nil {
		return nil, fmt.Errorf("bind %s to %s: %w", name, st.Capabilities().Engine, err)
	}
	if c, ok := bound.(io.Closer); ok {
		defer c.Close()
	}
	session, err := st.Session()
	if err != nil {
		return nil, err
	}
	if t, ok := session.(drivers.Tolerant); ok {
		t.Tolerate(true) // what cannot be decoded is named by the check of the schema
	}
	found, err := bound.Mailbox(pace.Session(session)).Audit(ctx)
	a := auditInJSON(found)
	a.remote = !st.Capabilities().InProcess
	var stop error
	if err != nil {
		a.Error = err.Error()
		_, lost := st.Inspect(ctx, s.Name)
		if a.interrupted = !errors.Is(err, drivers.ErrCorrupt) && (lost != nil || drivers.IsOutage(err)); a.interrupted {
			stop = err
		}
	}
	return a, errors.Join(stop, session.Close())
}

func auditInJSON(a models.Audit) *modelAudit {
	return &modelAudit{
		Accounts: a.Accounts, Folders: a.Folders, Messages: a.Messages, Deleted: a.Deleted, Unreferenced: a.Unreferenced,
		Dangling: a.Dangling, Duplicated: a.Duplicated, BrokenBodies: a.BrokenBodies, BrokenOff: a.BrokenOff,
		CounterDrift: a.CounterDrift, Notes: a.Notes,
	}
}
