package mail

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"strings"

	"golang.org/x/text/transform"
)

// ErrBase64 is the error of decoding something else as base64.
var ErrBase64 = errors.New("not base64")

// Decoder undoes a content transfer encoding. The caller writes encoded bytes to it in pieces of any size; the decoder
// writes the decoded bytes to its writer. Close writes the last ones. After Reset it can be used again.
//
// It decodes everything that the standard library decodes, to the same bytes. It
// also decodes what real mail has: base64 with white space anywhere, without
// padding, or with more base64 after its padding; quoted-printable with control
// bytes, long lines, and '=' that begins no code, which is a literal.
// Other bytes in base64 are ignored (RFC 2045 6.8); after padding, the first of them ends
// the data, since mailing lists append text. Base64 that ends within a byte is ErrBase64;
// such a part is [Identity] in a Message.
type Decoder struct {
	w       io.Writer
	by      [QuotedPrintable + 1]transform.Transformer // by encoding; each is made once
	decoder transform.Transformer
	out     [4 << 10]byte
}

// Reset makes d decode e to w.
func (d *Decoder) Reset(w io.Writer, e Encoding) {
	if int(e) >= len(d.by) { // from a broken layout
		e = Identity
	}
	if d.by[e] == nil {
		d.by[e] = e.decoder()
	}
	d.w, d.decoder = w, d.by[e]
	d.decoder.Reset()
}

// Write takes the next encoded bytes.
func (d *Decoder) Write(p []byte) (int, error) { return len(p), d.decode(p, false) }

// Close ends the part.
func (d *Decoder) Close() error { return d.decode(nil, true) }

func (d *Decoder) decode(encoded []byte, atEOF bool) error {
	for {
		nDst, nSrc, err := d.decoder.Transform(d.out[:], encoded, atEOF)
		if _, err := d.w.Write(d.out[:nDst]); err != nil {
			return err
		}
		if encoded = encoded[nSrc:]; err != transform.ErrShortDst {
			return err
		}
	}
}

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
		return &quotedDecoder{}
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

// quotedDecoder holds what the next bytes give a meaning: the beginning of a code, or white space that may end a line,
// which may follow an =.
type quotedDecoder struct {
	held []byte
	text int // how many of the bytes held are text: dst had no room for them
}

// Reset implements transform.Transformer.
func (d *quotedDecoder) Reset() { d.held, d.text = d.held[:0], 0 }

const (
	spaces    = " \t\r" // at the end of a line they are not part of its text
	hexDigits = "0123456789abcdefABCDEF"
	// maxSpaces bounds what is held of a line. A legal line has up to 998 bytes.
	maxSpaces = 64 << 10
)

// Transform implements transform.Transformer.
func (d *quotedDecoder) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for {
		if d.text > 0 {
			n := copy(dst[nDst:], d.held[:d.text])
			nDst, d.held, d.text = nDst+n, append(d.held[:0], d.held[n:]...), d.text-n
			if d.text > 0 {
				return nDst, nSrc, transform.ErrShortDst
			}
		}
		if len(d.held) == 0 {
			n := copy(dst[nDst:], src[nSrc:nSrc+plain(src[nSrc:min(len(src), nSrc+len(dst)-nDst)])])
			nDst, nSrc = nDst+n, nSrc+n
		}
		switch {
		case nSrc < len(src):
			if d.take(src[nSrc]) {
				nSrc++
			}
		case atEOF && d.inCode():
			d.text = len(d.held)
		case atEOF:
			d.Reset()
			return nDst, nSrc, nil
		default:
			return nDst, nSrc, nil
		}
	}
}

// plain returns how many bytes at the beginning of src are text, whatever comes after them.
func plain(src []byte) int {
	text := 0
	for i, c := range src {
		switch c {
		case '=', '\n':
			return text
		case ' ', '\t', '\r':
		default:
			text = i + 1
		}
	}
	return text
}

// inCode reports whether = and a digit are held.
func (d *quotedDecoder) inCode() bool {
	return len(d.held) == 2 && d.held[0] == '=' && strings.IndexByte(hexDigits, d.held[1]) >= 0
}

// take takes the next byte. If it shows that the bytes held are text, they must be written first, and take reports
// false.
func (d *quotedDecoder) take(c byte) bool {
	blank := strings.IndexByte(spaces, c) >= 0
	switch n := len(d.held); {
	case n == 0:
		if d.held = append(d.held, c); c != '=' && !blank {
			d.text = 1
		}
	case d.inCode():
		code := [...]byte{d.held[1], c}
		if _, err := hex.Decode(d.held, code[:]); err != nil {
			d.text = n
			return false
		}
		d.held, d.text = d.held[:1], 1
	case c == '\n':
		soft, end := d.held[0] == '=', "\n"
		if d.held[n-1] == '\r' {
			end = "\r\n"
		}
		if d.held = d.held[:0]; !soft {
			d.held, d.text = append(d.held, end...), len(end)
		}
	case n == 1 && d.held[0] == '=' && strings.IndexByte(hexDigits, c) >= 0, blank && n < maxSpaces:
		d.held = append(d.held, c)
	default:
		d.text = n
		return false
	}
	return true
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
