package modeltest

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

func testFlags(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	in := tw.user(tw.at("ann"), "INBOX").folders[0]
	for n := range 3 {
		tw.deliver(letter(n).Message(), in)
	}
	m := tw.live(in)[1]
	for _, flag := range []models.Flag{models.Seen, models.Answered, models.Flagged} {
		for _, on := range []bool{false, true, true, false, false, true} {
			tw.flag(m, flag, on)
			tw.checkFolder(in, 25)
			tw.checkMessage(m)
			tw.checkAudit()
		}
	}
	tw.check()
}

func testMove(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{ChunkSize: 1000}).twin()
	a := tw.user(tw.at("ann"), "INBOX", "Work", "Archive")
	in, work, archive := a.folders[0], a.folders[1], a.folders[2]
	for n := range 8 {
		d := letter(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(n*700, n)}}
		tw.deliver(d.Message(), in)
	}
	ms := tw.live(in)
	for i, flag := range []models.Flag{models.Seen, models.Answered, models.Flagged} {
		tw.flag(ms[i], flag, true)
	}
	moved, _ := tw.move(in, work, ms[0])
	tw.check()
	tw.move(in, work, ms[1:5]...)
	tw.check()

	// One message that is not there, and none of them moves.
	if _, err := tw.move(in, archive, ms[5], ms[0], ms[6]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("move with one message gone: error is %v", err)
	}
	tw.check()
	tw.move(work, archive, moved[0])
	tw.move(in, archive, ms[5:]...)
	tw.check()

	// A move to where it is leaves it there; the newest stays so in every order.
	moved, _ = tw.move(archive, archive, tw.live(archive)[0])
	tw.checkMessage(moved[0])
	if st, err := tw.got.Stats(tw.ctx, archive.got); err != nil || st.Known.Has(models.KnowMessages) && st.Messages != 4 {
		t.Errorf("after a move to the same folder: %d messages, want 4 (%v)", st.Messages, err)
	}
	tw.checkAudit()
}

// testMoveAndBack moves to and fro in one instant: engines that settle equal
// timestamps in favour of a delete lose the message here.
func testMoveAndBack(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{OverflowAfter: 3}).twin()
	tw.tick = 0
	a := tw.user(tw.at("ann"), "INBOX", "Work")
	for n := range 6 {
		tw.deliver(letter(n).Message(), a.folders[0])
	}
	m := tw.live(a.folders[0])[2:4]
	tw.flag(m[0], models.Seen, true)
	for range 3 {
		m, _ = tw.move(a.folders[0], a.folders[1], m...)
		tw.check()
		m, _ = tw.move(a.folders[1], a.folders[0], m...)
		tw.check()
	}
}

func testDelete(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{ChunkSize: 1000}).twin()
	a, b := tw.user(tw.at("ann"), "INBOX", "Work"), tw.user(tw.at("bob"), "INBOX")
	in := a.folders[0]
	for n := range 9 {
		d := letter(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(2500, n)}}
		tw.deliver(d.Message(), in, b.folders[0])
	}
	ms := tw.live(in)
	tw.flag(ms[1], models.Seen, true)
	tw.delete(in, ms[0])
	tw.check()
	if err := tw.delete(in, ms[0]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("delete twice: error is %v", err)
	}
	tw.check()
	if err := tw.delete(in, ms[3], ms[0], ms[4]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("delete with one message gone: error is %v", err)
	}
	tw.check()
	tw.delete(in, ms[1:5]...)
	tw.check()

	// Named twice in one call it goes once, or the call finds it missing.
	err := tw.got.Delete(tw.ctx, in.got, []models.Handle{ms[5].got, ms[5].got})
	switch {
	case err == nil:
		if err := tw.ref.Delete(tw.ctx, in.ref, []models.Handle{ms[5].ref}); err != nil {
			t.Fatal(err)
		}
	case !errors.Is(err, models.ErrNotFound):
		t.Errorf("delete one message twice in a call: %v", err)
	}
	tw.check()
	tw.delete(in, tw.live(in)...)
	tw.check()
	for _, m := range tw.live(b.folders[0]) {
		tw.delete(b.folders[0], m)
	}
	tw.check()
}

// testMany has more messages than any model takes from its store at a time.
func testMany(t *testing.T, s *suite) {
	const many = 270
	tw := s.start(t, models.Options{}).twin()
	a := tw.user(tw.at("ann"), "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	for n := range many {
		tw.deliver(letter(n).Message(), in)
	}
	tw.checkFolder(in, 300)
	tw.checkAudit()
	var moved []message
	inSteps(tw.live(in), func(ms ...message) error {
		to, err := tw.move(in, work, ms...)
		moved = append(moved, to...)
		tw.checkFolder(in, 300)
		return err
	})
	tw.checkFolder(in, 25)
	tw.checkFolder(work, 100)
	tw.checkAudit()
	switch tw.got.(type) {
	case models.UIDs:
		tw.expungeUIDs(work, [2]uint64{}, [2]uint64{})
	case models.Purger:
		inSteps(moved, func(ms ...message) error { return tw.delete(work, ms...) })
		tw.checkAudit()
		tw.clock.advance(time.Hour)
		if n := tw.purge(a, tw.clock.now()); n != many {
			t.Errorf("purged %d, want %d", n, many)
		}
	default:
		inSteps(moved, func(ms ...message) error { return tw.delete(work, ms...) })
	}
	tw.check()
}

