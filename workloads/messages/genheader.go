package messages

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads/plan"
)

// fileKinds are the kinds of attachments. The header encodes a name that is not ASCII by
// RFC 2231.
var fileKinds = [...]struct {
	name, ext, typ     string
	parameter, encoded string
}{
	{"report", ".pdf", "application/pdf", "filename=", ""},
	{"invoice", ".pdf", "application/pdf", "filename=", ""},
	{"photo", ".jpg", "image/jpeg", "filename=", ""},
	{"screenshot", ".png", "image/png", "filename=", ""},
	{"archive", ".zip", "application/zip", "filename=", ""},
	{"minutes", ".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "filename=", ""},
	{
		"Übersicht", ".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		"filename*=", "utf-8''%C3%9Cbersicht",
	},
	{"talk", ".mp3", "audio/mpeg", "filename=", ""},
}

const timeForm = "Mon, 02 Jan 2006 15:04:05 -0700"

// put appends texts to the raw message.
func (w *writer) put(texts ...string) {
	from := len(w.buf)
	for _, t := range texts {
		w.buf = append(w.buf, t...)
	}
	w.flush(from)
}

// header writes the header up to the fields that describe the content, and sets
// the message's fields.
func (w *writer) header(sender int, n uint64) {
	m, from := w.m, len(w.buf)
	b := append(w.buf, "Return-Path: <"...)
	b = plan.AppendAddress(b, sender)
	b = append(b, ">\r\n"...)
	for hop := range 1 + w.r.IntN(3) {
		b = append(b, "Received: from mx"...)
		b = appendNumber(b, w.r.IntN(100))
		b = append(b, ".mailbench.example (mx.mailbench.example [192.0.2."...) // RFC 5737
		b = appendNumber(b, 1+w.r.IntN(254))
		b = append(b, "])\r\n\tby mail.mailbench.example (Postfix) with ESMTPS id "...)
		b = strconv.AppendUint(b, w.r.Uint64(), 36)
		b = append(b, ";\r\n\t"...)
		b = m.Date.Add(-time.Duration(hop)*time.Second).AppendFormat(b, timeForm)
		b = append(b, "\r\n"...)
	}
	b = append(b, "Date: "...)
	b = m.Date.AppendFormat(b, timeForm)
	b = append(b, "\r\nMessage-ID: "...)
	at := len(b)
	b = append(b, '<')
	b = strconv.AppendUint(b, n, 36)
	b = append(b, '.')
	b = strconv.AppendUint(b, w.r.Uint64(), 36)
	b = append(b, '@')
	b = append(b, plan.Domain...)
	b = append(b, '>')
	m.MessageID = text(b[at:])
	b = append(b, "\r\nFrom: "...)
	b, m.From = w.person(b, sender)

	count := int(min(w.g.mail.Recipients.Draw(&w.r), maxShown))
	toShown := min(count, 3)
	for i := range count {
		switch {
		case i == 0:
			b = append(b, "\r\nTo: "...)
		case i == toShown:
			b = append(b, "\r\nCc: "...)
		default:
			b = append(b, ",\r\n\t"...)
		}
		var a mail.Address
		b, a = w.person(b, w.g.senders.Choose(&w.r))
		w.to = append(w.to, a)
	}
	m.To, m.Cc = w.to[:toShown:toShown], w.to[toShown:]
	b = append(b, "\r\nSubject: "...)
	b = w.subject(b)
	if w.r.Chance(0.4) { // it answers another message
		b = append(b, "\r\nIn-Reply-To: <"...)
		b = strconv.AppendUint(b, w.r.Uint64(), 36)
		b = append(b, "@mailbench.example>"...)
	}
	if w.r.Chance(0.25) { // it comes from a mailing list
		b = append(b, "\r\nList-Id: <list"...)
		b = appendNumber(b, w.r.IntN(50))
		b = append(b,
			".mailbench.example>\r\nList-Unsubscribe: <https://lists.mailbench.example/leave>\r\nPrecedence: list"...)
	}
	b = append(b, "\r\nMIME-Version: 1.0\r\n"...)
	w.buf = b
	w.flush(from)
}

// maxShown is the most recipients that a header names.
const maxShown = 100

// subject appends a subject; three in ten are answers or forwards.
func (w *writer) subject(b []byte) []byte {
	s := w.pools.subjects[w.r.IntN(len(w.pools.subjects))]
	prefix := [...]string{"Re: ", "Re: ", "Fwd: ", "", "", "", "", "", "", ""}[w.r.IntN(10)]
	at := len(w.decoded)
	w.decoded = append(append(w.decoded, prefix...), s...)
	w.m.Subject = text(w.decoded[at:])
	b = append(b, prefix...)
	return appendWord(b, s)
}

// person appends person n, as a header names them.
func (w *writer) person(b []byte, n int) ([]byte, mail.Address) {
	from := len(w.decoded)
	w.decoded = plan.AppendName(w.decoded, n)
	name := text(w.decoded[from:])
	b = appendWord(b, name)
	b = append(b, " <"...)
	at := len(b)
	b = plan.AppendAddress(b, n)
	address := text(b[at:])
	return append(b, '>'), mail.Address{Name: name, Address: address}
}

// appendWord appends text, as encoded words (RFC 2047) if it is not ASCII.
func appendWord(b []byte, s string) []byte {
	if isASCII(s) {
		return append(b, s...)
	}
	const most = 75 - len("=?utf-8?q??=")
	open, width := false, 0
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		need := size
		if c := s[i]; c >= utf8.RuneSelf || c == '=' || c == '?' || c == '_' {
			need = 3 * size
		}
		if open && width+need > most {
			b = append(b, "?=\r\n "...)
			open = false
		}
		if !open {
			b = append(b, "=?utf-8?q?"...)
			open, width = true, 0
		}
		for _, c := range []byte(s[i : i+size]) {
			switch {
			case need > size:
				b = append(b, '=', hexDigits[c>>4], hexDigits[c&15])
			case c == ' ':
				b = append(b, '_')
			default:
				b = append(b, c)
			}
		}
		width += need
		i += size
	}
	return append(b, "?="...)
}

// multipart writes the header of a multipart entity. depth is the letter in its boundary that
// tells nested entities apart.
func (w *writer) multipart(kind string, depth byte, n uint64) {
	from := len(w.buf)
	b := append(w.buf, "Content-Type: multipart/"...)
	b = append(b, kind...)
	b = append(b, "; boundary=\""...)
	b = appendBoundary(b, depth, n)
	w.buf = append(b, "\"\r\n\r\n"...)
	w.flush(from)
}

// delimiter writes the line before a part, or after the last part.
func (w *writer) delimiter(depth byte, n uint64, last bool) {
	from := len(w.buf)
	b := append(w.buf, "\r\n--"...)
	b = appendBoundary(b, depth, n)
	if last {
		b = append(b, "--"...)
	}
	w.buf = append(b, "\r\n"...)
	w.flush(from)
}

// appendBoundary appends a boundary that begins no line of base64 or of generated
// text. It has "=_" in it, which quoted-printable never has.
func appendBoundary(b []byte, depth byte, n uint64) []byte {
	b = append(b, '=', '_', depth, '_')
	return strconv.AppendUint(b, n, 36)
}

func appendNumber(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
