package subject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/meet"
	"github.com/mailbench/mailbench/workloads/plan"
)

// applyAtMost is how long an engine may take to make all tables of a schema, or to prepare
// all its statements. HBase makes tables one by one, in a second or two each.
const applyAtMost = 3 * time.Minute

// configured are the options of a store with what the workload says of the engine.
func configured(o drivers.Options, e drivers.Engine, w *workloads.Workload) drivers.Options {
	if config := w.Engines[e.Name]; config != nil {
		o.Contact, o.Named, o.Settings = config.Contact, config.Named, config.Settings
	}
	return o
}

// Reach opens an engine as the workload says, with the namespace or in the folder of the options. The error says what
// to do if no server answers.
func Reach(ctx context.Context, e drivers.Engine, w *workloads.Workload, o drivers.Options) (drivers.Store, error) {
	if o = configured(o, e, w); e.Remote {
		return e.Reach(ctx, o)
	}
	return e.Open(ctx, o)
}

// Budget bounds the bytes of large messages that operations hold at a time. An operation
// that needs more than Most takes all of it.
type Budget struct {
	*semaphore.Weighted
	Most int64
}

// NewBudget returns a budget of most bytes.
func NewBudget(most int64) Budget { return Budget{semaphore.NewWeighted(most), most} }

// largeAtOnce is the budget in bytes: with 32 MiB, 32 clients with any mail take less than 300 MB. If the user sets
// GOMEMLIMIT, it is a third of that if that is more, since an engine makes copies of its own while it writes.
func largeAtOnce() int64 {
	most := int64(32 << 20)
	if os.Getenv("GOMEMLIMIT") != "" {
		most = max(most, debug.SetMemoryLimit(-1)/3)
	}
	return most
}

// Open opens the store, applies the schema, binds the model, and finds out what it
// offers. A data set that is in the folder is used again if it fits.
func Open(ctx context.Context, c Config) (_ *Target, err error) {
	t := &Target{Config: c, Large: NewBudget(largeAtOnce())}
	if t.Schema, err = c.Model.Schema(); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", c.Model.Name, err)
	}
	if err := private.Make(c.Dir); err != nil {
		return nil, fmt.Errorf("create folder: %w", err)
	}
	if err := t.openDataset(); err != nil {
		return nil, err
	}
	o := t.EngineOptions
	if t.Engine.Remote {
		sample := min(t.Census.Users(), 1000) // evenly chosen
		for i := range sample {
			o.Users = append(o.Users, plan.Address(i*t.Census.Users()/sample))
		}
		o.Namespace = t.Dataset.Namespace
		t.SameMachine = onThisMachine(ctx, t.Workload.Engines[t.Engine.Name])
		t.readBefore = drivers.DiskReads(t.Processes...)
	} else {
		o.Dir = StoreDir(t.Dir)
	}
	if t.Store, err = Reach(ctx, t.Engine, t.Workload, o); err != nil {
		return nil, err
	}
	if err := crash.Guard(func() error { return t.bind(ctx) }); err != nil {
		err = errors.Join(err, t.Close(ctx))
		if t.Left != "" {
			err = fmt.Errorf("%w; %s", err, t.Left)
		}
		return nil, err
	}
	return t, nil
}

