package modeltest

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

func testFlags(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	in := diff.user(diff.at("ann"), "INBOX").folders[0]
	for n := range 3 {
		diff.deliver(sample(n).Message(), in)
	}
	m := diff.live(in)[1]
	for _, on := range []bool{false, true, true, false, true} {
		for _, name := range []string{"$Forwarded", "Junk"} {
			diff.userFlag(m, name, on)
			diff.checkMessage(m)
		}
	}
	for _, flag := range allFlags {
		for _, on := range []bool{false, true, true, false, false, true} {
			diff.flag(m, flag, on)
			diff.checkFolder(in, 25)
			diff.checkMessage(m)
			diff.checkAudit()
		}
	}
	diff.check()
}

func testMove(t *testing.T, s *suite) {
	diff := s.start(t, Sized(1000, 0)).differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work", "Archive")
	in, work, archive := a.folders[0], a.folders[1], a.folders[2]
	for n := range 8 {
		d := sample(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(n*700, n)}}
		diff.deliver(d.Message(), in)
	}
	ms := diff.live(in)
	for i, flag := range allFlags {
		diff.flag(ms[i], flag, true)
		diff.userFlag(ms[i], "$Forwarded", true)
	}
	moved, _ := diff.move(in, work, ms[0])
	diff.check()
	diff.move(in, work, ms[1:5]...)
	diff.check()

	// If one message is missing, none moves.
	if _, err := diff.move(in, archive, ms[5], ms[0], ms[6]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("move with one message gone: error is %v", err)
	}
	diff.check()
	diff.move(work, archive, moved[0])
	diff.move(in, archive, ms[5:]...)
	diff.check()

	// A move to the same folder leaves the message there. The newest stays the newest in every
	// order.
	moved, _ = diff.move(archive, archive, diff.live(archive)[0])
	diff.checkMessage(moved[0])
	if st, err := diff.got.Stats(diff.ctx, archive.got); err != nil || st.Known.Has(models.KnowMessages) &&
		st.Messages != 4 {
		t.Errorf("after a move to the same folder: %d messages, want 4 (%v)", st.Messages, err)
	}
	diff.checkAudit()
}

// testMoveAndBack moves messages and moves them back at the same time of the clock. An
// engine that prefers a delete to a write of the same timestamp loses the message.
func testMoveAndBack(t *testing.T, s *suite) {
	diff := s.start(t, Sized(0, 3)).differential()
	diff.tick = 0
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	for n := range 6 {
		diff.deliver(sample(n).Message(), a.folders[0])
	}
	m := diff.live(a.folders[0])[2:4]
	diff.flag(m[0], models.Seen, true)
	for range 3 {
		m, _ = diff.move(a.folders[0], a.folders[1], m...)
		diff.check()
		m, _ = diff.move(a.folders[1], a.folders[0], m...)
		diff.check()
		m, _ = diff.move(a.folders[0], a.folders[0], m...)
	}
}

func testDelete(t *testing.T, s *suite) {
	diff := s.start(t, Sized(2000, 0)).differential()
	a, b := diff.user(diff.at("ann"), "INBOX", "Work"), diff.user(diff.at("bob"), "INBOX")
	in := a.folders[0]
	for n := range 9 {
		d := sample(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(2500, n)}}
		diff.deliver(d.Message(), in, b.folders[0])
	}
	ms := diff.live(in)
	diff.flag(ms[1], models.Seen, true)
	diff.delete(in, ms[0])
	diff.check()
	if err := diff.delete(in, ms[0]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("delete twice: error is %v", err)
	}
	diff.check()
	if err := diff.delete(in, ms[3], ms[0], ms[4]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("delete with one message gone: error is %v", err)
	}
	diff.check()
	diff.delete(in, ms[1:5]...)
	diff.check()

	// A message named twice in one call is deleted once, or the call returns ErrNotFound.
	err := diff.got.Delete(diff.ctx, in.got, []models.Handle{ms[5].got, ms[5].got})
	switch {
	case err == nil:
		if err := diff.ref.Delete(diff.ctx, in.ref, []models.Handle{ms[5].ref}); err != nil {
			t.Fatal(err)
		}
	case !errors.Is(err, models.ErrNotFound):
		t.Errorf("delete one message twice in a call: %v", err)
	}
	diff.check()
	diff.delete(in, diff.live(in)...)
	diff.check()
	for _, m := range diff.live(b.folders[0]) {
		diff.delete(b.folders[0], m)
	}
	diff.check()
}

// testMany has more messages than any model takes from its store at a time. On a server that
// takes batches of any size, half as many are enough.
func testMany(t *testing.T, s *suite) {
	many := 270
	f := s.start(t, models.Options{})
	if s.shared && f.store.Capabilities().MaxSpreadBytes == 0 {
		many /= 2
	}
	diff := f.differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	for n := range many {
		diff.deliver(sample(n).Message(), in)
	}
	diff.checkFolder(in, 300)
	diff.checkAudit()
	var moved []message
	inSteps(diff.live(in), func(ms ...message) error {
		to, err := diff.move(in, work, ms...)
		moved = append(moved, to...)
		diff.checkFolder(in, 300)
		return err
	})
	diff.checkFolder(in, 25)
	diff.checkFolder(work, 100)
	diff.checkAudit()
	switch diff.got.(type) {
	case models.UIDs:
		diff.expungeUIDs(work, [2]uint64{}, [2]uint64{})
	case models.Purger:
		inSteps(moved, func(ms ...message) error { return diff.delete(work, ms...) })
		diff.checkAudit()
		diff.clock.advance(time.Hour)
		if n := diff.purge(a, diff.clock.now()); n != many {
			t.Errorf("purged %d, want %d", n, many)
		}
	default:
		inSteps(moved, func(ms ...message) error { return diff.delete(work, ms...) })
	}
	diff.check()
}

