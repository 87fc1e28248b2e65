package mail

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrBase64 is the error of decoding something else as base64.
var ErrBase64 = errors.New("not base64")

// Decoder undoes a content transfer encoding. The caller writes encoded bytes to
// it in pieces of any size; the decoder writes the decoded bytes to its writer.
// After Reset it can be used again.
//
// It decodes everything that the standard library decodes, to the same bytes. It
// also decodes what real mail has: base64 with white space anywhere, without
// padding, or with more base64 after its padding; quoted-printable with control
// bytes, long lines, and '=' that begins no code, which is a literal.
// Other bytes in base64 are ignored (RFC 2045 6.8); after padding, the first of them ends
// the data, since mailing lists append text. Base64 that ends within a byte is ErrBase64;
// such a part is [Identity] in a Message.
type Decoder struct {
	w   io.Writer
	enc Encoding
	out []byte // decoded, not yet written
	n   int64
	err error

	// Base64: the sextets of a group of four that is not complete.
	group  uint32
	digits int
	// padded: padding was read; ended: so was a byte after it that is not base64.
	padded, ended bool
	ignored       bool   // bytes were ignored
	held          []byte // quoted-printable: the line that is not whole
}

const (
	decodeBuffer = 4 << 10
	// A legal line has up to 998 bytes.
	maxHeld = 64 << 10
)

// Reset makes d decode enc to w.
func (d *Decoder) Reset(w io.Writer, enc Encoding) {
	*d = Decoder{w: w, enc: enc, out: d.out[:0], held: d.held[:0]}
	if d.out == nil {
		d.out = make([]byte, 0, decodeBuffer)
	}
}

// Write takes the next encoded bytes.
func (d *Decoder) Write(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	switch d.enc {
	case Base64:
		d.base64(p)
	case QuotedPrintable:
		d.quoted(p)
	default:
		d.flush()
		d.write(p)
	}
	if d.err != nil {
		return 0, d.err
	}
	return len(p), nil
}

// Close ends the part and returns the number of decoded bytes written.
func (d *Decoder) Close() (int64, error) {
	switch d.enc {
	case Base64:
		d.base64End()
	case QuotedPrintable:
		d.quotedLine()
	}
	d.flush()
	return d.n, d.err
}

func (d *Decoder) emit(c byte) {
	if len(d.out) == cap(d.out) {
		d.flush()
	}
	d.out = append(d.out, c)
}

func (d *Decoder) flush() {
	d.write(d.out)
	d.out = d.out[:0]
}

func (d *Decoder) write(p []byte) {
	if d.err != nil || len(p) == 0 {
		return
	}
	n, err := d.w.Write(p)
	d.n += int64(n)
	d.err = err
}

