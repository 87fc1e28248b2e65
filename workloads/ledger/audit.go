package ledger

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/audit"
	"github.com/mailbench/mailbench/workloads/results"
)

// Auditor compares what a store gives back with a ledger of what it
// acknowledged.
type Auditor struct {
	Store   drivers.Store
	Bound   models.Bound
	Promise Promise
	History *History
	Address func(account int) string         // address of an account, by its number
	Folder  func(account, folder int) string // name of a folder
	// Model verifies what the model has stored.
	Model func(ctx context.Context, mb models.Mailbox) (models.Audit, error)
	// Hold calls do when so many bytes of a large message may be in memory.
	Hold func(ctx context.Context, bytes int64, do func() error) error
	// Remote says that the engine is reached over a network. The audit then repeats a
	// read that fails. Operations of unknown outcome may be half done.
	Remote bool
	// Whole says that the store has messages of this ledger only.
	Whole bool
	// Later says that a run may have been killed with operations under way, or that some are of
	// unknown outcome.
	Later bool

	mu    sync.Mutex
	found results.Audit
}

// maxNotes is how many faults an audit describes; it counts them all.
const maxNotes = 10

// Audit reads every message of the ledger, and then everything the model has.
func (a *Auditor) Audit(ctx context.Context) (results.Audit, error) {
	h := a.History
	a.found.Delivered, a.found.Deleted, a.found.Unknown = h.Delivered, h.Deleted, h.Unknown
	off := h.Unknown > 0 || h.Torn || a.Later
	a.found.Interrupted, a.found.Exact = a.Remote && off, !off
	if h.Torn {
		a.note("the ledger's last record is torn: its operation counts as unknown")
	}
	g, gctx := errgroup.WithContext(ctx)
	accounts := make(chan []int32)
	g.Go(func() error {
		defer close(accounts)
		for one := range runs(h.byPlace(), func(i int32) uint32 { return h.Entries[i].Place.Account }) {
			select {
			case accounts <- one:
			case <-gctx.Done():
				return gctx.Err()
			}
		}
		return nil
	})
	work := func(w *auditWorker) error {
		for entries := range accounts {
			if err := w.account(gctx, entries); err != nil {
				return err
			}
		}
		return nil
	}
	for range 2 * runtime.GOMAXPROCS(0) {
		g.Go(func() error { return crash.Guard(func() error { return a.with(work) }) })
	}
	if err := g.Wait(); err != nil {
		return a.found, fmt.Errorf("verification: %w", err)
	}
	return a.found, a.model(ctx)
}

// with calls do with a worker on a session of its own.
func (a *Auditor) with(do func(w *auditWorker) error) error {
	s, err := a.Store.Session()
	if err != nil {
		return err
	}
	defer s.Close()
	return do(&auditWorker{Auditor: a, mb: a.Bound.Mailbox(s), digester: NewDigester(a.Promise)})
}

// model adds the audit of what the model has stored. If the model gives UIDs, model checks them too.
func (a *Auditor) model(ctx context.Context) error {
	s, err := a.Store.Session()
	if err != nil {
		return fmt.Errorf("verification: %w", err)
	}
	defer s.Close()
	mb := a.Bound.Mailbox(s)
	var m models.Audit
	err = a.retry(ctx, func() (err error) {
		m, err = a.Model(ctx, mb)
		return err
	})
	if err != nil {
		return fmt.Errorf("verification of the model: %w", err)
	}
	if u, ok := mb.(models.UIDs); ok {
		a.uids(u)
	}
	take(&a.found, &m)
	// The store may have messages of which the ledger has no record: where operations were interrupted, or over a
	// network of unknown outcome. A ledger that was cut may end within an operation, so the ledger of another engine
	// is not checked for outcomes that it does not know.
	if !a.Whole || a.Later || a.Remote && a.History.Unknown > 0 {
		return nil
	}
	known := int64(len(a.History.unsure)) // the most that the folders have, second labels counted
	for i := range a.History.Entries {
		e := &a.History.Entries[i]
		if e.State == Gone || e.State == Superseded {
			continue
		}
		if known++; e.Labeled {
			known++
		}
	}
	if m.Messages > known {
		a.found.Fault = fmt.Sprintf("the store has %d messages, and the ledger %d: its records are incomplete, or another run "+
			"has worked on the data set", m.Messages, known)
	}
	return nil
}

// take takes what the model found.
func take(f *results.Audit, m *models.Audit) {
	f.Accounts, f.Folders, f.Messages, f.Purgeable = m.Accounts, m.Folders, m.Messages, m.Deleted
	f.Unreferenced, f.Dangling, f.Duplicated = m.Unreferenced, m.Dangling, m.Duplicated
	f.BrokenBodies, f.InterruptedBlobs, f.CounterDrift = m.BrokenBodies, m.InterruptedBlobs, m.CounterDrift
	f.Notes = append(f.Notes, m.Notes...)
}

func (a *Auditor) note(format string, args ...any) {
	if len(a.found.Notes) < maxNotes {
		a.found.Notes = append(a.found.Notes, fmt.Sprintf(format, args...))
	}
}

// auditWorker checks one account at a time.
type auditWorker struct {
	*Auditor
	mb       models.Mailbox
	digester *Digester
	listed   map[models.Handle]bool // messages that the folder under way lists
}

