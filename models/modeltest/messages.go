package modeltest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// Draft is a message before it is written out. Message keeps the rules that
// mail.Message states, whatever bytes the draft holds.
type Draft struct {
	Date         time.Time
	From         mail.Address
	To, Cc       []mail.Address
	Subject      string
	Text         []byte
	TextEncoding mail.Encoding
	Files        []File
	LF           bool // lines end in a bare LF
}

// File is an attachment of a draft.
type File struct {
	Name     string
	Type     string // "" is application/octet-stream
	Encoding mail.Encoding
	Content  []byte
}

// boundary occurs in no content that the suite makes.
const boundary = "=_modeltest_7f3a91"

// Message returns the message, with its raw bytes.
func (d Draft) Message() *mail.Message {
	m := &mail.Message{
		Date:      d.Date,
		MessageID: fmt.Sprintf("<%d.%s@modeltest.example>", d.Date.UnixNano(), strings.ReplaceAll(d.From.Address, "@", ".")),
		From:      d.From, To: d.To, Cc: d.Cc, Subject: d.Subject,
	}
	w := &rawWriter{eol: "\r\n"}
	if d.LF {
		w.eol = "\n"
	}
	w.line("Date: " + d.Date.Format(time.RFC1123Z))
	w.line("Message-ID: " + m.MessageID)
	w.line("From: " + addresses(d.From))
	if len(d.To) > 0 {
		w.line("To: " + addresses(d.To...))
	}
	if len(d.Cc) > 0 {
		w.line("Cc: " + addresses(d.Cc...))
	}
	w.line("Subject: " + mime.QEncoding.Encode("utf-8", d.Subject))
	w.line("MIME-Version: 1.0")
	text := File{Type: "text/plain", Encoding: d.TextEncoding, Content: d.Text}
	if len(d.Files) == 0 {
		m.Body = w.part(text)
	} else {
		w.line(`Content-Type: multipart/mixed; boundary="` + boundary + `"`)
		w.line("")
		w.line("--" + boundary)
		m.Body = w.part(text)
		for _, f := range d.Files {
			w.line("")
			w.line("--" + boundary)
			m.Attachments = append(m.Attachments, w.part(f))
		}
		w.line("")
		w.line("--" + boundary + "--")
	}
	m.Raw = mail.BytesContent(w.buf.Bytes())
	return m
}

func addresses(as ...mail.Address) string {
	var b strings.Builder
	for i, a := range as {
		if i > 0 {
			b.WriteString(", ")
		}
		if a.Name != "" {
			b.WriteString(mime.QEncoding.Encode("utf-8", a.Name) + " ")
		}
		b.WriteString("<" + a.Address + ">")
	}
	return b.String()
}

// rawWriter writes a raw message, and returns where its parts are.
type rawWriter struct {
	buf bytes.Buffer
	eol string
}

func (w *rawWriter) line(s string) { w.buf.WriteString(s + w.eol) }

func (w *rawWriter) part(f File) mail.Part {
	if f.Type == "" {
		f.Type = "application/octet-stream"
	}
	params := map[string]string{}
	if strings.HasPrefix(f.Type, "text/") {
		params["charset"] = "utf-8"
	}
	w.line("Content-Type: " + mime.FormatMediaType(f.Type, params))
	w.line("Content-Transfer-Encoding: " + [...]string{"8bit", "base64", "quoted-printable"}[f.Encoding])
	if f.Name != "" {
		w.line("Content-Disposition: " + mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
	}
	w.line("")
	at := w.buf.Len()
	w.encode(f)
	return mail.Part{
		Name: f.Name, Type: f.Type, Encoding: f.Encoding,
		Offset: int64(at), Length: int64(w.buf.Len() - at),
		Content: mail.BytesContent(f.Content),
	}
}

func (w *rawWriter) encode(f File) {
	switch f.Encoding {
	case mail.Base64:
		const line = 57 // bytes that make the 76 characters RFC 2045 allows
		enc := make([]byte, 0, 80)
		for b := f.Content; len(b) > 0; {
			n := min(line, len(b))
			w.buf.Write(base64.StdEncoding.AppendEncode(enc[:0], b[:n]))
			w.buf.WriteString(w.eol)
			b = b[n:]
		}
	case mail.QuotedPrintable:
		var b bytes.Buffer
		q := quotedprintable.NewWriter(&b)
		q.Binary = true // line ends of the content are encoded too, so that it comes back byte for byte
		q.Write(f.Content)
		q.Close()
		// The line ends that are left are soft ones.
		w.buf.WriteString(strings.ReplaceAll(b.String(), "\r\n", w.eol))
	default:
		w.buf.Write(f.Content)
	}
}

// unparsable returns a message that could not be parsed: all of it is its body.
func unparsable(date time.Time, raw []byte) *mail.Message {
	return &mail.Message{
		Date:      date,
		Raw:       mail.BytesContent(raw),
		Body:      mail.Part{Type: "text/plain", Length: int64(len(raw)), Content: mail.BytesContent(raw)},
		Malformed: "no header",
	}
}

// sample is the n-th of a series of small messages. Their dates run through
// the day in an order that is not the order of n, so that a folder sorted by
// date differs from one sorted by delivery.
func sample(n int) Draft {
	return Draft{
		Date:    start.Add(-24*time.Hour + time.Duration(n*617%1440)*time.Minute + time.Duration(n/1440)*time.Second),
		From:    mail.Address{Name: "Ann Sender", Address: fmt.Sprintf("ann%d@sender.example", n%5)},
		To:      []mail.Address{{Name: "Bob", Address: "bob@example.org"}},
		Subject: fmt.Sprintf("letter %d", n),
		Text:    fmt.Appendf(nil, "Dear Bob,\r\n\r\nthis is letter %d.\r\n%s", n, strings.Repeat(".", n%97)),
	}
}

// noise fills n bytes with a pattern that has every byte value and no period
// that a chunk size shares.
func noise(n, seed int) []byte {
	b := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x >> 9)
	}
	return b
}

