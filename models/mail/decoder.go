package mail

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"

	"golang.org/x/text/transform"
)

// ErrBase64 is the error of decoding something else as base64.
var ErrBase64 = errors.New("not base64")

// Decoder returns a writer that undoes a content transfer encoding of what is written to it, in pieces of any size,
// and writes the decoded bytes to w. Close writes the last ones.
//
// It decodes everything that the standard library decodes, to the same bytes. It
// also decodes what real mail has: base64 with white space anywhere, without
// padding, or with more base64 after its padding; quoted-printable with control
// bytes, long lines, and '=' that begins no code, which is a literal.
// Other bytes in base64 are ignored (RFC 2045 6.8); after padding, the first of them ends
// the data, since mailing lists append text. Base64 that ends within a byte is ErrBase64;
// such a part is [Identity] in a Message.
func Decoder(w io.Writer, e Encoding) io.WriteCloser { return transform.NewWriter(w, e.decoder()) }

// encodings are those that can be undone, by their names in headers. Others are like x-uuencode.
var encodings = map[string]Encoding{
	"7bit": Identity, "8bit": Identity, "binary": Identity, "base64": Base64, "quoted-printable": QuotedPrintable,
}

// decoder returns what undoes the encoding. Decoding never makes text longer.
func (e Encoding) decoder() transform.Transformer {
	switch e {
	case Base64:
		return &base64Decoder{}
	case QuotedPrintable:
		return quotedDecoder{}
	}
	return transform.Nop
}

// base64Decoder collects digits for the standard decoder. padded: padding was read; ended: so was a byte after it that
// is not base64; ignored: bytes were ignored.
type base64Decoder struct {
	digits                 [1 << 10]byte // whole groups of four
	held                   int           // how many digits are not decoded yet; between two calls less than a group
	padded, ended, ignored bool
}

// Reset implements transform.Transformer.
func (d *base64Decoder) Reset() { *d = base64Decoder{} }

var base64Digit = func() (is [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		is[c] = true
	}
	return is
}()

// Transform implements transform.Transformer.
func (d *base64Decoder) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	if room := max(0, len(dst)-2); len(src) > room { // the digits held may become two bytes
		src, atEOF, err = src[:room], false, transform.ErrShortDst
	}
	for _, c := range src {
		switch {
		case d.ended:
		case base64Digit[c]:
			d.digits[d.held] = c
			if d.held++; d.held == len(d.digits) {
				nDst += d.decode(dst[nDst:], d.held)
			}
		case c == '=':
			n, err := d.last(dst[nDst:])
			if nDst += n; err != nil {
				return nDst, len(src), err
			}
			d.padded = true
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			if d.ignored, d.ended = true, d.padded; d.ended {
				d.held &^= 3
			}
		}
	}
	if !atEOF {
		return nDst + d.decode(dst[nDst:], d.held&^3), len(src), err
	}
	n, err := d.last(dst[nDst:])
	return nDst + n, len(src), err
}

// last decodes all digits, of which the last group may be incomplete.
func (d *base64Decoder) last(dst []byte) (int, error) {
	if d.held%4 == 1 {
		d.held, d.ignored = d.held-1, true
		if !d.padded {
			return 0, ErrBase64
		}
	}
	return d.decode(dst, d.held), nil
}

// decode decodes the first n digits.
func (d *base64Decoder) decode(dst []byte, n int) int {
	decoded, _ := base64.RawStdEncoding.Decode(dst, d.digits[:n]) // digits alone are no error
	d.held = copy(d.digits[:], d.digits[n:d.held])
	return decoded
}

type quotedDecoder struct{ transform.NopResetter }

const (
	// spaces at the end of a line are not part of its text.
	spaces = " \t\r"
	// maxSpaces bounds what is held of a line, to less than the buffers of readers and writers. A legal line has up to
	// 998 bytes.
	maxSpaces = 2 << 10
)