// bind applies the schema, binds the model to the store and opens the ledger.
func (t *Target) bind(ctx context.Context) (err error) {
	t.Caps = t.Store.Capabilities()
	if t.Caps.Discards {
		t.reused = false // a null engine kept nothing of an earlier run
	}
	if t.Config.Ledger && !t.Caps.Discards && !t.AuditOnly { // an audit only reads
		file := filepath.Join(t.Dir, ledgerFile)
		if !t.reused {
			t.Acknowledged, err = ledger.Create(file)
		} else if t.Acknowledged, err = ledger.Open(file); err != nil {
			err = fmt.Errorf("the data set in %s cannot be used again: %w; %s", t.Dir, err, t.Dataset.removal())
		}
		if err != nil {
			return err
		}
	}
	if err := t.claim(ctx); err != nil {
		return err
	}
	apply := func() error {
		return drivers.Within(ctx, applyAtMost, func(ctx context.Context) error { return t.Store.Apply(ctx, t.Schema) })
	}
	if t.Segments == nil {
		err = apply()
	} else { // the first makes the tables: an engine may fail if several clients make the same ones at once
		err = t.Segments.First(ctx, "tables", t.Dataset.Namespace, apply)
	}
	if err != nil {
		return fmt.Errorf("apply schema %s: %w", t.Schema.Name, err)
	}
	var p *drivers.Prepared
	if err := drivers.Within(ctx, applyAtMost, func(ctx context.Context) (err error) {
		if p, err = drivers.PrepareAll(ctx, t.Store, t.Schema); err == nil {
			o := t.Options
			if t.Segments == nil { // they are on several machines
				o.Blobs = BlobsDir(t.Dir)
			}
			t.Bound, err = t.Model.Bind(ctx, p, o)
		}
		return err
	}); err != nil {
		return fmt.Errorf("bind %s to %s: %w", t.Model.Name, t.Engine.Name, err)
	}
	return t.withMailbox(func(mb models.Mailbox) error { // what the model lacks
		for i := range t.Lacks {
			has := offered[workloads.Op(i)]
			t.Lacks[i] = i >= workloads.NumOps || has != nil && !has(mb)
		}
		for i, name := range t.Workload.Patterns {
			_, err := p.Get(name)
			t.Lacks[workloads.NumOps+i] = err != nil
		}
		if _, ok := mb.(models.Poster); t.Census.Shared && !ok {
			t.NotOffered = fmt.Sprintf("%s has no folder that several accounts share", t.Model.Name)
		}
		return nil
	})
}

// claim writes down which namespace of a shared engine belongs to a new data set, before
// anything is made in it. So a user finds the data of a killed run again. For an older data
// set, claim checks that its namespace is there.
func (t *Target) claim(ctx context.Context) error {
	switch {
	case !t.Engine.Remote:
		return nil
	case !t.reused:
		return t.Dataset.write(t.Dir)
	}
	there, err := drivers.Namespaces(ctx, t.Store)
	if err != nil {
		return fmt.Errorf("list the namespaces of %s: %w", t.Engine.Name, err)
	}
	if !slices.ContainsFunc(there, func(n drivers.Namespace) bool { return n.Name == t.Dataset.Namespace }) {
		return fmt.Errorf("the data set in %s is in namespace %s, which this %s does not have; "+
			"name the cluster it was loaded into, or remove that folder",
			t.Dir, t.Dataset.Namespace, t.Engine.Name)
	}
	return nil
}

// Close releases the store and the ledger. It drops the namespace on a shared
// engine unless that is kept, also when ctx has ended.
func (t *Target) Close(ctx context.Context) error {
	var err error
	recorded := true
	if t.Acknowledged != nil {
		recorded = t.Acknowledged.Whole()
		t.Dataset.Records = int64(t.Acknowledged.Records())
		err = errors.Join(t.Acknowledged.Sync(), t.Acknowledged.Close())
		t.Acknowledged = nil
	}
	if c, ok := t.Bound.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	if t.Store != nil {
		if t.Engine.Remote && !t.kept {
			t.Left = t.leave(ctx)
		}
		if cerr := t.Store.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("close %s: %w", t.Engine.Name, cerr))
		}
		t.Store = nil
	}
	if t.kept && !t.AuditOnly && recorded {
		t.Dataset.Closed = true
		err = errors.Join(err, t.Dataset.write(t.Dir))
	}
	return err
}

