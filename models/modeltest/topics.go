package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// testOddMail delivers every odd message, to folders with odd names, compares each byte, and deletes
// all of them.
func testOddMail(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	a := diff.user(diff.at("o'brien+tag"), append([]string{"INBOX"}, oddNames()...)...)
	for i, d := range oddMail() {
		diff.deliver(d.Message(), a.folders[i%len(a.folders)])
	}
	// Some engines' short types end at 64 KB.
	big := sample(70)
	big.Text = []byte(strings.Repeat("More than 64 KB of text. ", 4000))
	big.Files = []File{{Name: "big.bin", Encoding: mail.Base64, Content: noise(100_000, 3)}}
	diff.deliver(big.Message(), a.folders[0])
	for i, raw := range [][]byte{nil, {0}, []byte("\n"), noise(3000, 2), []byte("no header at all")} {
		diff.deliver(unparsable(start.Add(time.Duration(i)*time.Hour), raw), a.folders[0])
	}
	diff.check()
	// Outside the range of a TimeUUID, the order is lost. The message is not. Outside of mail.MinDate
	// to mail.MaxDate, the date is the nearest of these.
	far := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -12*3600))
	for i, date := range []time.Time{{}, mail.MaxDate.Truncate(time.Second), far, mail.MinDate.AddDate(-2, 0, 0)} {
		d := sample(80 + i)
		d.Date = date
		m := diff.deliver(d.Message(), a.folders[0])[0]
		diff.checkMessage(m)
		diff.delete(a.folders[0], m)
	}
	for _, f := range a.folders {
		diff.delete(f, diff.live(f)...)
	}
	diff.check()
}

// testTooLarge delivers a body that is larger than the engine takes in one value. A model that
// keeps mail in chunks stores it. A model that keeps a body in its row returns ErrTooLarge,
// and no part of the message is anywhere.
func testTooLarge(t *testing.T, s *suite) {
	f := s.start(t, models.Options{})
	c := f.store.Capabilities()
	limit := c.MaxCellBytes
	if limit == 0 || c.MaxRowBytes > 0 && c.MaxRowBytes < limit {
		limit = c.MaxRowBytes
	}
	if limit == 0 {
		t.Skip("the engine takes everything")
	}
	whole := s.Traits.WholeRows || s.Traits.KeepsBodies
	if !whole && limit > models.MaxRow {
		t.Skip("the engine takes all bodies that a client can open")
	}
	limit = min(limit, models.MaxRow)
	diff := f.differential()
	in, to := diff.user(diff.at("ann"), "INBOX").folders[0], diff.user(diff.at("bob"), "INBOX").folders[0]
	diff.deliver(sample(0).Message(), in, to)
	d := sample(1)
	d.Text = noise(int(limit)+1, 1)
	if m := d.Message(); !whole {
		diff.deliver(m, in, to)
	} else if err := diff.got.Deliver(diff.ctx, m, []*models.Folder{in.got, to.got}, make([]models.Handle,
		2)); !errors.Is(err, drivers.ErrTooLarge) {
		t.Errorf("deliver a body of %d bytes: error is %v, want %q", limit+1, err, drivers.ErrTooLarge)
	}
	diff.check()
	diff.deliver(sample(2).Message(), in, to)
	diff.check()
}

// testMany has more messages in a folder, and more chunks in one of them, than any model takes from its
// store at a time. It moves 100
// of them at once: no engine may refuse so many small ones, since documents name one or more
// messages in a call. On a server that takes batches of any size, half as many are enough.
func testMany(t *testing.T, s *suite) {
	many := 270
	f := s.start(t, Sized(1000, 7))
	if s.shared && f.store.Capabilities().MaxSpreadBytes == 0 {
		many /= 2
	}
	diff := f.differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	diff.deliver(unparsable(start, noise(400_000, 2)), in)
	for n := range many - 1 {
		diff.deliver(sample(n).Message(), in)
	}
	for _, page := range []int{7, 25, many, 300} {
		diff.checkFolder(in, page)
	}
	diff.checkAudit()
	moved, err := diff.move(in, work, diff.live(in)[1:101]...)
	if err != nil {
		t.Fatalf("move 100 messages: %v", err)
	}
	diff.checkFolder(work, 100)
	if err := diff.delete(work, moved...); err != nil {
		t.Fatalf("delete 100 messages: %v", err)
	}
	moved = nil
	inSteps(diff.live(in), func(ms ...message) error {
		to, err := diff.move(in, work, ms...)
		moved = append(moved, to...)
		diff.checkFolder(in, 300)
		return err
	})
	diff.check()
	if has[models.UIDs](diff.got) && !has[models.Purger](diff.got) {
		diff.expungeUIDs(work, [2]uint64{}, [2]uint64{})
	} else {
		inSteps(moved, func(ms ...message) error { return diff.delete(work, ms...) })
	}
	if has[models.Purger](diff.got) {
		diff.clock.advance(time.Hour)
		if n := diff.purge(a, diff.clock.now()); n != many {
			t.Errorf("purged %d, want %d", n, many)
		}
	}
	diff.check()
}

