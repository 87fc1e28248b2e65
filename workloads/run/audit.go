package run

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
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports"
)

// auditor compares what a store gives back with a ledger of what it
// acknowledged.
type auditor struct {
	store   drivers.Store
	bound   models.Bound
	promise promise
	history *history
	address func(account int) string
	folder  func(account, folder int) string
	// remote: what cannot be read is not wrong for that, and is tried again;
	// and what was broken off may be half done.
	remote bool
	later  bool // the run may have been killed with operations under way

	mu    sync.Mutex
	found reports.Audit
}

// maxNotes is how many faults an audit describes; it counts them all.
const maxNotes = 10

// audit reads every message of the ledger, and then everything the model has.
func (a *auditor) audit(ctx context.Context) (reports.Audit, error) {
	h := a.history
	a.found.Delivered, a.found.Deleted, a.found.Unknown = h.delivered, h.deleted, h.unknown
	a.found.Interrupted = a.remote && (h.unknown > 0 || h.torn || a.later)
	if h.torn {
		a.note("the ledger's last record is torn: what it told of counts as unknown")
	}
	order := make([]int32, len(h.entries))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int {
		return int(h.entries[x].place.account) - int(h.entries[y].place.account)
	})
	g, gctx := errgroup.WithContext(ctx)
	accounts := make(chan []int32)
	g.Go(func() error {
		defer close(accounts)
		for len(order) > 0 {
			n := 1
			for n < len(order) && h.entries[order[n]].place.account == h.entries[order[0]].place.account {
				n++
			}
			select {
			case accounts <- order[:n]:
			case <-gctx.Done():
				return gctx.Err()
			}
			order = order[n:]
		}
		return nil
	})
	for range 2 * runtime.GOMAXPROCS(0) {
		g.Go(func() error { return a.work(gctx, accounts) })
	}
	if err := g.Wait(); err != nil {
		return a.found, fmt.Errorf("audit: %w", err)
	}
	return a.found, a.model(ctx)
}

func (a *auditor) work(ctx context.Context, accounts <-chan []int32) error {
	s, err := a.store.Session()
	if err != nil {
		return err
	}
	defer s.Close()
	w := &auditWorker{auditor: a, mb: a.bound.Mailbox(s), digester: newDigester(a.promise)}
	for entries := range accounts {
		if err := w.account(ctx, entries); err != nil {
			return err
		}
	}
	return nil
}

