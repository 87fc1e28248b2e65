// Package mail holds messages and reads them: [Parser] finds the parts of a raw
// message, [Decoder] undoes their encodings, and [File] reads the messages of an
// mbox. Memory is bounded, however large a message is.
package mail

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/schemas/words"
)

// Bounds of what is parsed of one message. A message beyond them is still
// delivered whole, and counted as malformed.
const (
	maxHeader    = 256 << 10 // bytes of one header
	maxField     = 64 << 10  // bytes of one of its fields
	maxParts     = 1000
	maxDepth     = 32     // multiparts within multiparts
	maxBoundary  = 998    // bytes, which is the longest legal line
	maxType      = 255    // bytes of a media type
	maxAddresses = 10_000 // addresses of one field
)

// leaf is a part that has no parts.
type leaf struct {
	entity
	offset, length int64
}

// Parser finds the parts of messages and where they are in the raw bytes. It
// reads a message once from front to end, a buffer at a time. One goroutine can
// parse any number of messages with it, one after the other: a message is valid until
// the next is parsed. Its memory is bounded, whatever a message holds.
type Parser struct {
	lines   *bufio.Reader
	header  []byte   // header that is being read, of the message or a part: a line for each field
	field   int      // offset in header of its last field
	skip    bool     // that field is too long, and is left out
	levels  [][]byte // boundaries, with their two dashes, of the multiparts that are being read
	leaves  []leaf
	current *leaf           // the one of leaves whose body is being read, or nil
	headEnd int64           // offset after the message's header and its empty line
	noted   uint32          // a bit for each Kind
	broken  bool            // something could not be parsed
	names   map[string]bool // given to parts of this message

	ctx     context.Context // ends parsing
	used    int64           // encoded bytes of the message's parts that are decoded in memory
	reading reading         // of the other parts
}

// NewParser returns a parser for one goroutine.
func NewParser() *Parser {
	return &Parser{lines: bufio.NewReaderSize(nil, 64<<10), names: make(map[string]bool), ctx: context.Background()}
}

// note counts what was skipped, repaired or guessed.
func (p *Parser) note(k Kind) { p.noted |= 1 << k }

// fault counts what could not be parsed.
func (p *Parser) fault(k Kind) {
	p.note(k)
	p.broken = true
}

// Parse sets m to the message in raw. A message without a date gets the date arrived. Any
// bytes are a message, so Parse returns only errors of reading raw.
func (p *Parser) Parse(raw Content, arrived time.Time, m *Message) error {
	p.header, p.skip, p.levels, p.leaves, p.current = p.header[:0], false, p.levels[:0], p.leaves[:0], nil
	p.headEnd, p.broken, p.noted = -1, false, 0
	clear(p.names)
	p.used, p.reading = 0, reading{}
	*m = Message{Date: Bounded(arrived), Raw: raw}
	if err := p.scan(raw, m); err != nil {
		return err
	}
	if len(p.leaves) == 0 || len(p.leaves) > maxParts {
		p.fault(BadParts)
		p.leaves = append(p.leaves[:0], leaf{entity{typ: "text/plain"}, p.headEnd, raw.Size() - p.headEnd})
	}
	if err := p.parts(raw, m); err != nil {
		return err
	}
	m.Malformed, m.Noted = p.broken, p.noted
	return nil
}

// scan reads the message line by line and finds its leaves.
func (p *Parser) scan(raw Content, m *Message) error {
	p.lines.Reset(contextReader{p.ctx, io.NewSectionReader(raw, 0, raw.Size())})
	var (
		at, off  int64  // offsets of this line, and of the next piece
		inHeader = true // this line belongs to the header of the message or of a part
		eol      int64  // bytes of the line break before this line
		before   byte   // the last byte before the next piece
	)
	err := eachPiece(p.lines, func(line []byte, begins bool) error {
		if begins {
			at = off
		}
		off += int64(len(line))
		delimits, last := false, false
		if begins {
			delimits, last = p.delimiter(line, at-eol)
		}
		switch {
		case delimits:
			inHeader, p.header, p.skip = !last, p.header[:0], false
		case inHeader && begins && len(bytes.TrimRight(line, "\r\n")) == 0:
			p.begin(off, m)
			inHeader = false
		case inHeader:
			p.gather(line, begins)
		}
		eol = 0
		if line[len(line)-1] == '\n' {
			eol = 1
			if len(line) > 1 && line[len(line)-2] == '\r' || len(line) == 1 && before == '\r' {
				eol = 2
			}
		}
		before = line[len(line)-1]
		return nil
	})
	if err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	if inHeader {
		p.begin(off, m)
	}
	p.end(off)
	if len(p.levels) > 0 {
		p.fault(BadParts) // the last boundary is missing
	}
	return nil
}