// account checks all entries of one account, folder by folder.
func (w *auditWorker) account(ctx context.Context, entries []int32) error {
	number := int(w.History.Entries[entries[0]].Place.Account)
	var account *models.Account
	err := w.retry(ctx, func() (err error) {
		account, err = w.mb.Login(ctx, w.Address(number))
		return err
	})
	if err != nil && !errors.Is(err, models.ErrNotFound) {
		return fmt.Errorf("login %s: %w", w.Address(number), err)
	}
	for part := range runs(entries, func(i int32) uint16 { return w.History.Entries[i].Place.Folder }) {
		name := w.Folder(number, int(w.History.Entries[part[0]].Place.Folder))
		var f *models.Folder
		if account != nil {
			f = account.Folder(name)
		}
		if err := w.check(ctx, f, part); err != nil {
			return fmt.Errorf("account %s, folder %s: %w", w.Address(number), name, err)
		}
	}
	return nil
}

// check compares the entries of one folder with the store. f is nil if the store has lost
// the folder.
func (w *auditWorker) check(ctx context.Context, f *models.Folder, entries []int32) error {
	w.listed = make(map[models.Handle]bool, len(entries))
	if f != nil {
		row := int64(0) // the most bytes that a call holds of one
		for _, i := range entries {
			row = max(row, w.History.Entries[i].Held.Holding().Row)
		}
		err := w.Hold(ctx, row, func() error {
			return w.retry(ctx, func() error {
				clear(w.listed)
				return w.list(ctx, f)
			})
		})
		if err != nil {
			return err
		}
	}
	if f == nil || len(entries) <= largeFolder {
		return w.read(ctx, f, entries)
	}
	g, ctx := errgroup.WithContext(ctx)
	n := 2 * runtime.GOMAXPROCS(0)
	for part := range slices.Chunk(entries, (len(entries)+n-1)/n) {
		read := func(one *auditWorker) error {
			one.listed = w.listed
			return one.read(ctx, f, part)
		}
		g.Go(func() error { return crash.Guard(func() error { return w.with(read) }) })
	}
	return g.Wait()
}

// largeFolder is how many messages of a folder one worker checks by itself. Several divide a larger one.
const largeFolder = 1000

// read reads messages of a folder and compares each with its entry.
func (w *auditWorker) read(ctx context.Context, f *models.Folder, entries []int32) error {
	for _, i := range entries {
		e := &w.History.Entries[i]
		if e.State == Superseded {
			continue
		}
		if f == nil {
			w.judge(e, false, false, false)
			continue
		}
		held := e.Held.Holding()
		var sum uint64
		err := w.Hold(ctx, held.Reading(), func() error {
			return w.retry(ctx, func() (err error) {
				sum, err = w.digester.Stored(ctx, w.mb, f, e.Handle)
				return err
			})
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case unanswered(err):
			if err := w.unread(e, err); err != nil {
				return err
			}
		case errors.Is(err, drivers.ErrCorrupt):
			w.mu.Lock()
			w.found.Corrupt++ // whether it was deleted or not
			w.about(e, fmt.Sprintf("is damaged: %v", err))
			w.mu.Unlock()
		default:
			w.judge(e, w.listed[e.Handle], !errors.Is(err, models.ErrNotFound), err == nil && sum == e.Digest)
		}
	}
	return nil
}

// unanswered reports whether a read failed: its error says nothing about the message.
func unanswered(err error) bool {
	return err != nil && !errors.Is(err, models.ErrNotFound) && !errors.Is(err, models.ErrBroken) &&
		!errors.Is(err, drivers.ErrCorrupt)
}

// askTries is how often a call to an engine over a network is tried. With the pauses between,
// that takes 25 s, in which another node takes over from one that died.
const askTries = 9

// retry calls the engine. If an engine over a network does not answer, retry tries again.
func (a *Auditor) retry(ctx context.Context, question func() error) error {
	var err error
	for try := range askTries {
		if try > 0 {
			_ = drivers.Pause(ctx, 50*time.Millisecond<<try)
		}
		if err = question(); !a.Remote || !unanswered(err) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// unreadMost is how many messages may be unreadable before an audit gives up: each
// takes its time.
const unreadMost = 10

// unread counts a message that could not be read.
func (a *Auditor) unread(e *Entry, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.about(e, fmt.Sprintf("cannot be read: %v", err))
	if a.found.Unread++; a.found.Unread > unreadMost {
		return fmt.Errorf("more than %d messages cannot be read, the last: %w", unreadMost, err)
	}
	return nil
}

// about notes what is the matter with a message.
func (a *Auditor) about(e *Entry, fault string) {
	account, folder := int(e.Place.Account), int(e.Place.Folder)
	a.note("message %d of account %s, folder %s %s", e.N, a.Address(account), a.Folder(account, folder), fault)
}

func (w *auditWorker) list(ctx context.Context, f *models.Folder) error {
	return audit.Pages(ctx, w.mb, f, func(page []models.Entry) error {
		for _, e := range page {
			w.listed[e.Handle] = true
		}
		return nil
	})
}

// judge counts one message as verified or faulty. listed: the folder lists it; opens: it can
// be opened, which a models.Keeper may also do with a deleted one; whole: its content is what was delivered.
func (w *auditWorker) judge(e *Entry, listed, opens, whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, fault := &w.found, ""
	switch {
	case e.State == Gone:
		if _, keeps := w.mb.(models.Keeper); listed || opens && !keeps {
			a.Resurrected++
			fault = "was deleted, and is still there"
		}
	case e.State == Live && !opens:
		a.Lost++
		fault = "cannot be found"
	case e.State == Live && !listed:
		a.Lost++
		fault = "is not listed"
	case e.State != Live && (!opens || a.Interrupted): // it may be gone, or half of it
	case !whole:
		a.Corrupt++
		fault = "differs from the delivered message"
	case e.State == Live:
		a.Verified++
	}
	if fault != "" {
		w.about(e, fault)
	}
}
