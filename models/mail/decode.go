package mail

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"mime/quotedprintable"
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

// longestLine bounds a line of quoted-printable; it has 76 characters by its
// standard, and is not undone if it has more than this.
const longestLine = 64 << 10

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
// extra, going back begins anew. Memory is that of one line.
type decoded struct {
	section
	encoding Encoding
	size     int64
	from     io.Reader // at position at of the decoded bytes
	at       int64
}

func (d *decoded) restart() {
	encoded := io.NewSectionReader(d.raw, d.offset, d.len)
	d.at = 0
	if d.encoding == Base64 {
		d.from = base64.NewDecoder(base64.StdEncoding, encoded)
	} else {
		d.from = quotedprintable.NewReader(bufio.NewReaderSize(encoded, int(min(d.len+16, longestLine))))
	}
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

// content returns the content of a leaf, and why its encoding could not be
// undone, if so: then it stands as it is.
func (l *leaf) content(raw Content) (Content, Encoding, string) {
	s := section{raw, l.offset, l.length}
	if l.encoding == Identity {
		return s, Identity, l.fault
	}
	c, err := undo(s, l.encoding)
	if err != nil {
		return s, Identity, fmt.Sprintf("its encoding cannot be undone: %s", err)
	}
	return c, l.encoding, ""
}
