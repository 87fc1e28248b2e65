package models

import (
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// KeepBuffer is the size in bytes of the largest buffer that a mailbox keeps after
// use. Otherwise each of many workers could keep a message of 25 MB.
const KeepBuffer = 256 << 10

// Reuse returns b for its next use: empty, or nil if it has grown too large.
func Reuse(b []byte) []byte {
	if cap(b) > KeepBuffer {
		return nil
	}
	return b[:0]
}

// Arena keeps copies of values that a store yields, since those are valid only
// until the yield returns. The copies are valid until Reset.
type Arena struct {
	bytes  []byte
	values []drivers.Value
}

// Reset makes the arena empty.
func (a *Arena) Reset() {
	a.bytes = Reuse(a.bytes)
	clear(a.values) // they refer to bytes
	a.values = a.values[:0]
}

// Bytes returns a copy of b.
func (a *Arena) Bytes(b []byte) []byte {
	// If append allocates a larger array, earlier copies keep the old one. It would copy a
	// large array, so a new one begins instead.
	if n := len(a.bytes); n > KeepBuffer/2 && cap(a.bytes)-n < len(b) {
		a.bytes = make([]byte, 0, max(len(b), KeepBuffer))
	}
	at := len(a.bytes)
	a.bytes = append(a.bytes, b...)
	return slices.Clip(a.bytes[at:])
}

// Value returns a deep copy of v.
func (a *Arena) Value(v drivers.Value) drivers.Value {
	switch v.Kind() {
	case schemas.Text, schemas.Blob:
		return drivers.Bytes(v.Kind(), a.Bytes(v.Raw()))
	case schemas.Set:
		return drivers.SetOf(a.Values(v.Elems()))
	case schemas.List:
		return drivers.ListOf(a.Values(v.Elems()))
	case schemas.Map:
		return drivers.MapOf(a.Values(v.Elems()))
	default:
		return v
	}
}

// Values returns copies of vs, which must not be collections.
func (a *Arena) Values(vs []drivers.Value) []drivers.Value {
	at := len(a.values)
	for i := range vs {
		a.values = append(a.values, a.Value(vs[i]))
	}
	return slices.Clip(a.values[at:])
}

// Row returns a copy of a row, collections included.
func (a *Arena) Row(row []drivers.Value) []drivers.Value {
	at := len(a.values)
	a.values = append(a.values, row...)
	copied := slices.Clip(a.values[at:])
	for i := range row {
		copied[i] = a.Value(row[i])
	}
	return copied
}
