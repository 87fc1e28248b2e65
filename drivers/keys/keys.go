// Package keys encodes key columns in bytes that sort as the values do in their
// declared direction. A key is the encodings of its columns one after another. Each
// encoding is prefix-free: it has a fixed length, or a terminator at its end. So a
// key sorts before the longer keys that begin with it, and the rows below a key
// prefix lie together.
//
//	text, blob     bytes, 0x00 as 0x00 0xFF, ended by 0x00 0x01
//	int            4 bytes, big-endian, sign bit flipped
//	bigint         8 bytes, likewise
//	timestamp      8 bytes, likewise
//	boolean        1 byte, 0 or 1
//	uuid           its 16 bytes
//	timeuuid       60-bit time and version in 8 bytes, then the low 8 bytes
//	               with their sign bits flipped: Cassandra's order
//
// A descending column is the complement of all these bytes. So a descending
// bigint n >= 0 is 2^63-1-n in 8 big-endian bytes, James' reversed UID.
//
// [Columns] are those of a whole key. HBase stores some of them in another way, as a [Column] says, so that keys are
// those of the source designs.
//
// Engines that sort by bytes (Pebble, HBase) share it; Cassandra compares bounds with it.
package keys

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

const (
	escape     = 0x00 // begins an escaped zero byte and the terminator
	escaped    = 0xFF // follows escape: a zero byte
	terminator = 0x01 // follows escape: the end; below escaped, so prefixes sort first

	signBit32 = 1 << 31
	signBit64 = 1 << 63
	signBits  = 0x8080808080808080 // of each byte
)

// ErrCorrupt is returned for bytes that Append cannot have made.
var ErrCorrupt = errors.New("corrupt key")

// Column is a column of a key.
type Column struct {
	Kind schemas.Kind
	Desc bool
	At   int // where Decode puts its value in a row

	// Before begins every key. Only the first column of a key has it, and Salt.
	Before string
	// Salt is how many buckets the keys are spread over, and Salted how many columns say which. The bucket's number is
	// a byte before the first column. A salt of 0 is none.
	Salt, Salted int
	// Raw is true if the value's bytes are stored as they are, without a terminator. Only the last column can be raw,
	// and only in ascending order: in descending order "a" would come before "ab".
	Raw bool
	// Filled is true for a raw column that is a whole key, which must not be empty. So a zero byte is written before an
	// empty value and before one that begins with a zero byte.
	Filled bool
	// Unsigned is true for a bigint that is never negative. It is stored as 8 big-endian bytes, without the flipped
	// sign bit that sorts negative numbers first.
	Unsigned bool
}

// Columns are the columns of a key, in its order.
type Columns []Column

// usualKey is the length in bytes that nearly no key exceeds.
const usualKey = 64

// Append appends columns of a key to dst: from number at on, as many as there are values. A salted key has all of its
// salted columns, or none.
func (cs Columns) Append(dst []byte, at int, values []drivers.Value) ([]byte, error) {
	if dst == nil {
		dst = make([]byte, 0, usualKey)
	}
	if at == 0 {
		dst = append(dst, cs[0].Before...)
	}
	salted, begin := at == 0 && len(values) > 0 && cs[0].Salt > 0, len(dst)
	if salted {
		dst = append(dst, 0)
	}
	for i, v := range values {
		c := &cs[at+i]
		switch {
		case c.Raw:
			b := v.Raw()
			if c.Filled && (len(b) == 0 || b[0] == 0) {
				dst = append(dst, 0)
			}
			dst = append(dst, b...)
		case c.Unsigned && v.Int64() < 0:
			return dst, fmt.Errorf("%d was given for a key column that the schema's hints call unsigned", v.Int64())
		case c.Unsigned:
			dst = Append(dst, drivers.Bigint(v.Int64()^math.MinInt64), c.Desc)
		default:
			dst = Append(dst, v, c.Desc)
		}
		if salted && i+1 == cs[0].Salted {
			dst[begin] = byte(xxhash.Sum64(dst[begin+1:]) % uint64(cs[0].Salt))
		}
	}
	return dst, nil
}

// After turns a key of n columns, in place, into the smallest key after all that begin with it. If there is none, the
// result is empty.
func (cs Columns) After(key []byte, n int) []byte {
	if n > 0 && n == len(cs) && cs[n-1].Raw {
		return append(key, 0) // a longer value that begins with this one is another key
	}
	for i := len(key) - 1; i >= 0; i-- {
		if key[i] != 0xFF {
			key[i]++
			return key[:i+1]
		}
	}
	return key[:0]
}

