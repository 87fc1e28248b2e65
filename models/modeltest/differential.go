package modeltest

import (
	"context"
	"errors"
	"time"

	"github.com/mailbench/mailbench/models"
)

// tb is the part of *testing.T and *rapid.T that rules use.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// differential runs each operation on a model's mailbox (got) and on the reference
// (ref). It fails the test if they differ.
type differential struct {
	t   tb
	ctx context.Context
	Traits
	domain
	clock *clock
	tick  time.Duration // how far the clock advances before each operation
	got   models.Mailbox
	ref   *reference

	accounts []*account
	handles  map[models.Handle]models.Handle // from the reference's to the model's
	lastUID  map[*folder]uint64
	// leftovers says that deliveries have failed halfway. They may have left unreferenced
	// bodies. An audit counts those, but they are no fault.
	leftovers bool
	opened    models.Opened // reused, as callers do
}

// account and folder hold the account and the folder of both sides.
type account struct {
	got, ref *models.Account
	folders  []*folder
}

type folder struct {
	got, ref *models.Folder
	in       *account
}

// message is a message in a folder: its handles on both sides.
type message struct {
	in       *folder
	got, ref models.Handle
}

func (f *fixture) differential() *differential {
	return f.differentialOf(newReference(f.Traits, f.clock.now), f.mailbox())
}

// differentialOf returns a differential of a mailbox and a reference that others may share.
func (f *fixture) differentialOf(ref *reference, got models.Mailbox) *differential {
	return &differential{
		t: f.t, ctx: f.ctx, Traits: f.Traits, domain: f.domain, clock: f.clock, tick: time.Second,
		got: got, ref: ref,
		handles: map[models.Handle]models.Handle{},
		lastUID: map[*folder]uint64{},
	}
}

// through returns a differential that sees the same accounts through another mailbox,
// as another process would.
func (diff *differential) through(got models.Mailbox) *differential {
	diff.t.Helper()
	other := &differential{}
	*other = *diff
	other.got, other.accounts = got, nil
	for _, a := range diff.accounts {
		again, err := got.Login(diff.ctx, a.ref.Address)
		if err != nil {
			diff.t.Fatalf("login through another mailbox: %v", err)
		}
		other.accounts = append(other.accounts, other.pair(again, a.ref))
	}
	return other
}

// agree fails the test unless both sides succeeded or failed for the same reason. It
// returns that reason.
func (diff *differential) agree(what string, got, ref error) error {
	diff.t.Helper()
	if ref == nil {
		if got != nil {
			diff.t.Fatalf("%s: %v", what, got)
		}
		return nil
	}
	for _, reason := range []error{models.ErrNotFound, models.ErrExists, context.Canceled} {
		if errors.Is(ref, reason) {
			if !errors.Is(got, reason) {
				diff.t.Fatalf("%s: error is %v, want %q", what, got, reason)
			}
			return reason
		}
	}
	diff.t.Fatalf("%s: the reference failed: %v", what, ref)
	return ref
}

func (diff *differential) user(address string, folders ...string) *account {
	diff.t.Helper()
	a, err := diff.createUser(address, folders...)
	if err != nil {
		diff.t.Fatalf("create user %s: %v", address, err)
	}
	return a
}

func (diff *differential) createUser(address string, folders ...string) (*account, error) {
	diff.t.Helper()
	diff.clock.advance(diff.tick)
	got, err := diff.got.CreateUser(diff.ctx, address, folders)
	ref, refErr := diff.ref.CreateUser(diff.ctx, address, folders)
	if err := diff.agree("create user "+address, err, refErr); err != nil {
		return nil, err
	}
	a := diff.pair(got, ref)
	diff.accounts = append(diff.accounts, a)
	return a, nil
}

// pair pairs the account of both sides, folder by folder.
func (diff *differential) pair(got, ref *models.Account) *account {
	diff.t.Helper()
	if got.Address != ref.Address || len(got.Folders) != len(ref.Folders) {
		diff.t.Fatalf("account %q has %d folders, want %q with %d", got.Address, len(got.Folders), ref.Address,
			len(ref.Folders))
	}
	if len(got.Folders) > 0 && got.Folders[0].Name != ref.Folders[0].Name {
		diff.t.Fatalf("account %q: the first folder is %q, not its inbox %q", got.Address, got.Folders[0].Name,
			ref.Folders[0].Name)
	}
	a := &account{got: got, ref: ref}
	for _, r := range ref.Folders {
		g := got.Folder(r.Name)
		if g == nil {
			diff.t.Fatalf("account %q has no folder %q", got.Address, r.Name)
		}
		if g.Account != got {
			diff.t.Fatalf("folder %q of %q does not name its account", r.Name, got.Address)
		}
		a.folders = append(a.folders, &folder{g, r, a})
	}
	return a
}

func (diff *differential) createFolder(a *account, name string) (*folder, error) {
	diff.t.Helper()
	diff.clock.advance(diff.tick)
	got, err := diff.got.CreateFolder(diff.ctx, a.got, name)
	ref, refErr := diff.ref.CreateFolder(diff.ctx, a.ref, name)
	if err := diff.agree("create folder "+name, err, refErr); err != nil {
		return nil, err
	}
	f := &folder{got, ref, a}
	a.folders = append(a.folders, f)
	return f, nil
}

// live returns the messages that the reference has in a folder, newest first.
func (diff *differential) live(f *folder) []message {
	diff.t.Helper()
	var ms []message
	err := diff.ref.List(context.Background(), f.ref, models.Handle{}, 1<<30, func(e *models.Entry) error {
		ms = append(ms, message{f, diff.handles[e.Handle], e.Handle})
		return nil
	})
	if err != nil {
		diff.t.Fatalf("list reference: %v", err)
	}
	return ms
}

// lives reports whether the model's handle names a message of the folder now. A
// message that came back may have its earlier handle.
func (diff *differential) lives(m message) bool {
	for _, l := range diff.live(m.in) {
		if l.got == m.got {
			return true
		}
	}
	return false
}