// model adds the model's own audit: its invariants, and its counters against a
// recount; and that of the UIDs, where it gives any.
func (a *auditor) model(ctx context.Context) error {
	s, err := a.store.Session()
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer s.Close()
	mb := a.bound.Mailbox(s)
	var m models.Audit
	err = a.ask(ctx, func() (err error) {
		m, err = mb.Audit(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("audit of the model: %w", err)
	}
	if u, ok := mb.(models.UIDs); ok {
		a.uids(u)
	}
	f := &a.found
	f.Accounts, f.Folders, f.Messages, f.Purgeable = m.Accounts, m.Folders, m.Messages, m.Deleted
	f.Unreferenced, f.Dangling, f.Duplicated = m.Unreferenced, m.Dangling, m.Duplicated
	f.BrokenBodies, f.CounterDrift = m.BrokenBodies, m.CounterDrift
	f.Notes = append(f.Notes, m.Notes...)
	return nil
}

func (a *auditor) note(format string, args ...any) {
	if len(a.found.Notes) < maxNotes {
		a.found.Notes = append(a.found.Notes, fmt.Sprintf(format, args...))
	}
}

// auditWorker checks one account at a time.
type auditWorker struct {
	*auditor
	mb       models.Mailbox
	digester *digester
	listed   map[models.Handle]bool
}

// account checks all entries of one account, in any order of its folders.
func (w *auditWorker) account(ctx context.Context, entries []int32) error {
	number := int(w.history.entries[entries[0]].place.account)
	var account *models.Account
	err := w.ask(ctx, func() (err error) {
		account, err = w.mb.Login(ctx, w.address(number))
		return err
	})
	if err != nil && !errors.Is(err, models.ErrNotFound) {
		return fmt.Errorf("login %s: %w", w.address(number), err)
	}
	slices.SortStableFunc(entries, func(x, y int32) int {
		return int(w.history.entries[x].place.folder) - int(w.history.entries[y].place.folder)
	})
	for len(entries) > 0 {
		n, in := 1, w.history.entries[entries[0]].place.folder
		for n < len(entries) && w.history.entries[entries[n]].place.folder == in {
			n++
		}
		var f *models.Folder
		if account != nil {
			f = account.Folder(w.folder(number, int(in)))
		}
		if err := w.check(ctx, f, entries[:n]); err != nil {
			return fmt.Errorf("account %s, folder %s: %w", w.address(number), w.folder(number, int(in)), err)
		}
		entries = entries[n:]
	}
	return nil
}

// check compares one folder, which is nil if the store has lost it.
func (w *auditWorker) check(ctx context.Context, f *models.Folder, entries []int32) error {
	w.listed = make(map[models.Handle]bool, len(entries))
	if f != nil {
		if err := w.ask(ctx, func() error {
			clear(w.listed)
			return w.list(ctx, f)
		}); err != nil {
			return err
		}
	}
	for _, i := range entries {
		e := &w.history.entries[i]
		if e.state == superseded || e.state == gone && !w.listed[e.handle] && f == nil {
			continue
		}
		if f == nil {
			w.judge(e, false, false, false)
			continue
		}
		var sum uint64
		err := w.ask(ctx, func() (err error) {
			sum, err = w.digester.stored(ctx, w.mb, f, e.handle)
			return err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.remote && unanswered(err) {
			if err := w.unread(e, err); err != nil {
				return err
			}
			continue
		}
		w.judge(e, w.listed[e.handle], !errors.Is(err, models.ErrNotFound), err == nil && sum == e.digest)
	}
	return nil
}

// unanswered reports whether an error says nothing about the message.
func unanswered(err error) bool {
	return err != nil && !errors.Is(err, models.ErrNotFound) && !errors.Is(err, models.ErrBroken)
}

// askTries is how often an engine over a network is asked; with the pauses
// between that takes 25 s, in which another node takes over from one that died.
const askTries = 9

// ask asks the engine, again if it does not answer.
func (a *auditor) ask(ctx context.Context, question func() error) error {
	var err error
	for try := range askTries {
		if try > 0 {
			sleep(ctx, 50*time.Millisecond<<try)
		}
		if err = question(); !a.remote || !unanswered(err) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// unreadMost is how many messages may be unreadable before an audit gives up: each
// takes its time.
const unreadMost = 10

// unread counts a message that could not be read.
func (a *auditor) unread(e *entry, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note("message %d of account %s, folder %s cannot be read: %v", e.n, a.address(int(e.place.account)),
		a.folder(int(e.place.account), int(e.place.folder)), err)
	if a.found.Unread++; a.found.Unread > unreadMost {
		return fmt.Errorf("more than %d messages cannot be read, the last: %w", unreadMost, err)
	}
	return nil
}

func (w *auditWorker) list(ctx context.Context, f *models.Folder) error {
	const page = 500
	var last models.Handle
	for {
		n, before := 0, len(w.listed)
		err := w.mb.List(ctx, f, last, page, func(e *models.Entry) error {
			n++
			last = e.Handle
			w.listed[last] = true
			return nil
		})
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		if n < page {
			return nil
		}
		if len(w.listed) == before {
			return errors.New("list: pages repeat")
		}
	}
}

// judge counts one message: whether the folder lists it, whether it can be
// opened at all, and whether what is opened is what was delivered.
func (w *auditWorker) judge(e *entry, listed, opens, whole bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, fault := &w.found, ""
	switch {
	case e.state == gone:
		if listed || opens {
			a.Resurrected++
			fault = "was deleted, and is still there"
		}
	case e.state == live && !(listed && opens):
		a.Lost++
		fault = map[bool]string{true: "is not listed", false: "cannot be found"}[opens]
	case e.state != live && (!opens || a.Interrupted): // it may be gone, or half of it
	case opens && !whole:
		a.Corrupt++
		fault = "is not what was delivered"
	case e.state == live:
		a.Verified++
	}
	if fault != "" {
		w.note("message %d of account %s, folder %s %s", e.n, w.address(int(e.place.account)),
			w.folder(int(e.place.account), int(e.place.folder)), fault)
	}
}
