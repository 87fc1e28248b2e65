package modeltest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
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
	ref.posts = has[models.Poster](got)
	return &differential{
		t: f.t, ctx: f.ctx, Traits: f.Traits, domain: f.domain, clock: f.clock, tick: time.Second,
		got: got, ref: ref,
		handles: map[models.Handle]models.Handle{},
		lastUID: map[*folder]uint64{},
	}
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
	if got == nil {
		diff.t.Fatalf("%s: no error, want %v", what, ref)
	}
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

// learn records that two handles name the same message.
func (diff *differential) learn(f *folder, got, ref models.Handle) message {
	diff.t.Helper()
	if got.IsZero() {
		diff.t.Fatalf("a message in %q of %s was given the zero handle", f.ref.Name, f.in.ref.Address)
	}
	diff.handles[ref] = got
	return message{f, got, ref}
}

// deliver delivers a message, and returns it as it is in each folder.
func (diff *differential) deliver(m *mail.Message, to ...*folder) []message {
	diff.t.Helper()
	diff.clock.advance(diff.tick)
	got, ref := make([]*models.Folder, len(to)), make([]*models.Folder, len(to))
	for i, f := range to {
		got[i], ref[i] = f.got, f.ref
	}
	gh, rh := make([]models.Handle, len(to)), make([]models.Handle, len(to))
	err := diff.got.Deliver(diff.ctx, m, got, gh)
	diff.agree("deliver", err, diff.ref.Deliver(diff.ctx, m, ref, rh))
	mails := make([]message, len(to))
	for i, f := range to {
		mails[i] = diff.learn(f, gh[i], rh[i])
		diff.newUID(mails[i])
	}
	return mails
}

// newUID checks the rule of UIDs on a message that has just come into a folder.
func (diff *differential) newUID(m message) {
	diff.t.Helper()
	if u, ok := diff.got.(models.UIDs); ok {
		uid := u.UID(m.got)
		if uid <= diff.lastUID[m.in] {
			diff.t.Fatalf("UID %d in %q after %d was given: UIDs ascend and are never used again", uid, m.in.ref.Name,
				diff.lastUID[m.in])
		}
		diff.lastUID[m.in] = uid
	}
}

var allFlags = []models.Flag{models.Seen, models.Answered, models.Flagged, models.Deleted, models.Draft}

// userFlag does nothing if the model stores no flags of users.
func (diff *differential) userFlag(m message, name string, on bool) {
	diff.t.Helper()
	if u, ok := diff.got.(models.UserFlagger); ok {
		diff.clock.advance(diff.tick)
		diff.agree("user flag", u.UserFlag(diff.ctx, m.in.got, m.got, name, on),
			diff.ref.UserFlag(diff.ctx, m.in.ref, m.ref, name, on))
	}
}

// flag returns false if the model does not store the flag.
func (diff *differential) flag(m message, flag models.Flag, on bool) (bool, error) {
	diff.t.Helper()
	diff.clock.advance(diff.tick)
	err := diff.got.Flag(diff.ctx, m.in.got, m.got, flag, on)
	if errors.Is(err, models.ErrNotOffered) && flag != models.Seen {
		return false, nil
	}
	return true, diff.agree("flag", err, diff.ref.Flag(diff.ctx, m.in.ref, m.ref, flag, on))
}

func bothHandles(ms []message) (got, ref []models.Handle) {
	for _, m := range ms {
		got, ref = append(got, m.got), append(ref, m.ref)
	}
	return got, ref
}

// few is how many messages every engine must be able to change at once.
const few = 20

// tooMany reports whether an engine refused to change so many messages at once. An engine may
// refuse more than few. The reference then does not change them either.
func tooMany(err error, ms []message) bool {
	return len(ms) > few && errors.Is(err, drivers.ErrTooLarge)
}

// inSteps changes many messages at once. If the engine refuses so many, it changes few
// at a time.
func inSteps(ms []message, change func(ms ...message) error) {
	if !tooMany(change(ms...), ms) {
		return
	}
	for step := range slices.Chunk(ms, few) {
		change(step...)
	}
}

