package modeltest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

func testRangeReads(t *testing.T, s *suite) {
	const chunk = 1000
	f := s.start(t, models.Options{ChunkSize: chunk})
	tw := f.twin()
	in := tw.user("ann@example.org", "INBOX").folders[0]
	const size = 40*chunk + 500
	raw := noise(size, 1)
	m := tw.deliver(unparsable(start, raw), in)[0]

	session, err := f.store.Session()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	meter := drivers.NewMeter(session)
	metered := f.bound.Mailbox(meter).(models.RangeReader)
	for _, r := range [][2]int64{
		{0, 0}, {0, 1}, {chunk - 1, 1}, {chunk - 1, 2}, {chunk, 1}, {chunk, chunk}, {1, chunk}, {chunk + 500, 3 * chunk},
		{size - 1, 1}, {size - 1, 100}, {size, 5}, {size + 5*chunk, 5}, {0, size}, {0, 10 * size}, {7, size},
	} {
		off, n := r[0], r[1]
		want := raw[min(off, size):min(off+n, size)]
		var b bytes.Buffer
		meter.Take()
		got, err := metered.RawRange(tw.ctx, in.got, m.got, off, n, &b)
		if err != nil {
			t.Errorf("%d bytes from %d on: %v", n, off, err)
			continue
		}
		if got != int64(len(want)) || !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%d bytes from %d on: %d bytes, says %d, want %d (equal: %v)", n, off, b.Len(), got, len(want), bytes.Equal(b.Bytes(), want))
		}
		// Chunks that are touched at either end, and the metadata.
		if read, most := meter.Take().BytesRead, n+3*chunk; n < size/2 && read > most {
			t.Errorf("%d bytes from %d on: read %d bytes from the store, at most %d are needed", n, off, read, most)
		}
	}
	big := tw.deliver(unparsable(start, noise(3<<20, 2)), in)[0]
	tw.checkMessage(big)
}

func testLabels(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{OverflowAfter: 3}).twin()
	a, b := tw.user("ann@example.org", "INBOX", "Work", "Todo"), tw.user("bob@example.org", "INBOX")
	in, work, todo := a.folders[0], a.folders[1], a.folders[2]
	for n := range 8 {
		d := letter(n)
		d.Files = []File{{Name: "f", Encoding: models.Base64, Content: noise(300, n)}}
		tw.deliver(d.Message(), in, b.folders[0])
	}
	ms := tw.live(in)
	tw.flag(ms[1], models.Seen, true)
	var labelled []mail
	for _, m := range ms[:4] {
		l, _ := tw.label(m, work, true)
		labelled = append(labelled, l)
	}
	tw.check()
	tw.label(ms[0], work, true) // again: nothing changes
	tw.label(ms[5], todo, false)
	tw.check()
	tw.label(labelled[2], todo, true)
	tw.check()

	// Flags, moves and deletes of what several folders show.
	tw.flag(labelled[0], models.Seen, true)
	tw.flag(ms[1], models.Seen, false)
	tw.check()
	tw.move(work, todo, labelled[0])
	tw.check()
	tw.move(work, in, labelled[3]) // where it is already
	tw.check()
	tw.delete(work, labelled[1])
	tw.check()

	// Labels go one by one; the message is not deleted with the last.
	tw.label(labelled[2], in, false)
	tw.check()
	tw.label(labelled[2], work, false)
	tw.check()
	rest := tw.live(todo)
	tw.label(rest[0], todo, false)
	tw.check()
}

