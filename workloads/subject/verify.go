package subject

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// applyOwn applies a schema to a store that is open for reading only. If the store does not have what
// mailbench adds to the schema's document, it applies the schema without it, and names what
// is skipped.
func applyOwn(ctx context.Context, st drivers.Store, s *schemas.Schema) (*schemas.Schema, []string, error) {
	err := st.Apply(ctx, s)
	if err == nil || errors.As(err, new(*drivers.AbsentError)) {
		return s, nil, err
	}
	c, cerr := drivers.Compare(ctx, st, s)
	if cerr != nil {
		return nil, nil, err
	}
	var added []schemas.Difference
	for _, d := range c.Drifts {
		if d.Harm == schemas.NotInDocument {
			added = append(added, d.Difference)
		}
	}
	if len(added) == 0 {
		return nil, nil, err
	}
	own, skipped, err := s.Without(added)
	if err != nil {
		return nil, nil, err
	}
	return own, skipped, st.Apply(ctx, own)
}

// Verification is the audit of a model over a store that may be anyone's, and what ended it before its end.
type Verification struct {
	models.Audit
	Error string `json:"error,omitempty"`

	interrupted bool // by an engine that does not answer, a read that failed, or the user, and not by the data
	remote      bool
}

// Broken reports whether the audit found damage, by the rule of a run's audit. Exact says that no operation
// on the data set was interrupted.
func (a *Verification) Broken(exact bool) bool {
	found := results.Audit{
		Interrupted: a.remote && !exact, Exact: exact,
		Dangling: a.Dangling, BrokenBodies: a.BrokenBodies, CounterDrift: a.CounterDrift,
	}
	return found.Damaged() || a.Error != "" && !a.interrupted
}

// verify runs the model's own audit over a store that is open for reading only.
func (c *Validation) verify(ctx context.Context, st drivers.Store, s *schemas.Schema) (*Verification, error) {
	p, err := drivers.PrepareAll(ctx, st, s)
	if err != nil {
		return nil, err
	}
	bound, err := c.Model.Bind(ctx, p, models.Options{Blobs: c.Blobs})
	if err != nil {
		return nil, fmt.Errorf("bind %s to %s: %w", c.Model.Name, st.Capabilities().Engine, err)
	}
	if open, ok := bound.(io.Closer); ok {
		defer open.Close()
	}
	session, err := st.Session()
	if err != nil {
		return nil, err
	}
	session.Tolerate(true) // what cannot be decoded is named by the check of the schema
	found, err := bound.Mailbox(c.Pace.Session(session)).Audit(ctx)
	a := &Verification{Audit: found, remote: !st.Capabilities().InProcess}
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

// WriteText prints what the audit found.
func (a *Verification) WriteText(w io.Writer) {
	fmt.Fprintf(w, "\nVerification of the model: %d accounts, %d folders, %d messages, %d deleted; %d orphaned;\n"+
		"%d broken references, %d duplicated, %d broken bodies, counter drift of %d.\n",
		a.Accounts, a.Folders, a.Messages, a.Deleted, a.Unreferenced, a.Dangling, a.Duplicated,
		a.BrokenBodies, a.CounterDrift)
	if a.InterruptedBlobs > 0 {
		fmt.Fprintf(w, "%s: files without a row.\n", words.Plural(a.InterruptedBlobs, "interrupted blob write"))
	}
	for _, note := range a.Notes {
		fmt.Fprintln(w, "  "+words.OneLine(note))
	}
	switch {
	case a.interrupted:
		fmt.Fprintf(w, "  The verification was INTERRUPTED: %s\n", words.OneLine(a.Error))
	case a.Error != "":
		fmt.Fprintf(w, "  The verification ended at unreadable data: %s\n", words.OneLine(a.Error))
	}
}
