// Package audit verifies what a model has stored: the rows by what its schema declares, and accounts, folders and
// messages by the calls of its mailbox. It knows no model.
package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

// Run verifies a store: its rows, and then all that the mailbox can read.
func Run(ctx context.Context, st drivers.Store, s *schemas.Schema, mb models.Mailbox, cfg validate.Config,
) (models.Audit, error) {
	rows, err := Verify(ctx, st, s, cfg)
	if err != nil {
		return rows, err
	}
	return NewReader(mb, models.PromisesAll).Read(ctx, rows)
}

// Verify verifies the rows of a store.
func Verify(ctx context.Context, st drivers.Store, s *schemas.Schema, cfg validate.Config) (models.Audit, error) {
	r, err := validate.Run(ctx, st, s, cfg)
	if err != nil {
		return models.Audit{}, err
	}
	return Rows(s, r), nil
}

// Rows returns the audit of a store whose rows were checked.
func Rows(s *schemas.Schema, r *validate.Report) (found models.Audit) {
	for i := range r.Findings {
		f := &r.Findings[i]
		kind, n := models.BrokenBody, f.Rows
		switch {
		case f.Leftover:
			found.Unreferenced += f.Missing // a message has one row or many
			continue
		case f.Check == validate.Count && !countsBytes(s.Table(f.Table), f.Name):
			kind, n = models.CounterDrift, f.Drift
		case f.Check == validate.Reference:
			kind = models.Dangling
		}
		found.Find(kind, n, "%s: %s %s: %s", f.Table, f.Check, f.Name, strings.Join(f.Examples, "; "))
	}
	return found
}

// countsBytes reports whether a number of a table is that of the bytes in other rows.
func countsBytes(t *schemas.Table, count string) bool {
	for _, c := range t.Counts {
		if c.Name == count && c.Sum != nil {
			of := &c.Sum.Type
			if of.Kind == schemas.Map {
				of = of.Elem
			}
			return of.Kind == schemas.Blob || of.Kind == schemas.Text
		}
	}
	return false
}

// Reader reads accounts one after another. It holds a few words for each message of the current one.
type Reader struct {
	models.Mailbox
	Digester *models.Digester
	// Call makes each call to the mailbox but that of Message, which reads a message with the Digester. Account gets each
	// account after it was read. A caller may set these and First.
	Call    func(ctx context.Context, do func() error) error
	Message func(ctx context.Context, f *models.Folder, h models.Handle) error
	Account func(ctx context.Context, a *models.Account) error
	// First reports which accounts come before the others: a folder of several is read in the first of them.
	First func(address string) bool

	found  models.Audit
	shared map[any]bool                // folders of several accounts that were read
	known  map[[16]byte]*models.Folder // messages of the account, by the first folder
}

// NewReader returns a reader of a mailbox that makes a promise.
func NewReader(mb models.Mailbox, p models.Promise) *Reader {
	r := &Reader{Mailbox: mb, Digester: models.NewDigester(p), shared: map[any]bool{}}
	r.Call = func(_ context.Context, do func() error) error { return do() }
	r.Message = func(ctx context.Context, f *models.Folder, h models.Handle) error {
		_, err := r.Digester.Stored(ctx, mb, f, h)
		return err
	}
	r.Account = func(context.Context, *models.Account) error { return nil }
	r.First = func(string) bool { return true }
	return r
}

// Read reads all accounts, and adds what it finds to the audit of the rows. Both may find one fault, so the larger
// number of each kind counts.
func (r *Reader) Read(ctx context.Context, rows models.Audit) (models.Audit, error) {
	var accounts []string
	err := r.Call(ctx, func() (err error) {
		accounts, err = r.Accounts(ctx)
		return err
	})
	for _, first := range []bool{true, false} {
		for i := 0; i < len(accounts) && err == nil; i++ {
			if r.First(accounts[i]) == first {
				err = r.account(ctx, accounts[i])
			}
		}
	}
	found := r.found
	found.Unreferenced += rows.Unreferenced
	found.Dangling = max(found.Dangling, rows.Dangling)
	found.BrokenBodies = max(found.BrokenBodies, rows.BrokenBodies)
	found.CounterDrift = max(found.CounterDrift, rows.CounterDrift)
	found.Notes = append(rows.Notes, found.Notes...)
	if x, ok := r.Mailbox.(models.Inspector); ok && err == nil {
		before := found
		err = r.Call(ctx, func() error {
			found = before // a try that failed may have found something
			return x.Inspect(ctx, &found)
		})
	}
	return found, err
}

// fault counts an error that is about the data, and returns any other.
func (r *Reader) fault(err error, what string) error {
	switch {
	case errors.Is(err, models.ErrBroken):
		r.found.Find(models.BrokenBody, 1, "%s: %v", what, err)
	case errors.Is(err, models.ErrNotFound):
		r.found.Find(models.Dangling, 1, "%s: %v", what, err)
	default:
		return err
	}
	return nil
}

