package modeltest

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

var errBroken = errors.New("broken content")

// brokenContent fails from some byte on.
type brokenContent struct {
	mail.Content
	from int64
	hit  func() error
}

func (c brokenContent) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) <= c.from {
		return c.Content.ReadAt(p, off)
	}
	if err := c.hit(); err != nil {
		return 0, err
	}
	return c.Content.ReadAt(p, off)
}

// breakContent makes a copy of m whose every content breaks at half its size.
func breakContent(m *mail.Message, hit func() error) *mail.Message {
	c := *m
	half := func(x mail.Content) mail.Content { return brokenContent{x, x.Size() / 2, hit} }
	c.Raw, c.Body.Content = half(m.Raw), half(m.Body.Content)
	c.Attachments = nil
	for _, p := range m.Attachments {
		p.Content = half(p.Content)
		c.Attachments = append(c.Attachments, p)
	}
	return &c
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
	for name, read := range readers(diff, a, h, d.From.Address) {
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
func readers(diff *differential, a *account, h models.Handle, sender string) map[string]func(yield func() error) error {
	in, now := a.folders[0].got, diff.clock.now()
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
			if err := s.Seen(diff.ctx, in, h, diff.at(who)); err != nil {
				diff.t.Fatalf("seen by %s: %v", who, err)
			}
		}
		rs["seen by"] = func(yield func() error) error {
			return s.SeenBy(diff.ctx, in, h, func(string) error { return yield() })
		}
	}
	if s, ok := diff.got.(models.Subscriber); ok {
		for _, folder := range []string{"INBOX", "Work"} {
			if err := s.Subscribe(diff.ctx, a.got, folder, true); err != nil {
				diff.t.Fatalf("subscribe to %s: %v", folder, err)
			}
		}
		rs["subscriptions"] = func(yield func() error) error {
			return s.Subscriptions(diff.ctx, a.got, func(string) error { return yield() })
		}
	}
	return rs
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
