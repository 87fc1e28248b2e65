package pebble

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

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
	out, err := appendRow(f.spare[:0], f.row)
	if err != nil {
		return nil, f, err
	}
	f.row, f.spare = out, f.row
	return f.row, f, nil
}

// appendRow appends the row that an operand makes if there is nothing older, as a Set would
// have written it.
func appendRow(dst, operand []byte) ([]byte, error) {
	dst = append(dst, operand[0])
	for rest := operand[1:]; len(rest) > 0; {
		e, after, err := nextEntry(rest)
		if err != nil {
			return dst, err
		}
		if rest = after; e.op != opDelete {
			dst = entry{e.column, opSet, e.payload}.append(dst)
		}
	}
	return dst, nil
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
		case a.column > b.column:
			dst, newer = b.append(dst), restB
		default:
			if dst, err = foldEntries(dst, a, b); err != nil {
				return dst, err
			}
			older, newer = restA, restB
		}
	}
	return append(append(dst, older...), newer...), nil
}

// append appends the entry to an operand or a row.
func (e entry) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(e.column)<<opBits|uint64(e.op))
	dst = binary.AppendUvarint(dst, uint64(len(e.payload)))
	return append(dst, e.payload...)
}

// foldEntries appends one entry that does what a and then b do to their column.
func foldEntries(dst []byte, a, b entry) ([]byte, error) {
	if b.op != opAdd {
		return b.append(dst), nil
	}
	if a.op == opDelete { // an absent value counts as 0
		return entry{b.column, opSet, b.payload}.append(dst), nil
	}
	x, n := binary.Varint(a.payload)
	y, m := binary.Varint(b.payload)
	if n <= 0 || m <= 0 {
		return dst, errRow
	}
	var sum [binary.MaxVarintLen64]byte
	return entry{a.column, a.op, sum[:binary.PutVarint(sum[:], x+y)]}.append(dst), nil
}