// Decode decodes a whole key into a row. The values share the bytes of the key or of buf, which Decode extends and
// returns. If it is tolerant, the values of a key that mailbench did not write are broken ones.
func (cs Columns) Decode(key []byte, row []drivers.Value, buf []byte, tolerant bool) (grown []byte, err error) {
	key = key[len(cs[0].Before):]
	src := key
	if cs[0].Salt > 0 {
		if len(src) == 0 || int(src[0]) >= cs[0].Salt {
			err = ErrCorrupt
		} else {
			src = src[1:]
		}
	}
	for i := 0; i < len(cs) && err == nil; i++ {
		c := &cs[i]
		if c.Raw {
			if c.Filled && len(src) > 0 && src[0] == 0 {
				src = src[1:]
			}
			row[c.At], src = drivers.Bytes(c.Kind, src), nil
		} else if row[c.At], src, buf, err = Decode(src, c.Kind, c.Desc, buf); c.Unsigned {
			row[c.At] = drivers.Bigint(row[c.At].Int64() ^ math.MinInt64)
		}
	}
	if err == nil && len(src) > 0 {
		err = ErrCorrupt
	}
	switch {
	case err == nil:
		return buf, nil
	case tolerant:
		for i := range cs {
			row[cs[i].At] = drivers.Broken(key)
		}
		return buf, nil
	}
	return buf, fmt.Errorf("a key that mailbench did not write: %w", err)
}

