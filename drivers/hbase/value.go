package hbase

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

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

// valueLen returns how many bytes appendValue appends.
func valueLen(v drivers.Value) int {
	switch v.Kind() {
	case schemas.Null:
		return len(escapeNull)
	case schemas.Text, schemas.Blob:
		b := v.Raw()
		if len(b) == 0 {
			return len(escapeEmpty)
		}
		if escaped(b) {
			return len(escapeValue) + len(b)
		}
		return len(b)
	default:
		return v.Size()
	}
}

func escaped(b []byte) bool { return len(b) >= len(escape) && string(b[:len(escape)]) == escape }

// decodeValue undoes appendValue. The value shares src's bytes.
func decodeValue(kind schemas.Kind, src []byte) (drivers.Value, error) {
	if escaped(src) {
		switch rest := src[len(escape):]; {
		case string(rest) == "n":
			return drivers.Value{}, nil
		case kind != schemas.Text && kind != schemas.Blob:
		case string(rest) == "e":
			return drivers.Bytes(kind, rest[:0]), nil
		case bytes.HasPrefix(rest, []byte("v")):
			return drivers.Bytes(kind, rest[1:]), nil
		}
	}
	switch kind {
	case schemas.Text, schemas.Blob:
		if len(src) > 0 && !escaped(src) {
			return drivers.Bytes(kind, src), nil
		}
	case schemas.Int:
		if len(src) == 4 {
			return drivers.Int(int32(binary.BigEndian.Uint32(src))), nil
		}
	case schemas.Boolean:
		if len(src) == 1 {
			return drivers.Boolean(src[0] != 0), nil
		}
	case schemas.UUID, schemas.TimeUUID:
		if len(src) == 16 {
			return drivers.ID(kind, [16]byte(src)), nil
		}
	default:
		if len(src) == 8 {
			return drivers.Number(kind, int64(binary.BigEndian.Uint64(src))), nil
		}
	}
	return drivers.Value{}, fmt.Errorf("%w: %d bytes for a %s", errValue, len(src), kind)
}
