package hbase

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/schemas"
)

// maxRow is the longest row key that HBase takes, in bytes (HConstants.MAX_ROW_LENGTH).
const maxRow = 1<<15 - 1

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

// append appends one column of a key.
func (p keyPart) append(dst []byte, v drivers.Value) ([]byte, error) {
	if v.Kind() != p.kind {
		return dst, fmt.Errorf("a %s value was given for a %s key column", v.Kind(), p.kind)
	}
	switch {
	case p.raw:
		b := v.Raw()
		if p.filled && (len(b) == 0 || b[0] == 0) {
			dst = append(dst, 0)
		}
		return append(dst, b...), nil
	case p.unsigned:
		n := v.Int64()
		if n < 0 {
			return dst, fmt.Errorf("%d was given for a key column that the schema's hints call unsigned", n)
		}
		if p.desc {
			n = ^n
		}
		return binary.BigEndian.AppendUint64(dst, uint64(n)), nil
	}
	return keys.Append(dst, v, p.desc)
}

// decode decodes the first column of a key. The value shares the bytes of the key or of buf,
// which decode extends and returns.
func (p keyPart) decode(src, buf []byte) (v drivers.Value, rest, grown []byte, err error) {
	switch {
	case p.raw:
		if p.filled && len(src) > 0 && src[0] == 0 {
			src = src[1:]
		}
		return drivers.Bytes(p.kind, src), nil, buf, nil
	case p.unsigned:
		if len(src) < 8 {
			return v, nil, buf, keys.ErrCorrupt
		}
		n := binary.BigEndian.Uint64(src)
		if p.desc {
			n = ^n
		}
		return drivers.Bigint(int64(n)), src[8:], buf, nil
	}
	return keys.Decode(src, p.kind, p.desc, buf)
}

// appendKey appends the first columns of a key, as many as there are values.
func appendKey(dst []byte, parts []keyPart, vals []drivers.Value) (key []byte, err error) {
	salted, at := len(vals) > 0 && parts[0].salt > 0, len(dst)
	if salted {
		if len(vals) < parts[0].salted {
			return dst, errSalt
		}
		dst = append(dst, 0)
	}
	for i := range vals {
		if dst, err = parts[i].append(dst, vals[i]); err != nil {
			return dst, err
		}
		if salted && i+1 == parts[0].salted {
			dst[at] = byte(xxhash.Sum64(dst[at+1:]) % uint64(parts[0].salt))
		}
	}
	return dst, nil
}

var errSalt = errors.New("the rows of a salted table are found only by all columns of its partition")

// decodeKey decodes a whole key.
func decodeKey(parts []keyPart, src []byte, vals []drivers.Value, buf []byte) ([]byte, error) {
	var err error
	if len(parts) > 0 && parts[0].salt > 0 {
		if len(src) == 0 || int(src[0]) >= parts[0].salt {
			return buf, fmt.Errorf("a key that mailbench did not write: %w", keys.ErrCorrupt)
		}
		src = src[1:]
	}
	for i, p := range parts {
		if vals[i], src, buf, err = p.decode(src, buf); err != nil {
			return buf, fmt.Errorf("a key that mailbench did not write: %w", err)
		}
	}
	if len(src) > 0 {
		return buf, fmt.Errorf("a key that mailbench did not write: %w", keys.ErrCorrupt)
	}
	return buf, nil
}

// keyAfter turns a key of n columns into the smallest key after all keys that begin
// with it. It returns an empty key if there is none.
func keyAfter(key []byte, parts []keyPart, n int) []byte {
	if n > 0 && n == len(parts) && parts[n-1].raw {
		return append(key, 0) // a longer value that begins with this one is another key
	}
	return keys.Successor(key)
}

// checkRow reports a row key that HBase does not take.
func checkRow(row []byte) error {
	switch {
	case len(row) > maxRow:
		return fmt.Errorf("a row key of %d bytes, at most %d fit: %w", len(row), maxRow, drivers.ErrTooLarge)
	case len(row) == 0:
		return errors.New("an empty row key")
	}
	return nil
}
