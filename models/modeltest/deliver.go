package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models"
)

func testDeliver(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	a := tw.user("ann@example.org", "INBOX", "Work")
	b := tw.user("bob@example.org", "INBOX")
	c := tw.user("cat@example.org", "INBOX")
	tw.check()
	inboxes := []*folder{a.folders[0], b.folders[0], c.folders[0]}
	for n := range 6 {
		d := letter(n)
		for i := range n * 3 {
			d.Files = append(d.Files, File{Name: fmt.Sprintf("file %d.bin", i), Encoding: models.Base64, Content: noise(i*41, n)})
		}
		tw.deliver(d.Message(), inboxes[:1+n%3]...)
	}
	tw.check()
	// Two folders of one account are two deliveries.
	ms := tw.deliver(letter(7).Message(), a.folders...)
	tw.check()
	tw.flag(ms[0], models.Seen, true)
	tw.delete(a.folders[1], ms[1])
	tw.check()
}

// testBytes delivers what mail may hold and compares every byte.
func testBytes(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	in := tw.user("ann@example.org", "INBOX").folders[0]
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	texts := [][]byte{
		nil,
		[]byte("\n"),
		[]byte("\r\n"),
		[]byte("no line end"),
		[]byte("CRLF\r\nCRLF\r\n\r\n"),
		[]byte("LF\nLF\n\n"),
		[]byte("CR\rmixed\r\n\n\r"),
		[]byte("NUL \x00 within\x00\x00"),
		[]byte("\xff\xfe no UTF-8 \xc3"),
		[]byte("Grüße, 世界 \U0001f4ec\u2028"),
		[]byte("From here\r\n.\r\n..dots"),
		all,
		noise(5000, 1),
		[]byte(strings.Repeat("a long line ", 1000)),
	}
	for i, text := range texts {
		for _, enc := range []models.Encoding{models.Identity, models.Base64, models.QuotedPrintable} {
			d := letter(i*3 + int(enc))
			d.Text, d.TextEncoding, d.LF = text, enc, i%2 == 0
			if i%3 == 0 {
				html := File{Name: "part-2.html", Type: "text/html", Encoding: models.QuotedPrintable,
					Content: []byte("<p>Grüße &amp; <b>more</b></p>\r\n")}
				d.Files = []File{html, {Name: "same.bin", Encoding: enc, Content: text}}
			}
			tw.deliver(d.Message(), in)
		}
	}
	for i, raw := range [][]byte{nil, {0}, []byte("\n"), all, noise(3000, 2), []byte("no header at all")} {
		tw.deliver(unparsable(start.Add(time.Duration(i)*time.Hour), raw), in)
	}
	tw.check()
}

// testChunkSeams puts content on both sides of every chunk boundary.
func testChunkSeams(t *testing.T, s *suite) {
	const chunk = 1000
	tw := s.start(t, models.Options{ChunkSize: chunk}).twin()
	in := tw.user("ann@example.org", "INBOX").folders[0]
	d := letter(0)
	for i, size := range []int{0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 2*chunk + 1, 7*chunk + 500} {
		tw.deliver(unparsable(start.Add(time.Duration(i)*time.Minute), noise(size, i)), in)
		d.Files = append(d.Files, File{Name: fmt.Sprint(size), Encoding: models.Encoding(i % 3), Content: noise(size, i+50)})
	}
	tw.deliver(d.Message(), in)
	tw.check()
	tw.delete(in, tw.live(in)[:3]...)
	tw.check()
}

// testOddDates delivers dates that no clock shows: the Date header may say
// anything. What a model sorts by must still give each its place.
func testOddDates(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	in := tw.user("ann@example.org", "INBOX").folders[0]
	for i, year := range []int{1600, 1900, 1969, 1970, 2038, 2106, 2262, 2300, 5000} {
		d := letter(i)
		d.Date = time.Date(year, 1, 19, 3, 14, 8, 0, time.UTC)
		tw.deliver(d.Message(), in)
	}
	tw.check()
	tw.checkFolder(in, 2)
	// Past what a TimeUUID holds, order is lost; the mail is not.
	for i, date := range []time.Time{{}, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} {
		d := letter(20 + i)
		d.Date = date
		m := tw.deliver(d.Message(), in)[0]
		tw.checkMessage(m)
		if err := tw.delete(in, m); err != nil {
			t.Fatalf("delete a message of %v: %v", date, err)
		}
	}
	tw.check()
}

func testOddNames(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	long := strings.Repeat("länge ", 150)
	names := []string{"a/b\\c", "../../etc/passwd", `quo"te'd`, "Entwürfe/2024 📬", "a:1", " ", "%", "null", long}
	a := tw.user("o'brien+tag@example.org", append([]string{"INBOX"}, names...)...)
	for i, f := range a.folders {
		d := letter(i)
		d.From = models.Address{Name: "\u202eno\tname \"x\" \\ <y>", Address: "odd\"@'sender\\.example"}
		d.Subject = "{\"json\": [1]} \t\\u0000 \u2028 💌 \x7f" + long
		d.To = nil
		for j, name := range names {
			d.Files = append(d.Files, File{Name: name, Encoding: models.Base64, Content: noise(j, j)})
		}
		tw.deliver(d.Message(), f)
	}
	d := letter(30)
	d.From, d.Subject = models.Address{}, ""
	tw.deliver(d.Message(), a.folders[0])
	tw.check()
}

// testDuplicates delivers one message again and again: each is a message.
func testDuplicates(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	a := tw.user("ann@example.org", "INBOX", "Work")
	m := letter(1).Message()
	for range 5 {
		tw.deliver(m, a.folders[0])
	}
	tw.check()
	ms := tw.live(a.folders[0])
	tw.flag(ms[1], models.Seen, true)
	tw.move(a.folders[0], a.folders[1], ms[2])
	tw.delete(a.folders[0], ms[3])
	tw.check()
}

