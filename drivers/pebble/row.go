package pebble

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// A row's value has this form, and so has each operand that is merged into it:
//
//	1 byte     rowByte, so that the value is not empty if all columns are null
//	entries    in ascending order of column:
//	  uvarint  position of the column in its family << 2 | op
//	  uvarint  length of the payload
//	  payload  as scalar returns it
//
// A value that was Set holds only opSet entries, and none for a null.
const (
	opSet    = 0
	opAdd    = 1 // payload is the delta
	opDelete = 2 // no payload

	opBits = 2
	opMask = 1<<opBits - 1

	rowByte = 1 // the first byte of every row and operand
)

var errRow = errors.New("corrupt row")

// entry is one entry of an operand. It shares the operand's bytes.
type entry struct {
	column  int
	op      byte
	payload []byte
}

// nextEntry takes the first entry off src.
func nextEntry(src []byte) (e entry, rest []byte, err error) {
	tag, n := binary.Uvarint(src)
	if n <= 0 {
		return e, nil, errRow
	}
	src = src[n:]
	size, n := binary.Uvarint(src)
	if n <= 0 || size > uint64(len(src)-n) {
		return e, nil, errRow
	}
	end := n + int(size)
	return entry{int(tag >> opBits), byte(tag & opMask), src[n:end:end]}, src[end:], nil
}

// append appends the entry to an operand or a row.
func (e entry) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(e.column)<<opBits|uint64(e.op))
	dst = binary.AppendUvarint(dst, uint64(len(e.payload)))
	return append(dst, e.payload...)
}

// len returns how many bytes append appends.
func (e entry) len() int {
	return uvarintLen(uint64(e.column)<<opBits) + uvarintLen(uint64(len(e.payload))) + len(e.payload)
}

func uvarintLen(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// operand is a column that a write changes, and the position of its value among others.
type operand struct{ col, arg int }

// entry returns what a write does to one column. A number's payload is in number.
func (o operand) entry(vals []drivers.Value, op byte, number *[scalarLen]byte) entry {
	if vals[o.arg].IsNull() {
		return entry{column: o.col, op: opDelete}
	}
	return entry{o.col, op, scalar(&vals[o.arg], number)}
}

// scalarLen is the length of the longest scalar that is neither a text nor a blob: a uuid.
const scalarLen = 16

// scalar returns the bytes of a value that is no collection: texts and blobs as they are, uuids, and numbers as
// signed varints. It writes a uuid or a number into buf.
func scalar(v *drivers.Value, buf *[scalarLen]byte) []byte {
	switch v.Kind() {
	case schemas.Text, schemas.Blob:
		return v.Raw()
	case schemas.UUID, schemas.TimeUUID:
		*buf = v.UUIDBytes()
		return buf[:]
	default:
		return buf[:binary.PutVarint(buf[:], v.Int64())]
	}
}

// decodeScalar undoes scalar. The value shares src's bytes.
func decodeScalar(kind schemas.Kind, src []byte) (drivers.Value, error) {
	switch kind {
	case schemas.Text, schemas.Blob:
		return drivers.Bytes(kind, src), nil
	case schemas.UUID, schemas.TimeUUID:
		if len(src) != 16 {
			return drivers.Value{}, errRow
		}
		return drivers.ID(kind, [16]byte(src)), nil
	default:
		n, l := binary.Varint(src)
		if l <= 0 {
			return drivers.Value{}, errRow
		}
		return drivers.Number(kind, n), nil
	}
}

// decodeRow sets vals, one for each column of the family, from a row's value. nil data is an
// absent row. Values share data's bytes. If tolerant, a value that cannot be decoded becomes a
// broken one, and so do all values of a row that cannot be read.
func (f *family) decodeRow(data []byte, vals []drivers.Value, tolerant bool) error {
	clear(vals)
	if len(data) == 0 {
		return nil
	}
	for rest := data[1:]; len(rest) > 0; {
		e, after, err := nextEntry(rest)
		if err == nil && e.column >= len(vals) {
			err = errRow
		}
		if err != nil && tolerant {
			f.breakRow(vals, data)
			return nil
		}
		if err != nil {
			return err
		}
		if rest = after; e.op == opDelete {
			continue
		}
		if vals[e.column], err = decodeScalar(f.columns[e.column].Type.Kind, e.payload); err != nil && tolerant {
			vals[e.column] = drivers.Broken(e.payload)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// breakRow makes the columns that are stored in the row's value broken.
func (f *family) breakRow(vals []drivers.Value, stored []byte) {
	for i, c := range f.columns {
		if !c.Type.Collection() {
			vals[i] = drivers.Broken(stored)
		}
	}
}

func breakAll(vals []drivers.Value, stored []byte) {
	for i := range vals {
		vals[i] = drivers.Broken(stored)
	}
}
