package models

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"

	"github.com/mailbench/mailbench/models/mail"
)

// textMarker begins a text column that holds its content as base64. Text columns
// hold only UTF-8, but mail may hold other bytes. Content that begins with the
// marker is stored as base64 too.
const textMarker = "=?base64?"

// EncodeText appends c to dst in the form that a text column stores.
func EncodeText(dst []byte, c mail.Content) ([]byte, error) {
	at := len(dst)
	dst, err := mail.AppendContent(dst, c)
	if err != nil {
		return dst, err
	}
	if b := dst[at:]; utf8.Valid(b) && !bytes.HasPrefix(b, []byte(textMarker)) {
		return dst, nil
	}
	// It is read again, so that no copy of it is needed: it may be many megabytes.
	dst = append(slices.Grow(dst[:at], len(textMarker)+base64.StdEncoding.EncodedLen(len(dst)-at)), textMarker...)
	text := bytes.NewBuffer(dst)
	encoder := base64.NewEncoder(base64.StdEncoding, text)
	n, err := io.Copy(encoder, io.NewSectionReader(c, 0, c.Size()))
	if err == nil && n < c.Size() {
		err = io.ErrUnexpectedEOF
	}
	if err = cmp.Or(err, encoder.Close()); err != nil {
		return dst[:at], err
	}
	return text.Bytes(), nil
}

// TextLen returns how many bytes EncodeText makes of c. It reads c piece by piece, as far as it must,
// and holds no more than a piece in memory.
func TextLen(c mail.Content) (int64, error) {
	size := c.Size()
	head := make([]byte, min(size, int64(len(textMarker))))
	if err := mail.ReadFull(c, head, 0); err != nil {
		return 0, err
	}
	n, err := int64(0), encoding.ErrInvalidUTF8
	if string(head) != textMarker {
		n, err = io.Copy(io.Discard, transform.NewReader(io.NewSectionReader(c, 0, size), encoding.UTF8Validator))
	}
	switch {
	case err == encoding.ErrInvalidUTF8:
		return int64(len(textMarker)) + (size+2)/3*4, nil
	case err == nil && n < size:
		err = io.ErrUnexpectedEOF
	}
	return size, err
}

// DecodeText appends the content that a text column holds to dst.
func DecodeText(dst, text []byte) ([]byte, error) {
	enc, ok := bytes.CutPrefix(text, []byte(textMarker))
	if !ok {
		return append(dst, text...), nil
	}
	dst, err := base64.StdEncoding.AppendDecode(dst, enc)
	if err != nil {
		return dst, fmt.Errorf("%w: text after the marker %s: %w", ErrBroken, textMarker, err)
	}
	return dst, nil
}

// WriteText writes the content that a text column holds to w and returns its
// size in bytes.
func WriteText(w io.Writer, text []byte) (int64, error) {
	enc, ok := bytes.CutPrefix(text, []byte(textMarker))
	if !ok {
		n, err := w.Write(text)
		return int64(n), err
	}
	return io.Copy(w, base64.NewDecoder(base64.StdEncoding, bytes.NewReader(enc)))
}

// A TimeUUID counts ticks of 100 ns since the Gregorian reform, 1582-10-15, in
// 60 bits: up to the year 5236.
const (
	uuidEpoch   = 122_192_928_000_000_000 // ticks from there to 1970
	uuidMaxTick = 1<<60 - 1
	msTicks     = 10_000
	secTicks    = 10_000_000
)

// TimeUUIDs makes TimeUUIDs (RFC 9562 version 1) that differ even when their
// times are equal. It may be used by many goroutines at once.
//
// TimeUUIDs of equal times sort in the order of the calls: a counter of 33 bits
// follows the time, and the node's 21 bits follow the counter. Each of the eight
// bytes of counter and node has its high bit set. They therefore sort the same
// in engines that compare signed bytes, as Cassandra does, or unsigned bytes.
type TimeUUIDs struct {
	node  uint64
	count atomic.Uint64
}

// NewTimeUUIDs returns a generator whose UUIDs carry the low 21 bits of node,
// so that processes that share a store do not collide. 0 means random bits.
func NewTimeUUIDs(node uint64) *TimeUUIDs {
	if node == 0 {
		node = rand.Uint64()
	}
	return &TimeUUIDs{node: node}
}

// Next returns a new TimeUUID of time t.
func (g *TimeUUIDs) Next(t time.Time) [16]byte { return TimeUUID(t, g.count.Add(1), g.node) }

// TimeUUID returns the TimeUUID of a time, of the low 33 bits of a counter, and of the low 21 bits of a node.
func TimeUUID(t time.Time, n, node uint64) (u [16]byte) {
	putTicks(&u, ticks(t))
	u[8] = 0x80 | byte(n>>27)&0x3f // the RFC's variant, 10
	u[9] = 0x80 | byte(n>>20)
	// The lowest bit of a random node's first byte is 1, as the RFC requires.
	u[10] = 0x81 | byte(n>>14)<<1
	u[11] = 0x80 | byte(n>>7)
	u[12] = 0x80 | byte(n)
	u[13] = 0x80 | byte(node>>14)
	u[14] = 0x80 | byte(node>>7)
	u[15] = 0x80 | byte(node)
	return u
}

// MinTimeUUID returns CQL's minTimeuuid(t): the smallest of all TimeUUIDs whose time is in the
// same millisecond, in Cassandra's order (time, then the other bytes as signed).
func MinTimeUUID(t time.Time) [16]byte {
	n := ticks(t)
	return bound(n-n%msTicks, 0x80)
}

// MaxTimeUUID returns CQL's maxTimeuuid(t): the largest of all TimeUUIDs whose
// time is in the same millisecond.
func MaxTimeUUID(t time.Time) [16]byte {
	n := ticks(t)
	return bound(min(n-n%msTicks+msTicks-1, uuidMaxTick), 0x7f)
}

func bound(tick uint64, b byte) [16]byte {
	var u [16]byte
	putTicks(&u, tick)
	for i := 8; i < 16; i++ {
		u[i] = b
	}
	return u
}

// TimeOf returns the time of a TimeUUID, in UTC.
func TimeOf(u [16]byte) time.Time {
	n := int64(TicksOf(u)) - uuidEpoch
	return time.Unix(n/secTicks, n%secTicks*100).UTC()
}

// TicksOf returns the time of a TimeUUID in ticks since the Gregorian reform.
func TicksOf(u [16]byte) uint64 {
	return uint64(binary.BigEndian.Uint16(u[6:])&0x0fff)<<48 |
		uint64(binary.BigEndian.Uint16(u[4:]))<<32 |
		uint64(binary.BigEndian.Uint32(u[:]))
}

// ticks returns the ticks of t, clamped to 60 bits: a Date header may hold any date.
func ticks(t time.Time) uint64 {
	switch s := t.Unix(); {
	case s < -uuidEpoch/secTicks:
		return 0
	case s >= (uuidMaxTick-uuidEpoch)/secTicks:
		return uuidMaxTick
	default:
		return uint64(s*secTicks + int64(t.Nanosecond())/100 + uuidEpoch)
	}
}

func putTicks(u *[16]byte, n uint64) {
	binary.BigEndian.PutUint32(u[:], uint32(n))
	binary.BigEndian.PutUint16(u[4:], uint16(n>>32))
	binary.BigEndian.PutUint16(u[6:], uint16(n>>48)|0x1000)
}

// Layout says where the parts of a raw message are. A model that keeps raw
// messages stores the layout next to each message, and reads the text body or one
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
