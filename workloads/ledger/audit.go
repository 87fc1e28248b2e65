package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/audit"
	"github.com/mailbench/mailbench/workloads/results"
)

// Auditor compares what a store gives back with a ledger of what it
// acknowledged.
type Auditor struct {
	Found   results.Audit // to which the audit adds
	Mailbox models.Mailbox
	Promise models.Promise
	History *History
	// Rows verifies the rows of the store.
	Rows func(ctx context.Context) (models.Audit, error)
	// Remote says that the engine is reached over a network. The audit then repeats a
	// read that fails. Operations of unknown outcome may be half done.
	Remote bool
	// Whole says that the store has messages of this ledger only.
	Whole bool
	// Later says that a run may have been killed with operations under way, or that some are of
	// unknown outcome.
	Later bool

	reader  *audit.Reader
	entries map[string][]int32 // of each account that was not read yet
	read    map[in]content     // messages of the account
	corrupt error              // of one of the messages that are damaged
}

// in is a message in a folder of the store.
type in struct {
	*models.Folder
	models.Handle
}

// content is what was read of a message.
type content struct {
	digest uint64
	err    error
}

// Audit verifies the rows of the store, reads all its messages, and compares them with those of the ledger.
func (a *Auditor) Audit(ctx context.Context) error {
	h := a.History
	a.Found.Delivered, a.Found.Deleted, a.Found.Unknown = h.Delivered, h.Deleted, h.Unknown
	off := h.Unknown > 0 || h.Torn || a.Later
	a.Found.Interrupted, a.Found.Exact = a.Remote && off, !off
	if h.Torn {
		a.note("the ledger's last record is torn: its operation counts as unknown")
	}
	a.entries, a.read = map[string][]int32{}, map[in]content{}
	for i := range h.Entries {
		address := h.Entries[i].Place.address()
		a.entries[address] = append(a.entries[address], int32(i))
	}
	var rows models.Audit
	unverified := a.retry(ctx, func() (err error) {
		rows, err = a.Rows(ctx)
		return err
	})
	a.reader = audit.NewReader(a.Mailbox, a.Promise)
	a.reader.Call, a.reader.Message = a.retry, a.message
	a.reader.Account = func(ctx context.Context, account *models.Account) error {
		defer clear(a.read)
		entries := a.entries[account.Address]
		delete(a.entries, account.Address)
		return a.compare(ctx, account, entries)
	}
	known := maps.Clone(a.entries)
	a.reader.First = func(address string) bool { return known[address] != nil }
	m, err := a.reader.Read(ctx, rows)
	for _, address := range slices.Sorted(maps.Keys(a.entries)) {
		if err == nil { // the store does not have this account
			err = a.compare(ctx, nil, a.entries[address])
		}
	}
	if err = cmp.Or(err, a.corrupt, unverified); err != nil {
		return fmt.Errorf("verification: %w", err)
	}
	if u, ok := a.Mailbox.(models.UIDs); ok {
		a.uids(u)
	}
	m.Notes = append(a.Found.Notes, m.Notes...)
	a.Found.Audit, a.Found.Purgeable = m, m.Deleted
	a.complete(m.Messages)
	return nil
}