// testAllMail: all mail of an account is listed once, newest first, with its numbers, whichever folders
// show it; what is deleted is not, and neither is mail of others.
func testAllMail(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	a, other := diff.user(diff.at("ann"), "INBOX", "Work"), diff.user(diff.at("bob"), "INBOX")
	in, work := a.folders[0], a.folders[1]
	var want []models.Handle
	var sizes []int64
	for n := range 30 {
		m := sample(n).Message()
		sizes = append(sizes, m.Raw.Size())
		want = append(want, diff.deliver(m, a.folders[n%2])[0].got)
	}
	diff.deliver(sample(30).Message(), other.folders[0])
	diff.move(in, work, diff.live(in)[2])
	gone := diff.live(work)[4]
	diff.delete(work, gone)
	at := slices.Index(want, gone.got)
	want, sizes = slices.Delete(want, at, at+1), slices.Delete(sizes, at, at+1)
	all := diff.got.(models.AllMailer)
	for _, limit := range []int{1, 7, 25, 100} {
		got := entries(t, func(y func(*models.Entry) error) error {
			return diff.got.List(diff.ctx, all.AllMail(a.got), models.Handle{}, limit, y)
		})
		seen := map[models.Handle]bool{}
		for i, e := range got {
			if seen[e.Handle] || !slices.Contains(want, e.Handle) || i > 0 && e.Date.After(got[i-1].Date) {
				t.Errorf("all mail: message %d is there twice, not of the account, or newer than the one before", i)
			}
			seen[e.Handle] = true
		}
		if len(got) != min(limit, len(want)) {
			t.Errorf("%d of all mail: %d messages", limit, len(got))
		}
	}
	var bytes int64
	for _, n := range sizes {
		bytes += n
	}
	stats, err := diff.got.Stats(diff.ctx, all.AllMail(a.got))
	if err != nil || stats.Messages != int64(len(want)) || stats.Bytes != bytes || !stats.Known.Has(models.KnowBytes) {
		t.Errorf("totals %+v (%v), want %d messages of %d bytes", stats, err, len(want), bytes)
	}
	diff.check()
}

func testRangeReads(t *testing.T, s *suite) {
	const chunk = 1000
	f := s.start(t, Sized(chunk, 0))
	diff := f.differential()
	in := diff.user(diff.at("ann"), "INBOX").folders[0]
	const size = 40*chunk + 500
	raw := noise(size, 1)
	m := diff.deliver(unparsable(start, raw), in)[0]

	session, err := f.store.Session()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	meter := drivers.NewMeter(session)
	metered := f.bound.Mailbox(meter).(models.RangeReader)
	for _, r := range [][2]int64{
		{0, 0},
		{0, 1},
		{chunk - 1, 1},
		{chunk - 1, 2},
		{chunk, 1},
		{chunk, chunk},
		{1, chunk},
		{chunk + 500, 3 * chunk},
		{size - 1, 1},
		{size - 1, 100},
		{size, 5},
		{size + 5*chunk, 5},
		{0, size},
		{0, 10 * size},
		{7, size},
	} {
		off, n := r[0], r[1]
		want := raw[min(off, size):min(off+n, size)]
		var b bytes.Buffer
		meter.Take()
		got, err := metered.RawRange(diff.ctx, in.got, m.got, off, n, &b)
		if err != nil {
			t.Errorf("%d bytes from %d on: %v", n, off, err)
			continue
		}
		if got != int64(len(want)) || !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%d bytes from %d on: %d bytes, says %d, want %d (equal: %v)", n, off, b.Len(), got, len(want),
				bytes.Equal(b.Bytes(), want))
		}
		// Allow for a partial chunk at either end, and for the metadata.
		if read, most := meter.Take().BytesRead, n+3*chunk; n < size/2 && read > most {
			t.Errorf("%d bytes from %d on: read %d bytes from the store, at most %d are needed", n, off, read, most)
		}
	}
	big := diff.deliver(unparsable(start, noise(400*chunk, 2)), in)[0] // more chunks than are written or deleted at once
	diff.checkMessage(big)
}

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
