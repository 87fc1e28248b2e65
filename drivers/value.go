package drivers

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/mailbench/mailbench/schemas"
)

// Value is one typed value: an argument or a cell of a row. The zero Value is
// null. Values are passed and kept in slices that a worker reuses, so a Value
// does not own its bytes: see Session for how long they are valid.
type Value struct {
	kind schemas.Kind
	num  int64
	id   [16]byte
	buf  []byte
	list []Value
}

// Text returns a text value that shares the string's bytes.
func Text(s string) Value {
	return Value{kind: schemas.Text, buf: unsafe.Slice(unsafe.StringData(s), len(s))}
}

// TextBytes returns a text value over b, which holds UTF-8.
func TextBytes(b []byte) Value { return Value{kind: schemas.Text, buf: b} }

// Blob returns a blob value over b.
func Blob(b []byte) Value { return Value{kind: schemas.Blob, buf: b} }

// Int returns an int value.
func Int(n int32) Value { return Value{kind: schemas.Int, num: int64(n)} }

// Bigint returns a bigint value.
func Bigint(n int64) Value { return Value{kind: schemas.Bigint, num: n} }

// Counter returns a counter value, or the delta of an add.
func Counter(n int64) Value { return Value{kind: schemas.Counter, num: n} }

// Boolean returns a boolean value.
func Boolean(b bool) Value {
	v := Value{kind: schemas.Boolean}
	if b {
		v.num = 1
	}
	return v
}

// UUID returns a uuid value.
func UUID(u [16]byte) Value { return Value{kind: schemas.UUID, id: u} }

// TimeUUID returns a timeuuid value (RFC 9562 version 1).
func TimeUUID(u [16]byte) Value { return Value{kind: schemas.TimeUUID, id: u} }

// Timestamp returns a timestamp value of microseconds since 1970 UTC.
func Timestamp(micros int64) Value { return Value{kind: schemas.Timestamp, num: micros} }

// SetOf returns a set value over its elements.
func SetOf(elems []Value) Value { return Value{kind: schemas.Set, list: elems} }

// ListOf returns a list value, or the argument of an in.
func ListOf(elems []Value) Value { return Value{kind: schemas.List, list: elems} }

// MapOf returns a map value over key, value, key, value.
func MapOf(pairs []Value) Value { return Value{kind: schemas.Map, list: pairs} }

// Broken returns the value of stored bytes that are no value of their column's type. It
// is null to callers that do not call Broken.
func Broken(stored []byte) Value {
	if stored == nil {
		stored = []byte{}
	}
	return Value{buf: stored}
}

// Broken reports whether the value is one that could not be decoded. Raw returns its
// bytes as they are stored.
func (v Value) Broken() bool { return v.kind == schemas.Null && v.buf != nil }

// Number returns a value of an integer kind (int, bigint, boolean, timestamp, counter).
func Number(k schemas.Kind, n int64) Value { return Value{kind: k, num: n} }

// Bytes returns a value of kind text or blob over b.
func Bytes(k schemas.Kind, b []byte) Value { return Value{kind: k, buf: b} }

// Collection returns a value of kind set, list or map over its elements; a map's are key, value, key, value.
func Collection(k schemas.Kind, elems []Value) Value { return Value{kind: k, list: elems} }

// ID returns a value of kind uuid or timeuuid.
func ID(k schemas.Kind, u [16]byte) Value { return Value{kind: k, id: u} }

// Kind returns the value's kind; Null for the zero Value.
func (v Value) Kind() schemas.Kind { return v.kind }

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.kind == schemas.Null }

// Int64 returns the number of an int, bigint, boolean, timestamp or counter; 0 for null.
func (v Value) Int64() int64 { return v.num }

// Bool reports whether a boolean is true; false for null.
func (v Value) Bool() bool { return v.num != 0 }

// Raw returns the bytes of a text or blob, shared; nil for null.
func (v Value) Raw() []byte { return v.buf }