// complete compares how many messages the store and the ledger have. The store may have messages of which the ledger
// has no record: where operations were interrupted, or over a network of unknown outcome. A ledger that was cut may
// end within an operation, so the ledger of another engine is not checked for outcomes that it does not know.
func (a *Auditor) complete(messages int64) {
	if !a.Whole || a.Later || a.Remote && a.History.Unknown > 0 {
		return
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
	if messages > known && a.Found.Fault == "" {
		a.Found.Fault = fmt.Sprintf("the store has %d messages, and the ledger %d: its records are incomplete, or another run "+
			"has worked on the data set", messages, known)
	}
}

// note describes a fault, if it is one of the first. All are counted.
func (a *Auditor) note(format string, args ...any) {
	if len(a.Found.Notes) < 10 {
		a.Found.Notes = append(a.Found.Notes, fmt.Sprintf(format, args...))
	}
}

// message implements audit.Reader.Message. It remembers what it has read, and counts failures.
func (a *Auditor) message(ctx context.Context, f *models.Folder, h models.Handle) error {
	const unreadMost = 10 // then the audit ends, as each takes its time
	var got content
	got.err = a.retry(ctx, func() (err error) {
		got.digest, err = a.reader.Digester.Stored(ctx, a.Mailbox, f, h)
		return err
	})
	a.read[in{f, h}] = got
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(got.err, drivers.ErrCorrupt):
		a.corrupt = got.err
		return nil
	case unanswered(got.err):
		a.note("message %x of account %s, folder %s cannot be read: %v", h[:16], f.Account.Address, f.Name, got.err)
		if a.Found.Unread++; a.Found.Unread > unreadMost {
			return fmt.Errorf("more than %d messages cannot be read, the last: %w", unreadMost, got.err)
		}
		return nil
	}
	return got.err
}

// compare compares the entries of an account with the store. The account is nil if the store has lost it.
func (a *Auditor) compare(ctx context.Context, account *models.Account, entries []int32) error {
	for _, i := range entries {
		e := &a.History.Entries[i]
		var f *models.Folder
		if account != nil {
			f = account.Folder(e.Place.folder())
		}
		got, listed := a.read[in{f, e.Handle}]
		switch {
		case e.State == Superseded:
			continue
		case f == nil:
			got.err = models.ErrNotFound
		case !listed: // it may still open
			if err := a.message(ctx, f, e.Handle); unanswered(err) {
				return err
			}
			got = a.read[in{f, e.Handle}]
		}
		switch {
		case unanswered(got.err): // it is counted
		case errors.Is(got.err, drivers.ErrCorrupt):
			a.Found.Corrupt++ // whether it was deleted or not
			a.note("message %d of %v is damaged: %v", e.N, e.Place, got.err)
		default:
			a.judge(e, listed, !errors.Is(got.err, models.ErrNotFound), got.err == nil && got.digest == e.Digest)
		}
	}
	return nil
}

// unanswered reports whether a read failed: its error says nothing about the message. A panic is no missing answer.
func unanswered(err error) bool {
	return err != nil && !errors.Is(err, models.ErrNotFound) && !errors.Is(err, models.ErrBroken) &&
		!errors.Is(err, drivers.ErrCorrupt) && !errors.As(err, new(*crash.Error))
}

// retry implements audit.Reader.Call. If an engine over a network does not answer, it tries again. With the pauses,
// nine tries take 25 s, in which another node takes over from one that died.
func (a *Auditor) retry(ctx context.Context, question func() error) (err error) {
	for try := range 9 {
		if try > 0 {
			_ = drivers.Pause(ctx, 50*time.Millisecond<<try)
		}
		if err = question(); !a.Remote || !unanswered(err) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// judge counts one message as verified or faulty. listed: the folder lists it; opens: it can
// be opened, which a models.Keeper may also do with a deleted one; whole: its content is what was delivered.
func (a *Auditor) judge(e *Entry, listed, opens, whole bool) {
	n, fault := &a.Found, ""
	switch {
	case e.State == Gone:
		if _, keeps := a.Mailbox.(models.Keeper); listed || opens && !keeps {
			n.Resurrected++
			fault = "was deleted, and is still there"
		}
	case e.State == Live && !opens:
		n.Lost++
		fault = "cannot be found"
	case e.State == Live && !listed:
		n.Lost++
		fault = "is not listed"
	case e.State != Live && (!opens || n.Interrupted): // it may be gone, or half of it
	case !whole:
		n.Corrupt++
		fault = "differs from the delivered message"
	case e.State == Live:
		n.Verified++
	}
	if fault != "" {
		a.note("message %d of %v %s", e.N, e.Place, fault)
	}
}
