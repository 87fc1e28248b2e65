package models

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/mailbench/mailbench/models/mail"
)

// Layout says where the parts of a raw message are. A model that keeps raw
// messages stores the layout beside each message, and reads the text body or one
// attachment from its range.
type Layout struct {
	Checksum    uint32 // CRC-32C of the raw message
	Body        LayoutPart
	Attachments []LayoutPart
}

// LayoutPart says where a part is in the raw message (Offset, Length) and how many
// bytes it has after decoding (Size).
type LayoutPart struct {
	Name, Type           []byte
	Encoding             mail.Encoding
	Offset, Length, Size int64
}

var errLayout = fmt.Errorf("%w: its layout cannot be read", ErrBroken)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum adds b to the CRC-32C sum and returns the new sum. The sum of no bytes is 0.
func Checksum(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) }

// AppendLayout appends the layout of m in its stored form: the checksum, then the body and
// each attachment. Numbers are varints. A string follows its length.
func AppendLayout(dst []byte, m *mail.Message, checksum uint32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, checksum)
	dst = appendPart(dst, &m.Body)
	for i := range m.Attachments {
		dst = appendPart(dst, &m.Attachments[i])
	}
	return dst
}

func appendPart(dst []byte, p *mail.Part) []byte {
	dst = appendString(appendString(dst, p.Name), p.Type)
	dst = append(dst, byte(p.Encoding))
	dst = binary.AppendUvarint(dst, uint64(p.Offset))
	dst = binary.AppendUvarint(dst, uint64(p.Length))
	return binary.AppendUvarint(dst, uint64(p.Content.Size()))
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// Parse reads the stored form. The layout shares b's bytes.
func (l *Layout) Parse(b []byte) error {
	l.Attachments = l.Attachments[:0]
	if len(b) < 4 {
		return errLayout
	}
	l.Checksum = binary.BigEndian.Uint32(b)
	r := layoutReader{b: b[4:]}
	l.Body = r.part()
	for len(r.b) > 0 && !r.broken {
		l.Attachments = append(l.Attachments, r.part())
	}
	if r.broken {
		return errLayout
	}
	return nil
}

// Attachment returns the attachment of that name, or nil.
func (l *Layout) Attachment(name string) *LayoutPart {
	for i := range l.Attachments {
		if string(l.Attachments[i].Name) == name {
			return &l.Attachments[i]
		}
	}
	return nil
}

type layoutReader struct {
	b      []byte
	broken bool
}

func (r *layoutReader) part() (p LayoutPart) {
	p.Name, p.Type = r.take(r.number()), r.take(r.number())
	if e := r.take(1); len(e) == 1 {
		p.Encoding = mail.Encoding(e[0])
	}
	p.Offset, p.Length, p.Size = r.number(), r.number(), r.number()
	return p
}

func (r *layoutReader) number() int64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || int64(v) < 0 {
		r.broken, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return int64(v)
}

func (r *layoutReader) take(n int64) []byte {
	if n > int64(len(r.b)) {
		r.broken, r.b = true, nil
		return nil
	}
	p := r.b[:n:n]
	r.b = r.b[n:]
	return p
}
