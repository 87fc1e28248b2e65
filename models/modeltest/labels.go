package modeltest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

func testLabels(t *testing.T, s *suite) {
	diff := s.start(t, Sized(0, 3)).differential()
	a, b := diff.user(diff.at("ann"), "INBOX", "Work", "Todo"), diff.user(diff.at("bob"), "INBOX")
	in, work, todo := a.folders[0], a.folders[1], a.folders[2]
	for n := range 8 {
		d := sample(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(300, n)}}
		diff.deliver(d.Message(), in, b.folders[0])
	}
	ms := diff.live(in)
	diff.flag(ms[1], models.Seen, true)
	var labelled []message
	for _, m := range ms[:4] {
		l, _ := diff.label(m, work, true)
		labelled = append(labelled, l)
	}
	diff.check()
	diff.label(ms[0], work, true) // again: nothing changes
	diff.label(ms[5], todo, false)
	diff.check()
	diff.label(labelled[2], todo, true)
	diff.check()

	// Several folders show the messages that are flagged, moved and deleted here.
	diff.flag(labelled[0], models.Seen, true)
	diff.flag(ms[1], models.Seen, false)
	diff.check()
	diff.move(work, todo, labelled[0])
	diff.check()
	diff.move(work, in, labelled[3]) // it is there already
	diff.check()
	diff.delete(work, labelled[1])
	diff.check()

	// Labels go one by one; the message is not deleted with the last.
	diff.label(labelled[2], in, false)
	diff.check()
	diff.label(labelled[2], work, false)
	diff.check()
	rest := diff.live(todo)
	diff.label(rest[0], todo, false)
	diff.check()
}

func testPurge(t *testing.T, s *suite) {
	diff := s.start(t, Sized(2000, 0)).differential()
	a, b := diff.user(diff.at("ann"), "INBOX", "Work"), diff.user(diff.at("bob"), "INBOX")
	in, work := a.folders[0], a.folders[1]
	for n := range 10 {
		d := sample(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(3000, n)}}
		diff.deliver(d.Message(), in, b.folders[0])
	}
	ms := diff.live(in)
	diff.flag(ms[1], models.Seen, true)
	diff.label(ms[1], work, true)
	diff.delete(in, ms[:4]...)
	diff.check()
	diff.restore(ms[1])
	diff.check()
	if err := diff.restore(ms[1]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore what is not deleted: error is %v", err)
	}
	if err := diff.got.(models.Purger).Restore(diff.ctx, a.got, models.Handle{}); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore the zero handle: error is %v", err)
	}
	if err := diff.restore(ms[8]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore what never was deleted: error is %v", err)
	}
	diff.check()

	between := diff.clock.now().Add(500 * time.Millisecond)
	diff.delete(in, ms[4:6]...)
	if n := diff.purge(a, start); n != 0 {
		t.Errorf("purged %d messages deleted before any was", n)
	}
	diff.check()
	if n := diff.purge(a, between); n != 3 {
		t.Errorf("purged %d, want the 3 deleted before then", n)
	}
	diff.check()
	if err := diff.restore(ms[0]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore what was purged: error is %v", err)
	}
	diff.restore(ms[4])
	diff.check()
	diff.purge(a, diff.clock.now().Add(time.Hour))
	diff.check()

	// Delete and restore several times at the same time of the clock. Then one message is in
	// the purge index twice, as in the document's sample.
	diff.tick = 0
	m := ms[7]
	for range 3 {
		diff.delete(in, m)
		diff.check()
		diff.restore(m)
		diff.check()
	}
	diff.delete(in, m)
	diff.purge(a, diff.clock.now()) // deleted at that time, not before
	diff.check()
	diff.clock.advance(time.Hour)
	diff.purge(a, diff.clock.now())
	diff.check()
}

// testRecount makes every counter wrong, checks that the audit counts the drift, and recounts.
func testRecount(t *testing.T, s *suite) {
	f := s.start(t, models.Options{})
	diff := f.differential()
	for _, address := range []string{diff.at("ann"), diff.at("bob")} {
		a := diff.user(address, "INBOX", "Work")
		for n := range 5 {
			diff.deliver(sample(n).Message(), a.folders[n%2])
		}
		diff.flag(diff.live(a.folders[0])[0], models.Seen, true)
	}
	diff.check()
	var drift int64
	for _, table := range f.schema.Tables {
		for _, c := range table.Columns {
			if c.Type.Kind == counterKind {
				for _, row := range f.scan(table) {
					drift += 3
					f.add(table, row, c.Name, 3)
				}
			}
		}
	}
	if drift == 0 {
		t.Fatal("no counter in the schema")
	}
	audit, err := diff.got.Audit(diff.ctx)
	if err != nil {
		t.Fatalf("audit: %v", err)
	}
	if audit.CounterDrift != drift {
		t.Errorf("audit: counter drift %d, want %d", audit.CounterDrift, drift)
	}
	for _, a := range diff.accounts {
		if err := diff.got.(models.Recounter).Recount(diff.ctx, a.got); err != nil {
			t.Fatalf("recount: %v", err)
		}
	}
	diff.check()
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