func (d *Decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// Classes of bytes in base64 that are not digits.
const (
	b64Space = 64 + iota // more than any sextet
	b64Pad
	b64Bad
)

var base64Class = func() (t [256]byte) {
	for i := range t {
		t[i] = b64Bad
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = byte(i)
	}
	for _, c := range []byte(" \t\r\n") {
		t[c] = b64Space
	}
	t['='] = b64Pad
	return t
}()

func (d *Decoder) base64(p []byte) {
	single := 0 // bytes to decode one by one before trying a whole line again
	for len(p) > 0 && !d.ended {
		if d.digits == 0 && single <= 0 {
			var n int
			n, single = d.base64Line(p)
			if p = p[n:]; len(p) == 0 {
				return
			}
		}
		c := p[0]
		p = p[1:]
		single--
		switch v := base64Class[c]; {
		case v == b64Space:
		case v == b64Pad:
			d.base64End()
			d.padded = true
		case v == b64Bad:
			if d.ignored, d.ended = true, d.padded; d.ended {
				d.group, d.digits = 0, 0
			}
		default:
			d.group = d.group<<6 | uint32(v)
			if d.digits++; d.digits == 4 {
				d.emit(byte(d.group >> 16))
				d.emit(byte(d.group >> 8))
				d.emit(byte(d.group))
				d.group, d.digits = 0, 0
			}
		}
	}
}

// base64Line decodes the whole groups of p up to the end of its first line, and
// returns their length n. It is several times as fast as byte by byte. If it
// cannot decode them, it returns how many bytes to decode one by one.
func (d *Decoder) base64Line(p []byte) (n, single int) {
	n = min(len(p), cap(d.out)/3*4)
	if end := bytes.IndexByte(p[:n], '\n'); end >= 0 {
		n = end
	}
	if n &^= 3; n == 0 {
		return 0, 0
	}
	if cap(d.out)-len(d.out) < n/4*3 {
		d.flush()
	}
	room := d.out[len(d.out) : len(d.out)+n/4*3]
	if got, err := base64.RawStdEncoding.Decode(room, p[:n]); err != nil || got != len(room) {
		return 0, n // there is white space or padding, or it is not base64
	}
	d.out = d.out[:len(d.out)+len(room)]
	return n, 0
}

// base64End ends a group that may be incomplete.
func (d *Decoder) base64End() {
	switch d.digits {
	case 1:
		if d.ignored = true; !d.padded {
			d.fail(ErrBase64)
		}
	case 2:
		d.emit(byte(d.group >> 4))
	case 3:
		d.emit(byte(d.group >> 10))
		d.emit(byte(d.group >> 2))
	}
	d.group, d.digits = 0, 0
}

// quoted decodes the lines that end in p. Of a line of more than maxHeld bytes it decodes the beginning, up to white
// space or a code that may be its end.
func (d *Decoder) quoted(p []byte) {
	for len(p) > 0 {
		line, _, ends := bytes.Cut(p[:min(len(p), maxHeld)], []byte("\n"))
		n := len(line)
		if ends {
			n++
		}
		d.held, p = append(d.held, p[:n]...), p[n:]
		if ends {
			d.quotedLine()
		} else if len(d.held) > maxHeld {
			n := len(bytes.TrimRight(d.held, spaces))
			if code := bytes.LastIndexByte(d.held[:n], '='); code >= max(0, n-2) {
				n = code
			}
			if n == 0 { // white space alone
				n = len(d.held)
			}
			d.quotedText(d.held[:n])
			d.held = append(d.held[:0], d.held[n:]...)
		}
	}
}

const spaces = " \t\r"

// quotedLine decodes the line in d.held, without the white space at its end, and without its end if that is soft.
func (d *Decoder) quotedLine() {
	line, hard := bytes.CutSuffix(d.held, []byte("\n"))
	text, soft := bytes.CutSuffix(bytes.TrimRight(line, spaces), []byte("="))
	d.quotedText(text)
	if hard && !soft {
		if bytes.HasSuffix(line, []byte("\r")) {
			d.emit('\r')
		}
		d.emit('\n')
	}
	d.held = d.held[:0]
}

// quotedText decodes text that ends within no code. An = that begins none is a literal.
func (d *Decoder) quotedText(text []byte) {
	for i := 0; i < len(text); i++ {
		var code [1]byte
		if text[i] == '=' && i+2 < len(text) {
			if _, err := hex.Decode(code[:], text[i+1:i+3]); err == nil {
				d.emit(code[0])
				i += 2
				continue
			}
		}
		d.emit(text[i])
	}
}

// reader decodes the bytes of r, a piece at a time. Its errors are those of r and of
// [Decoder].
type reader struct {
	r       io.Reader
	dec     Decoder
	encoded [decodeBuffer]byte
	decoded bytes.Buffer // decoded and not yet read
	err     error        // error to return after decoded
}

// reset makes d decode the bytes of r.
func (d *reader) reset(r io.Reader, enc Encoding) {
	d.r, d.err = r, nil
	d.decoded.Reset()
	d.dec.Reset(&d.decoded, enc)
}

// Read implements io.Reader.
func (d *reader) Read(p []byte) (int, error) {
	for d.decoded.Len() == 0 && d.err == nil {
		n, err := d.r.Read(d.encoded[:])
		if _, d.err = d.dec.Write(d.encoded[:n]); d.err != nil {
			break
		}
		if d.err = err; err == io.EOF {
			if _, err := d.dec.Close(); err != nil {
				d.err = err
			}
		}
	}
	if d.decoded.Len() > 0 {
		return d.decoded.Read(p)
	}
	return 0, d.err
}

// Bounds of what is decoded into memory, in encoded bytes of one message.
const (
	inMemory   = 256 << 10 // bytes of one part; a file's whole message up to this is read into memory
	maxDecoded = 1 << 20   // bytes of all parts
)

// undoer undoes the encodings of a message's parts, and holds what is decoded into
// memory. The other parts share one decoder, so many of them take no more memory
// than one.
type undoer struct {
	ctx  context.Context // ends parsing; nil: nothing does
	held []byte          // decoded parts in memory
	room int             // capacity that held needs at most
	used int64           // encoded bytes of the parts in memory
	from reader
	part *decoded // the part that from reads, or nil
	at   int64    // decoded bytes of part that from has read
	// ignored: the part that was undone last has bytes that are no base64
	ignored bool
}

// reset forgets the previous message. The next one has size bytes.
func (u *undoer) reset(size int64) {
	u.held, u.used, u.part = u.held[:0], 0, nil
	u.room = int(min(size, maxDecoded)) + 1
}

// undo returns the content of a part with its encoding undone. The error is ErrBase64 if that
// is impossible. Other errors are those of reading.
func (u *undoer) undo(encoded *io.SectionReader, e Encoding) (Content, error) {
	d := &decoded{by: u, encoded: encoded, encoding: e}
	u.restart(d)
	u.part = nil // from is read to the end below
	u.from.r = u.watched(u.from.r)
	defer func() { u.ignored = u.from.dec.ignored }()
	if size := encoded.Size(); size <= inMemory && u.used+size <= maxDecoded {
		return u.hold(int(size))
	}
	n, err := io.Copy(io.Discard, &u.from)
	d.size = n
	return d, err
}

// hold decodes a part of size encoded bytes into memory. Decoding never makes a part longer.
func (u *undoer) hold(size int) (Content, error) {
	if cap(u.held) < u.room {
		u.held = make([]byte, 0, u.room)
	}
	u.used += int64(size)
	at := len(u.held)
	n, err := io.ReadFull(&u.from, u.held[at:at+size+1])
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	u.held = u.held[:at+n]
	return BytesContent(u.held[at : at+n : at+n]), nil
}

// watched returns a reader of r that fails when the context of parsing has ended.
func (u *undoer) watched(r io.Reader) io.Reader {
	if u.ctx == nil {
		return r
	}
	return contextReader{u.ctx, r}
}

// restart makes the decoder read d from its beginning.
func (u *undoer) restart(d *decoded) {
	u.from.reset(io.NewSectionReader(d.encoded, 0, d.encoded.Size()), d.encoding)
	u.part, u.at = d, 0
}

// decoded is the content of a part that is decoded as it is read. Reading forward
// decodes each byte once; reading backward, or after another part of the message was
// read, decodes from the start of the part again.
type decoded struct {
	by       *undoer
	encoded  *io.SectionReader
	encoding Encoding
	size     int64
}

// Size implements Content.
func (d *decoded) Size() int64 { return d.size }

// ReadAt implements io.ReaderAt.
func (d *decoded) ReadAt(p []byte, off int64) (int, error) {
	if off >= d.size {
		return 0, io.EOF
	}
	u := d.by
	if u.part != d || off < u.at {
		u.restart(d)
	}
	n, err := io.CopyN(io.Discard, &u.from, off-u.at)
	u.at += n
	if err != nil {
		return 0, err
	}
	got, err := io.ReadFull(&u.from, p)
	u.at += int64(got)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return got, err
}

// encodingOf returns the encoding that a header names. ok is false if Decoder
// does not know it, as with x-uuencode.
func encodingOf(s string) (e Encoding, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "7bit", "8bit", "binary":
		return Identity, true
	case "base64":
		return Base64, true
	case "quoted-printable":
		return QuotedPrintable, true
	}
	return Identity, false
}

// part returns the leaf as a part that has no name yet. If its encoding cannot be
// undone, its content is the encoded bytes, and fault says why. An error is one
// of reading raw.
func (l *leaf) part(u *undoer, raw Content) (p Part, fault string, err error) {
	encoded := io.NewSectionReader(raw, l.offset, l.length)
	p = Part{Type: l.typ, Offset: l.offset, Length: l.length, Content: encoded}
	if l.encoding == Identity {
		return p, l.fault, nil
	}
	c, err := u.undo(encoded, l.encoding)
	switch {
	case errors.Is(err, ErrBase64):
		return p, "its encoding cannot be undone: " + err.Error(), nil
	case err != nil:
		return p, "", fmt.Errorf("read a part: %w", err)
	}
	p.Encoding, p.Content = l.encoding, c
	return p, "", nil
}
