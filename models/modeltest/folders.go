package modeltest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/models"
)

func testAccounts(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	for _, unknown := range []string{diff.at("nobody"), "ann", ""} {
		if _, err := diff.got.Login(diff.ctx, unknown); !errors.Is(err, models.ErrNotFound) {
			t.Errorf("login %q: error is %v, want %q", unknown, err, models.ErrNotFound)
		}
	}
	a := diff.user(diff.at("ann"), "INBOX", "Work", "Archive", "Aardvark")
	diff.deliver(sample(0).Message(), a.folders[0])
	diff.check()
	if _, err := diff.createUser(diff.at("ann"), "INBOX", "Other"); !errors.Is(err, models.ErrExists) {
		t.Errorf("create an account twice: error is %v, want %q", err, models.ErrExists)
	}
	if _, err := diff.createUser(diff.at("bob"), "INBOX", "Work", "Work"); !errors.Is(err, models.ErrExists) {
		t.Errorf("create an account with two folders of one name: error is %v, want %q", err, models.ErrExists)
	}
	if _, ok := diff.got.(models.Poster); !ok {
		if _, err := diff.got.CreateUser(diff.ctx, diff.at("bob"), nil); err == nil {
			t.Error("an account was created without folders")
		}
	}
	if _, err := diff.createFolder(a, "Work"); !errors.Is(err, models.ErrExists) {
		t.Errorf("create a folder twice: error is %v, want %q", err, models.ErrExists)
	}
	diff.check()
	f, err := diff.createFolder(a, "Another")
	if err != nil {
		t.Fatal(err)
	}
	diff.deliver(sample(1).Message(), f)
	// Folder names are an account's own.
	b := diff.user(diff.at("bob"), "INBOX")
	if _, err := diff.createFolder(b, "Work"); err != nil {
		t.Errorf("create a folder that another account has: %v", err)
	}
	diff.check()
}

// testNeighbours gives accounts and folders names that begin alike. It empties them one by one
// and checks all the others.
func testNeighbours(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	ann := diff.at("ann")
	for i, address := range []string{ann, ann + "1", ann[:len(ann)-1], ann + ":1", "b" + ann} {
		a := diff.user(address, "1", "11", "1:", "2")
		for j, f := range a.folders {
			for n := range 2 + j%2 {
				diff.deliver(sample(i*20+j*4+n).Message(), f)
			}
		}
	}
	diff.check()
	for i, a := range diff.accounts {
		f := a.folders[i%len(a.folders)]
		diff.flag(diff.live(f)[0], models.Seen, true)
		diff.checkOthers(a)
		diff.move(f, a.folders[(i+1)%len(a.folders)], diff.live(f)[0])
		for _, f := range a.folders {
			diff.delete(f, diff.live(f)...)
		}
		diff.checkOthers(a)
	}
	diff.check()
}

// checkOthers compares the folders of all accounts but one.
func (diff *differential) checkOthers(but *account) {
	diff.t.Helper()
	for _, a := range diff.accounts {
		if a != but {
			diff.checkAccount(a)
			for _, f := range a.folders {
				diff.checkFolder(f, 25)
			}
		}
	}
}

func testPages(t *testing.T, s *suite) {
	for _, overflow := range s.Traits.overflows(7) {
		diff := s.start(t, Sized(0, overflow)).differential()
		sizes := []int{0, 1, 24, 25, 26, 60}
		var names []string
		for _, n := range sizes {
			names = append(names, fmt.Sprint(n))
		}
		a := diff.user(diff.at("ann"), names...)
		for i, f := range a.folders {
			for n := range sizes[i] {
				diff.deliver(sample(n).Message(), f)
			}
			for _, page := range []int{1, 7, 25, 26, 60, 100} {
				diff.checkFolder(f, page)
			}
		}
		for _, f := range a.folders {
			diff.checkFolder(f, 25)
		}
		diff.checkAudit()
	}
}

// testPagesWhileDelivering reads pages while mail is delivered. Messages that were there at the
// start must come once, in order.
func testPagesWhileDelivering(t *testing.T, s *suite) {
	for _, overflow := range s.Traits.overflows(7) {
		diff := s.start(t, Sized(0, overflow)).differential()
		in := diff.user(diff.at("ann"), "INBOX").folders[0]
		for n := range 40 {
			diff.deliver(sample(n).Message(), in)
		}
		before := diff.live(in)
		var seen []models.Handle
		var after models.Handle
		for n := 40; ; n += 4 {
			count := 0
			err := diff.got.List(diff.ctx, in.got, after, 6, func(e *models.Entry) error {
				count++
				after = e.Handle
				seen = append(seen, after)
				return nil
			})
			if err != nil {
				t.Fatalf("list: %v", err)
			}
			if count < 6 {
				break
			}
			if n > 400 {
				t.Fatalf("pages do not end while deliveries go on: %d entries so far", len(seen))
			}
			for i := range 4 {
				diff.deliver(sample(n+i).Message(), in)
			}
		}
		checkPages(t, seen, before)
		diff.checkFolder(in, 6)
		diff.checkAudit()
	}
}

// checkPages checks that the messages in before came once, in order.
func checkPages(t *testing.T, seen []models.Handle, before []message) {
	t.Helper()
	sorted := slices.SortedFunc(slices.Values(seen), func(a, b models.Handle) int { return slices.Compare(a[:], b[:]) })
	if n := len(slices.Compact(sorted)); n != len(seen) {
		t.Errorf("%d entries came twice", len(seen)-n)
	}
	i := 0
	for _, h := range seen {
		if i < len(before) && h == before[i].got {
			i++
		}
	}
	if i < len(before) {
		t.Errorf("of %d messages that were there from the start, that at place %d is missing or out of order", len(before), i)
	}
}

// testPageAfterGone lists pages after a message that is no longer there.
func testPageAfterGone(t *testing.T, s *suite) {
	diff := s.start(t, Sized(0, 7)).differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	for n := range 30 {
		diff.deliver(sample(n).Message(), in)
	}
	ms := diff.live(in)
	diff.delete(in, ms[9])
	diff.move(in, work, ms[19])
	for _, gone := range []int{9, 19} {
		var got []models.Handle
		err := diff.got.List(diff.ctx, in.got, ms[gone].got, 5, func(e *models.Entry) error {
			got = append(got, e.Handle)
			return nil
		})
		if err != nil {
			t.Fatalf("list after a message that is gone: %v", err)
		}
		var want []models.Handle
		for _, m := range ms[gone+1 : gone+6] {
			want = append(want, m.got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("list after the message that was at place %d: %x, want %x", gone, got, want)
		}
	}
	diff.check()
}
