package modeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// tb is the part of *testing.T and *rapid.T that rules use.
type tb interface {
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// differential runs each operation on a model's mailbox (got), and makes the same change to the
// reference. It fails the test if they differ.
type differential struct {
	t   tb
	ctx context.Context
	domain
	clock *clock
	tick  time.Duration // how far the clock advances before each operation
	got   models.Mailbox
	*reference

	accounts []*account    // those that it has created
	opened   models.Opened // reused, as callers do
}

func (f *fixture) differential() *differential {
	return f.differentialOf(&reference{Traits: f.Traits}, f.mailbox())
}

// differentialOf returns a differential of a mailbox and a reference that others may share.
func (f *fixture) differentialOf(ref *reference, got models.Mailbox) *differential {
	return &differential{
		t: f.TB, ctx: f.ctx, domain: f.domain, clock: f.clock, tick: time.Second, got: got, reference: ref,
	}
}

// agree fails the test unless the model succeeded, or failed for the reason wanted. It returns that reason.
func (diff *differential) agree(what string, got, want error) error {
	reason := want
	for _, r := range []error{models.ErrNotFound, models.ErrExists} {
		if errors.Is(want, r) {
			reason = r
		}
	}
	known := reason == models.ErrNotFound || reason == models.ErrExists
	if (got == nil) != (want == nil) || known && !errors.Is(got, reason) {
		diff.t.Fatalf("%s: error is %v, want %v", what, got, reason)
	}
	return reason
}

// must fails the test if what failed.
func (diff *differential) must(err error, what string, args ...any) {
	if err != nil {
		diff.t.Fatalf("%s: %v", fmt.Sprintf(what, args...), err)
	}
}

func (diff *differential) user(address string, folders ...string) *account {
	a, err := diff.createUser(address, folders...)
	diff.must(err, "create user %s", address)
	return a
}

func (diff *differential) createUser(address string, folders ...string) (*account, error) {
	diff.clock.advance(diff.tick)
	var want error
	switch {
	case diff.account(address) != nil:
		want = models.ErrExists
	case len(folders) > 0 || !has[models.Poster](diff.got):
		want = models.CheckFolders(folders)
	}
	got, err := diff.got.CreateUser(diff.ctx, address, folders)
	if err := diff.agree("create user "+address, err, want); err != nil {
		return nil, err
	}
	a := &account{address: address}
	for _, name := range folders {
		a.add(name)
	}
	diff.pair(got, a)
	a.use(got)
	diff.reference.accounts = append(diff.reference.accounts, a)
	diff.accounts = append(diff.accounts, a)
	return a, nil
}

// pair compares an account that the model returned, folder by folder.
func (diff *differential) pair(got *models.Account, a *account) {
	if got.Address != a.address || len(got.Folders) != len(a.folders) {
		diff.t.Fatalf("account %q has %d folders, want %q with %d", got.Address, len(got.Folders), a.address, len(a.folders))
	}
	if len(got.Folders) > 0 && got.Folders[0].Name != a.folders[0].name {
		diff.t.Fatalf("account %q: the first folder is %q, not its inbox", got.Address, got.Folders[0].Name)
	}
	for _, f := range a.folders {
		g := got.Folder(f.name)
		if g == nil {
			diff.t.Fatalf("account %q has no folder %q", got.Address, f.name)
		}
		if g.Account != got {
			diff.t.Fatalf("folder %q of %q does not name its account", f.name, got.Address)
		}
	}
}

func (diff *differential) createFolder(a *account, name string) {
	diff.clock.advance(diff.tick)
	var want error
	if a.folder(name) != nil {
		want = models.ErrExists
	}
	got, err := diff.got.CreateFolder(diff.ctx, a.got, name)
	if diff.agree("create folder "+name, err, want) == nil {
		a.add(name).got = got
	}
}

// learn takes the handle that the model gave to a message in f. Where UIDs are kept, one that came has a new one.
func (diff *differential) learn(f *folder, e *entry, got models.Handle, came bool) message {
	if got.IsZero() {
		diff.t.Fatalf("a message in %q of %s was given the zero handle", f.name, f.in.address)
	}
	if u, ok := diff.got.(models.UIDs); ok && came {
		uid := u.UID(got)
		if uid <= f.uid {
			diff.t.Fatalf("UID %d in %q after %d was given: UIDs ascend and are never used again", uid, f.name, f.uid)
		}
		f.uid = uid
	}
	e.got = got
	return message{e, f}
}

// deliver delivers a message, and returns it as it is in each folder.
func (diff *differential) deliver(m *mail.Message, to ...*folder) []message {
	diff.clock.advance(diff.tick)
	handles := make([]models.Handle, len(to))
	diff.agree("deliver", diff.got.Deliver(diff.ctx, m, modelsOf(to), handles), nil)
	return diff.arrived(m, to, handles)
}

// modelsOf returns the model's folders.
func modelsOf(fs []*folder) (got []*models.Folder) {
	for _, f := range fs {
		got = append(got, f.got)
	}
	return got
}

// arrived makes the reference's change of a delivery.
func (diff *differential) arrived(m *mail.Message, to []*folder, handles []models.Handle) []message {
	mails := make([]message, len(to))
	at, number := models.Arrival(m, diff.clock.now), diff.number()
	diff.delivered++
	for i, f := range to {
		if !diff.KeepsBodies && i > 0 {
			number = diff.number()
		}
		e := f.put(&state{Message: m, at: at, number: number})
		f.in.mail = append(f.in.mail, e)
		mails[i] = diff.learn(f, e, handles[i], true)
	}
	return mails
}

var allFlags = []models.Flag{models.Seen, models.Answered, models.Flagged, models.Deleted, models.Draft}

// flag does nothing if the model does not store the flag.
func (diff *differential) flag(m message, flag models.Flag, on bool) {
	diff.clock.advance(diff.tick)
	err := diff.got.Flag(diff.ctx, m.in.got, m.got, flag, on)
	if errors.Is(err, models.ErrNotOffered) && flag != models.Seen {
		return
	}
	if diff.agree("flag", err, m.in.has([]message{m})) == nil {
		if m.flags &^= flag; on {
			m.flags |= flag
		}
	}
}

// userFlag does nothing if the model stores no flags of users.
func (diff *differential) userFlag(m message, name string, on bool) {
	u, ok := diff.got.(models.UserFlagger)
	if !ok {
		return
	}
	diff.clock.advance(diff.tick)
	if diff.agree("user flag", u.UserFlag(diff.ctx, m.in.got, m.got, name, on), m.in.has([]message{m})) == nil {
		m.named = set(m.named, name, on)
	}
}

// set returns names with one more or less.
func set(names []string, name string, on bool) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
	if on {
		names = append(names, name)
	}
	return names
}

