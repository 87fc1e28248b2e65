package modeltest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

func testDeliver(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	a := tw.user(tw.at("ann"), "INBOX", "Work")
	b := tw.user(tw.at("bob"), "INBOX")
	c := tw.user(tw.at("cat"), "INBOX")
	tw.check()
	inboxes := []*folder{a.folders[0], b.folders[0], c.folders[0]}
	for n := range 6 {
		d := letter(n)
		for i := range n * 3 {
			d.Files = append(d.Files, File{Name: fmt.Sprintf("file %d.bin", i), Encoding: mail.Base64, Content: noise(i*41, n)})
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
	in := tw.user(tw.at("ann"), "INBOX").folders[0]
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
			d := letter(i*3 + int(enc))
			d.Text, d.TextEncoding, d.LF = text, enc, i%2 == 0
			if i%3 == 0 {
				html := File{
					Name: "part-2.html", Type: "text/html", Encoding: mail.QuotedPrintable,
					Content: []byte("<p>Grüße &amp; <b>more</b></p>\r\n"),
				}
				d.Files = []File{html, {Name: "same.bin", Encoding: enc, Content: text}}
			}
			tw.deliver(d.Message(), in)
		}
	}
	// More than the 64 KB where some engines' short types end.
	big := letter(50)
	big.Text = []byte(strings.Repeat("More than 64 KB of text. ", 4000))
	big.Files = []File{{Name: "big.bin", Encoding: mail.Base64, Content: noise(100_000, 3)}}
	tw.deliver(big.Message(), in)
	for i, raw := range [][]byte{nil, {0}, []byte("\n"), all, noise(3000, 2), []byte("no header at all")} {
		tw.deliver(unparsable(start.Add(time.Duration(i)*time.Hour), raw), in)
	}
	tw.check()
}

// testChunkSeams puts content on both sides of every chunk boundary.
func testChunkSeams(t *testing.T, s *suite) {
	const chunk = 1000
	tw := s.start(t, models.Options{ChunkSize: chunk}).twin()
	in := tw.user(tw.at("ann"), "INBOX").folders[0]
	d := letter(0)
	for i, size := range []int{0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 2*chunk + 1, 7*chunk + 500} {
		tw.deliver(unparsable(start.Add(time.Duration(i)*time.Minute), noise(size, i)), in)
		d.Files = append(d.Files, File{Name: fmt.Sprint(size), Encoding: mail.Encoding(i % 3), Content: noise(size, i+50)})
	}
	tw.deliver(d.Message(), in)
	tw.check()
	tw.delete(in, tw.live(in)[:3]...)
	tw.check()
}

// testTooLarge delivers a body that is larger than the engine takes in one
// value. Who keeps mail in chunks does not mind; who keeps a body in its row
// says that it is too large, and no part of it is anywhere.
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
	tw := f.twin()
	in, to := tw.user(tw.at("ann"), "INBOX").folders[0], tw.user(tw.at("bob"), "INBOX").folders[0]
	tw.deliver(letter(0).Message(), in, to)
	d := letter(1)
	d.Text = noise(int(limit)+1, 1)
	if m := d.Message(); !s.Traits.WholeRows && !s.Traits.KeepsBodies {
		tw.deliver(m, in, to)
	} else if err := tw.got.Deliver(tw.ctx, m, []*models.Folder{in.got, to.got}, make([]models.Handle, 2)); !errors.Is(err, drivers.ErrTooLarge) {
		t.Errorf("deliver a body of %d bytes: error is %v, want %q", limit+1, err, drivers.ErrTooLarge)
	}
	tw.check()
	tw.deliver(letter(2).Message(), in, to)
	tw.check()
}

// testOddDates delivers dates that no clock shows: the Date header may say
// anything. What a model sorts by must still give each its place.
func testOddDates(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	in := tw.user(tw.at("ann"), "INBOX").folders[0]
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
	a := tw.user(tw.at("o'brien+tag"), append([]string{"INBOX"}, names...)...)
	for i, f := range a.folders {
		d := letter(i)
		d.From = mail.Address{Name: "\u202eno\tname \"x\" \\ <y>", Address: "odd\"@'sender\\.example"}
		d.Subject = "{\"json\": [1]} \t\\u0000 \u2028 💌 \x7f" + long
		d.To = nil
		for j, name := range names {
			d.Files = append(d.Files, File{Name: name, Encoding: mail.Base64, Content: noise(j, j)})
		}
		tw.deliver(d.Message(), f)
	}
	d := letter(30)
	d.From, d.Subject = mail.Address{}, ""
	tw.deliver(d.Message(), a.folders[0])
	tw.check()
}

// testDuplicates delivers one message again and again: each is a message.
func testDuplicates(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{}).twin()
	a := tw.user(tw.at("ann"), "INBOX", "Work")
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
