package hbase

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/schemas"
)

// keyPart is one column of a row key or of a qualifier.
type keyPart struct {
	kind schemas.Kind
	desc bool
	// raw is true if the value's bytes are stored as they are, without a terminator. Only the
	// last part of a row key or qualifier can be raw, and only in ascending order: in
	// descending order "a" would come before "ab".
	raw bool
	// filled is true for a raw part that is a whole row key or qualifier, which must not be
	// empty. HBase takes no empty row key, and with NEW_VERSION_BEHAVIOR (2.6.4) the deletion
	// of a family misses a cell with an empty qualifier. So append writes a zero byte before
	// an empty value and before one that begins with a zero byte.
	filled bool
	// unsigned is true for a bigint that is never negative (hint unsigned). It is stored as 8
	// big-endian bytes, without the flipped sign bit that sorts negative numbers first.
	unsigned bool
	// salt is how many buckets the row keys are spread over (hint salt), and salted how many
	// columns say which: those of the partition. Only the first part of a row key has them. The
	// bucket's number is the first byte of the row key. A salt of 0 is none.
	salt, salted int
}

// usualKey is the length in bytes that nearly no key exceeds.
const usualKey = 64

// appendKey appends the first columns of a key, as many as there are values.
func appendKey(dst []byte, parts []keyPart, vals []drivers.Value) (key []byte, err error) {
	if dst == nil {
		dst = make([]byte, 0, usualKey)
	}
	salted, at := len(vals) > 0 && parts[0].salt > 0, len(dst)
	if salted {
		if len(vals) < parts[0].salted {
			return dst, errSalt
		}
		dst = append(dst, 0)
	}
	for i, v := range vals {
		p := &parts[i]
		switch {
		case v.Kind() != p.kind:
			return dst, fmt.Errorf("a %s value was given for a %s key column", v.Kind(), p.kind)
		case p.raw:
			b := v.Raw()
			if p.filled && (len(b) == 0 || b[0] == 0) {
				dst = append(dst, 0)
			}
			dst = append(dst, b...)
		case p.unsigned:
			n := v.Int64()
			if n < 0 {
				return dst, fmt.Errorf("%d was given for a key column that the schema's hints call unsigned", n)
			}
			if p.desc {
				n = ^n
			}
			dst = binary.BigEndian.AppendUint64(dst, uint64(n))
		default:
			if dst, err = keys.Append(dst, v, p.desc); err != nil {
				return dst, err
			}
		}
		if salted && i+1 == parts[0].salted {
			dst[at] = byte(xxhash.Sum64(dst[at+1:]) % uint64(parts[0].salt))
		}
	}
	return dst, nil
}

var errSalt = errors.New("the rows of a salted table are found only by all columns of its partition")

// decodeKey decodes a whole key. The values share the bytes of the key or of buf, which decodeKey extends and returns.
// If it is tolerant, the values of a key that mailbench did not write are broken ones.
func decodeKey(parts []keyPart, key []byte, vals []drivers.Value, buf []byte, tolerant bool) (grown []byte, err error) {
	src := key
	if len(parts) > 0 && parts[0].salt > 0 {
		if len(src) == 0 || int(src[0]) >= parts[0].salt {
			err = keys.ErrCorrupt
		} else {
			src = src[1:]
		}
	}
	for i := 0; i < len(parts) && err == nil; i++ {
		switch p := &parts[i]; {
		case p.raw:
			if p.filled && len(src) > 0 && src[0] == 0 {
				src = src[1:]
			}
			vals[i], src = drivers.Bytes(p.kind, src), nil
		case !p.unsigned:
			vals[i], src, buf, err = keys.Decode(src, p.kind, p.desc, buf)
		case len(src) < 8:
			err = keys.ErrCorrupt
		default:
			n := binary.BigEndian.Uint64(src)
			if p.desc {
				n = ^n
			}
			vals[i], src = drivers.Bigint(int64(n)), src[8:]
		}
	}
	if err == nil && len(src) > 0 {
		err = keys.ErrCorrupt
	}
	if err == nil {
		return buf, nil
	}
	if tolerant {
		for i := range parts {
			vals[i] = drivers.Broken(key)
		}
		return buf, nil
	}
	return buf, fmt.Errorf("a key that mailbench did not write: %w", err)
}

// keyAfter turns a key of n columns into the smallest key after all keys that begin
// with it. It returns an empty key if there is none.
func keyAfter(key []byte, parts []keyPart, n int) []byte {
	if n > 0 && n == len(parts) && parts[n-1].raw {
		return append(key, 0) // a longer value that begins with this one is another key
	}
	return keys.Successor(key)
}

// Values are written as HBase's own class Bytes does: numbers in 4 or 8 big-endian bytes, true
// as -1 and false as 0 in one byte, UUIDs in 16 bytes, text and blobs as they are.
//
// In conditions HBase takes an empty value for an absent one, so no stored value is empty. An
// empty text or blob is the five bytes of escapeEmpty. A null is escapeNull, where a cell is a
// row and must exist. A blob that happens to begin with escape gets escapeValue before it. A
// text cannot begin with escape, since 0xFF never occurs in UTF-8.
const (
	escape      = "\xff\x00mb"
	escapeEmpty = escape + "e"
	escapeNull  = escape + "n"
	escapeValue = escape + "v"
	// escapeNever is a value that no cell has. A cell compared with it is either absent or
	// different.
	escapeNever = escape + "x"
)

var errValue = errors.New("a value that mailbench did not write")