// Str returns a copy of the bytes of a text or blob as a string.
func (v Value) Str() string { return string(v.buf) }

// UUIDBytes returns the bytes of a uuid or timeuuid.
func (v Value) UUIDBytes() [16]byte { return v.id }

// Time returns a timestamp as a time in UTC.
func (v Value) Time() time.Time { return time.UnixMicro(v.num).UTC() }

// Elems returns the elements of a collection, shared.
func (v Value) Elems() []Value { return v.list }

// Size returns the value's payload in bytes as mailbench counts it in every
// report: 8 for a number or timestamp, 4 for an int, 1 for a boolean, 16 for a
// uuid, the length of a text or blob, the sum of a collection, 0 for null.
func (v Value) Size() int {
	switch v.kind {
	case schemas.Null:
		return 0
	case schemas.Text, schemas.Blob:
		return len(v.buf)
	case schemas.Int:
		return 4
	case schemas.Boolean:
		return 1
	case schemas.UUID, schemas.TimeUUID:
		return 16
	case schemas.Set, schemas.List, schemas.Map:
		n := 0
		for i := range v.list {
			n += v.list[i].Size()
		}
		return n
	default:
		return 8
	}
}

// Equal reports whether two values have the same kind and content. A set or
// map is compared in the order of its elements.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind || v.num != w.num || v.id != w.id || !bytes.Equal(v.buf, w.buf) || len(v.list) != len(w.list) {
		return false
	}
	for i := range v.list {
		if !v.list[i].Equal(w.list[i]) {
			return false
		}
	}
	return true
}

// Compare orders values of one scalar kind by their number or by their bytes, also UUIDs.
func (v Value) Compare(w Value) int {
	return cmp.Or(cmp.Compare(v.num, w.num), bytes.Compare(v.buf, w.buf), bytes.Compare(v.id[:], w.id[:]))
}

// Clone returns a value that owns all its bytes.
func (v Value) Clone() Value {
	v.buf = bytes.Clone(v.buf)
	if v.list != nil {
		list := make([]Value, len(v.list))
		for i := range v.list {
			list[i] = v.list[i].Clone()
		}
		v.list = list
	}
	return v
}

// AppendText appends the text of a scalar value: of a text or blob its bytes, of a time its microseconds.
func (v Value) AppendText(dst []byte) []byte {
	switch v.kind {
	case schemas.Text, schemas.Blob:
		return append(dst, v.buf...)
	case schemas.Boolean:
		return strconv.AppendBool(dst, v.Bool())
	case schemas.UUID, schemas.TimeUUID:
		return AppendUUID(dst, v.id)
	}
	return strconv.AppendInt(dst, v.num, 10)
}

// ParseText returns the scalar value of that text.
func ParseText(k schemas.Kind, text string) (Value, error) {
	bits := 64
	switch k {
	case schemas.Text, schemas.Blob:
		return Bytes(k, []byte(text)), nil
	case schemas.Boolean:
		b, err := strconv.ParseBool(text)
		return Boolean(b), err
	case schemas.UUID, schemas.TimeUUID:
		u, err := ParseUUID(text)
		return ID(k, u), err
	case schemas.Int:
		bits = 32
	}
	n, err := strconv.ParseInt(text, 10, bits)
	return Number(k, n), err
}

// AppendUUID appends the form of 36 characters.
func AppendUUID(dst []byte, u [16]byte) []byte {
	for i, from := range [...]int{0, 4, 6, 8, 10} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, u[from:[...]int{4, 6, 8, 10, 16}[i]])
	}
	return dst
}

// ParseUUID parses the form of 36 characters.
func ParseUUID(text string) (u [16]byte, err error) {
	b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(b) != len(u) || string(AppendUUID(nil, [16]byte(b))) != strings.ToLower(text) {
		return u, fmt.Errorf("%q is no UUID", text)
	}
	return [16]byte(b), nil
}
