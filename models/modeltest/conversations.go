package modeltest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models"
)

func testBySender(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	a, b := diff.user(diff.at("ann"), "INBOX", "Work"), diff.user(diff.at("bob"), "INBOX")
	for n := range 23 {
		diff.deliver(sample(n).Message(), a.folders[n%2], b.folders[0])
	}
	diff.delete(a.folders[0], diff.live(a.folders[0])[3])
	diff.move(a.folders[0], a.folders[1], diff.live(a.folders[0])[4])
	g := diff.got.(models.SenderSearcher)
	for _, sender := range []string{"ann0@sender.example", "ann3@sender.example", "ann@sender.example", ""} {
		for _, f := range []*folder{a.folders[0], a.folders[1], b.folders[0]} {
			for _, limit := range []int{1, 2, 100} {
				got := entries(t, func(y func(*models.Entry) error) error { return g.BySender(diff.ctx, f.got, sender, limit, y) })
				diff.checkOrder("by sender", got, diff.mails(f, entries(t, func(y func(*models.Entry) error) error {
					return diff.ref.BySender(diff.ctx, f.ref, sender, limit, y)
				})))
			}
		}
		// Everywhere, in no order.
		got := entries(t, func(y func(*models.Entry) error) error { return g.BySender(diff.ctx, nil, sender, 1000, y) })
		want := entries(t, func(y func(*models.Entry) error) error {
			return diff.ref.BySender(diff.ctx, nil, sender, 1000,
				y)
		})
		if len(got) != len(want) {
			t.Errorf("by sender %q everywhere: %d messages, want %d", sender, len(got), len(want))
		}
	}
	diff.check()
}

func entries(t *testing.T, list func(yield func(*models.Entry) error) error) []models.Entry {
	t.Helper()
	var es []models.Entry
	err := list(func(e *models.Entry) error {
		c := *e
		c.From, c.Subject = bytes.Clone(e.From), bytes.Clone(e.Subject)
		es = append(es, c)
		return nil
	})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return es
}

// mails pairs the entries that the reference listed with the model's handles.
func (diff *differential) mails(f *folder, es []models.Entry) []message {
	var ms []message
	for _, e := range es {
		ms = append(ms, message{f, diff.handles[e.Handle], e.Handle})
	}
	return ms
}

func testSlice(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	diff.tick = 0
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	f := a.folders[0]
	var at []time.Time
	for n := range 12 {
		if n%3 != 2 { // two of each three messages have the same time
			diff.clock.advance(time.Minute)
		}
		diff.deliver(sample(n).Message(), f)
		at = append(at, diff.clock.now())
	}
	diff.deliver(sample(12).Message(), a.folders[1])
	next := sample(13).Message() // its own time of arrival counts, not that of its delivery
	next.Arrived = at[11].Add(24 * time.Hour)
	diff.deliver(next, f)
	ms := time.Millisecond
	for _, r := range [][2]time.Time{
		{at[0], at[11]},
		{at[3], at[6]},
		{at[3].Add(ms), at[6].Add(-ms)},
		{at[3].Add(-ms), at[6].Add(ms)},
		{at[4], at[4]},
		{at[4].Add(ms), at[4].Add(2 * ms)},
		{at[6], at[3]},
		{time.Unix(0, 0), at[2]},
		{at[9], at[11].Add(time.Hour)},
		{next.Arrived, next.Arrived},
	} {
		for _, limit := range []int{1, 3, 100} {
			got := entries(t, func(y func(*models.Entry) error) error {
				return diff.got.(models.Slicer).Slice(diff.ctx, f.got, r[0], r[1], limit, y)
			})
			want := diff.mails(f, entries(t, func(y func(*models.Entry) error) error {
				return diff.ref.Slice(diff.ctx, f.ref, r[0], r[1], limit, y)
			}))
			diff.checkOrder(fmt.Sprintf("slice from %v to %v", r[0], r[1]), got, want)
		}
	}
	diff.check()
}

