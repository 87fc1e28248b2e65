package mail

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// section is a range of the raw message as it stands.
type section struct {
	raw         io.ReaderAt
	offset, len int64
}

// Size implements Content.
func (s section) Size() int64 { return s.len }

// ReadAt implements io.ReaderAt.
func (s section) ReadAt(p []byte, off int64) (int, error) {
	if off >= s.len {
		return 0, io.EOF
	}
	if rest := s.len - off; int64(len(p)) > rest {
		n, err := s.raw.ReadAt(p[:rest], s.offset+off)
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
	return s.raw.ReadAt(p, s.offset+off)
}

// inMemory is up to which size a decoded part is kept in memory.
const inMemory = 256 << 10

// undo returns a part's content with its encoding undone, or why it cannot be.
func undo(s section, e Encoding) (Content, error) {
	d := &decoded{section: s, encoding: e}
	d.restart()
	if s.len <= inMemory {
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

// decoded is a large part, decoded as it is read: reading on costs nothing
// extra, going back begins anew.
type decoded struct {
	section
	encoding Encoding
	size     int64
	from     io.Reader // at position at of the decoded bytes
	at       int64
}

func (d *decoded) restart() {
	d.from, d.at = NewReader(io.NewSectionReader(d.raw, d.offset, d.len), d.encoding), 0
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

// encodingOf returns the encoding that a header names; ok is false for one
// that is not undone here (x-uuencode and the like).
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

// part returns the part that a leaf is, without a name. A leaf whose encoding
// cannot be undone stands as it is, and fault says why. Only reading raw can fail.
func (l *leaf) part(raw Content) (p Part, fault string, err error) {
	s := section{raw, l.offset, l.length}
	p = Part{Type: l.typ, Offset: l.offset, Length: l.length, Content: s}
	if l.encoding == Identity {
		return p, l.fault, nil
	}
	c, err := undo(s, l.encoding)
	switch {
	case errors.Is(err, ErrBase64):
		return p, "its encoding cannot be undone: " + err.Error(), nil
	case err != nil:
		return p, "", fmt.Errorf("read a part: %w", err)
	}
	p.Encoding, p.Content = l.encoding, c
	return p, "", nil
}
