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

// tb is what a rule needs of a *testing.T or a *rapid.T.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// twin runs each operation on a model's mailbox and on the reference, and
// fails the test where they differ.
type twin struct {
	t   tb
	ctx context.Context
	Traits
	domain
	clock *clock
	tick  time.Duration // the clock goes on by so much before each operation
	got   models.Mailbox
	ref   *reference

	accounts []*account
	handles  map[models.Handle]models.Handle // the reference's → the model's
	lastUID  map[*folder]uint64
	// leftovers: deliveries have failed halfway, and may have left bodies that
	// nothing refers to. They are counted, and are no fault.
	leftovers bool
	opened    models.Opened // reused, as callers do
}

// account and folder are the same thing on both sides.
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

func (f *fixture) twin() *twin { return f.twinOf(newReference(f.Traits, f.clock.now), f.mailbox()) }

// twinOf returns a twin over a reference and a mailbox that others share.
func (f *fixture) twinOf(ref *reference, got models.Mailbox) *twin {
	return &twin{
		t: f.t, ctx: f.ctx, Traits: f.Traits, domain: f.domain, clock: f.clock, tick: time.Second,
		got: got, ref: ref,
		handles: map[models.Handle]models.Handle{},
		lastUID: map[*folder]uint64{},
	}
}

// through returns a twin that sees the same accounts through another mailbox,
// as another process would.
func (tw *twin) through(got models.Mailbox) *twin {
	tw.t.Helper()
	other := &twin{}
	*other = *tw
	other.got, other.accounts = got, nil
	for _, a := range tw.accounts {
		again, err := got.Login(tw.ctx, a.ref.Address)
		if err != nil {
			tw.t.Fatalf("login through another mailbox: %v", err)
		}
		other.accounts = append(other.accounts, other.pair(again, a.ref))
	}
	return other
}

// agree fails unless both sides did, or both failed for the same reason. It
// returns that reason.
func (tw *twin) agree(what string, got, ref error) error {
	tw.t.Helper()
	if ref == nil {
		if got != nil {
			tw.t.Fatalf("%s: %v", what, got)
		}
		return nil
	}
	for _, reason := range []error{models.ErrNotFound, models.ErrExists, context.Canceled} {
		if errors.Is(ref, reason) {
			if !errors.Is(got, reason) {
				tw.t.Fatalf("%s: error is %v, want %q", what, got, reason)
			}
			return reason
		}
	}
	tw.t.Fatalf("%s: the reference failed: %v", what, ref)
	return ref
}

func (tw *twin) user(address string, folders ...string) *account {
	tw.t.Helper()
	a, err := tw.createUser(address, folders...)
	if err != nil {
		tw.t.Fatalf("create user %s: %v", address, err)
	}
	return a
}

func (tw *twin) createUser(address string, folders ...string) (*account, error) {
	tw.t.Helper()
	tw.clock.advance(tw.tick)
	got, err := tw.got.CreateUser(tw.ctx, address, folders)
	ref, refErr := tw.ref.CreateUser(tw.ctx, address, folders)
	if err := tw.agree("create user "+address, err, refErr); err != nil {
		return nil, err
	}
	a := tw.pair(got, ref)
	tw.accounts = append(tw.accounts, a)
	return a, nil
}

// pair puts two accounts together, folder by folder.
func (tw *twin) pair(got, ref *models.Account) *account {
	tw.t.Helper()
	if got.Address != ref.Address || len(got.Folders) != len(ref.Folders) {
		tw.t.Fatalf("account %q has %d folders, want %q with %d", got.Address, len(got.Folders), ref.Address, len(ref.Folders))
	}
	if len(got.Folders) > 0 && got.Folders[0].Name != ref.Folders[0].Name {
		tw.t.Fatalf("account %q: the first folder is %q, not its inbox %q", got.Address, got.Folders[0].Name, ref.Folders[0].Name)
	}
	a := &account{got: got, ref: ref}
	for _, r := range ref.Folders {
		g := got.Folder(r.Name)
		if g == nil {
			tw.t.Fatalf("account %q has no folder %q", got.Address, r.Name)
		}
		if g.Account != got {
			tw.t.Fatalf("folder %q of %q does not name its account", r.Name, got.Address)
		}
		a.folders = append(a.folders, &folder{g, r, a})
	}
	return a
}