// gather adds a line, or a piece of one, to the header. It unfolds fields.
func (p *Parser) gather(line []byte, begins bool) {
	if begins && line[0] != ' ' && line[0] != '\t' {
		p.header = append(p.header, '\n')
		p.field, p.skip = len(p.header), false
	}
	if p.skip {
		return
	}
	if len(p.header)-p.field+len(line) > maxField || len(p.header)+len(line) > maxHeader {
		p.fault(BadHeader) // the field is left out
		p.header, p.skip = p.header[:p.field], true
		return
	}
	p.header = append(p.header, bytes.TrimRight(line, "\r\n")...)
}

// begin reads the gathered header of the content that begins at off. The first
// header is the message's own.
func (p *Parser) begin(off int64, m *Message) {
	if len(p.leaves) > maxParts {
		return // the message is not divided at all
	}
	if p.headEnd >= 0 {
		m = nil // it is the header of a part
	} else {
		p.headEnd = off
	}
	e := p.readHeader(m)
	if e.boundary != "" && len(p.levels) < maxDepth {
		p.levels = append(p.levels, append([]byte("--"), e.boundary...))
		return
	}
	if e.boundary != "" {
		p.fault(BadParts)
	}
	p.leaves = append(p.leaves, leaf{entity: e, offset: off})
	p.current = &p.leaves[len(p.leaves)-1]
}

// end closes the leaf that is being read at offset end.
func (p *Parser) end(end int64) {
	if p.current != nil {
		p.current.length = max(0, end-p.current.offset)
		p.current = nil
	}
}

// delimiter reports whether the line separates parts of the innermost multipart or of one around it, and
// whether it is the last there. The delimiter begins at end, with the line break before the line.
func (p *Parser) delimiter(line []byte, end int64) (found, last bool) {
	line = bytes.TrimRight(line, " \t\r\n")
	for i, boundary := range slices.Backward(p.levels) {
		rest, ok := bytes.CutPrefix(line, boundary)
		if last = string(rest) == "--"; !ok || len(rest) > 0 && !last {
			continue
		}
		p.end(end)
		if i+1 < len(p.levels) {
			p.fault(BadParts) // the last boundary is missing
		}
		if p.levels = p.levels[:i+1]; last {
			p.levels = p.levels[:i]
		}
		return true, last
	}
	return false, false
}

// parts sets the body and the attachments of m from the leaves. An error is one of reading raw.
func (p *Parser) parts(raw Content, m *Message) error {
	body := slices.IndexFunc(p.leaves, func(l leaf) bool { return strings.HasPrefix(l.typ, "text/") && !l.attached })
	m.Body = Part{Type: "text/plain", Offset: p.headEnd, Content: BytesContent(nil)}
	for i := range p.leaves {
		part, err := p.part(raw, &p.leaves[i])
		if err != nil {
			return fmt.Errorf("read a part: %w", err)
		}
		if i == body {
			m.Body = part
			continue
		}
		part.Name = p.name(&p.leaves[i], i+1)
		m.Attachments = append(m.Attachments, part)
	}
	return nil
}

// part is a leaf with its encoding undone. If that cannot be, its content is the encoded bytes.
func (p *Parser) part(raw Content, l *leaf) (Part, error) {
	part := Part{Type: l.typ, Offset: l.offset, Length: l.length, Content: io.NewSectionReader(raw, l.offset, l.length)}
	if l.unknown {
		p.fault(BadEncoding)
	}
	if l.encoding == Identity {
		return part, nil
	}
	decoder := l.encoding.decoder()
	c, err := p.undo(raw, l, decoder)
	if errors.Is(err, ErrBase64) {
		p.fault(BadEncoding)
		return part, nil
	}
	if b, is := decoder.(*base64Decoder); is && b.ignored {
		p.note(BadBase64)
	}
	part.Encoding, part.Content = l.encoding, c
	return part, err
}

// Address is a mail address with its display name.
type Address struct {
	Name    string
	Address string
}

// Message is a message to deliver. It holds what a mail server knows after
// reading it once; a model stores the fields that its tables have a place for.
// Models rely on these rules:
//
//   - Names of attachments are unique within the message, valid UTF-8, and not empty.
//   - Body and attachments cover every leaf part of the message.
//   - From, To and Subject are decoded, valid UTF-8, and without NUL. Raw keeps
//     the bytes that the message had there.
type Message struct {
	Date        time.Time // date of the Date header, or the time of arrival without one; from MinDate to MaxDate
	Arrived     time.Time // when it arrived; zero: when it is delivered
	MessageID   string
	From        Address
	To, Cc, Bcc []Address
	Subject     string
	Raw         Content
	Body        Part   // the first text part; everything after the header if the message has no readable parts
	Attachments []Part // every other leaf part
	Malformed   bool   // it could be parsed only in part. It is delivered all the same, and counted
	Noted       uint32 // a bit for each [Kind] that the parser skipped, repaired or guessed
}