// testStaleHandles uses handles of deleted messages. Every call returns ErrNotFound and
// changes nothing.
func testStaleHandles(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	d := sample(0)
	d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(100, 1)}}
	for range 4 {
		diff.deliver(d.Message(), in)
	}
	ms := diff.live(in)
	diff.flag(ms[1], models.Seen, true)
	diff.delete(in, ms[0])
	diff.move(in, work, ms[1])
	stale := map[string]models.Handle{"deleted": ms[0].got, "moved": ms[1].got, "zero": {}}
	for name, h := range stale {
		for what, err := range callsWith(diff, in, work, h) {
			if has[models.Keeper](diff.got) && (what == "open" || what == "attachment") && name != "zero" && err == nil {
				continue
			}
			if !errors.Is(err, models.ErrNotFound) && !errors.Is(err, models.ErrNotOffered) {
				t.Errorf("%s with the handle %s: error is %v, want %q", what, name, err, models.ErrNotFound)
			}
		}
		diff.check()
	}
}

// callsWith makes every call that takes a handle and returns their errors.
func callsWith(diff *differential, in, to *folder, h models.Handle) map[string]error {
	hs, one := []models.Handle{h}, make([]models.Handle, 1)
	var o models.Opened
	_, raw := diff.got.Raw(diff.ctx, in.got, h, io.Discard)
	_, attachment := diff.got.Attachment(diff.ctx, in.got, h, "f", io.Discard)
	errs := map[string]error{
		"open":       diff.got.Open(diff.ctx, in.got, h, &o),
		"raw":        raw,
		"attachment": attachment,
		"flag on":    diff.got.Flag(diff.ctx, in.got, h, models.Seen, true),
		"flag off":   diff.got.Flag(diff.ctx, in.got, h, models.Seen, false),
		"move":       diff.got.Move(diff.ctx, in.got, to.got, hs, one),
		"delete":     diff.got.Delete(diff.ctx, in.got, hs),
	}
	if l, ok := diff.got.(models.Labeler); ok {
		_, errs["label on"] = l.Label(diff.ctx, in.got, h, to.got, true)
		_, errs["label off"] = l.Label(diff.ctx, in.got, h, to.got, false)
	}
	if r, ok := diff.got.(models.RangeReader); ok {
		_, errs["range"] = r.RawRange(diff.ctx, in.got, h, 0, 10, io.Discard)
	}
	if u, ok := diff.got.(models.UserFlagger); ok {
		errs["user flag"] = u.UserFlag(diff.ctx, in.got, h, "Junk", true)
	}
	if s, ok := diff.got.(models.Seer); ok {
		errs["seen"] = s.Seen(diff.ctx, in.got, h, "bob@example.org")
		errs["seen by"] = s.SeenBy(diff.ctx, in.got, h, func(string) error { return nil })
	}
	return errs
}

// testBindAgain binds the model twice, as two processes would, and uses both in turn.
func testBindAgain(t *testing.T, s *suite) {
	f := s.start(t, Sized(0, 5))
	diff := f.differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	for n := range 4 {
		diff.deliver(sample(n).Message(), a.folders[0])
	}
	o := f.opts
	o.Node += 1 << 16
	other := diff.through(f.mailboxOf(f.bind(o)))
	b := other.accounts[0]
	other.check()
	for n := 4; n < 20; n += 2 {
		diff.deliver(sample(n).Message(), a.folders[0])
		other.deliver(sample(n+1).Message(), b.folders[0])
		moved := other.live(b.folders[0])[1]
		other.flag(moved, models.Seen, true)
		other.move(b.folders[0], b.folders[1], moved)
		diff.checkFolder(a.folders[0], 25)
		other.checkFolder(b.folders[0], 25)
	}
	diff.check()
	other.check()
}

// testSeveralAtOnce moves and deletes 1, 10 and 100 messages. Before a model changes them it
// checks that all are there, and the number of requests for that is the same for any number of
// messages: models differ in what they write, and not in how well their checks were written.
// For a delete it is one request in every model, and none if the delete has a condition.
func testSeveralAtOnce(t *testing.T, s *suite) {
	checks := map[string]int64{"move": -1}
	var golden string
	for _, n := range []int{1, 10, 100} {
		f := s.start(t, models.Options{})
		sc := newScript(f)
		account, err := sc.mb.CreateUser(sc.ctx, f.at("ann"), []string{"INBOX", "Work"})
		if err != nil {
			t.Fatal(err)
		}
		in, work := account.Folders[0], account.Folders[1]
		hs := make([]models.Handle, n)
		for i := range hs {
			sc.clock.advance(time.Second)
			if err := sc.mb.Deliver(sc.ctx, sample(i).Message(), []*models.Folder{in}, hs[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		trace, reads := sc.meter.Trace, int64(0)
		sc.meter.Trace = func(st drivers.Statement, calls int64) {
			trace(st, calls)
			if p := st.Pattern(); p.Kind.Reads() && p.Name != s.Traits.MoveReads {
				reads += calls
			}
		}
		check := func(op string, want int64, run func() error) {
			reads = 0
			sc.step(fmt.Sprintf("%s %d", op, n), run)
			if want >= 0 && reads != want {
				t.Errorf("a %s of %d messages makes %d reads, want %d", op, n, reads, want)
			}
			checks[op] = reads
		}
		deletes := int64(1)
		if s.Traits.DeletesIf {
			deletes = 0
		}
		check("move", checks["move"], func() error { return sc.mb.Move(sc.ctx, in, work, hs, hs) })
		check("delete", deletes, func() error { return sc.mb.Delete(sc.ctx, work, hs) })
		golden += sc.out.String()
	}
	s.compare(t, "several.golden", golden)
}
