package messages

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

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
	// subjects are a few words each, plain ones first.
	subjects []string
	plain    int
}

// lines are text and the offset of each of its lines. The last offset is the text's end.
type lines struct {
	text  []byte
	start []int
}

// newLines returns lines with room for a little more than size bytes, in lines of about
// length bytes.
func newLines(size, length int) lines {
	return lines{make([]byte, 0, size+size/64), make([]int, 0, size/length)}
}

func (l *lines) end() { l.start = append(l.start, len(l.text)) }

// latest are the pools made last. They take a tenth of a second to make, and one run
// needs them several times.
var latest struct {
	sync.Mutex
	seed  uint64
	pools *pools
}

// poolsOf returns the pools of a seed. They are read-only.
func poolsOf(seed uint64) *pools {
	latest.Lock()
	defer latest.Unlock()
	if latest.pools == nil || latest.seed != seed {
		latest.seed, latest.pools = seed, newPools(seed)
	}
	return latest.pools
}

// newPools makes the pools, which depend on nothing but the seed.
func newPools(seed uint64) *pools {
	var r random.Rand
	r.Seed(seed, streamPools, 0)
	p := &pools{
		text:   newLines(textPool, 70),
		html:   newLines(htmlPool, 40),
		quoted: newLines(htmlPool*33/32, 50),
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
	p.quoted.end()
	for len(p.html.text) < htmlPool {
		at := len(p.html.text)
		p.html.text = append(p.html.text, htmlTags[r.IntN(len(htmlTags))]...)
		p.html.text = words.line(p.html.text, &r, 40)
		p.html.end()
		p.quoted.text = appendQuoted(p.quoted.text, p.html.text[at:])
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
	p.plain = len(p.subjects) * 7 / 8
	return p
}

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
			w = append(w, consonants[letters.Rank(r)-1], vowels[r.IntN(len(vowels))])
			if r.Chance(0.4) {
				w = append(w, consonants[letters.Rank(r)-1])
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
		w := v.words[v.often.Rank(r)-1]
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

// subjects returns subject lines, an eighth of them with letters beyond ASCII.
func (v *vocabulary) subjects(r *random.Rand) []string {
	const n = 1024
	var plain, others []string
	for len(plain) < n*7/8 || len(others) < n/8 {
		s := ""
		for i := range 2 + r.IntN(6) {
			if i > 0 {
				s += " "
			}
			s += v.words[v.often.Rank(r)-1]
		}
		switch {
		case isASCII(s) && len(plain) < n*7/8:
			plain = append(plain, s)
		case !isASCII(s) && len(others) < n/8:
			others = append(others, s)
		}
	}
	return append(plain, others...)
}

func isASCII[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

const hexDigits = "0123456789ABCDEF"

// appendQuoted appends a line that ends in CRLF in quoted-printable. Soft line breaks keep
// lines to 75 characters and the "=".
func appendQuoted(dst, line []byte) []byte {
	if asItIs(line[:len(line)-2]) {
		return append(dst, line...)
	}
	column := 0
	for i, c := range line {
		rest := line[i:]
		literal := c >= 33 && c <= 126 && c != '=' || c == ' ' && len(rest) > 3
		if len(rest) <= 2 { // the line break itself
			return append(dst, rest...)
		}
		width := 3
		if literal {
			width = 1
		}
		if column+width > 75 {
			dst = append(dst, "=\r\n"...)
			column = 0
		}
		if literal {
			dst = append(dst, c)
		} else {
			dst = append(dst, '=', hexDigits[c>>4], hexDigits[c&15])
		}
		column += width
	}
	return dst
}

// asItIs reports whether quoted-printable leaves a line as it is. line is without CRLF.
func asItIs(line []byte) bool {
	for _, c := range line {
		if c < ' ' || c > 126 || c == '=' {
			return false
		}
	}
	return len(line) <= 75 && (len(line) == 0 || line[len(line)-1] != ' ')
}

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
// distinguishes nested entities.
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
