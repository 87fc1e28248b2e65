package mail

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"slices"
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
	w    io.Writer
	enc  Encoding
	held []byte // not decoded yet: digits of base64, or the end of what is known of a line
	out  []byte // decoded, not written yet
	n    int64
	err  error

	// Base64. padded: padding was read; ended: so was a byte after it that is not base64;
	// ignored: bytes were ignored.
	padded, ended, ignored bool
}

// decodeBuffer is how many bytes are decoded together. Digits of base64 fill it with whole groups of four.
const decodeBuffer = 4 << 10

// Reset makes d decode enc to w.
func (d *Decoder) Reset(w io.Writer, enc Encoding) {
	*d = Decoder{w: w, enc: enc, held: d.held[:0], out: d.out[:0]}
}

// Write takes the next encoded bytes.
func (d *Decoder) Write(p []byte) (int, error) {
	if d.enc == Identity {
		d.write(p)
		return len(p), d.err
	}
	for piece := range slices.Chunk(p, decodeBuffer) {
		if d.enc == Base64 {
			d.base64(piece)
		} else {
			d.quoted(piece)
		}
		d.write(d.out)
		d.out = d.out[:0]
	}
	return len(p), d.err
}

// Close ends the part and returns the number of decoded bytes written.
func (d *Decoder) Close() (int64, error) {
	switch d.enc {
	case Base64:
		d.base64Digits()
	case QuotedPrintable:
		d.quotedLine()
	}
	d.write(d.out)
	return d.n, d.err
}

func (d *Decoder) write(p []byte) {
	if d.err == nil && len(p) > 0 {
		var n int
		n, d.err = d.w.Write(p)
		d.n += int64(n)
	}
}

var base64Digit = func() (is [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		is[c] = true
	}
	return is
}()

// base64 collects the digits of p for the standard decoder.
func (d *Decoder) base64(p []byte) {
	for _, c := range p {
		switch {
		case d.ended || d.err != nil:
			return
		case base64Digit[c]:
			if d.held = append(d.held, c); len(d.held) == decodeBuffer {
				d.base64Digits()
			}
		case c == '=':
			d.base64Digits()
			d.padded = true
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			if d.ignored, d.ended = true, d.padded; d.ended {
				d.held = d.held[:len(d.held)&^3]
			}
		}
	}
}

// base64Digits decodes the digits in d.held, of which the last group may be incomplete.
func (d *Decoder) base64Digits() {
	n := len(d.held)
	if n%4 == 1 {
		n, d.ignored = n-1, true
		if !d.padded && d.err == nil {
			d.err = ErrBase64
		}
	}
	d.out, _ = base64.RawStdEncoding.AppendDecode(d.out, d.held[:n]) // digits alone are no error
	d.held = d.held[:0]
}

// spaces at the end of a line are not part of its text.
const spaces = " \t\r"

// maxSpaces bounds what is held of a line. A legal line has up to 998 bytes.
const maxSpaces = 64 << 10

// quoted decodes p up to white space that may end a line, or a code that is not whole.
func (d *Decoder) quoted(p []byte) {
	for line := range bytes.Lines(p) {
		d.held = append(d.held, line...)
		if bytes.HasSuffix(line, []byte("\n")) {
			d.quotedLine()
			continue
		}
		text := bytes.TrimRight(d.held, spaces)
		if code := bytes.LastIndexByte(text, '='); code >= 0 && code >= len(text)-2 {
			text = text[:code]
		}
		if len(d.held)-len(text) > maxSpaces {
			text = d.held
		}
		d.quotedText(text)
		d.held = append(d.held[:0], d.held[len(text):]...)
	}
}

// quotedLine decodes the line that ends in d.held, without the white space at its end. A soft end is not part of it.
func (d *Decoder) quotedLine() {
	line, hard := bytes.CutSuffix(d.held, []byte("\n"))
	text, soft := bytes.CutSuffix(bytes.TrimRight(line, spaces), []byte("="))
	d.quotedText(text)
	if hard && !soft {
		if bytes.HasSuffix(line, []byte("\r")) {
			d.out = append(d.out, '\r')
		}
		d.out = append(d.out, '\n')
	}
	d.held = d.held[:0]
}

// quotedText decodes text that ends within no code. An = that begins none is a literal.
func (d *Decoder) quotedText(text []byte) {
	for i := 0; i < len(text); i++ {
		if text[i] == '=' && i+2 < len(text) {
			if out, err := hex.AppendDecode(d.out, text[i+1:i+3]); err == nil {
				d.out = out
				i += 2
				continue
			}
		}
		d.out = append(d.out, text[i])
	}
}

// Bounds of what is decoded into memory, in encoded bytes of one message.
const (
	inMemory   = 256 << 10 // bytes of one part; a file's whole message up to this is read into memory
	maxDecoded = 1 << 20   // bytes of all parts
)

// undoer undoes the encodings of a message's parts. It decodes small parts into memory. The others
// share one decoder, so many of them take no more memory than one.
type undoer struct {
	ctx  context.Context // ends parsing
	used int64           // encoded bytes of the parts in memory

	part    *decoded // the part that is read, or nil
	at      int64    // decoded bytes of it that were read
	from    io.Reader
	dec     Decoder
	encoded [decodeBuffer]byte
	decoded bytes.Buffer // decoded and not yet read
	err     error        // error to return after decoded
}

// undo returns the content of a part with its encoding undone, and whether the part has bytes that do not belong to
// its encoding. The error is ErrBase64 if it cannot be undone. Other errors are those of reading.
func (u *undoer) undo(encoded *io.SectionReader, e Encoding) (c Content, ignored bool, err error) {
	u.start(nil, contextReader{u.ctx, io.NewSectionReader(encoded, 0, encoded.Size())}, e)
	if size := encoded.Size(); size <= inMemory && u.used+size <= maxDecoded {
		u.used += size
		b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // decoding never makes a part longer
		_, err = b.ReadFrom(u)
		c = BytesContent(b.Bytes())
	} else {
		d := &decoded{by: u, encoded: encoded, encoding: e}
		d.size, err = io.Copy(io.Discard, u)
		c = d
	}
	return c, u.dec.ignored, err
}

// start makes u read a part from its beginning.
func (u *undoer) start(part *decoded, from io.Reader, e Encoding) {
	u.part, u.at, u.from, u.err = part, 0, from, nil
	u.decoded.Reset()
	u.dec.Reset(&u.decoded, e)
}

// Read implements io.Reader. It decodes a piece at a time. Its errors are those of reading and of [Decoder].
func (u *undoer) Read(p []byte) (n int, err error) {
	for u.decoded.Len() == 0 && u.err == nil {
		n, err := u.from.Read(u.encoded[:])
		if _, u.err = u.dec.Write(u.encoded[:n]); u.err != nil {
			break
		}
		if u.err = err; err == io.EOF {
			if _, err := u.dec.Close(); err != nil {
				u.err = err
			}
		}
	}
	if u.decoded.Len() == 0 {
		return 0, u.err
	}
	n, err = u.decoded.Read(p)
	u.at += int64(n)
	return n, err
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
		u.start(d, io.NewSectionReader(d.encoded, 0, d.encoded.Size()), d.encoding)
	}
	if _, err := io.CopyN(io.Discard, u, off-u.at); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(u, p)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, err
}

// encodings are those that can be undone, by their names in headers. Others are like x-uuencode.
var encodings = map[string]Encoding{
	"7bit": Identity, "8bit": Identity, "binary": Identity, "base64": Base64, "quoted-printable": QuotedPrintable,
}