func testPurge(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{ChunkSize: 1000}).twin()
	a, b := tw.user("ann@example.org", "INBOX", "Work"), tw.user("bob@example.org", "INBOX")
	in, work := a.folders[0], a.folders[1]
	for n := range 10 {
		d := letter(n)
		d.Files = []File{{Name: "f", Encoding: models.Base64, Content: noise(3000, n)}}
		tw.deliver(d.Message(), in, b.folders[0])
	}
	ms := tw.live(in)
	tw.flag(ms[1], models.Seen, true)
	tw.label(ms[1], work, true)
	tw.delete(in, ms[:4]...)
	tw.check()
	tw.restore(ms[1])
	tw.check()
	if err := tw.restore(ms[1]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore what is not deleted: error is %v", err)
	}
	if err := tw.restore(ms[8]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore what never was deleted: error is %v", err)
	}
	tw.check()

	between := tw.clock.now().Add(500 * time.Millisecond)
	tw.delete(in, ms[4:6]...)
	if n := tw.purge(a, start); n != 0 {
		t.Errorf("purged %d messages deleted before any was", n)
	}
	tw.check()
	if n := tw.purge(a, between); n != 3 {
		t.Errorf("purged %d, want the 3 deleted before then", n)
	}
	tw.check()
	if err := tw.restore(ms[0]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore what was purged: error is %v", err)
	}
	tw.restore(ms[4])
	tw.check()
	tw.purge(a, tw.clock.now().Add(time.Hour))
	tw.check()

	// To and fro in one instant; then the sample of the document, where one
	// message is in the purge index twice.
	tw.tick = 0
	m := ms[7]
	for range 3 {
		tw.delete(in, m)
		tw.check()
		tw.restore(m)
		tw.check()
	}
	tw.delete(in, m)
	tw.purge(a, tw.clock.now()) // deleted at that time, not before
	tw.check()
	tw.clock.advance(time.Hour)
	tw.purge(a, tw.clock.now())
	tw.check()
}

// testRecount puts every counter wrong, sees the audit count that, and counts anew.
func testRecount(t *testing.T, s *suite) {
	f := s.start(t, models.Options{})
	tw := f.twin()
	for _, address := range []string{"ann@example.org", "bob@example.org"} {
		a := tw.user(address, "INBOX", "Work")
		for n := range 5 {
			tw.deliver(letter(n).Message(), a.folders[n%2])
		}
		tw.flag(tw.live(a.folders[0])[0], models.Seen, true)
	}
	tw.check()
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
	audit, err := tw.got.Audit(tw.ctx)
	if err != nil {
		t.Fatalf("audit: %v", err)
	}
	if audit.CounterDrift != drift {
		t.Errorf("audit: counter drift %d, want %d", audit.CounterDrift, drift)
	}
	for _, a := range tw.accounts {
		if err := tw.got.(models.Recounter).Recount(tw.ctx, a.got); err != nil {
			t.Fatalf("recount: %v", err)
		}
	}
	tw.check()
}

func testUIDs(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	a := tw.user("ann@example.org", "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	// The twin checks each UID against all that were given before.
	for n := range 5 {
		tw.deliver(letter(n).Message(), in, work)
	}
	tw.delete(in, tw.live(in)[0])
	tw.deliver(letter(5).Message(), in)
	tw.move(in, work, tw.live(in)[0])
	tw.deliver(letter(6).Message(), in)
	tw.delete(in, tw.live(in)...)
	tw.deliver(letter(7).Message(), in)
	tw.check()
}

// testExpunge expunges ranges of one folder among others: whichever way a
// store sorts folders, most have a neighbour on either side.
func testExpunge(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{ChunkSize: 1000}).twin()
	a := tw.user("ann@example.org", "INBOX", "A", "B", "C", "D")
	for n := range 8 {
		d := letter(n)
		d.Files = []File{{Name: "f", Encoding: models.Base64, Content: noise(2500, n)}}
		tw.deliver(d.Message(), a.folders...)
	}
	for i, f := range a.folders[:4] {
		ms := tw.live(f) // newest first: the highest UID stands first
		switch i {
		case 0: // all
			tw.expungeUIDs(f, [2]uint64{}, [2]uint64{})
		case 1: // from the middle, then what is left at either end
			tw.expunge(f, ms[5], ms[2])
			tw.checkFolder(f, 25)
			tw.expunge(f, ms[7], ms[7])
			tw.expunge(f, ms[0], ms[0])
		case 2: // up to the third newest
			tw.expungeUIDs(f, [2]uint64{0, tw.got.(models.UIDs).UID(ms[2].got)}, [2]uint64{0, tw.ref.UID(ms[2].ref)})
		case 3: // nothing: the range is empty, or beyond what is there
			tw.expunge(f, ms[2], ms[5])
			tw.expungeUIDs(f, [2]uint64{1 << 40, 1 << 41}, [2]uint64{1 << 40, 1 << 41})
		}
		tw.check()
	}
	tw.deliver(letter(20).Message(), a.folders...)
	tw.check()
}