func (tw *twin) createFolder(a *account, name string) (*folder, error) {
	tw.t.Helper()
	tw.clock.advance(tw.tick)
	got, err := tw.got.CreateFolder(tw.ctx, a.got, name)
	ref, refErr := tw.ref.CreateFolder(tw.ctx, a.ref, name)
	if err := tw.agree("create folder "+name, err, refErr); err != nil {
		return nil, err
	}
	f := &folder{got, ref, a}
	a.folders = append(a.folders, f)
	return f, nil
}

// learn remembers which handles name the same message.
func (tw *twin) learn(f *folder, got, ref models.Handle) message {
	tw.t.Helper()
	if got.IsZero() {
		tw.t.Fatalf("a message in %q of %s was given the zero handle", f.ref.Name, f.in.ref.Address)
	}
	tw.handles[ref] = got
	return message{f, got, ref}
}

// deliver returns the mail in each folder.
func (tw *twin) deliver(m *mail.Message, to ...*folder) []message {
	tw.t.Helper()
	tw.clock.advance(tw.tick)
	got, ref := make([]*models.Folder, len(to)), make([]*models.Folder, len(to))
	for i, f := range to {
		got[i], ref[i] = f.got, f.ref
	}
	gh, rh := make([]models.Handle, len(to)), make([]models.Handle, len(to))
	err := tw.got.Deliver(tw.ctx, m, got, gh)
	tw.agree("deliver", err, tw.ref.Deliver(tw.ctx, m, ref, rh))
	mails := make([]message, len(to))
	for i, f := range to {
		mails[i] = tw.learn(f, gh[i], rh[i])
		tw.newUID(mails[i])
	}
	return mails
}

// newUID checks the rule of UIDs on a message that has just come into a folder.
func (tw *twin) newUID(m message) {
	tw.t.Helper()
	if u, ok := tw.got.(models.UIDs); ok {
		uid := u.UID(m.got)
		if uid <= tw.lastUID[m.in] {
			tw.t.Fatalf("UID %d in %q after %d was given: UIDs ascend and are never used again", uid, m.in.ref.Name, tw.lastUID[m.in])
		}
		tw.lastUID[m.in] = uid
	}
}

// flag returns false where the model has no place for the flag.
func (tw *twin) flag(m message, flag models.Flag, on bool) (bool, error) {
	tw.t.Helper()
	tw.clock.advance(tw.tick)
	err := tw.got.Flag(tw.ctx, m.in.got, m.got, flag, on)
	if errors.Is(err, models.ErrNotOffered) && flag != models.Seen {
		return false, nil
	}
	return true, tw.agree("flag", err, tw.ref.Flag(tw.ctx, m.in.ref, m.ref, flag, on))
}

func bothHandles(ms []message) (got, ref []models.Handle) {
	for _, m := range ms {
		got, ref = append(got, m.got), append(ref, m.ref)
	}
	return got, ref
}

// few is how many messages every engine must be able to change at once.
const few = 20

// tooMany reports whether an engine refuses to change so many messages at once,
// as it may: the reference then leaves them as they are.
func tooMany(err error, ms []message) bool {
	return len(ms) > few && errors.Is(err, drivers.ErrTooLarge)
}

// inSteps changes many messages at once, or if that is too many for the engine
// as many at a time as it must be able to.
func inSteps(ms []message, change func(ms ...message) error) {
	if !tooMany(change(ms...), ms) {
		return
	}
	for step := range slices.Chunk(ms, few) {
		change(step...)
	}
}