// testStaleHandles uses handles of messages that are gone: every call says so
// and nothing changes.
func testStaleHandles(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	a := tw.user(tw.at("ann"), "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	d := letter(0)
	d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(100, 1)}}
	for range 4 {
		tw.deliver(d.Message(), in)
	}
	ms := tw.live(in)
	tw.flag(ms[1], models.Seen, true)
	tw.delete(in, ms[0])
	tw.move(in, work, ms[1])
	stale := map[string]models.Handle{"deleted": ms[0].got, "moved": ms[1].got, "zero": {}}
	for name, h := range stale {
		for what, err := range callsWith(tw, in, work, h) {
			if !errors.Is(err, models.ErrNotFound) && !errors.Is(err, models.ErrNotOffered) {
				t.Errorf("%s with the handle %s: error is %v, want %q", what, name, err, models.ErrNotFound)
			}
		}
		tw.check()
	}
}

// callsWith makes every call that takes a handle and returns their errors.
func callsWith(tw *twin, in, to *folder, h models.Handle) map[string]error {
	hs, one := []models.Handle{h}, make([]models.Handle, 1)
	var o models.Opened
	_, raw := tw.got.Raw(tw.ctx, in.got, h, io.Discard)
	_, attachment := tw.got.Attachment(tw.ctx, in.got, h, "f", io.Discard)
	errs := map[string]error{
		"open":       tw.got.Open(tw.ctx, in.got, h, &o),
		"raw":        raw,
		"attachment": attachment,
		"flag on":    tw.got.Flag(tw.ctx, in.got, h, models.Seen, true),
		"flag off":   tw.got.Flag(tw.ctx, in.got, h, models.Seen, false),
		"move":       tw.got.Move(tw.ctx, in.got, to.got, hs, one),
		"delete":     tw.got.Delete(tw.ctx, in.got, hs),
	}
	if l, ok := tw.got.(models.Labeler); ok {
		_, errs["label on"] = l.Label(tw.ctx, in.got, h, to.got, true)
		_, errs["label off"] = l.Label(tw.ctx, in.got, h, to.got, false)
	}
	if r, ok := tw.got.(models.RangeReader); ok {
		_, errs["range"] = r.RawRange(tw.ctx, in.got, h, 0, 10, io.Discard)
	}
	if s, ok := tw.got.(models.Seer); ok {
		errs["seen"] = s.Seen(tw.ctx, in.got, h, "bob@example.org")
		errs["seen by"] = s.SeenBy(tw.ctx, in.got, h, func(string) error { return nil })
	}
	return errs
}

// testClockStandsStill does everything in one instant.
func testClockStandsStill(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{OverflowAfter: 7}).twin()
	tw.tick = 0
	a, b := tw.user(tw.at("ann"), "INBOX", "Work"), tw.user(tw.at("bob"), "INBOX")
	for n := range 30 {
		tw.deliver(letter(n).Message(), a.folders[0], b.folders[0])
	}
	tw.check()
	ms := tw.live(a.folders[0])
	tw.flag(ms[4], models.Seen, true)
	tw.flag(ms[4], models.Seen, false)
	tw.flag(ms[5], models.Seen, true)
	tw.delete(a.folders[0], ms[10:20]...)
	tw.move(a.folders[0], a.folders[1], ms[:5]...)
	tw.check()
}

// testClockGoesBack sets the clock back before each delivery: whatever the
// order is made of, every message has one place in it.
func testClockGoesBack(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{OverflowAfter: 5}).twin()
	in := tw.user(tw.at("ann"), "INBOX").folders[0]
	for n := range 24 {
		tw.clock.advance(time.Duration(n%7-5) * time.Minute)
		tw.deliver(letter(n).Message(), in)
	}
	for _, page := range []int{1, 4, 25} {
		tw.checkFolder(in, page)
	}
	tw.check()
}

// testBindAgain works through two processes in turn.
func testBindAgain(t *testing.T, s *suite) {
	f := s.start(t, models.Options{OverflowAfter: 5})
	tw := f.twin()
	a := tw.user(tw.at("ann"), "INBOX", "Work")
	for n := range 4 {
		tw.deliver(letter(n).Message(), a.folders[0])
	}
	o := f.opts
	o.Node += 1 << 16
	other := tw.through(f.mailboxOf(f.bind(o)))
	b := other.accounts[0]
	other.check()
	for n := 4; n < 20; n += 2 {
		tw.deliver(letter(n).Message(), a.folders[0])
		other.deliver(letter(n+1).Message(), b.folders[0])
		moved := other.live(b.folders[0])[1]
		other.flag(moved, models.Seen, true)
		other.move(b.folders[0], b.folders[1], moved)
		tw.checkFolder(a.folders[0], 25)
		other.checkFolder(b.folders[0], 25)
	}
	tw.check()
	other.check()
}
