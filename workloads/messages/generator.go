// Package messages makes the messages of a workload. [NewGenerator] generates MIME messages that are a function of
// (seed, n); [File] has those of an mbox. Both are a [Source].
package messages

import (
	"encoding/base64"
	"io"
	"sort"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/random"
)

// The streams of random numbers of this package.
const (
	streamMessage uint64 = 0x6d61696c + iota
	streamPools
)

// Generator is a source of MIME messages, which depend on seed, n and the date alone.
type Generator struct {
	mail    workloads.Mail
	seed    uint64
	senders random.Chooser
}

// NewGenerator returns the source of the workload's generated mail.
func NewGenerator(w *workloads.Workload) *Generator {
	// However few users there are, a thousand people write mail.
	people := max(1000, w.Population.Users)
	return &Generator{w.Mail, w.Seed, random.Keys{Theta: random.DefaultTheta}.Chooser(people)}
}

// Info implements Source.
func (g *Generator) Info() mail.Info { return mail.Info{} }

// Close implements Source.
func (g *Generator) Close() error { return nil }

// Reader implements Source. The first one makes the pools: a run that is refused makes none.
func (g *Generator) Reader() Reader { return &writer{g: g, pools: thePools()} }

// writer makes generated messages, one at a time.
type writer struct {
	g     *Generator
	pools *pools
	r     random.Rand
	m     *mail.Message
	buf   []byte // headers, and other bytes of the raw message that are not from a pool
	// decoded is the subject. Strings point into it and into buf: when buf grows, it moves to a new
	// array and the strings keep the old.
	decoded []byte
	ropes   []*rope
	used    int // how many ropes this message uses
	raw     *rope
	to      []mail.Address
	parts   []mail.Part
	number  string // of the message, in boundaries
}

// From implements Reader.
func (w *writer) From(n uint64) (string, error) {
	w.buf = plan.AppendAddress(w.buf[:0], w.sender(n))
	return text(w.buf), nil
}

// sender seeds the draws of message n. It draws the sender first and returns their number.
func (w *writer) sender(n uint64) int {
	w.r.Seed(w.g.seed, streamMessage, n)
	return w.g.senders.Choose(&w.r)
}

// Message implements Reader.
func (w *writer) Message(n uint64, date time.Time, m *mail.Message) error {
	return w.Sized(n, date, 0, m)
}

// Sized implements Sizer. If size is 0, the workload decides. Sized and the functions that
// it calls draw random numbers in a fixed order.
func (w *writer) Sized(n uint64, date time.Time, size int, m *mail.Message) error {
	w.m, w.buf, w.used, w.to = m, w.buf[:0], 0, w.to[:0]
	w.raw = w.rope()
	*m = mail.Message{Attachments: w.parts[:0], Raw: w.raw, Date: date.UTC().Truncate(time.Second)}
	spec := &w.g.mail

	sender := w.sender(n)
	body := int(min(spec.Body.Draw(&w.r), int64(workloads.MaxMessage)))
	html := w.r.Chance(spec.HTML)
	files := 0
	if w.r.Chance(spec.Attachments.Share) {
		files = int(min(max(1, spec.Attachments.Count.Draw(&w.r)), 100)) // a message has 100 at most
	}
	w.header(sender, n)
	const partOverhead = 160 // about what the fields and boundaries of a part take
	file := 0
	if size > 0 {
		body, html, files = max(0, size-int(w.raw.size)-partOverhead), false, 0
		if size > workloads.LargeMessage {
			file = max(0, body-workloads.LargeBody-3*partOverhead) * base64Line / base64Text
			body, files = workloads.LargeBody, 1
		}
	}

	at := len(w.buf)
	w.buf = head(w.buf).id(n)
	w.number = text(w.buf[at:])
	if files > 0 {
		w.multipart("mixed", "m")
	}
	if html {
		w.multipart("alternative", "a")
	}
	w.text(body)
	if html {
		w.delimiter("a", "")
		w.html(body)
		w.delimiter("a", "--")
	}
	left := int64(workloads.MaxMessage)
	for i := range files {
		length := min(int64(file), left)
		if size == 0 {
			length = min(spec.Attachments.Size.Draw(&w.r), left)
		}
		left -= length
		w.delimiter("m", "")
		w.attachment(i, int(length))
	}
	if files > 0 {
		w.delimiter("m", "--")
	}
	w.parts = m.Attachments
	return nil
}

// rope returns an empty rope for this message.
func (w *writer) rope() *rope {
	if w.used == len(w.ropes) {
		w.ropes = append(w.ropes, &rope{})
	}
	r := w.ropes[w.used]
	r.pieces, r.size = r.pieces[:0], 0
	w.used++
	return r
}

// flush adds buf[from:] to the raw message. Those bytes stay where they are when buf grows.
func (w *writer) flush(from int) { w.raw.add(w.buf[from:len(w.buf):len(w.buf)]) }