func (r *Reader) account(ctx context.Context, address string) error {
	var a *models.Account
	err := r.Call(ctx, func() (err error) {
		a, err = r.Login(ctx, address)
		return err
	})
	if err != nil {
		return r.fault(err, "account "+address)
	}
	r.found.Accounts++
	r.known = map[[16]byte]*models.Folder{}
	_, shares := r.Mailbox.(models.Poster)
	for i := 0; i < len(a.Folders) && err == nil; i++ {
		f := a.Folders[i]
		if shares && r.shared[f.Ref] {
			continue
		} else if shares {
			r.shared[f.Ref] = true
		}
		r.found.Folders++
		if err = r.folder(ctx, f, true); err != nil {
			err = r.fault(err, fmt.Sprintf("folder %q of %s", f.Name, address))
		}
	}
	if m, ok := r.Mailbox.(models.AllMailer); ok && err == nil {
		if err = r.folder(ctx, m.AllMail(a), false); errors.Is(err, models.ErrBroken) {
			err = nil // the message is in a folder, too
		}
	}
	if err == nil {
		err = r.Account(ctx, a)
	}
	return err
}

// folder reads the messages of a folder, and compares its numbers with theirs.
func (r *Reader) folder(ctx context.Context, f *models.Folder, opens bool) error {
	var has, gone models.Stats
	var lacks models.Known
	err := r.pages(ctx, f, func(page []models.Entry) error {
		for _, e := range page {
			of := &has
			if opens {
				there, err := r.read(ctx, f, e.Handle)
				if err != nil {
					return err
				}
				if !there {
					of = &gone
				}
			}
			of.Messages++
			of.Bytes += e.Size
			if !e.Seen {
				of.Unread++
			}
			if !e.Known.Has(models.KnowSeen) {
				lacks |= models.KnowUnread
			}
			if !e.Known.Has(models.KnowSize) {
				lacks |= models.KnowBytes
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.numbers(ctx, f, has, gone, lacks)
}

// pageSize is how many messages are listed at a time.
const pageSize = 500

// pages lists a folder, a page at a time. The entries have no sender and subject.
func (r *Reader) pages(ctx context.Context, f *models.Folder, take func(page []models.Entry) error) error {
	var page []models.Entry
	for last := (models.Handle{}); ; last = page[pageSize-1].Handle {
		err := r.Call(ctx, func() error {
			page = page[:0]
			return r.List(ctx, f, last, pageSize, func(e *models.Entry) error {
				page = append(page, models.Entry{Handle: e.Handle, Known: e.Known, Size: e.Size, Seen: e.Seen})
				return nil
			})
		})
		if err == nil && len(page) == pageSize && page[pageSize-1].Handle == last {
			err = errors.New("pages repeat")
		}
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		if err := take(page); err != nil || len(page) < pageSize {
			return err
		}
	}
}

// numbers compares the numbers of a folder with those of its messages. They may include entries whose messages are
// gone.
func (r *Reader) numbers(ctx context.Context, f *models.Folder, has, gone models.Stats, lacks models.Known) error {
	var stored models.Stats
	err := r.Call(ctx, func() (err error) {
		stored, err = r.Stats(ctx, f)
		return err
	})
	if err != nil {
		return err
	}
	drift := int64(0)
	for _, n := range []struct {
		known    models.Known
		by, gone int64
	}{
		{models.KnowMessages, stored.Messages - has.Messages, gone.Messages},
		{models.KnowUnread, stored.Unread - has.Unread, gone.Unread},
		{models.KnowBytes, stored.Bytes - has.Bytes, gone.Bytes},
	} {
		if (stored.Known &^ lacks).Has(n.known) {
			drift += max(n.by-n.gone, -n.by, 0)
		}
	}
	if drift != 0 {
		r.found.Find(models.CounterDrift, drift, "folder %q of %s: messages, unread and bytes are %d, %d and %d, counted %d, %d and %d",
			f.Name, f.Account.Address, stored.Messages, stored.Unread, stored.Bytes, has.Messages, has.Unread, has.Bytes)
	}
	return nil
}

// read reads all of a message, and reports whether it is there. Several labels may show one, whose faults count once.
func (r *Reader) read(ctx context.Context, f *models.Folder, h models.Handle) (there bool, err error) {
	what := fmt.Sprintf("message %x", h[:16])
	if err = r.Message(ctx, f, h); errors.Is(err, models.ErrNotFound) {
		return false, r.fault(err, what)
	}
	r.found.Messages++
	if m, identifies := r.Mailbox.(models.Identifier); identifies {
		id := m.Identity(h)
		in, known := r.known[id]
		_, labels := r.Mailbox.(models.Labeler)
		switch {
		case !known:
			r.known[id] = f
		case !labels || in == f:
			r.found.Find(models.Duplicated, 1, "%s in folder %q of %s is there already", what, f.Name, f.Account.Address)
		case errors.Is(err, models.ErrBroken):
			return true, nil
		}
	}
	return true, r.fault(err, what)
}