func handlesOf(ms []message) (hs []models.Handle) {
	for _, m := range ms {
		hs = append(hs, m.got)
	}
	return hs
}

// few is how many messages every engine must be able to change at once.
const few = 20

// tooMany reports whether an engine refused to change so many messages at once. An engine may
// refuse more than few. The reference then does not change them either.
func tooMany(err error, ms []message) bool {
	return len(ms) > few && errors.Is(err, drivers.ErrTooLarge)
}

func (diff *differential) move(from, to *folder, ms ...message) ([]message, error) {
	diff.clock.advance(diff.tick)
	handles := make([]models.Handle, len(ms))
	err := diff.got.Move(diff.ctx, from.got, to.got, handlesOf(ms), handles)
	if tooMany(err, ms) {
		return nil, err
	}
	if err := diff.agree("move", err, from.has(ms)); err != nil {
		return nil, err
	}
	moved := make([]message, len(ms))
	for i, m := range ms {
		from.drop(m.entry)
		came := to.came
		e := to.put(m.state)
		moved[i] = diff.learn(to, e, handles[i], to.came > came)
	}
	return moved, nil
}

func (diff *differential) delete(f *folder, ms ...message) error {
	diff.clock.advance(diff.tick)
	err := diff.got.Delete(diff.ctx, f.got, handlesOf(ms))
	if tooMany(err, ms) {
		return err
	}
	want := f.has(ms)
	if want == nil {
		for _, m := range ms {
			diff.reference.delete(m, diff.clock.now())
		}
	}
	return diff.agree("delete", err, want)
}

func (diff *differential) purge(a *account, before time.Time) int {
	got, err := diff.got.(models.Purger).Purge(diff.ctx, a.got, before)
	diff.agree("purge", err, nil)
	n := len(a.deleted)
	a.deleted = slices.DeleteFunc(a.deleted, func(d deletion) bool { return d.at.Before(before) })
	if want := n - len(a.deleted); got != want {
		diff.t.Fatalf("purge removed %d messages, want %d", got, want)
	}
	return got
}

// expunge deletes a range of UIDs; to is 0 if it has no upper bound.
func (diff *differential) expunge(f *folder, from, to uint64) {
	u := diff.got.(models.UIDs)
	got, err := u.Expunge(diff.ctx, f.got, from, to)
	diff.agree("expunge", err, nil)
	n := len(f.entries)
	f.entries = slices.DeleteFunc(f.entries, func(e *entry) bool {
		return u.UID(e.got) >= from && (to == 0 || u.UID(e.got) <= to)
	})
	if want := n - len(f.entries); got != want {
		diff.t.Fatalf("expunge of UIDs %d to %d in %q removed %d, want %d", from, to, f.name, got, want)
	}
}
