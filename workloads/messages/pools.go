package messages

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"mime"
	"mime/quotedprintable"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/random"
)

// Sizes of the pools in bytes. They are so large that the messages of one block of a store
// hardly ever share bytes. Shared bytes would compress too well.
const (
	textPool   = 4 << 20
	htmlPool   = 2 << 20
	binaryPool = base64Line * (64 << 10) // 3.7 MB
)

// A line of base64 is 57 bytes, 76 letters and a line break (RFC 2045).
const (
	base64Line = 57
	base64Text = 78
)

// pools hold the bytes of which the bodies of all generated messages are slices.
type pools struct {
	text   lines // plain text: UTF-8, CRLF
	html   lines // HTML, decoded
	quoted lines // the lines of html, in quoted-printable
	binary []byte
	base64 []byte // binary in base64: line i of one is line i of the other
	// subjects are a few words each, and names those of persons.
	subjects, names []phrase
}

// phrase is text, and how a header has it: as encoded words (RFC 2047) if it is not ASCII.
type phrase struct{ text, encoded string }

func newPhrase(s string) phrase { return phrase{s, mime.QEncoding.Encode("utf-8", s)} }

// lines are text and the offset of each of its lines. The last offset is the text's end.
type lines struct {
	text  []byte
	start []int
}

func (l *lines) end() { l.start = append(l.start, len(l.text)) }

// thePools are read-only. They take a tenth of a second to make, and are the same for each workload.
var thePools = sync.OnceValue(func() *pools {
	r := random.New(1, streamPools, 0) // the default seed of workloads
	p := &pools{
		binary: make([]byte, binaryPool),
		base64: make([]byte, 0, binaryPool/base64Line*base64Text),
	}
	words := newVocabulary(&r)
	p.text.end()
	for len(p.text.text) < textPool {
		p.text.text = words.line(p.text.text, &r, 72)
		if r.Chance(0.1) {
			p.text.text = append(p.text.text, "\r\n"...)
		}
		p.text.end()
	}
	p.html.end()
	var encoded bytes.Buffer
	quoted := quotedprintable.NewWriter(&encoded)
	p.quoted.end()
	for len(p.html.text) < htmlPool {
		at := len(p.html.text)
		p.html.text = append(p.html.text, htmlTags[r.IntN(len(htmlTags))]...)
		p.html.text = words.line(p.html.text, &r, 40)
		p.html.end()
		_, _ = quoted.Write(p.html.text[at:])
		p.quoted.text = encoded.Bytes()
		p.quoted.end()
	}
	for i := 0; i+8 <= len(p.binary); i += 8 {
		binary.LittleEndian.PutUint64(p.binary[i:], r.Uint64())
	}
	for i := 0; i < len(p.binary); i += base64Line {
		p.base64 = base64.StdEncoding.AppendEncode(p.base64, p.binary[i:i+base64Line])
		p.base64 = append(p.base64, "\r\n"...)
	}
	p.subjects = words.subjects(&r)
	for n := range plan.Names {
		p.names = append(p.names, newPhrase(plan.Name(n)))
	}
	return p
})

var htmlTags = []string{
	"<p>", "</p><p>", "<br>", "<td>", "</td></tr><tr><td>", "<b>", "</b> ",
	`<p style="margin:0">`, `<a href="https://www.mailbench.example/">`, "</a> ", "<li>", "&nbsp;",
}

// vocabulary is an invented language whose words follow Zipf's law, as those of
// real languages do. The number of words and the frequencies of their letters decide how
// well text compresses: about 2:1 with flate, as ElasticInbox reports for real mail.
type vocabulary struct {
	words [vocabularySize]string
	often random.Zipf
}

const vocabularySize = 20_000

func newVocabulary(r *random.Rand) *vocabulary {
	v := &vocabulary{often: random.NewZipf(0.75, vocabularySize)}
	const vowels, consonants = "eaoiu", "tnshrdlcmfpgwybvk"
	letters := random.NewZipf(0.5, len(consonants))
	var w []byte
	for i := range v.words {
		w = w[:0]
		for range 1 + r.IntN(3+i*2/vocabularySize) {
			w = append(w, consonants[letters.Draw(r)-1], vowels[r.IntN(len(vowels))])
			if r.Chance(0.4) {
				w = append(w, consonants[letters.Draw(r)-1])
			}
		}
		if r.Chance(0.02) {
			w = append(w, "é"...)
		}
		v.words[i] = string(w)
	}
	return v
}

// line appends words up to the width and a line break.
func (v *vocabulary) line(dst []byte, r *random.Rand, width int) []byte {
	at := len(dst)
	for {
		w := v.words[v.often.Draw(r)-1]
		if len(dst)-at+1+len(w) > width {
			return append(dst, "\r\n"...)
		}
		if len(dst) > at {
			dst = append(dst, ' ')
		}
		dst = append(dst, w...)
		switch n := r.IntN(40); {
		case n < 3:
			dst = append(dst, '.')
		case n < 5:
			dst = append(dst, ',')
		case n == 5:
			dst = append(dst, ' ')
			dst = strconv.AppendInt(dst, int64(r.IntN(10_000)), 10)
		}
	}
}