func (diff *differential) move(from, to *folder, ms ...message) ([]message, error) {
	diff.t.Helper()
	diff.clock.advance(diff.tick)
	got, ref := bothHandles(ms)
	gh, rh := make([]models.Handle, len(ms)), make([]models.Handle, len(ms))
	err := diff.got.Move(diff.ctx, from.got, to.got, got, gh)
	if tooMany(err, ms) {
		return nil, err
	}
	if err := diff.agree("move", err, diff.ref.Move(diff.ctx, from.ref, to.ref, ref, rh)); err != nil {
		return nil, err
	}
	moved := make([]message, len(ms))
	for i := range ms {
		_, there := diff.handles[rh[i]] // the folder shows the message already
		moved[i] = diff.learn(to, gh[i], rh[i])
		if !there && from != to {
			diff.newUID(moved[i])
		}
	}
	return moved, nil
}

func (diff *differential) delete(f *folder, ms ...message) error {
	diff.t.Helper()
	diff.clock.advance(diff.tick)
	got, ref := bothHandles(ms)
	err := diff.got.Delete(diff.ctx, f.got, got)
	if tooMany(err, ms) {
		return err
	}
	return diff.agree("delete", err, diff.ref.Delete(diff.ctx, f.ref, ref))
}

func (diff *differential) label(m message, label *folder, on bool) (message, error) {
	diff.t.Helper()
	diff.clock.advance(diff.tick)
	got, err := diff.got.(models.Labeler).Label(diff.ctx, m.in.got, m.got, label.got, on)
	ref, refErr := diff.ref.Label(diff.ctx, m.in.ref, m.ref, label.ref, on)
	if err := diff.agree("label", err, refErr); err != nil || !on {
		return message{}, err
	}
	return diff.learn(label, got, ref), nil
}

func (diff *differential) purge(a *account, before time.Time) int {
	diff.t.Helper()
	got, err := diff.got.(models.Purger).Purge(diff.ctx, a.got, before)
	ref, refErr := diff.ref.Purge(diff.ctx, a.ref, before)
	diff.agree("purge", err, refErr)
	if got != ref {
		diff.t.Fatalf("purge removed %d messages, want %d", got, ref)
	}
	return got
}

func (diff *differential) expungeUIDs(f *folder, gotRange, refRange [2]uint64) {
	diff.t.Helper()
	got, err := diff.got.(models.UIDs).Expunge(diff.ctx, f.got, gotRange[0], gotRange[1])
	ref, refErr := diff.ref.Expunge(diff.ctx, f.ref, refRange[0], refRange[1])
	diff.agree("expunge", err, refErr)
	if got != ref {
		diff.t.Fatalf("expunge of UIDs %d to %d in %q removed %d, want %d", gotRange[0], gotRange[1], f.ref.Name, got, ref)
	}
}

func (diff *differential) subscribe(a *account, folder string, on bool) {
	diff.t.Helper()
	diff.agree("subscribe", diff.got.(models.Subscriber).Subscribe(diff.ctx, a.got, folder, on),
		diff.ref.Subscribe(diff.ctx, a.ref, folder, on))
}

func (diff *differential) seen(m message, who string) {
	diff.t.Helper()
	diff.agree("seen", diff.got.(models.Seer).Seen(diff.ctx, m.in.got, m.got, who),
		diff.ref.Seen(diff.ctx, m.in.ref, m.ref, who))
}

// join adds a folder of another account to a.
func (diff *differential) join(a *account, f *folder) {
	diff.t.Helper()
	got, err := diff.got.(models.Poster).Join(diff.ctx, a.got, f.got)
	ref, refErr := diff.ref.Join(diff.ctx, a.ref, f.ref)
	if diff.agree("join", err, refErr) == nil {
		a.folders = append(a.folders, &folder{got, ref, a})
	}
}

// leave leaves a folder that others keep, and again.
func (diff *differential) leave(f *folder) {
	diff.t.Helper()
	for range 2 {
		diff.agree("leave", diff.got.(models.Poster).Leave(diff.ctx, f.got), diff.ref.Leave(diff.ctx, f.ref))
	}
	f.in.folders = slices.DeleteFunc(f.in.folders, func(x *folder) bool { return x == f })
}
