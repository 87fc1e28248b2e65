package modeltest

import (
	"errors"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

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

func (diff *differential) restore(m message) error {
	diff.t.Helper()
	diff.clock.advance(diff.tick)
	err := diff.got.(models.Purger).Restore(diff.ctx, m.in.in.got, m.got)
	return diff.agree("restore", err, diff.ref.Restore(diff.ctx, m.in.in.ref, m.ref))
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

// expunge deletes the messages between two messages of a folder, both included.
func (diff *differential) expunge(f *folder, from, to message) {
	diff.t.Helper()
	g, r := diff.got.(models.UIDs), diff.ref
	diff.expungeUIDs(f, [2]uint64{g.UID(from.got), g.UID(to.got)}, [2]uint64{r.UID(from.ref), r.UID(to.ref)})
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
