package modeltest

import (
	"slices"
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

func testUIDs(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	// The differential checks each UID against all that were given before.
	for n := range 5 {
		diff.deliver(sample(n).Message(), in, work)
	}
	diff.delete(in, diff.live(in)[0])
	diff.deliver(sample(5).Message(), in)
	diff.move(in, work, diff.live(in)[0])
	diff.deliver(sample(6).Message(), in)
	diff.delete(in, diff.live(in)...)
	diff.deliver(sample(7).Message(), in)
	diff.check()
}

// testExpunge expunges ranges of several folders. In whichever order a store sorts folders,
// most have a neighbour on either side.
func testExpunge(t *testing.T, s *suite) {
	diff := s.start(t, Sized(2000, 0)).differential()
	a := diff.user(diff.at("ann"), "INBOX", "A", "B", "C", "D")
	for n := range 8 {
		d := sample(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(2500, n)}}
		diff.deliver(d.Message(), a.folders...)
	}
	for i, f := range a.folders[:4] {
		ms := diff.live(f) // newest first: the highest UID is the first
		switch i {
		case 0: // all
			diff.expungeUIDs(f, [2]uint64{}, [2]uint64{})
		case 1: // from the middle, then what is left at either end
			diff.expunge(f, ms[5], ms[2])
			diff.checkFolder(f, 25)
			diff.expunge(f, ms[7], ms[7])
			diff.expunge(f, ms[0], ms[0])
		case 2: // up to the third newest
			diff.expungeUIDs(f, [2]uint64{0, diff.got.(models.UIDs).UID(ms[2].got)}, [2]uint64{0, diff.ref.UID(ms[2].ref)})
		case 3: // nothing: the range is empty, or beyond what is there
			diff.expunge(f, ms[2], ms[5])
			diff.expungeUIDs(f, [2]uint64{1 << 40, 1 << 41}, [2]uint64{1 << 40, 1 << 41})
		}
		diff.check()
	}
	diff.deliver(sample(20).Message(), a.folders...)
	diff.check()
}

func testSubscriptions(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	a, b := diff.user(diff.at("ann"), "INBOX", "Work"), diff.user(diff.at("ann")+"2", "INBOX")
	g := diff.got.(models.Subscriber)
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
		if err := g.Subscribe(diff.ctx, step.a.got, step.folder, step.on); err != nil {
			t.Fatalf("subscribe: %v", err)
		}
		if err := diff.ref.Subscribe(diff.ctx, step.a.ref, step.folder, step.on); err != nil {
			t.Fatal(err)
		}
		for _, a := range diff.accounts {
			got, want := subscriptions(t, diff, g, a.got), subscriptions(t, diff, diff.ref, a.ref)
			if !slices.Equal(got, want) {
				t.Errorf("subscriptions of %s: %q, want %q", a.ref.Address, got, want)
			}
		}
	}
	diff.check()
}

func subscriptions(t *testing.T, diff *differential, s models.Subscriber, a *models.Account) []string {
	t.Helper()
	var names []string
	err := s.Subscriptions(diff.ctx, a, func(folder string) error {
		names = append(names, folder)
		return nil
	})
	if err != nil {
		t.Fatalf("subscriptions: %v", err)
	}
	slices.Sort(names)
	return names
}