// testDeliveryFails delivers a message that cannot be read to its end. No folder may show it.
func testDeliveryFails(t *testing.T, s *suite) {
	diff := s.start(t, Sized(1000, 0)).differential()
	a, b := diff.user(diff.at("ann"), "INBOX"), diff.user(diff.at("bob"), "INBOX")
	diff.deliver(sample(0).Message(), a.folders[0], b.folders[0])
	d := sample(1)
	d.Text = noise(2500, 1)
	d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(4200, 2)}}
	broken := breakContent(d.Message(), func() error { return errBroken })
	err := diff.got.Deliver(diff.ctx, broken, []*models.Folder{a.folders[0].got, b.folders[0].got},
		make([]models.Handle, 2))
	if !errors.Is(err, errBroken) {
		t.Fatalf("deliver what cannot be read: error is %v, want %q", err, errBroken)
	}
	diff.leftovers = true
	diff.check()
	diff.deliver(sample(2).Message(), a.folders[0], b.folders[0])
	diff.check()
}

// testCancelled makes every call with a cancelled context. Nothing changes.
func testCancelled(t *testing.T, s *suite) {
	diff := s.start(t, Sized(1000, 0)).differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	d := sample(1)
	d.Text = noise(3300, 1)
	d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(4200, 2)}}
	m := diff.deliver(d.Message(), in)[0]

	done, cancel := context.WithCancel(diff.ctx)
	cancel()
	hs, one := []models.Handle{m.got}, make([]models.Handle, 1)
	var o models.Opened
	calls := map[string]func(ctx context.Context, mb models.Mailbox) error{
		"create user": func(ctx context.Context, mb models.Mailbox) error {
			_, err := mb.CreateUser(ctx, diff.at("bob"), []string{"INBOX"})
			return err
		},
		"create folder": func(ctx context.Context, mb models.Mailbox) error {
			_, err := mb.CreateFolder(ctx, a.got, "More")
			return err
		},
		"login": func(ctx context.Context, mb models.Mailbox) error {
			_, err := mb.Login(ctx, diff.at("ann"))
			return err
		},
		"folders": func(ctx context.Context, mb models.Mailbox) error {
			return mb.Folders(ctx, a.got, func(models.FolderInfo) error { return nil })
		},
		"deliver": func(ctx context.Context, mb models.Mailbox) error {
			return mb.Deliver(ctx, sample(2).Message(), []*models.Folder{in.got}, one)
		},
		"list": func(ctx context.Context, mb models.Mailbox) error {
			return mb.List(ctx, in.got, models.Handle{}, 25, func(*models.Entry) error { return nil })
		},
		"open": func(ctx context.Context, mb models.Mailbox) error { return mb.Open(ctx, in.got, m.got, &o) },
		"raw": func(ctx context.Context, mb models.Mailbox) error {
			_, err := mb.Raw(ctx, in.got, m.got, io.Discard)
			return err
		},
		"attachment": func(ctx context.Context, mb models.Mailbox) error {
			_, err := mb.Attachment(ctx, in.got, m.got, "f", io.Discard)
			return err
		},
		"flag": func(ctx context.Context, mb models.Mailbox) error {
			return mb.Flag(ctx, in.got, m.got, models.Seen, true)
		},
		"move":   func(ctx context.Context, mb models.Mailbox) error { return mb.Move(ctx, in.got, work.got, hs, one) },
		"delete": func(ctx context.Context, mb models.Mailbox) error { return mb.Delete(ctx, in.got, hs) },
		"stats": func(ctx context.Context, mb models.Mailbox) error {
			_, err := mb.Stats(ctx, in.got)
			return err
		},
		"audit": func(ctx context.Context, mb models.Mailbox) error {
			_, err := mb.Audit(ctx)
			return err
		},
	}
	for name, call := range calls {
		err := call(done, diff.got)
		if !errors.Is(err, context.Canceled) && !errors.Is(err, models.ErrNotOffered) {
			t.Errorf("%s with a cancelled context: error is %v, want %q", name, err, context.Canceled)
		}
	}
	diff.leftovers = true
	diff.check()

	// If the call is cancelled while the message is read, all of it is there, or nothing.
	midway, cancel := context.WithCancel(diff.ctx)
	broken := breakContent(d.Message(), func() error { cancel(); return nil })
	if err := diff.got.Deliver(midway, broken, []*models.Folder{in.got}, one); err == nil {
		if err := diff.got.Delete(diff.ctx, in.got, one); err != nil {
			t.Fatalf("delete what was acknowledged: %v", err)
		}
		diff.leftovers = true
		if has[models.Purger](diff.got) {
			diff.got.(models.Purger).Purge(diff.ctx, a.got, diff.clock.now().Add(time.Hour))
		}
	}
	diff.check()
}