// subjects returns subject lines: plain ones, and then an eighth with letters beyond ASCII.
func (v *vocabulary) subjects(r *random.Rand) []phrase {
	const n = 1024
	var plain, others []phrase
	for len(plain) < n*7/8 || len(others) < n/8 {
		words := make([]string, 2+r.IntN(6))
		for i := range words {
			words[i] = v.words[v.often.Draw(r)-1]
		}
		switch p := newPhrase(strings.Join(words, " ")); {
		case p.encoded == p.text && len(plain) < n*7/8:
			plain = append(plain, p)
		case p.encoded != p.text && len(others) < n/8:
			others = append(others, p)
		}
	}
	return append(plain, others...)
}

// fileKinds are the kinds of attachments. The header encodes a name that is not ASCII by RFC 2231.
var fileKinds = [...]struct {
	name, ext, typ, encoded string
}{
	{"report", ".pdf", "application/pdf", ""},
	{"invoice", ".pdf", "application/pdf", ""},
	{"photo", ".jpg", "image/jpeg", ""},
	{"screenshot", ".png", "image/png", ""},
	{"archive", ".zip", "application/zip", ""},
	{"minutes", ".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ""},
	{"Übersicht", ".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "utf-8''%C3%9Cbersicht"},
	{"talk", ".mp3", "audio/mpeg", ""},
}

// put appends texts to the raw message.
func (w *writer) put(texts ...string) {
	from := len(w.buf)
	for _, t := range texts {
		w.buf = append(w.buf, t...)
	}
	w.flush(from)
}

// header writes the header up to the fields that describe the content, and sets the message's fields.
func (w *writer) header(sender int, n uint64) {
	m, from := w.m, len(w.buf)
	b := head(w.buf).text("Return-Path: <").address(sender).text(">\r\n")
	for hop := range 1 + w.r.IntN(3) { // with addresses of RFC 5737
		b = b.text("Received: from mx").number(w.r.IntN(100)).text(".mailbench.example (mx.mailbench.example [192.0.2.").
			number(1 + w.r.IntN(254)).text("])\r\n\tby mail.mailbench.example (Postfix) with ESMTPS id ").id(w.r.Uint64()).
			text(";\r\n\t").date(m.Date.Add(-time.Duration(hop) * time.Second)).text("\r\n")
	}
	b = b.text("Date: ").date(m.Date).text("\r\nMessage-ID: ")
	at := len(b)
	b = b.text("<").id(n).text(".").id(w.r.Uint64()).text("@" + plan.Domain + ">")
	m.MessageID = text(b[at:])
	b = b.text("\r\nFrom: ")
	b, m.From = w.person(b, sender)

	count := int(min(w.g.mail.Recipients.Draw(&w.r), 100)) // a header names 100 at most
	toShown := min(count, 3)
	for i := range count {
		switch {
		case i == 0:
			b = b.text("\r\nTo: ")
		case i == toShown:
			b = b.text("\r\nCc: ")
		default:
			b = b.text(",\r\n\t")
		}
		w.to = append(w.to, mail.Address{})
		b, w.to[i] = w.person(b, w.g.senders.Choose(&w.r))
	}
	m.To, m.Cc = w.to[:toShown:toShown], w.to[toShown:]
	subject := &w.pools.subjects[w.r.IntN(len(w.pools.subjects))]
	prefix := [...]string{"Re: ", "Re: ", "Fwd: ", "", "", "", "", "", "", ""}[w.r.IntN(10)]
	w.decoded = head(w.decoded[:0]).text(prefix).text(subject.text)
	m.Subject = text(w.decoded)
	b = b.text("\r\nSubject: ").text(prefix).text(subject.encoded)
	if w.r.Chance(0.4) { // it answers another message
		b = b.text("\r\nIn-Reply-To: <").id(w.r.Uint64()).text("@mailbench.example>")
	}
	if w.r.Chance(0.25) { // it comes from a mailing list
		b = b.text("\r\nList-Id: <list").number(w.r.IntN(50)).text(".mailbench.example>\r\n" +
			"List-Unsubscribe: <https://lists.mailbench.example/leave>\r\nPrecedence: list")
	}
	w.buf = b.text("\r\nMIME-Version: 1.0\r\n")
	w.flush(from)
}

// head is a part of a header that grows.
type head []byte

func (b head) text(s string) head    { return append(b, s...) }
func (b head) number(n int) head     { return strconv.AppendInt(b, int64(n), 10) }
func (b head) id(n uint64) head      { return strconv.AppendUint(b, n, 36) }
func (b head) address(n int) head    { return plan.AppendAddress(b, n) }
func (b head) date(t time.Time) head { return t.AppendFormat(b, time.RFC1123Z) }

// person appends person n, as a header names them.
func (w *writer) person(b head, n int) (head, mail.Address) {
	name := &w.pools.names[n%len(w.pools.names)]
	b = b.text(name.encoded).text(" <")
	at := len(b)
	b = b.address(n)
	address := text(b[at:])
	return b.text(">"), mail.Address{Name: name.text, Address: address}
}

// multipart writes the header of a multipart entity. depth is the letter in its boundary that distinguishes nested
// entities. A boundary begins no line of base64 or of generated text, and quoted-printable never has "=_".
func (w *writer) multipart(kind, depth string) {
	w.put("Content-Type: multipart/", kind, "; boundary=\"=_", depth, "_", w.number, "\"\r\n\r\n")
	w.delimiter(depth, "")
}

// delimiter writes the line before a part, or after the last part, where it ends in "--".
func (w *writer) delimiter(depth, end string) { w.put("\r\n--=_", depth, "_", w.number, end, "\r\n") }