func testSeenBy(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	f := diff.user(diff.at("ann"), "INBOX").folders[0]
	for n := range 3 {
		diff.deliver(sample(n).Message(), f)
	}
	g := diff.got.(models.Seer)
	people := []string{"zoe@example.org", "bob@example.org", "yan@example.org", "amy@example.org", "cat@example.org"}
	diff.tick = 0 // the order must be kept at equal times, too
	for i, who := range people {
		for j, m := range diff.live(f) {
			if j == 2 || i < 3 && j == 1 {
				continue
			}
			if err := g.Seen(diff.ctx, f.got, m.got, who); err != nil {
				t.Fatalf("seen: %v", err)
			}
			if err := diff.ref.Seen(diff.ctx, f.ref, m.ref, who); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, m := range diff.live(f) {
		got, want := seenBy(t, diff, g, f.got, m.got), seenBy(t, diff, diff.ref, f.ref, m.ref)
		if !slices.Equal(got, want) {
			t.Errorf("seen by %q, want %q", got, want)
		}
	}
	diff.check()
}

func seenBy(t *testing.T, diff *differential, s models.Seer, f *models.Folder, h models.Handle) []string {
	t.Helper()
	var who []string
	err := s.SeenBy(diff.ctx, f, h, func(w string) error {
		who = append(who, w)
		return nil
	})
	if err != nil {
		t.Fatalf("seen by: %v", err)
	}
	return who
}

// testSharedFolder shares one folder among accounts. All see the messages of each.
func testSharedFolder(t *testing.T, s *suite) {
	f := s.start(t, models.Options{})
	mb := f.mailbox()
	var shared []*models.Folder
	for i := range 3 {
		own := []string{"INBOX"}
		if i == 2 {
			own = nil // the shared folder is its only one
		}
		a, err := mb.CreateUser(f.ctx, f.at(fmt.Sprintf("user%d", i)), own)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			own, err := mb.CreateFolder(f.ctx, a, "Plans")
			if err != nil {
				t.Fatal(err)
			}
			shared = append(shared, own)
			continue
		}
		joined, err := mb.(models.Poster).Join(f.ctx, a, shared[0])
		if err != nil {
			t.Fatalf("join: %v", err)
		}
		shared = append(shared, joined)
		if again, err := mb.Login(f.ctx, a.Address); err != nil || again.Folder(joined.Name) == nil {
			t.Errorf("a login of %s does not show the folder it joined (%v)", a.Address, err)
		}
	}
	var want []models.Handle
	for n := range 30 {
		h := make([]models.Handle, 1)
		d := sample(n)
		d.Date = start.Add(time.Duration(n) * time.Minute) // one order, whatever a model sorts by
		f.clock.advance(time.Second)
		if err := mb.Deliver(f.ctx, d.Message(), []*models.Folder{shared[n%3]}, h); err != nil {
			t.Fatalf("deliver: %v", err)
		}
		want = append(want, h[0])
	}
	slices.Reverse(want)
	poster := mb.(models.Poster)
	for range 2 { // who has left may leave
		if err := poster.Leave(f.ctx, shared[1]); err != nil {
			t.Fatalf("leave: %v", err)
		}
	}
	left, err := mb.Login(f.ctx, f.at("user1"))
	if err != nil || left.Folder(shared[1].Name) != nil || left.Folder("INBOX") == nil {
		t.Errorf("after it left, a login of user1 shows %+v (%v)", left, err)
	}
	if _, err := poster.Join(f.ctx, left, shared[0]); err != nil {
		t.Fatalf("join again: %v", err)
	}
	if err := mb.Delete(f.ctx, shared[1], want[4:5]); err != nil {
		t.Fatalf("delete: %v", err)
	}
	want = slices.Delete(want, 4, 5)
	var o models.Opened
	for i, folder := range shared {
		es, err := pages(f.ctx, mb, folder, 7, 100)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		var got []models.Handle
		for _, e := range es {
			got = append(got, e.Handle)
			if err := mb.Open(f.ctx, folder, e.Handle, &o); err != nil {
				t.Errorf("open as user %d: %v", i, err)
			}
			if _, err := mb.Raw(f.ctx, folder, e.Handle, io.Discard); err != nil && !errors.Is(err, models.ErrNotOffered) {
				t.Errorf("raw as user %d: %v", i, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("user %d sees %d messages, want the same %d in the same order", i, len(got), len(want))
		}
	}
	audit, err := mb.Audit(f.ctx)
	if err != nil {
		t.Fatalf("audit: %v", err)
	}
	for _, c := range append(broken(audit), count{"messages", audit.Messages, 29}) {
		if c.got != c.want {
			t.Errorf("audit: %d %s, want %d", c.got, c.what, c.want)
		}
	}
}
