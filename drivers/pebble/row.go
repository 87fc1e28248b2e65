package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/schemas"
)

// spaceLen is the length of the number before every key.
const spaceLen = 2

// path is a sort order and the key space that has it. It belongs to a table or an index.
type path struct {
	name  string // of the index; "" of a table's own
	space uint16
	cols  keys.Columns // the position of each is in the primary key, or after that in the table's plain columns
	plain bool         // an index that has plain columns. The entry of a row in another one never changes
}

// newPath returns a sort order in a key space, which every key begins with.
func newPath(name string, space uint16, cols keys.Columns, plain bool) path {
	cols = slices.Clone(cols)
	cols[0].Before = string(binary.BigEndian.AppendUint16(nil, space))
	return path{name, space, cols, plain}
}

// append appends the path's key of a row, given its primary key and, for an index with plain columns, those after it.
// If one of these is null, the row has no entry in the index, and append appends nothing.
func (p *path) append(dst []byte, row []drivers.Value) []byte {
	begin := len(dst)
	dst = append(dst, p.cols[0].Before...)
	for i := range p.cols {
		c := &p.cols[i]
		if p.plain && row[c.At].IsNull() {
			return dst[:begin]
		}
		dst = keys.Append(dst, row[c.At], c.Desc)
	}
	return dst
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
//	  payload  as operand.entry returns it
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
	scalar [16]byte // a uuid, or a signed varint
	head   [2 * binary.MaxVarintLen64]byte
}

// entry returns the entry of what a write does to one column: what is before its payload, and that. The payload has
// texts and blobs as they are, uuids, and numbers as signed varints. Of a whole row a null has no entry.
func (o operand) entry(vals []drivers.Value, op byte, whole bool, buf *entryBuffer) (head, payload []byte) {
	switch v := &vals[o.arg]; v.Kind() {
	case schemas.Null:
		if whole {
			return nil, nil
		}
		op = opDelete
	case schemas.Text, schemas.Blob:
		payload = v.Raw()
	case schemas.UUID, schemas.TimeUUID:
		buf.scalar = v.UUIDBytes()
		payload = buf.scalar[:]
	default:
		payload = buf.scalar[:binary.PutVarint(buf.scalar[:], v.Int64())]
	}
	head = binary.AppendUvarint(buf.head[:0], uint64(o.col)<<opBits|uint64(op))
	return binary.AppendUvarint(head, uint64(len(payload))), payload
}

// decodeScalar returns the value of the payload of an entry. It shares src's bytes.
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
			for i, c := range f.columns {
				if !c.Type.Collection() { // it is in the row's value
					vals[i] = drivers.Broken(data)
				}
			}
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

// mergerName is the name that Pebble stores. It refuses to open the store with another merger.
const mergerName = "mailbench.columns.v1"

// Merger folds partial puts and adds into rows, so that none of them reads the
// row it changes.
func Merger() *pebble.Merger {
	return &pebble.Merger{
		Name: mergerName,
		Merge: func(_, value []byte) (pebble.ValueMerger, error) {
			f := folds.Get().(*fold)
			f.row = append(f.row[:0], value...)
			return f, nil
		},
	}
}

// folds keeps the buffers of merges. Without it, reading a page of merged rows would allocate
// for every row.
var folds = sync.Pool{New: func() any { return new(fold) }}

// maxKept is the largest buffer in bytes that waits in folds for its next use.
const maxKept = 1 << 20

// fold is one merge. row is the result of the operands so far.
type fold struct{ row, spare []byte }

var (
	_ pebble.ValueMerger = (*fold)(nil)
	_ io.Closer          = (*fold)(nil)
)

// MergeNewer implements pebble.ValueMerger.
func (f *fold) MergeNewer(value []byte) error { return f.merge(f.row, value) }

// MergeOlder implements pebble.ValueMerger.
func (f *fold) MergeOlder(value []byte) error { return f.merge(value, f.row) }

func (f *fold) merge(older, newer []byte) error {
	out, err := foldOperands(f.spare[:0], older, newer)
	if err != nil {
		return fmt.Errorf("merge rows: %w", err)
	}
	f.row, f.spare = out, f.row
	return nil
}

// Finish implements pebble.ValueMerger. If includesBase, nothing older can follow, and Finish
// returns a row as a Set would have written it. Otherwise it returns an operand.
func (f *fold) Finish(includesBase bool) ([]byte, io.Closer, error) {
	if len(f.row) == 0 {
		return nil, f, errRow
	}
	if !includesBase {
		return f.row, f, nil
	}
	out := append(f.spare[:0], f.row[0])
	for rest := f.row[1:]; len(rest) > 0; {
		e, after, err := nextEntry(rest)
		if err != nil {
			return nil, f, err
		}
		if rest = after; e.op != opDelete {
			out = entry{e.column, opSet, e.payload}.append(out)
		}
	}
	f.row, f.spare = out, f.row
	return f.row, f, nil
}

// Close gives the buffers back.
func (f *fold) Close() error {
	if cap(f.row)+cap(f.spare) <= maxKept {
		folds.Put(f)
	}
	return nil
}

// foldOperands appends to dst one operand that does what older and then newer do.
func foldOperands(dst, older, newer []byte) ([]byte, error) {
	if len(older) == 0 || len(newer) == 0 {
		return dst, errRow
	}
	dst = append(dst, rowByte)
	older, newer = older[1:], newer[1:]
	for len(older) > 0 && len(newer) > 0 {
		a, restA, err := nextEntry(older)
		if err != nil {
			return dst, err
		}
		b, restB, err := nextEntry(newer)
		if err != nil {
			return dst, err
		}
		switch {
		case a.column < b.column:
			dst, older = a.append(dst), restA
			continue
		case a.column > b.column:
			dst, newer = b.append(dst), restB
			continue
		case b.op != opAdd:
			dst = b.append(dst)
		case a.op == opDelete: // an absent value counts as 0
			dst = entry{b.column, opSet, b.payload}.append(dst)
		default:
			x, n := binary.Varint(a.payload)
			y, m := binary.Varint(b.payload)
			if n <= 0 || m <= 0 {
				return dst, errRow
			}
			var sum [binary.MaxVarintLen64]byte
			dst = entry{a.column, a.op, sum[:binary.PutVarint(sum[:], x+y)]}.append(dst)
		}
		older, newer = restA, restB
	}
	return append(append(dst, older...), newer...), nil
}

// append appends the entry to an operand or a row.
func (e entry) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(e.column)<<opBits|uint64(e.op))
	dst = binary.AppendUvarint(dst, uint64(len(e.payload)))
	return append(dst, e.payload...)
}