func testSubscriptions(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	a, b := tw.user("ann@example.org", "INBOX", "Work"), tw.user("ann@example.org2", "INBOX")
	g := tw.got.(models.Subscriber)
	for _, step := range []struct {
		a      *account
		folder string
		on     bool
	}{
		{a, "INBOX", true}, {a, "Work", true}, {a, "Work", true}, {b, "no folder of hers", true},
		{a, "Entwürfe/2024", true}, {a, "Work", false}, {a, "Work", false}, {b, "INBOX", false},
	} {
		if err := g.Subscribe(tw.ctx, step.a.got, step.folder, step.on); err != nil {
			t.Fatalf("subscribe: %v", err)
		}
		if err := tw.ref.Subscribe(tw.ctx, step.a.ref, step.folder, step.on); err != nil {
			t.Fatal(err)
		}
		for _, a := range tw.accounts {
			got, want := subscriptions(t, tw, g, a.got), subscriptions(t, tw, tw.ref, a.ref)
			if !slices.Equal(got, want) {
				t.Errorf("subscriptions of %s: %q, want %q", a.ref.Address, got, want)
			}
		}
	}
	tw.check()
}

func subscriptions(t *testing.T, tw *twin, s models.Subscriber, a *models.Account) []string {
	t.Helper()
	var names []string
	err := s.Subscriptions(tw.ctx, a, func(folder string) error {
		names = append(names, folder)
		return nil
	})
	if err != nil {
		t.Fatalf("subscriptions: %v", err)
	}
	slices.Sort(names)
	return names
}

