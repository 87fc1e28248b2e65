package modeltest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"strings"
	"time"

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
