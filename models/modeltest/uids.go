package modeltest

import (
	"slices"
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

func testUIDs(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	a := tw.user(tw.at("ann"), "INBOX", "Work")
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
	a := tw.user(tw.at("ann"), "INBOX", "A", "B", "C", "D")
	for n := range 8 {
		d := letter(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(2500, n)}}
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
	a, b := tw.user(tw.at("ann"), "INBOX", "Work"), tw.user(tw.at("ann")+"2", "INBOX")
	g := tw.got.(models.Subscriber)
	for _, step := range []struct {
		a      *account
		folder string
		on     bool
	}{
		{a, "INBOX", true},
		{a, "Work", true},
		{a, "Work", true},
		{b, "no folder of hers", true},
		{a, "Entwürfe/2024", true},
		{a, "Work", false},
		{a, "Work", false},
		{b, "INBOX", false},
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