// Transform implements transform.Transformer. It leaves white space that may end a line, and a code that is not whole.
func (quotedDecoder) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	if len(src) > len(dst) {
		src, atEOF, err = src[:len(dst)], false, transform.ErrShortDst
	}
	out := dst[:0]
	for line := range bytes.Lines(src) {
		if atEOF || bytes.HasSuffix(line, []byte("\n")) {
			out = appendLine(out, line)
			nSrc += len(line)
			continue
		}
		text := bytes.TrimRight(line, spaces)
		if code := bytes.LastIndexByte(text, '='); code >= 0 && code >= len(text)-2 {
			text = text[:code]
		}
		if len(line)-len(text) > maxSpaces {
			text = line
		}
		out = appendQuoted(out, text)
		if nSrc += len(text); nSrc < len(src) && err == nil {
			err = transform.ErrShortSrc
		}
	}
	return len(out), nSrc, err
}

// appendLine decodes a whole line, without the white space at its end. A soft end is not part of it.
func appendLine(out, line []byte) []byte {
	line, hard := bytes.CutSuffix(line, []byte("\n"))
	text, soft := bytes.CutSuffix(bytes.TrimRight(line, spaces), []byte("="))
	out = appendQuoted(out, text)
	if hard && !soft {
		if bytes.HasSuffix(line, []byte("\r")) {
			out = append(out, '\r')
		}
		out = append(out, '\n')
	}
	return out
}

// appendQuoted decodes text that ends within no code. An = that begins none is a literal.
func appendQuoted(out, text []byte) []byte {
	for i := 0; i < len(text); i++ {
		if text[i] == '=' && i+2 < len(text) {
			if decoded, err := hex.AppendDecode(out, text[i+1:i+3]); err == nil {
				out = decoded
				i += 2
				continue
			}
		}
		out = append(out, text[i])
	}
	return out
}

// Bounds of what is decoded into memory, in encoded bytes of one message.
const (
	inMemory   = 256 << 10 // bytes of one part; a file's whole message up to this is read into memory
	maxDecoded = 1 << 20   // bytes of all parts
)

// undo returns the content of a leaf with its encoding undone. The error is ErrBase64 if it cannot be undone. Other
// errors are those of reading.
func (p *Parser) undo(raw Content, l *leaf, decoder transform.Transformer) (Content, error) {
	if p.used+l.length <= maxDecoded && l.length <= inMemory {
		p.used += l.length
		var buffer []byte
		encoded, err := Piece(raw, &buffer, l.offset, l.length)
		if err != nil {
			return nil, err
		}
		text, _, err := transform.Append(decoder, make([]byte, 0, l.length+2), encoded)
		return BytesContent(text), err
	}
	d := &decoded{shared: &p.reading, encoded: io.NewSectionReader(raw, l.offset, l.length), encoding: l.encoding}
	var err error
	d.size, err = io.Copy(io.Discard, transform.NewReader(contextReader{p.ctx, d.encoded}, decoder))
	return d, err
}

// decoded is the content of a part that is decoded as it is read. Reading forward
// decodes each byte once; reading backward, or after another part of the message was
// read, decodes from the start of the part again.
type decoded struct {
	shared   *reading // by all such parts, so that many of them take no more memory than one
	encoded  *io.SectionReader
	encoding Encoding
	size     int64
}

// reading is how far a part was read.
type reading struct {
	part *decoded
	at   int64
	from io.Reader
}

// Size implements Content.
func (d *decoded) Size() int64 { return d.size }

// ReadAt implements io.ReaderAt.
func (d *decoded) ReadAt(p []byte, off int64) (int, error) {
	if off >= d.size {
		return 0, io.EOF
	}
	r := d.shared
	if r.part != d || off < r.at {
		encoded := io.NewSectionReader(d.encoded, 0, d.encoded.Size())
		*r = reading{part: d, from: transform.NewReader(encoded, d.encoding.decoder())}
	}
	skipped, err := io.CopyN(io.Discard, r.from, off-r.at)
	if r.at += skipped; err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r.from, p)
	if r.at += int64(n); err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, err
}