var errBroken = errors.New("broken content")

// brokenContent cannot be read from some byte on.
type brokenContent struct {
	models.Content
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
func breakContent(m *models.Message, hit func() error) *models.Message {
	c := *m
	half := func(x models.Content) models.Content { return brokenContent{x, x.Size() / 2, hit} }
	c.Raw, c.Body.Content = half(m.Raw), half(m.Body.Content)
	c.Attachments = nil
	for _, p := range m.Attachments {
		p.Content = half(p.Content)
		c.Attachments = append(c.Attachments, p)
	}
	return &c
}

// testDeliveryFails delivers what cannot be read to its end: it is nowhere.
func testDeliveryFails(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{ChunkSize: 1000}).twin()
	a, b := tw.user("ann@example.org", "INBOX"), tw.user("bob@example.org", "INBOX")
	tw.deliver(letter(0).Message(), a.folders[0], b.folders[0])
	d := letter(1)
	d.Text = noise(2500, 1)
	d.Files = []File{{Name: "f", Encoding: models.Base64, Content: noise(4200, 2)}}
	broken := breakContent(d.Message(), func() error { return errBroken })
	err := tw.got.Deliver(tw.ctx, broken, []*models.Folder{a.folders[0].got, b.folders[0].got}, make([]models.Handle, 2))
	if !errors.Is(err, errBroken) {
		t.Fatalf("deliver what cannot be read: error is %v, want %q", err, errBroken)
	}
	tw.leftovers = true
	tw.check()
	tw.deliver(letter(2).Message(), a.folders[0], b.folders[0])
	tw.check()
}

// testCancelled calls everything with a context that is done: nothing happens.
func testCancelled(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{ChunkSize: 1000}).twin()
	a := tw.user("ann@example.org", "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	d := letter(1)
	d.Text = noise(3300, 1)
	d.Files = []File{{Name: "f", Encoding: models.Base64, Content: noise(4200, 2)}}
	m := tw.deliver(d.Message(), in)[0]

	done, cancel := context.WithCancel(tw.ctx)
	cancel()
	hs, one := []models.Handle{m.got}, make([]models.Handle, 1)
	var o models.Opened
	calls := map[string]func(ctx context.Context, mb models.Mailbox) error{
		"create user": func(ctx context.Context, mb models.Mailbox) error {
			_, err := mb.CreateUser(ctx, "bob@example.org", []string{"INBOX"})
			return err
		},
		"create folder": func(ctx context.Context, mb models.Mailbox) error {
			_, err := mb.CreateFolder(ctx, a.got, "More")
			return err
		},
		"login": func(ctx context.Context, mb models.Mailbox) error {
			_, err := mb.Login(ctx, "ann@example.org")
			return err
		},
		"folders": func(ctx context.Context, mb models.Mailbox) error {
			return mb.Folders(ctx, a.got, func(models.FolderInfo) error { return nil })
		},
		"deliver": func(ctx context.Context, mb models.Mailbox) error {
			return mb.Deliver(ctx, letter(2).Message(), []*models.Folder{in.got}, one)
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
		err := call(done, tw.got)
		if !errors.Is(err, context.Canceled) && !errors.Is(err, models.ErrNotOffered) {
			t.Errorf("%s with a cancelled context: error is %v, want %q", name, err, context.Canceled)
		}
	}
	tw.leftovers = true
	tw.check()

	// Cancelled while the message is read: all of it is there, or nothing.
	midway, cancel := context.WithCancel(tw.ctx)
	broken := breakContent(d.Message(), func() error { cancel(); return nil })
	if err := tw.got.Deliver(midway, broken, []*models.Folder{in.got}, one); err == nil {
		if err := tw.got.Delete(tw.ctx, in.got, one); err != nil {
			t.Fatalf("delete what was acknowledged: %v", err)
		}
		tw.leftovers = true
		if has[models.Purger](tw.got) {
			tw.got.(models.Purger).Purge(tw.ctx, a.got, tw.clock.now().Add(time.Hour))
		}
	}
	tw.check()
}

// testStopEarly ends lists and streams from the caller's side.
func testStopEarly(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{ChunkSize: 1000}).twin()
	a := tw.user("ann@example.org", "INBOX", "Work")
	in := a.folders[0]
	d := letter(0)
	d.Files = []File{{Name: "f", Encoding: models.Base64, Content: noise(5000, 1)}}
	for range 5 {
		tw.deliver(d.Message(), in)
	}
	n := 0
	err := tw.got.List(tw.ctx, in.got, models.Handle{}, 25, func(*models.Entry) error {
		if n++; n == 3 {
			return errBroken
		}
		return nil
	})
	if !errors.Is(err, errBroken) || n != 3 {
		t.Errorf("list stopped at 3: error is %v after %d entries", err, n)
	}
	if err := tw.got.Folders(tw.ctx, a.got, func(models.FolderInfo) error { return errBroken }); !errors.Is(err, errBroken) {
		t.Errorf("folders stopped: error is %v", err)
	}
	h := tw.live(in)[0].got
	if _, err := tw.got.Attachment(tw.ctx, in.got, h, "f", brokenWriter{}); !errors.Is(err, errBroken) {
		t.Errorf("attachment to a broken writer: error is %v", err)
	}
	if _, err := tw.got.Raw(tw.ctx, in.got, h, brokenWriter{}); !errors.Is(err, errBroken) && !errors.Is(err, models.ErrNotOffered) {
		t.Errorf("raw to a broken writer: error is %v", err)
	}
	tw.check()
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
