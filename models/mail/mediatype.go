package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// withoutComments replaces each comment (RFC 5322) by a blank. One that does not end is no comment.
func withoutComments(s string) string {
	if !strings.Contains(s, "(") {
		return s
	}
	b := make([]byte, 0, len(s))
	quoted, depth, began := false, 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && (quoted || depth > 0):
			if depth == 0 {
				b = append(b, s[i:min(i+2, len(s))]...)
			}
			i++
			continue
		case c == '"' && depth == 0:
			quoted = !quoted
		case c == '(' && !quoted:
			if depth++; depth == 1 {
				began = i
				b = append(b, ' ')
			}
		case c == ')' && depth > 0:
			depth--
			continue
		}
		if depth == 0 {
			b = append(b, s[i])
		}
	}
	if depth > 0 {
		b = append(b[:len(b)-1], s[began:]...)
	}
	return string(b)
}

// structured is the value of a field such as Content-Type: a word, and parameters.
type structured struct {
	word     string // in lower case
	params   map[string]string
	repaired bool // it has errors
	repeated bool // a parameter has two values
}

const tokens = "!#$%&'*+-.^_`{|}~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// token divides s after its first characters of a token.
func token(s string) (t, rest string) {
	rest = strings.TrimLeft(s, tokens)
	return s[:len(s)-len(rest)], rest
}

func blanks(s string) string { return strings.TrimLeft(s, " \t\r\n") }

// parseStructured reads a value as its writer meant it: what no RFC allows, and mail has, is read,
// too, such as values without quotation marks, missing semicolons and encoded words.
func parseStructured(value string) structured {
	v := structured{params: map[string]string{}}
	s := strings.TrimSpace(withoutComments(value))
	if strings.HasPrefix(s, "=?") {
		if d, err := encodedWords.DecodeHeader(s); err == nil {
			s, v.repaired = d, true
		}
	}
	if t := strings.TrimLeft(s, "\" \t"); t != s {
		s, v.repaired = t, true
	}
	kind, rest := token(s)
	if main, sub := blanks(rest), ""; kind != "" && strings.HasPrefix(main, "/") {
		if sub, main = token(blanks(main[1:])); sub != "" {
			kind, rest = kind+"/"+sub, main
		}
	}
	if strings.HasPrefix(blanks(rest), "=") {
		kind, rest = "", s // a parameter, and no word before it
	}
	v.word = strings.ToLower(kind)
	if end := blanks(rest); v.word == "" || end != "" && end[0] != ';' {
		v.repaired = true
	}
	rest = strings.TrimLeft(rest, " \t\r\n;:,\"")
	extended := map[string]bool{}
	for len(rest) > 0 && len(v.params) < maxParams {
		var name, text string
		name, rest = token(rest)
		name = strings.ToLower(name)
		after := blanks(rest)
		if name == "" || !strings.HasPrefix(after, "=") {
			v.repaired = true
			_, rest, _ = strings.Cut(rest, ";")
			rest = strings.TrimLeft(rest, " \t\r\n;")
			continue
		}
		var bad bool
		text, rest, bad = parameter(blanks(after[1:]))
		v.repaired = v.repaired || bad
		rest = strings.TrimLeft(rest, " \t\r\n;")
		if old, twice := v.params[name]; !twice {
			v.params[name] = text
			if base, _, ok := strings.Cut(name, "*"); ok {
				extended[base] = true
			}
		} else if !strings.EqualFold(old, text) {
			v.repeated = true
		}
	}
	for name := range extended {
		if text, ok := v.extended(name); ok {
			v.params[name] = text
		}
	}
	return v
}

// maxParams bounds the parameters of a field, which has up to maxField bytes.
const maxParams = 1000

// parameter reads a value up to its semicolon. Without quotation marks it may have any characters;
// a blank with a name and = after it ends it, too, as a semicolon is missing there.
func parameter(s string) (value, rest string, repaired bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexByte(s, ';')
		if end < 0 {
			end = len(s)
		}
		value, rest = s[:end], s[end:]
		for i, c := range value {
			if c != ' ' && c != '\t' {
				continue
			}
			if name, after := token(blanks(value[i:])); name != "" && strings.HasPrefix(after, "=") {
				value, rest = s[:i], s[i:]
				break
			}
		}
		value = strings.TrimRight(value, " \t\r\n")
		_, odd := token(value)
		return value, rest, odd != "" || value == "" || rest != "" && rest[0] != ';'
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			rest = blanks(s[i+1:])
			return b.String(), rest, rest != "" && rest[0] != ';'
		case c == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			// A backslash before anything else is a literal: Windows writes folders of files.
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", true
}

// extended joins the pieces of a parameter, and decodes them (RFC 2231).
func (v *structured) extended(name string) (string, bool) {
	if text, ok := v.params[name+"*"]; ok {
		charset, encoded, ok := cutCharset(text)
		if !ok {
			v.repaired = true
		}
		return v.percent(encoded, charset), true
	}
	var raw strings.Builder
	charset, n := "", 0
	for ; ; n++ {
		key := name + "*" + strconv.Itoa(n)
		text, ok := v.params[key]
		if !ok {
			if text, ok = v.params[key+"*"]; !ok {
				break
			}
			if n == 0 {
				charset, text, _ = cutCharset(text)
			}
			text = v.percent(text, "")
		}
		raw.WriteString(text)
	}
	return decoded2231(raw.String(), charset), n > 0
}

// cutCharset divides charset'language'text.
func cutCharset(s string) (charset, text string, ok bool) {
	charset, rest, ok := strings.Cut(s, "'")
	if !ok {
		return "", s, false
	}
	_, text, ok = strings.Cut(rest, "'")
	if !ok {
		return "", s, false
	}
	return charset, text, true
}

func (v *structured) percent(s, charset string) string {
	text, err := url.PathUnescape(s)
	if err != nil {
		v.repaired = true
		return s
	}
	return decoded2231(text, charset)
}

// decoded2231 is text of a charset in UTF-8, or as it is if the charset is not known.
func decoded2231(s, charset string) string {
	if charset == "" || utf8.ValidString(s) && strings.EqualFold(charset, "utf-8") {
		return s
	}
	r, err := encodedWords.CharsetReader(charset, strings.NewReader(s))
	if err != nil {
		return s
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return s
	}
	return string(b)
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
