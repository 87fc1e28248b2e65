package modeltest

import (
	"bytes"
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

func testDeliver(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	b := diff.user(diff.at("bob"), "INBOX")
	c := diff.user(diff.at("cat"), "INBOX")
	diff.check()
	inboxes := []*folder{a.folders[0], b.folders[0], c.folders[0]}
	for n := range 6 {
		d := sample(n)
		for i := range n * 3 {
			d.Files = append(d.Files, File{Name: fmt.Sprintf("file %d.bin", i), Encoding: mail.Base64, Content: noise(i*41, n)})
		}
		diff.deliver(d.Message(), inboxes[:1+n%3]...)
	}
	diff.check()
	// Two folders of one account are two deliveries.
	ms := diff.deliver(sample(7).Message(), a.folders...)
	diff.check()
	diff.flag(ms[0], models.Seen, true)
	diff.delete(a.folders[1], ms[1])
	diff.check()
}

// testBytes delivers all kinds of bytes that mail may hold, and compares each.
func testBytes(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	in := diff.user(diff.at("ann"), "INBOX").folders[0]
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
		for _, enc := range []mail.Encoding{mail.Identity, mail.Base64, mail.QuotedPrintable} {
			d := sample(i*3 + int(enc))
			d.Text, d.TextEncoding, d.LF = text, enc, i%2 == 0
			if i%3 == 0 {
				html := File{
					Name: "part-2.html", Type: "text/html", Encoding: mail.QuotedPrintable,
					Content: []byte("<p>Grüße &amp; <b>more</b></p>\r\n"),
				}
				d.Files = []File{html, {Name: "same.bin", Encoding: enc, Content: text}}
			}
			diff.deliver(d.Message(), in)
		}
	}
	// Some engines' short types end at 64 KB.
	big := sample(50)
	big.Text = []byte(strings.Repeat("More than 64 KB of text. ", 4000))
	big.Files = []File{{Name: "big.bin", Encoding: mail.Base64, Content: noise(100_000, 3)}}
	diff.deliver(big.Message(), in)
	for i, raw := range [][]byte{nil, {0}, []byte("\n"), all, noise(3000, 2), []byte("no header at all")} {
		diff.deliver(unparsable(start.Add(time.Duration(i)*time.Hour), raw), in)
	}
	diff.check()
}

// testChunkSeams puts content on both sides of every chunk boundary.
func testChunkSeams(t *testing.T, s *suite) {
	const chunk = 1000
	diff := s.start(t, Sized(chunk, 0)).differential()
	in := diff.user(diff.at("ann"), "INBOX").folders[0]
	d := sample(0)
	for i, size := range []int{0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 2*chunk + 1, 7*chunk + 500} {
		diff.deliver(unparsable(start.Add(time.Duration(i)*time.Minute), noise(size, i)), in)
		d.Files = append(d.Files, File{Name: fmt.Sprint(size), Encoding: mail.Encoding(i % 3), Content: noise(size, i+50)})
	}
	diff.deliver(d.Message(), in)
	diff.check()
	diff.delete(in, diff.live(in)[:3]...)
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

// testOddDates delivers messages with unlikely dates, since the Date header may say anything.
// A model that sorts by it must still give each message its place.
func testOddDates(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	in := diff.user(diff.at("ann"), "INBOX").folders[0]
	for i, year := range []int{1600, 1900, 1969, 1970, 2038, 2106, 2262, 2300, 5000} {
		d := sample(i)
		d.Date = time.Date(year, 1, 19, 3, 14, 8, 0, time.UTC)
		diff.deliver(d.Message(), in)
	}
	diff.check()
	diff.checkFolder(in, 2)
	// Outside the range of a TimeUUID, the order is lost. The message is not. Outside of mail.MinDate
	// to mail.MaxDate, the date is the nearest of these.
	far := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -12*3600))
	for i, date := range []time.Time{{}, mail.MaxDate.Truncate(time.Second), far, mail.MinDate.AddDate(-2, 0, 0)} {
		d := sample(20 + i)
		d.Date = date
		m := diff.deliver(d.Message(), in)[0]
		diff.checkMessage(m)
		if err := diff.delete(in, m); err != nil {
			t.Fatalf("delete a message of %v: %v", date, err)
		}
	}
	diff.check()
}

func testOddNames(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	long := strings.Repeat("länge ", 150)
	names := []string{"a/b\\c", "../../etc/passwd", `quo"te'd`, "Entwürfe/2024 📬", "a:1", " ", "%", "null", long}
	a := diff.user(diff.at("o'brien+tag"), append([]string{"INBOX"}, names...)...)
	for i, f := range a.folders {
		d := sample(i)
		d.From = mail.Address{Name: "\u202eno\tname \"x\" \\ <y>", Address: "odd\"@'sender\\.example"}
		d.Subject = "{\"json\": [1]} \t\\u0000 \u2028 💌 \x7f" + long
		d.To = nil
		for j, name := range names {
			d.Files = append(d.Files, File{Name: name, Encoding: mail.Base64, Content: noise(j, j)})
		}
		diff.deliver(d.Message(), f)
	}
	d := sample(30)
	d.From, d.Subject = mail.Address{}, ""
	diff.deliver(d.Message(), a.folders[0])
	diff.check()
}

func equalContent(got []byte, want mail.Content) error {
	w := contentChecker{want: want}
	n, err := w.Write(got)
	return w.done(int64(n), err)
}

// contentChecker is a writer that compares the bytes written with the content wanted. It holds
// neither in memory.
type contentChecker struct {
	want mail.Content
	at   int64
	buf  [4096]byte
}

func (w *contentChecker) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		b := w.buf[:min(len(w.buf), len(p)-n)]
		m, err := w.want.ReadAt(b, w.at)
		if m < len(b) {
			if err == io.EOF {
				err = fmt.Errorf("more than the %d bytes delivered", w.want.Size())
			}
			return n, err
		}
		if !bytes.Equal(b, p[n:n+m]) {
			return n, fmt.Errorf("differs between bytes %d and %d of %d", w.at, w.at+int64(m), w.want.Size())
		}
		w.at += int64(m)
		n += m
	}
	return len(p), nil
}

// done checks that all content was written and that the call returned its size.
func (w *contentChecker) done(n int64, err error) error {
	switch {
	case err != nil:
		return err
	case w.at != w.want.Size():
		return fmt.Errorf("%d bytes came, want %d", w.at, w.want.Size())
	case n != w.at:
		return fmt.Errorf("says %d bytes where %d came", n, w.at)
	}
	return nil
}
