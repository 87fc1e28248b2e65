package modeltest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"mime"
	"mime/quotedprintable"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/models/mail"
)

// Draft is a message before it is written out. Message keeps the rules that
// mail.Message states, whatever bytes the draft holds.
type Draft struct {
	Date         time.Time
	From         mail.Address
	To           []mail.Address
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
		From:      d.From, To: d.To, Subject: d.Subject,
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
	var all []string
	for _, a := range as {
		all = append(all, strings.TrimLeft(mime.QEncoding.Encode("utf-8", a.Name)+" <"+a.Address+">", " "))
	}
	return strings.Join(all, ", ")
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
	switch f.Encoding {
	case mail.Base64:
		const line = 57 // bytes that make the 76 characters RFC 2045 allows
		for piece := range slices.Chunk(f.Content, line) {
			w.line(base64.StdEncoding.EncodeToString(piece))
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
	return mail.Part{
		Name: f.Name, Type: f.Type, Encoding: f.Encoding,
		Offset: int64(at), Length: int64(w.buf.Len() - at),
		Content: mail.BytesContent(f.Content),
	}
}

// unparsable returns a message that could not be parsed: all of it is its body.
func unparsable(date time.Time, raw []byte) *mail.Message {
	return &mail.Message{
		Date:      date,
		Raw:       mail.BytesContent(raw),
		Body:      mail.Part{Type: "text/plain", Length: int64(len(raw)), Content: mail.BytesContent(raw)},
		Malformed: true,
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

// oddMail returns messages with all kinds of bytes, names and dates that mail may have.
func oddMail() (odd []Draft) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for i, text := range [][]byte{
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
	} {
		for _, enc := range []mail.Encoding{mail.Identity, mail.Base64, mail.QuotedPrintable} {
			d := sample(i*3 + int(enc))
			d.Text, d.TextEncoding, d.LF = text, enc, i%2 == 0
			if i%3 == 0 {
				html := []byte("<p>Grüße &amp; <b>more</b></p>\r\n")
				d.Files = []File{
					{Name: "part-2.html", Type: "text/html", Encoding: mail.QuotedPrintable, Content: html},
					{Name: "same.bin", Encoding: enc, Content: text},
				}
			}
			odd = append(odd, d)
		}
	}
	// The Date header may say anything. A model that sorts by it must still give each message its place.
	for i, year := range []int{1600, 1900, 1969, 1970, 2038, 2106, 2262, 2300, 5000} {
		d := sample(50 + i)
		d.Date = time.Date(year, 1, 19, 3, 14, 8, 0, time.UTC)
		odd = append(odd, d)
	}
	long := sample(60)
	long.From = mail.Address{Name: "\u202eno\tname \"x\" \\ <y>", Address: "odd\"@'sender\\.example"}
	long.Subject = "{\"json\": [1]} \t\\u0000 \u2028 💌 \x7f" + strings.Repeat("länge ", 150)
	long.To = nil
	for i, name := range oddNames() {
		long.Files = append(long.Files, File{Name: name, Encoding: mail.Base64, Content: noise(i, i)})
	}
	nobody := sample(61)
	nobody.From, nobody.Subject = mail.Address{}, ""
	return append(odd, long, nobody)
}

// oddNames are names of folders and attachments.
func oddNames() []string {
	return []string{
		"a/b\\c", "../../etc/passwd", `quo"te'd`, "Entwürfe/2024 📬", "a:1", " ", "%", "null", strings.Repeat("länge ", 150),
	}
}

// digest is a writer that counts bytes and sums them up.
type digest struct {
	n   int64
	sum uint32
}

func (d *digest) Write(p []byte) (int, error) {
	d.n, d.sum = d.n+int64(len(p)), crc32.Update(d.sum, crc32.IEEETable, p)
	return len(p), nil
}

var errBroken = errors.New("broken content")

// hooked is content that calls a function before it is read.
type hooked struct {
	mail.Content
	before func(p []byte, off int64) error
}

func (c hooked) ReadAt(p []byte, off int64) (int, error) {
	if err := c.before(p, off); err != nil {
		return 0, err
	}
	return c.Content.ReadAt(p, off)
}

// breakContent makes a copy of m whose every content calls hit from half its size on.
func breakContent(m *mail.Message, hit func() error) *mail.Message {
	c := *m
	half := func(x mail.Content) mail.Content {
		return hooked{x, func(p []byte, off int64) error {
			if off+int64(len(p)) <= x.Size()/2 {
				return nil
			}
			return hit()
		}}
	}
	c.Raw, c.Body.Content = half(m.Raw), half(m.Body.Content)
	c.Attachments = slices.Clone(m.Attachments)
	for i, p := range m.Attachments {
		c.Attachments[i].Content = half(p.Content)
	}
	return &c
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