func testBySender(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	a, b := tw.user("ann@example.org", "INBOX", "Work"), tw.user("bob@example.org", "INBOX")
	for n := range 23 {
		tw.deliver(letter(n).Message(), a.folders[n%2], b.folders[0])
	}
	tw.delete(a.folders[0], tw.live(a.folders[0])[3])
	tw.move(a.folders[0], a.folders[1], tw.live(a.folders[0])[4])
	g := tw.got.(models.SenderSearcher)
	for _, sender := range []string{"ann0@sender.example", "ann3@sender.example", "ann@sender.example", ""} {
		for _, f := range []*folder{a.folders[0], a.folders[1], b.folders[0]} {
			for _, limit := range []int{1, 2, 100} {
				got := entries(t, func(y func(*models.Entry) error) error { return g.BySender(tw.ctx, f.got, sender, limit, y) })
				tw.checkOrder("by sender", got, tw.mails(f, entries(t, func(y func(*models.Entry) error) error {
					return tw.ref.BySender(tw.ctx, f.ref, sender, limit, y)
				})))
			}
		}
		// Everywhere, in no order.
		got := entries(t, func(y func(*models.Entry) error) error { return g.BySender(tw.ctx, nil, sender, 1000, y) })
		want := entries(t, func(y func(*models.Entry) error) error { return tw.ref.BySender(tw.ctx, nil, sender, 1000, y) })
		if len(got) != len(want) {
			t.Errorf("by sender %q everywhere: %d messages, want %d", sender, len(got), len(want))
		}
	}
	tw.check()
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

// mails pairs what the reference listed with the model's handles.
func (tw *twin) mails(f *folder, es []models.Entry) []mail {
	var ms []mail
	for _, e := range es {
		ms = append(ms, mail{f, tw.handles[e.Handle], e.Handle})
	}
	return ms
}

func testSlice(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	tw.tick = 0
	a := tw.user("ann@example.org", "INBOX", "Work")
	f := a.folders[0]
	var at []time.Time
	for n := range 12 {
		if n%3 != 2 { // two of each three in one instant
			tw.clock.advance(time.Minute)
		}
		tw.deliver(letter(n).Message(), f)
		at = append(at, tw.clock.now())
	}
	tw.deliver(letter(12).Message(), a.folders[1])
	ms := time.Millisecond
	for _, r := range [][2]time.Time{
		{at[0], at[11]}, {at[3], at[6]}, {at[3].Add(ms), at[6].Add(-ms)}, {at[3].Add(-ms), at[6].Add(ms)},
		{at[4], at[4]}, {at[4].Add(ms), at[4].Add(2 * ms)}, {at[6], at[3]}, {time.Unix(0, 0), at[2]}, {at[9], at[11].Add(time.Hour)},
	} {
		for _, limit := range []int{1, 3, 100} {
			got := entries(t, func(y func(*models.Entry) error) error {
				return tw.got.(models.Slicer).Slice(tw.ctx, f.got, r[0], r[1], limit, y)
			})
			want := tw.mails(f, entries(t, func(y func(*models.Entry) error) error {
				return tw.ref.Slice(tw.ctx, f.ref, r[0], r[1], limit, y)
			}))
			if len(got) != len(want) {
				t.Fatalf("slice from %v to %v: %d messages, want %d", r[0], r[1], len(got), len(want))
			}
			tw.checkOrder(fmt.Sprintf("slice from %v to %v", r[0], r[1]), got, want)
		}
	}
	tw.check()
}

func testSeenBy(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	f := tw.user("ann@example.org", "INBOX").folders[0]
	for n := range 3 {
		tw.deliver(letter(n).Message(), f)
	}
	g := tw.got.(models.Seer)
	people := []string{"zoe@example.org", "bob@example.org", "yan@example.org", "amy@example.org", "cat@example.org"}
	tw.tick = 0 // within one instant, too, order is kept
	for i, who := range people {
		for j, m := range tw.live(f) {
			if j == 2 || i < 3 && j == 1 {
				continue
			}
			if err := g.Seen(tw.ctx, f.got, m.got, who); err != nil {
				t.Fatalf("seen: %v", err)
			}
			if err := tw.ref.Seen(tw.ctx, f.ref, m.ref, who); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, m := range tw.live(f) {
		got, want := seenBy(t, tw, g, f.got, m.got), seenBy(t, tw, tw.ref, f.ref, m.ref)
		if !slices.Equal(got, want) {
			t.Errorf("seen by %q, want %q", got, want)
		}
	}
	tw.check()
}

func seenBy(t *testing.T, tw *twin, s models.Seer, f *models.Folder, h models.Handle) []string {
	t.Helper()
	var who []string
	err := s.SeenBy(tw.ctx, f, h, func(w string) error {
		who = append(who, w)
		return nil
	})
	if err != nil {
		t.Fatalf("seen by: %v", err)
	}
	return who
}

// testSharedFolder shares one folder among accounts: what one posts, all see.
func testSharedFolder(t *testing.T, s *suite) {
	f := s.start(t, models.Options{})
	mb := f.mailbox()
	var shared []*models.Folder
	for i := range 3 {
		a, err := mb.CreateUser(f.ctx, fmt.Sprintf("user%d@example.org", i), []string{"INBOX"})
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
		if err := mb.Deliver(f.ctx, letter(n).Message(), []*models.Folder{shared[n%3]}, h); err != nil {
			t.Fatalf("deliver: %v", err)
		}
		want = append(want, h[0])
	}
	slices.Reverse(want)
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
