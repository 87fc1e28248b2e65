package pebble

import (
	"encoding/binary"
	"errors"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/schemas"
)

// spaceLen is the length of the number before every key.
const spaceLen = 2

// keyColumn is one column of a sort order.
type keyColumn struct {
	kind schemas.Kind
	desc bool
	from int // its position in the primary key, or after that in the table's plain columns
}

// path is a sort order and the key space that has it. It belongs to a table or an index.
type path struct {
	space uint16
	cols  []keyColumn
}

// append appends the path's key of a row, given its primary key and, for an index with plain columns,
// those after it.
func (p *path) append(dst []byte, key []drivers.Value) ([]byte, error) {
	dst = binary.BigEndian.AppendUint16(dst, p.space)
	var err error
	for _, c := range p.cols {
		if dst, err = keys.Append(dst, key[c.from], c.desc); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// Append implements plan.Keys.
func (p *path) Append(dst []byte, at int, values []drivers.Value) (_ []byte, err error) {
	if at == 0 {
		dst = binary.BigEndian.AppendUint16(dst, p.space)
	}
	for i, v := range values {
		if dst, err = keys.Append(dst, v, p.cols[at+i].desc); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// After implements plan.Keys.
func (p *path) After(key []byte, _ int) []byte { return keys.Successor(key) }

// Free implements plan.Keys.
func (p *path) Free(n int) (columns int, desc bool) {
	columns = len(p.cols) - n
	return columns, columns > 0 && p.cols[n].desc
}

// decode decodes a key of the path into the values that append takes. They share the
// bytes of the key or of buf, which decode extends and returns.
func (p *path) decode(src []byte, key []drivers.Value, buf []byte) ([]byte, error) {
	src = src[spaceLen:]
	var err error
	for _, c := range p.cols {
		if key[c.from], src, buf, err = keys.Decode(src, c.kind, c.desc, buf); err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// inSpace moves a key to another key space: from that of rows to that of cells, or back.
func inSpace(key []byte, space uint16) []byte {
	binary.BigEndian.PutUint16(key, space)
	return key
}

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

// operand is a column that a write changes, and the position of its value among others.
type operand struct{ col, arg int }

// entryBuffer has room for an entry without the bytes of a text or blob.
type entryBuffer struct {
	scalar [scalarLen]byte
	head   [2 * binary.MaxVarintLen64]byte
}

// entry returns the entry of what a write does to one column: what is before its payload, and that. Of a whole row a
// null has no entry.
func (o operand) entry(vals []drivers.Value, op byte, whole bool, buf *entryBuffer) (head, payload []byte) {
	switch v := &vals[o.arg]; {
	case !v.IsNull():
		payload = scalar(v, &buf.scalar)
	case whole:
		return nil, nil
	default:
		op = opDelete
	}
	head = binary.AppendUvarint(buf.head[:0], uint64(o.col)<<opBits|uint64(op))
	return binary.AppendUvarint(head, uint64(len(payload))), payload
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