// Append appends the encoding of v to dst. It panics if v is of a kind that no key column
// has, or null: sessions check the arguments of calls (plan.Session).
func Append(dst []byte, v drivers.Value, desc bool) []byte {
	at := len(dst)
	switch v.Kind() {
	case schemas.Text, schemas.Blob:
		for _, c := range v.Raw() {
			if c == escape {
				dst = append(dst, escape, escaped)
			} else {
				dst = append(dst, c)
			}
		}
		dst = append(dst, escape, terminator)
	case schemas.Int:
		dst = binary.BigEndian.AppendUint32(dst, uint32(v.Int64())^signBit32)
	case schemas.Bigint, schemas.Timestamp, schemas.Counter: // which is a bigint to a client
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.Int64())^signBit64)
	case schemas.Boolean:
		dst = append(dst, byte(v.Int64()))
	case schemas.UUID:
		u := v.UUIDBytes()
		dst = append(dst, u[:]...)
	case schemas.TimeUUID:
		u := v.UUIDBytes()
		dst = appendTimeUUID(dst, &u)
	default:
		panic(fmt.Sprintf("a %s value cannot be part of a key", v.Kind()))
	}
	if desc {
		for i := at; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// Decode reads one value of the kind from the front of src and returns it with
// the rest of src. A text or blob shares src's bytes where it can. Else Decode appends
// them to buf, and returns it as grown. The value is valid until src or buf changes.
func Decode(src []byte, kind schemas.Kind, desc bool, buf []byte) (v drivers.Value, rest, grown []byte, err error) {
	mask := uint64(0)
	if desc {
		mask = ^mask
	}
	flip := byte(mask)
	switch kind {
	case schemas.Text, schemas.Blob:
		raw, rest, buf, err := decodeBytes(src, flip, buf)
		if err != nil {
			return v, src, buf, err
		}
		return drivers.Bytes(kind, raw), rest, buf, nil
	case schemas.Int:
		if len(src) < 4 {
			return v, src, buf, ErrCorrupt
		}
		n := binary.BigEndian.Uint32(src) ^ uint32(mask)
		return drivers.Int(int32(n ^ signBit32)), src[4:], buf, nil
	case schemas.Bigint, schemas.Timestamp:
		if len(src) < 8 {
			return v, src, buf, ErrCorrupt
		}
		n := binary.BigEndian.Uint64(src) ^ mask
		return drivers.Number(kind, int64(n^signBit64)), src[8:], buf, nil
	case schemas.Boolean:
		if len(src) < 1 || src[0]^flip > 1 {
			return v, src, buf, ErrCorrupt
		}
		return drivers.Boolean(src[0]^flip == 1), src[1:], buf, nil
	case schemas.UUID, schemas.TimeUUID:
		if len(src) < 16 {
			return v, src, buf, ErrCorrupt
		}
		var u [16]byte
		for i := range u {
			u[i] = src[i] ^ flip
		}
		if kind == schemas.TimeUUID {
			u = timeUUID(&u)
		}
		return drivers.ID(kind, u), src[16:], buf, nil
	}
	return v, src, buf, fmt.Errorf("a %s value cannot be part of a key", kind)
}

// Successor turns a key prefix, in place, into the smallest key above all keys that
// begin with it: the open end of their range. For a prefix of 0xFF bytes only there
// is none, and the result is empty.
func Successor(prefix []byte) []byte { return Columns(nil).After(prefix, 0) }

// decodeBytes undoes Append for a text or blob. Ascending bytes without a zero are
// returned as a slice of src. Others are appended to buf.
func decodeBytes(src []byte, flip byte, buf []byte) (raw, rest, grown []byte, err error) {
	at, shared := len(buf), flip == 0
	for i := 0; i < len(src); i++ {
		c := src[i] ^ flip
		if c != escape {
			if !shared {
				buf = append(buf, c)
			}
			continue
		}
		i++
		if i == len(src) {
			break
		}
		switch src[i] ^ flip {
		case terminator:
			if shared {
				return src[: i-1 : i-1], src[i+1:], buf, nil
			}
			return buf[at:len(buf):len(buf)], src[i+1:], buf, nil
		case escaped:
			if shared {
				buf, shared = append(buf, src[:i-1]...), false
			}
			buf = append(buf, 0)
		default:
			return nil, src, buf[:at], ErrCorrupt
		}
	}
	return nil, src, buf[:at], ErrCorrupt
}

// appendTimeUUID puts the parts of a version 1 UUID (RFC 9562, 5.1) in the order in
// which Cassandra compares them: time high, mid and low, and then the low
// half byte by byte as signed numbers. The version, the same in all of them,
// follows the time.
func appendTimeUUID(dst []byte, u *[16]byte) []byte {
	high := uint64(binary.BigEndian.Uint16(u[6:]))
	mid := uint64(binary.BigEndian.Uint16(u[4:]))
	low := uint64(binary.BigEndian.Uint32(u[0:]))
	time := (high&0x0FFF)<<48 | mid<<32 | low
	dst = binary.BigEndian.AppendUint64(dst, time<<4|high>>12)
	return binary.BigEndian.AppendUint64(dst, binary.BigEndian.Uint64(u[8:])^signBits)
}

// timeUUID undoes appendTimeUUID.
func timeUUID(enc *[16]byte) (u [16]byte) {
	n := binary.BigEndian.Uint64(enc[:])
	time, version := n>>4, n&0x0F
	binary.BigEndian.PutUint32(u[0:], uint32(time))
	binary.BigEndian.PutUint16(u[4:], uint16(time>>32))
	binary.BigEndian.PutUint16(u[6:], uint16(time>>48)|uint16(version<<12))
	binary.BigEndian.PutUint64(u[8:], binary.BigEndian.Uint64(enc[8:])^signBits)
	return u
}

// Divide returns up to n-1 keys, in ascending order, that divide the keys of a table into n
// ranges. It repeatedly halves ranges by the value of their bytes. So the ranges have similar
// extents in key space, not similar numbers of rows. edge returns the first existing key from
// key on, or with before the last one before it; nil if there is none. A nil key is the table's
// beginning, or with before its end.
func Divide(n int, edge func(key []byte, before bool) ([]byte, error)) ([][]byte, error) {
	type extent struct{ first, last []byte }
	between := func(key []byte) (x extent, err error) { // the keys next to one, or the ends of the table
		if x.last, err = edge(key, true); err == nil {
			x.first, err = edge(key, false)
		}
		return x, err
	}
	all, err := between(nil)
	if err != nil || all.first == nil || all.last == nil {
		return nil, err
	}
	open, whole := []extent{all}, []extent(nil) // those that may be divided, the largest first, and those that cannot be
	for len(open) > 0 && len(open)+len(whole) < n {
		x := open[0]
		open = open[1:]
		if bytes.Equal(x.first, x.last) {
			whole = append(whole, x)
			continue
		}
		near, err := between(middle(x.first, x.last))
		if err != nil {
			return nil, err
		}
		if bytes.Compare(near.last, x.first) < 0 || bytes.Compare(near.first, x.last) > 0 || len(near.first) == 0 {
			whole = append(whole, x) // keys were deleted meanwhile
			continue
		}
		open = append(open, extent{x.first, near.last}, extent{near.first, x.last})
	}
	var at [][]byte
	for _, x := range append(whole, open...) {
		at = append(at, x.first)
	}
	slices.SortFunc(at, bytes.Compare)
	return at[1:], nil
}

// middle returns a key above a and not above b, about in the middle between them.
func middle(a, b []byte) []byte {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	var x, y [8]byte
	copy(x[:], a[n:])
	copy(y[:], b[n:])
	low, high := binary.BigEndian.Uint64(x[:]), binary.BigEndian.Uint64(y[:])
	mid := binary.BigEndian.AppendUint64(append([]byte{}, b[:n]...), low+(high-low+1)/2)
	if bytes.Compare(mid, a) <= 0 || bytes.Compare(mid, b) > 0 {
		return b
	}
	return mid
}