// testStopEarly returns errors from yields and writers. Each call must end and return the
// error, wrapped if it is from a yield.
func testStopEarly(t *testing.T, s *suite) {
	diff := s.start(t, Sized(1000, 0)).differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	in := a.folders[0]
	d := sample(0)
	d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(5000, 1)}}
	for range 5 {
		diff.deliver(d.Message(), in)
	}
	h := diff.live(in)[0].got
	for name, read := range readers(diff, a, diff.live(in)[0], d.From.Address) {
		n := 0
		err := read(func() error {
			if n++; n == 2 {
				return errBroken
			}
			return nil
		})
		if !errors.Is(err, errBroken) || err == errBroken || n != 2 {
			t.Errorf("%s stopped at 2: got error %v after %d, want %q wrapped", name, err, n, errBroken)
		}
	}
	if _, err := diff.got.Attachment(diff.ctx, in.got, h, "f", brokenWriter{}); !errors.Is(err, errBroken) {
		t.Errorf("attachment to a broken writer: error is %v", err)
	}
	if _, err := diff.got.Raw(diff.ctx, in.got, h, brokenWriter{}); !errors.Is(err, errBroken) &&
		!errors.Is(err, models.ErrNotOffered) {
		t.Errorf("raw to a broken writer: error is %v", err)
	}
	diff.check()
}

// readers returns the calls of a model that yield. Each of them has at least two
// things to yield: two folders, subscriptions and viewers of h, and messages of
// one sender.
func readers(diff *differential, a *account, m message, sender string) map[string]func(yield func() error) error {
	in, h, now := a.folders[0].got, m.got, diff.clock.now()
	rs := map[string]func(yield func() error) error{
		"list": func(yield func() error) error {
			return diff.got.List(diff.ctx, in, models.Handle{}, 25, func(*models.Entry) error { return yield() })
		},
		"folders": func(yield func() error) error {
			return diff.got.Folders(diff.ctx, a.got, func(models.FolderInfo) error { return yield() })
		},
	}
	if s, ok := diff.got.(models.SenderSearcher); ok {
		for name, f := range map[string]*models.Folder{"by sender in a folder": in, "by sender": nil} {
			rs[name] = func(yield func() error) error {
				return s.BySender(diff.ctx, f, sender, 25, func(*models.Entry) error { return yield() })
			}
		}
	}
	if s, ok := diff.got.(models.Slicer); ok {
		rs["slice"] = func(yield func() error) error {
			return s.Slice(diff.ctx, in, now.Add(-time.Hour), now.Add(time.Hour), 25,
				func(*models.Entry) error { return yield() })
		}
	}
	if s, ok := diff.got.(models.Seer); ok {
		for _, who := range []string{"bob", "cat"} {
			diff.seen(m, diff.at(who))
		}
		rs["seen by"] = func(yield func() error) error {
			return s.SeenBy(diff.ctx, in, h, func(string) error { return yield() })
		}
	}
	if s, ok := diff.got.(models.Subscriber); ok {
		for _, folder := range []string{"INBOX", "Work"} {
			diff.subscribe(a, folder, true)
		}
		rs["subscriptions"] = func(yield func() error) error {
			return s.Subscriptions(diff.ctx, a.got, func(string) error { return yield() })
		}
	}
	return rs
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
