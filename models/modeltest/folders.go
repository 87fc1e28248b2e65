package modeltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
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
	diff.clock.advance(-time.Hour) // a client whose clock is behind: the inbox stays the inbox
	if _, err := diff.createFolder(a, "Early"); err != nil {
		t.Fatal(err)
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

// testNested: a nested read yields the messages of an account as lists do, and an empty folder.
func testNested(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	a, other := diff.user(diff.at("ann"), "INBOX", "Empty", "Work"), diff.user(diff.at("bob"), "INBOX")
	for n := range 30 {
		diff.deliver(sample(n).Message(), a.folders[n%2*2], other.folders[0])
	}
	diff.flag(diff.live(a.folders[0])[3], models.Seen, true)
	nester := diff.got.(models.Nester)
	want := map[string]map[models.Handle]models.Entry{}
	for _, f := range a.folders {
		want[f.ref.Name] = map[models.Handle]models.Entry{}
		for _, e := range entries(t, func(y func(*models.Entry) error) error {
			return diff.got.List(diff.ctx, f.got, models.Handle{}, 100, y)
		}) {
			want[f.ref.Name][e.Handle] = e
		}
	}
	messages, empty := 0, 0
	if err := nester.Nested(diff.ctx, a.got, func(folder string, e *models.Entry) error {
		if e == nil {
			if empty++; folder != "Empty" {
				t.Errorf("%s has no messages", folder)
			}
			return nil
		}
		w, ok := want[folder][e.Handle]
		if !ok || string(w.From) != string(e.From) || string(w.Subject) != string(e.Subject) || w.Size != e.Size ||
			w.Seen != e.Seen || !w.Date.Equal(e.Date) {
			t.Errorf("%s has %+v, want %+v", folder, e, w)
		}
		delete(want[folder], e.Handle)
		messages++
		return nil
	}); err != nil || messages != 30 || empty != 1 {
		t.Errorf("%d messages and %d empty folders (%v), want 30 and 1", messages, empty, err)
	}
	stop := errors.New("stop")
	if err := nester.Nested(diff.ctx, a.got, func(string, *models.Entry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error from yield comes as %v", err)
	}
}

// testHundred moves and deletes 100 messages at once. No engine may refuse so many small ones:
// documents ask for one or more messages in a call.
func testHundred(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	for n := range 102 {
		diff.deliver(sample(n).Message(), in)
	}
	moved, err := diff.move(in, work, diff.live(in)[1:101]...)
	if err != nil {
		t.Fatalf("move 100 messages: %v", err)
	}
	diff.checkFolder(in, 25)
	diff.checkFolder(work, 100)
	if err := diff.delete(work, moved...); err != nil {
		t.Fatalf("delete 100 messages: %v", err)
	}
	diff.check()
}

// benchPageGrowth compares the newest page of 25 messages of a large folder with that of a folder
// of 1,000, by their median times. Messages have 1 KB, or headers only in a folder of more than
// 1,000,000; the stores are settled and in cache. MAILBENCH_LARGE_FOLDER says how many messages
// there are in place of 20,000, and MAILBENCH_LARGE_ENGINE on which engine in place of the embedded
// one. The target is at most 1.5 times the time, for 10,000,000 messages.
func (s Suite) benchPageGrowth(b *testing.B) {
	large, engine := 20_000, "embedded"
	if s := os.Getenv("MAILBENCH_LARGE_FOLDER"); s != "" {
		n, err := strconv.Atoi(s)
		must(b, err)
		large = n
	}
	if s := os.Getenv("MAILBENCH_LARGE_ENGINE"); s != "" {
		engine = s
	}
	at := slices.IndexFunc(engines.All(), func(e drivers.Engine) bool { return e.Name == engine })
	if at < 0 {
		b.Fatalf("no engine is named %q", engine)
	}
	messages := mailOf(1<<10, 256)
	if large > 1_000_000 {
		messages = mailOf(0, 256)
	}
	// Filled once: only the benchmark within is called again with a larger N.
	e := engines.All()[at]
	small, big := filled(b, s.Model, e, messages, 1000), filled(b, s.Model, e, messages, large)
	b.Run(s.Model.Name, func(b *testing.B) {
		for range 200 { // until both are in cache
			small.page()
			big.page()
		}
		took := [2][]time.Duration{make([]time.Duration, b.N), make([]time.Duration, b.N)}
		b.ResetTimer()
		for n := range b.N {
			// They take turns, so that other load of the machine hits both.
			for i, x := range []*bench{small, big} {
				begin := time.Now()
				x.page()
				took[i][n] = time.Since(begin)
			}
		}
		slices.Sort(took[0])
		slices.Sort(took[1])
		of1000, ofLarge := float64(took[0][b.N/2]), float64(took[1][b.N/2])
		b.ReportMetric(of1000, "ns/page-of-1000")
		b.ReportMetric(ofLarge, fmt.Sprintf("ns/page-of-%d", large))
		b.ReportMetric(ofLarge/of1000, "ratio")
	})
}

func (x *bench) page() {
	must(x.TB, x.mb.List(context.Background(), x.folders[0], models.Handle{}, 25, discard))
}

// filled opens a model with n messages in its inbox, settled. Over a network several workers
// deliver them.
func filled(b *testing.B, m models.Model, e drivers.Engine, messages []*mail.Message, n int) *bench {
	b.Helper()
	x := open(b, m, e, nil)
	workers := 1
	if e.Remote {
		workers = 8
	}
	begin := time.Now()
	var group errgroup.Group
	for w := range workers {
		s, err := x.store.Session()
		must(b, err)
		group.Go(func() error {
			defer s.Close()
			mb, handles := x.bound.Mailbox(s), make([]models.Handle, 1)
			for i := w; i < n; i += workers {
				msg := *messages[i%len(messages)]
				msg.Date = messages[0].Date.Add(time.Duration(i) * time.Second)
				msg.Arrived = msg.Date // a label of datastax is in use for hours, not for half a second
				if err := mb.Deliver(context.Background(), &msg, x.folders[:1], handles); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(b, group.Wait())
	if s, ok := x.store.(drivers.Settler); ok {
		must(b, s.Settle(b.Context()))
	}
	b.Logf("%s: %d messages in %v", m.Name, n, time.Since(begin).Round(time.Second))
	return x
}