// leave drops the namespace, and says what is left of it, or "". If the run has segments, the first drops it when all
// others are done. An interrupted segment does not wait for them. A failure is no error, since the figures are right
// without it.
func (t *Target) leave(ctx context.Context) (left string) {
	where := fmt.Sprintf("namespace %s of %s on %s", t.Dataset.Namespace, t.Model.Name, t.Engine.Name)
	file := filepath.Join(t.Dir, datasetFile)
	if s := t.Segments; s != nil {
		err := s.Done(ctx)
		switch {
		case err != nil && !errors.Is(err, meet.ErrGone) && ctx.Err() == nil:
			return fmt.Sprintf("%s is not dropped, as other segments may need it (%v); %q drops it", where, err, t.Dataset.clean())
		case s.FirstLost():
			return fmt.Sprintf("%s is not dropped, as segment 1, which does that, is gone; %q drops it", where, t.Dataset.clean())
		case s.Segment.Index > 1:
			_ = os.Remove(file) // the first segment has the note
			return ""
		}
	}
	kept, err := drivers.Drop(context.WithoutCancel(ctx), t.Store)
	if err != nil {
		return fmt.Sprintf("%s could not be dropped (%v); %q drops it", where, err, t.Dataset.clean())
	}
	if kept != "" {
		left = fmt.Sprintf("%s left on %s: %s", t.Dataset.Namespace, t.Engine.Name, kept)
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		left = fmt.Sprintf("%s is dropped, but the file that notes it stays: %v", where, err)
	}
	return left
}

// offered reports whether a mailbox has an operation that not every model has.
var offered = map[workloads.Op]func(models.Mailbox) bool{
	workloads.Label:         is[models.Labeler],
	workloads.Restore:       is[models.Purger],
	workloads.Purge:         is[models.Purger],
	workloads.Recount:       is[models.Recounter],
	workloads.SearchSender:  is[models.SenderSearcher],
	workloads.Slice:         is[models.Slicer],
	workloads.Seen:          is[models.Seer],
	workloads.Subscribe:     is[models.Subscriber],
	workloads.Range:         is[models.RangeReader],
	workloads.Expunge:       is[models.UIDs],
	workloads.Subscriptions: is[models.Subscriber],
	workloads.SeenBy:        is[models.Seer],
	workloads.SearchAll:     is[models.SenderSearcher],
	workloads.AllMail:       is[models.AllMailer],
	workloads.Totals:        is[models.AllMailer],
	workloads.Join:          is[models.Poster],
	workloads.Leave:         is[models.Poster],
	workloads.Nested:        is[models.Nester],
}

func is[T any](mb models.Mailbox) bool {
	_, ok := mb.(T)
	return ok
}

// findOffers tries a message that does not exist, to learn which reads and flags of the workload the model offers.
// A model that has them says not found, and one that does not keep them says not offered.
func (t *Target) findOffers(ctx context.Context) error {
	return t.withMailbox(func(mb models.Mailbox) error {
		f, none := t.Live.Accounts[t.Census.FirstUser()].Folders[0].Ref, models.Handle{}
		offers := func(_ int64, err error) bool { return !errors.Is(err, models.ErrNotOffered) }
		promise := &t.Dataset.Promise
		if len(t.Workload.Patterns) == 0 { // else there are no messages
			promise.Raw = offers(mb.Raw(ctx, f, none, io.Discard))
			promise.Attachments = offers(mb.Attachment(ctx, f, none, "", io.Discard))
		}
		t.Lacks[workloads.Raw], t.Lacks[workloads.Attachment] = !promise.Raw, !promise.Attachments
		for i := range t.LacksFlag {
			m := workloads.Mark(i)
			sets := func(h *workloads.How) bool { return slices.Contains(h.Flags, m) }
			if m != workloads.FlagSeen && workloads.SomeHow(t.Workload.Phases, workloads.Flag, sets) {
				t.LacksFlag[m] = !offers(0, Flag(ctx, mb, f, none, m, true))
			}
		}
		return nil
	})
}

// marks are the flags of a model, by workloads.Mark.
var marks = [...]models.Flag{
	workloads.FlagSeen: models.Seen, workloads.FlagAnswered: models.Answered, workloads.FlagFlagged: models.Flagged,
	workloads.FlagDeleted: models.Deleted, workloads.FlagDraft: models.Draft,
}

// Flag sets or clears a flag of a workload. The error is models.ErrNotOffered for one that the model does not store.
func Flag(ctx context.Context, mb models.Mailbox, f *models.Folder, h models.Handle, m workloads.Mark, on bool) error {
	if m != workloads.FlagUser {
		return mb.Flag(ctx, f, h, marks[m], on)
	}
	if u, ok := mb.(models.UserFlagger); ok {
		return u.UserFlag(ctx, f, h, "$Forwarded", on) // one that mail programs agree on
	}
	return models.ErrNotOffered
}