func (tw *twin) move(from, to *folder, ms ...message) ([]message, error) {
	tw.t.Helper()
	tw.clock.advance(tw.tick)
	got, ref := bothHandles(ms)
	gh, rh := make([]models.Handle, len(ms)), make([]models.Handle, len(ms))
	err := tw.got.Move(tw.ctx, from.got, to.got, got, gh)
	if tooMany(err, ms) {
		return nil, err
	}
	if err := tw.agree("move", err, tw.ref.Move(tw.ctx, from.ref, to.ref, ref, rh)); err != nil {
		return nil, err
	}
	moved := make([]message, len(ms))
	for i := range ms {
		_, there := tw.handles[rh[i]] // as when another folder shows the message already
		moved[i] = tw.learn(to, gh[i], rh[i])
		if !there && from != to {
			tw.newUID(moved[i])
		}
	}
	return moved, nil
}

func (tw *twin) delete(f *folder, ms ...message) error {
	tw.t.Helper()
	tw.clock.advance(tw.tick)
	got, ref := bothHandles(ms)
	err := tw.got.Delete(tw.ctx, f.got, got)
	if tooMany(err, ms) {
		return err
	}
	return tw.agree("delete", err, tw.ref.Delete(tw.ctx, f.ref, ref))
}

func (tw *twin) label(m message, label *folder, on bool) (message, error) {
	tw.t.Helper()
	tw.clock.advance(tw.tick)
	got, err := tw.got.(models.Labeler).Label(tw.ctx, m.in.got, m.got, label.got, on)
	ref, refErr := tw.ref.Label(tw.ctx, m.in.ref, m.ref, label.ref, on)
	if err := tw.agree("label", err, refErr); err != nil || !on {
		return message{}, err
	}
	return tw.learn(label, got, ref), nil
}

func (tw *twin) restore(m message) error {
	tw.t.Helper()
	tw.clock.advance(tw.tick)
	err := tw.got.(models.Purger).Restore(tw.ctx, m.in.in.got, m.got)
	return tw.agree("restore", err, tw.ref.Restore(tw.ctx, m.in.in.ref, m.ref))
}

func (tw *twin) purge(a *account, before time.Time) int {
	tw.t.Helper()
	got, err := tw.got.(models.Purger).Purge(tw.ctx, a.got, before)
	ref, refErr := tw.ref.Purge(tw.ctx, a.ref, before)
	tw.agree("purge", err, refErr)
	if got != ref {
		tw.t.Fatalf("purge removed %d messages, want %d", got, ref)
	}
	return got
}

// expunge deletes what lies between two messages of a folder, both included.
func (tw *twin) expunge(f *folder, from, to message) {
	tw.t.Helper()
	g, r := tw.got.(models.UIDs), tw.ref
	tw.expungeUIDs(f, [2]uint64{g.UID(from.got), g.UID(to.got)}, [2]uint64{r.UID(from.ref), r.UID(to.ref)})
}

func (tw *twin) expungeUIDs(f *folder, gotRange, refRange [2]uint64) {
	tw.t.Helper()
	got, err := tw.got.(models.UIDs).Expunge(tw.ctx, f.got, gotRange[0], gotRange[1])
	ref, refErr := tw.ref.Expunge(tw.ctx, f.ref, refRange[0], refRange[1])
	tw.agree("expunge", err, refErr)
	if got != ref {
		tw.t.Fatalf("expunge of UIDs %d to %d in %q removed %d, want %d", gotRange[0], gotRange[1], f.ref.Name, got, ref)
	}
}

// live returns what the reference has in a folder, newest first.
func (tw *twin) live(f *folder) []message {
	tw.t.Helper()
	var ms []message
	err := tw.ref.List(context.Background(), f.ref, models.Handle{}, 1<<30, func(e *models.Entry) error {
		ms = append(ms, message{f, tw.handles[e.Handle], e.Handle})
		return nil
	})
	if err != nil {
		tw.t.Fatalf("list reference: %v", err)
	}
	return ms
}

// lives tells whether the model's handle names a message of the folder now: a
// message that came back may have the handle it had before.
func (tw *twin) lives(m message) bool {
	for _, l := range tw.live(m.in) {
		if l.got == m.got {
			return true
		}
	}
	return false
}