// text writes the plain text part: size bytes from a random line of the pool on.
func (w *writer) text(size int) {
	w.put("Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n")
	pool := &w.pools.text
	at := pool.start[w.r.IntN(len(pool.start)-1)]
	// If the end would cut a letter of several bytes, dots take its place.
	last := (at + size) % len(pool.text)
	cut := 0
	for cut < size && !utf8.RuneStart(pool.text[last-cut]) {
		cut++
	}
	content, from := w.rope(), w.raw.size
	for _, r := range [...]*rope{content, w.raw} {
		r.cycle(pool.text, at, size-cut)
		r.add(dots[:cut])
	}
	w.m.Body = w.part("", "text/plain", mail.Identity, content, from)
}

var dots = []byte("...") // at most 3 bytes of a cut letter are before the cut

// html writes the HTML part: whole lines of the pool, about size bytes of them.
func (w *writer) html(size int) {
	w.put("Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n")
	pool, quoted := &w.pools.html, &w.pools.quoted
	n := len(pool.start) - 1
	i := w.r.IntN(n)
	content, from := w.rope(), w.raw.size
	for size > 0 {
		j := i + sort.SearchInts(pool.start[i:], pool.start[i]+size)
		j = min(max(j, i+1), n)
		content.add(pool.text[pool.start[i]:pool.start[j]])
		w.raw.add(quoted.text[quoted.start[i]:quoted.start[j]])
		size -= pool.start[j] - pool.start[i]
		i = 0
	}
	w.m.Attachments = append(w.m.Attachments, w.part("part-2.html", "text/html", mail.QuotedPrintable, content, from))
}

// attachment writes attachment i: whole lines of the pool, and a shorter last one.
func (w *writer) attachment(i, size int) {
	kind := &fileKinds[w.r.IntN(len(fileKinds))]
	at := len(w.buf)
	w.buf = head(w.buf).text(kind.name).text("-").number(i + 1).text(kind.ext)
	name := text(w.buf[at:])
	w.put("Content-Type: ", kind.typ, "\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment;\r\n ")
	if kind.encoded == "" {
		w.put(`filename="`, name, `"`, "\r\n\r\n")
	} else {
		w.put("filename*=", kind.encoded, name[len(kind.name):], "\r\n\r\n")
	}

	p := w.pools
	content, from := w.rope(), w.raw.size
	line := w.r.IntN(len(p.binary) / base64Line)
	whole := size / base64Line
	content.cycle(p.binary, line*base64Line, size)
	w.raw.cycle(p.base64, line*base64Text, whole*base64Text)
	if rest := size % base64Line; rest > 0 {
		last, end := (line+whole)*base64Line%len(p.binary), len(w.buf)
		w.buf = base64.StdEncoding.AppendEncode(w.buf, p.binary[last:last+rest])
		w.flush(end)
	}
	w.m.Attachments = append(w.m.Attachments, w.part(name, kind.typ, mail.Base64, content, from))
}

// part is a part whose encoded content is the raw message from an offset on.
func (w *writer) part(name, typ string, e mail.Encoding, content *rope, from int64) mail.Part {
	return mail.Part{Name: name, Type: typ, Encoding: e, Offset: from, Length: w.raw.size - from, Content: content}
}

// text returns b as a string without copying. The bytes do not change before the next message.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// rope is content made of slices of buffers and pools that other messages share,
// so that 25 MB of generated mail take little memory. It implements mail.Content.
type rope struct {
	pieces [][]byte
	size   int64
}

// add appends data, which must not change while the rope is used.
func (r *rope) add(data []byte) {
	r.pieces = append(r.pieces, data)
	r.size += int64(len(data))
}

// cycle appends n bytes of pool from offset at on. After its end comes its beginning.
func (r *rope) cycle(pool []byte, at, n int) {
	for n > 0 {
		part := pool[at:min(len(pool), at+n)]
		r.add(part)
		n -= len(part)
		at = 0
	}
}

// Size implements mail.Content.
func (r *rope) Size() int64 { return r.size }

// ReadAt implements io.ReaderAt.
func (r *rope) ReadAt(p []byte, off int64) (n int, err error) {
	for _, piece := range r.pieces {
		skip := min(off, int64(len(piece)))
		n += copy(p[n:], piece[skip:])
		off -= skip
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// Source is where messages come from. All workers share one.
type Source interface {
	// Reader returns a reader for one goroutine.
	Reader() Reader
	// Info says what the mail file holds. It is the zero Info for generated mail.
	Info() mail.Info
	// Close releases the source's files. Readers must not be used any more.
	Close() error
}

// Reader makes messages, in buffers that it owns. A message is valid until the
// reader makes the next one. To hold several at once, use several readers.
type Reader interface {
	// Message sets m to message n. A generated message gets the date. A message of a file gets it only if it has none
	// of its own. After the last message of a file the first comes again.
	Message(n uint64, date time.Time, m *mail.Message) error
	// From returns the sender's address of message n; it is valid until the reader's next call.
	From(n uint64) (string, error)
}

// Sizer is a Reader that can make a message of a given size. Readers of a file cannot.
type Sizer interface {
	// Sized is like Message. The whole message has about size bytes, but at least its header,
	// and an attachment if it is large.
	Sized(n uint64, date time.Time, size int, m *mail.Message) error
}

// File is the mail of an mbox.
type File struct{ *mail.File }

// Reader implements Source.
func (f File) Reader() Reader { return f.File.Reader() }