// appendValue appends a value that is no collection.
func appendValue(dst []byte, v drivers.Value) []byte {
	switch v.Kind() {
	case schemas.Null:
		return append(dst, escapeNull...)
	case schemas.Text, schemas.Blob:
		b := v.Raw()
		if len(b) == 0 {
			return append(dst, escapeEmpty...)
		}
		if escaped(b) {
			dst = append(dst, escapeValue...)
		}
		return append(dst, b...)
	case schemas.Int:
		return binary.BigEndian.AppendUint32(dst, uint32(v.Int64()))
	case schemas.Boolean:
		return append(dst, byte(-v.Int64()))
	case schemas.UUID, schemas.TimeUUID:
		u := v.UUIDBytes()
		return append(dst, u[:]...)
	default:
		return binary.BigEndian.AppendUint64(dst, uint64(v.Int64()))
	}
}

// encodeValue is appendValue to nothing. It shares the bytes of a text or blob if it can.
func encodeValue(v drivers.Value) []byte {
	if b := v.Raw(); len(b) > 0 && !escaped(b) {
		return b
	}
	return appendValue(nil, v)
}

func escaped(b []byte) bool { return len(b) >= len(escape) && string(b[:len(escape)]) == escape }

// decodeValue undoes appendValue. The value shares src's bytes. If decodeValue is tolerant, a value that mailbench did
// not write is a broken one.
func decodeValue(kind schemas.Kind, src []byte, tolerant bool) (drivers.Value, error) {
	text := kind == schemas.Text || kind == schemas.Blob
	rest, isEscaped := bytes.CutPrefix(src, []byte(escape))
	switch {
	case isEscaped && string(rest) == "n":
		return drivers.Value{}, nil
	case isEscaped && text && string(rest) == "e":
		return drivers.Bytes(kind, rest[:0]), nil
	case isEscaped && text && bytes.HasPrefix(rest, []byte("v")):
		return drivers.Bytes(kind, rest[1:]), nil
	case text && len(src) > 0 && !isEscaped:
		return drivers.Bytes(kind, src), nil
	case text:
	case kind == schemas.Int && len(src) == 4:
		return drivers.Int(int32(binary.BigEndian.Uint32(src))), nil
	case kind == schemas.Boolean && len(src) == 1:
		return drivers.Boolean(src[0] != 0), nil
	case (kind == schemas.UUID || kind == schemas.TimeUUID) && len(src) == 16:
		return drivers.ID(kind, [16]byte(src)), nil
	case kind == schemas.Int, kind == schemas.Boolean, kind == schemas.UUID, kind == schemas.TimeUUID:
	case len(src) == 8:
		return drivers.Number(kind, int64(binary.BigEndian.Uint64(src))), nil
	}
	if tolerant {
		return drivers.Broken(src), nil
	}
	return drivers.Value{}, fmt.Errorf("%w: %d bytes for a %s", errValue, len(src), kind)
}

// bounds is a range of row keys, or of qualifiers in a row. It includes lower and
// excludes upper; an empty upper is no end.
type bounds struct {
	lower, upper, prefix, scratch []byte
	none                          bool // nothing can be in the range
}

// set sets the range to the keys that begin with the fixed columns, within the call's from, to and after, and within
// the part of a scan that the statement is. If after has more columns than the key, the caller must compare the others.
func (b *bounds) set(st *statement, parts []keyPart, fixed, args []drivers.Value) (err error) {
	p, n, at := st.Pattern(), len(fixed), &st.Layout
	if b.prefix, err = appendKey(b.prefix[:0], parts, fixed); err != nil {
		return err
	}
	b.none = false
	b.lower = append(b.lower[:0], b.prefix...)
	b.upper = keyAfter(append(b.upper[:0], b.prefix...), parts, n)
	if free := len(parts) - n; free > 0 {
		first := !parts[n].desc // from is the first end
		if p.From != nil && !args[at.From].IsNull() {
			err = b.bound(parts, n, args[at.From:at.From+1], first, first == p.From.Open)
		}
		if err == nil && p.To != nil && !args[at.To].IsNull() {
			err = b.bound(parts, n, args[at.To:at.To+1], !first, !first == p.To.Open)
		}
		after := args[at.After : at.After+len(p.After)] // none or all are null
		if err == nil && len(after) > 0 && !after[0].IsNull() {
			err = b.bound(parts, n, after[:min(len(after), free)], !st.backward, !st.backward && len(after) <= free)
		}
	}
	if bytes.Compare(st.from, b.lower) > 0 {
		b.lower = append(b.lower[:0], st.from...)
	}
	if st.to != nil && (len(b.upper) == 0 || bytes.Compare(st.to, b.upper) < 0) {
		b.upper = append(b.upper[:0], st.to...)
	}
	b.none = b.none || len(b.upper) > 0 && bytes.Compare(b.lower, b.upper) >= 0
	return err
}

// bound moves the first or the last end of the range to the keys that begin with the prefix and the values of the
// columns from n on, or past these keys.
func (b *bounds) bound(parts []keyPart, n int, vs []drivers.Value, first, past bool) (err error) {
	if b.scratch, err = appendKey(append(b.scratch[:0], b.prefix...), parts[n:], vs); err != nil {
		return err
	}
	if past {
		if b.scratch = keyAfter(b.scratch, parts, n+len(vs)); len(b.scratch) == 0 {
			b.none = b.none || first
			return nil
		}
	}
	switch key := b.scratch; {
	case first && bytes.Compare(key, b.lower) > 0:
		b.lower = append(b.lower[:0], key...)
	case !first && (len(b.upper) == 0 || bytes.Compare(key, b.upper) < 0):
		b.upper = append(b.upper[:0], key...)
		b.none = b.none || len(key) == 0
	}
	return nil
}
