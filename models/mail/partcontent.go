package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

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
