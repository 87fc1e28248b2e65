package subject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/audit"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/scratch"
)

// Validation says how to check a store, which may be anyone's: by its schema, and then by the model's own verification.
type Validation struct {
	validate.Config               // Run sets its Dir, Journal and Progress
	Model           *models.Model // whose verification follows if all of the store was read; nil: none
	Blobs           string        // the folder of what the model keeps outside of the engine, if that is known
	Exact           bool          // no operation on the store is known to have been interrupted
	Note            func(string)  // gets the progress, from one goroutine at a time
	// Resume is the file of the journal from which an interrupted check continues, and Open opens it; "": there is none.
	Resume string
	Open   func(*schemas.Schema) (*validate.Journal, error)
}

// Validated is what a check has found. Fields of its JSON are added, never removed.
type Validated struct {
	Engine  string `json:"engine"`
	Version string `json:"version"`
	*validate.Report
	Broken   int64 `json:"broken"`
	Leftover int64 `json:"leftover"`
	// Drifted is how many rows have a wrong count that an operation left which was interrupted or is
	// of unknown outcome. They are not broken.
	Drifted int64         `json:"adrift,omitempty"`
	Audit   *Verification `json:"audit,omitempty"`
	Stopped string        `json:"stopped,omitempty"` // the error at which the check of the schema ended
	Skipped []string      `json:"skipped,omitempty"` // what mailbench adds to the source design and the store does not have
	resume  string        // the file with which a check that has stopped goes on
}

// Run checks a store that is open for reading only. With an error it returns what was found until then, or nil.
func (c Validation) Run(ctx context.Context, st drivers.Store, s *schemas.Schema) (v *Validated, err error) {
	s, skipped, err := applyOwn(ctx, st, s)
	if err == nil && c.Resume != "" {
		c.Journal, err = c.Open(s)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		switch {
		case c.Journal == nil:
		case err == nil:
			err = c.Journal.Remove()
		default: // the same command continues it
			err = errors.Join(err, c.Journal.Close())
		}
	}()
	folder, err := scratch.Temporary()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	c.Dir, c.Progress = folder.Path, func(p validate.Progress) { c.Note(p.String()) }
	report, err := validate.Run(ctx, st, s, c.Config)
	if report == nil {
		return nil, err
	}
	caps := st.Capabilities()
	v = &Validated{
		Engine: caps.Engine, Version: caps.Version, Report: report,
		Broken: report.Broken(), Leftover: report.Leftover(), Skipped: skipped,
	}
	if !c.Exact {
		v.Drifted = report.Drifted()
		v.Broken -= v.Drifted
	}
	switch {
	case err != nil:
		v.Stopped, v.resume = err.Error(), c.Resume
	case c.Model != nil && c.Sample == 1:
		c.Note("verification of the model")
		v.Audit, err = c.verify(ctx, st, s, audit.Rows(s, report))
		if v.Audit == nil && len(skipped) > 0 {
			v.Skipped, err = append(skipped, "the model's verification, which needs them"), nil
		}
	}
	v.Paced = c.Pace.Kept()
	return v, err
}

// WriteText prints the report, and after it what the model's verification says.
func (v *Validated) WriteText(w io.Writer, room int) {
	_ = v.Report.WriteText(w, room)
	if v.Stopped != "" {
		fmt.Fprintf(w, "\nThe check ended here, and references and counts were not compared: %s\n", v.Stopped)
		if v.resume != "" {
			fmt.Fprintf(w, "Run the same command to continue: %s has the ranges that were read.\n", v.resume)
		}
	}
	if len(v.Skipped) > 0 {
		fmt.Fprintf(w, "\nExtensions of the schema that the store does not have, skipped: %s.\n",
			strings.Join(v.Skipped, ", "))
	}
	if a := v.Audit; a != nil {
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
	adrift := ""
	if v.Drifted > 0 {
		adrift = fmt.Sprintf("; counter drift in %s: operations on the dataset were interrupted, or have an unknown outcome",
			words.Plural(v.Drifted, "count"))
	}
	fmt.Fprintf(w, "\n%s on %s: %s broken, %d orphaned%s\n", v.Schema, v.Engine,
		words.Plural(v.Broken, "row"), v.Leftover, adrift)
}

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
	found := results.Audit{Interrupted: a.remote && !exact, Exact: exact, Audit: a.Audit}
	return found.Damaged() || a.Error != "" && !a.interrupted
}

// verify reads what the model has in a store that is open for reading only, and adds what is known of its rows.
func (c *Validation) verify(ctx context.Context, st drivers.Store, s *schemas.Schema, rows models.Audit,
) (*Verification, error) {
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
	rows.Notes = nil       // the report has them
	session.Tolerate(true) // what cannot be decoded is named by the check of the schema
	found, err := audit.NewReader(bound.Mailbox(c.Pace.Session(session)), models.PromisesAll).Read(ctx, rows)
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
