package mail

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// inMemory is the largest part, in encoded bytes, whose decoded content is kept
// in memory.
const inMemory = 256 << 10

// undo returns the content of a part with its encoding undone. ErrBase64 if it
// cannot be undone; other errors are those of reading.
func undo(encoded *io.SectionReader, e Encoding) (Content, error) {
	d := &decoded{encoded: encoded, encoding: e}
	d.restart()
	if encoded.Size() <= inMemory {
		b, err := io.ReadAll(d.from)
		return BytesContent(b), err
	}
	n, err := io.Copy(io.Discard, d.from)
	if err != nil {
		return nil, err
	}
	d.size = n
	d.restart()
	return d, nil
}

// decoded is the content of a large part, which is decoded as it is read.
// Reading forward decodes each byte once; reading backward decodes from the
// start of the part again.
type decoded struct {
	encoded  *io.SectionReader
	encoding Encoding
	size     int64
	from     io.Reader // decodes encoded, and has read up to at
	at       int64     // in decoded bytes
}

func (d *decoded) restart() {
	encoded := io.NewSectionReader(d.encoded, 0, d.encoded.Size())
	d.from, d.at = NewReader(encoded, d.encoding), 0
}

// Size implements Content.
func (d *decoded) Size() int64 { return d.size }

// ReadAt implements io.ReaderAt.
func (d *decoded) ReadAt(p []byte, off int64) (int, error) {
	if off >= d.size {
		return 0, io.EOF
	}
	if off < d.at {
		d.restart()
	}
	n, err := io.CopyN(io.Discard, d.from, off-d.at)
	d.at += n
	if err != nil {
		return 0, err
	}
	got, err := io.ReadFull(d.from, p)
	d.at += int64(got)
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
func (l *leaf) part(raw Content) (p Part, fault string, err error) {
	encoded := io.NewSectionReader(raw, l.offset, l.length)
	p = Part{Type: l.typ, Offset: l.offset, Length: l.length, Content: encoded}
	if l.encoding == Identity {
		return p, l.fault, nil
	}
	c, err := undo(encoded, l.encoding)
	switch {
	case errors.Is(err, ErrBase64):
		return p, "its encoding cannot be undone: " + err.Error(), nil
	case err != nil:
		return p, "", fmt.Errorf("read a part: %w", err)
	}
	p.Encoding, p.Content = l.encoding, c
	return p, "", nil
}