// Part is a part that has no parts. Content is decoded. Offset and Length are
// the range of its encoded bytes in Raw: a model that stores the raw message can
// read just that range.
type Part struct {
	Name     string // "" for the body
	Type     string // media type, such as text/plain
	Encoding Encoding
	Offset   int64
	Length   int64
	Content  Content
}

// Content is a message or a part of one: bytes that one goroutine can read any
// number of times, from any offset. They are in memory, in a file, or generated.
type Content interface {
	io.ReaderAt
	Size() int64
}

// BytesContent is content in memory.
type BytesContent []byte

// ReadAt implements io.ReaderAt.
func (b BytesContent) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(b).ReadAt(p, off)
}

// Size implements Content.
func (b BytesContent) Size() int64 { return int64(len(b)) }

// AppendContent appends all of c to dst, or nothing if it returns an error. The
// error is io.ErrUnexpectedEOF if c ends before its size.
func AppendContent(dst []byte, c Content) ([]byte, error) {
	if b, ok := c.(BytesContent); ok {
		return append(dst, b...), nil
	}
	at := len(dst)
	dst = append(dst, make([]byte, c.Size())...)
	if err := ReadFull(c, dst[at:], 0); err != nil {
		return dst[:at], err
	}
	return dst, nil
}

// ReadFull fills b with the bytes of c from off on. The error is
// io.ErrUnexpectedEOF if c ends before b is full.
func ReadFull(c Content, b []byte, off int64) error {
	n, err := c.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Piece returns n bytes of c from off on: its own if it is in memory, else a copy in buf, which grows to them.
func Piece(c Content, buf *[]byte, off, n int64) ([]byte, error) {
	if b, ok := c.(BytesContent); ok {
		return b[off : off+n], nil
	}
	*buf = slices.Grow((*buf)[:0], int(n))[:n]
	return *buf, ReadFull(c, *buf, off)
}

// Encoding is a part's content transfer encoding in Raw. It is Identity if the
// encoding cannot be undone: Content is then the encoded bytes.
type Encoding uint8

// Encodings.
const (
	Identity Encoding = iota
	Base64
	QuotedPrintable
)

// Kind is a kind of thing that is skipped, repaired or guessed while mail is read.
type Kind uint8

// Kinds. Those of a message are counted once in each message.
const (
	BadDate      Kind = iota // of a message
	UnknownZone              // of a message
	BadHeader                // of a message
	BadText                  // of a message
	BadAddresses             // of a message
	Repeated                 // of a message
	BadMIME                  // of a message
	BadParts                 // of a message
	BadEncoding              // of a message
	BadBase64                // of a message
	Unseparated              // of an mbox
	FromText                 // of an mbox
	kinds
)

// noted says what is counted: a noun, its verb for one and for several, and the rest.
var noted = [kinds][4]string{
	BadDate:      {"message", "has", "have", "a Date that cannot be read or is outside of years 1 to 9999"},
	UnknownZone:  {"message", "has", "have", "a Date in an unknown time zone, read as UTC"},
	BadHeader:    {"message", "has", "have", "header lines that are too long or no fields; these lines were skipped"},
	BadText:      {"message", "has", "have", "header text with bytes or words that cannot be decoded"},
	BadAddresses: {"message", "has", "have", "address lists with errors, divided at commas"},
	Repeated:     {"message", "has", "have", "a header field or parameter twice with different values; the first was used"},
	BadMIME:      {"message", "has", "have", "MIME fields with errors, read as far as possible"},
	BadParts:     {"message", "has", "have", "parts that are not delimited as MIME requires"},
	BadEncoding:  {"message", "has", "have", "parts that cannot be decoded, left encoded"},
	BadBase64:    {"message", "has", "have", "bytes in base64 that do not belong there, ignored"},
	Unseparated:  {"message", "is", "are", "separated without an empty line"},
	FromText:     {"line", "begins", "begin", "with \"From \" after an empty line and without a date, read as text"},
}

// Notes counts each kind.
type Notes [kinds]int64

// Count adds what the parser noted of a message.
func (n *Notes) Count(m *Message) {
	for k := range n {
		n[k] += int64(m.Noted >> k & 1)
	}
}

// Add adds other notes.
func (n *Notes) Add(other Notes) {
	for k, count := range other {
		n[k] += count
	}
}

// Lines returns a sentence for each kind that was counted.
func (n *Notes) Lines() (lines []string) {
	for k, count := range n {
		if t := noted[k]; count > 0 {
			verb := t[1]
			if count > 1 {
				verb = t[2]
			}
			lines = append(lines, words.Plural(count, t[0])+" "+verb+" "+t[3])
		}
	}
	return lines
}
