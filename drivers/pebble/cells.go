package pebble

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// An element of a collection is a key-value pair of its own:
//
//	set    row key, column, element            → nothing
//	list   row key, column, ascending number   → element
//	map    row key, column, key                → value
//
// So an append is a Set of new keys. The elements of a row are neighbors: those of sets and
// maps in their own order, those of lists in the order of appending.

// maxColumns is how many columns a family can have: a cell's key has the column in one byte.
const maxColumns = math.MaxUint8 + 1

// cellsOf returns the key prefix of the elements of one column of the row.
func (f *family) cellsOf(dst, row []byte, col int) []byte {
	return append(inSpace(append(dst, row...), f.cells), byte(col))
}

// readCells sets vals[at], for each at in cols, to the row's collection in that column. A
// collection without elements is null. cols must ascend.
func (s *session) readCells(f *family, row []byte, cols []int, vals []drivers.Value) error {
	for _, at := range cols {
		vals[at] = drivers.Value{}
	}
	b := &s.cells
	s.lastEnd, b.Upper = b.Upper, s.lastEnd[:0]
	b.Lower = f.cellsOf(b.Lower[:0], row, cols[0])
	b.Upper = keys.Successor(f.cellsOf(b.Upper, row, cols[len(cols)-1]))
	it, at, err := s.toCells(f, b)
	if err != nil {
		return err
	}
	from, next := len(s.elems), 0
	for ; at == pebble.IterValid && bytes.Compare(it.Key(), b.Upper) < 0; at = it.NextWithLimit(b.Upper) {
		col := int(it.Key()[len(row)])
		for cols[next] < col { // the last collection is complete
			vals[cols[next]] = collection(f.columns[cols[next]], s.elems[from:])
			from = len(s.elems)
			next++
		}
		if cols[next] != col {
			continue // another collection, which is not in cols
		}
		if err := s.readElement(f.columns[col].Type, it, len(row)+1); err != nil {
			return err
		}
	}
	vals[cols[next]] = collection(f.columns[cols[next]], s.elems[from:])
	return it.Error()
}

// stepsToCells is after how many steps from one row's cells an iterator seeks those of the next.
const stepsToCells = 8

// toCells moves the call's iterator over cells to the first one within b. If the row follows the
// one before, as in a page, the iterator steps there: a seek reads each level of the store.
func (s *session) toCells(f *family, b *plan.Range) (it *pebble.Iterator, at pebble.IterValidityState, err error) {
	it = s.cellIter
	forwards := bytes.Compare(s.lastEnd, b.Lower) <= 0
	switch {
	case it != nil && !forwards: // a list that reads backwards
		it.SetBounds(b.Lower, b.Upper)
		s.cellSpace = 0
		if it.First() {
			at = pebble.IterValid
		}
		return it, at, nil
	case it == nil || s.cellSpace != f.cells:
		all := &s.allCells
		all.Lower = binary.BigEndian.AppendUint16(all.Lower[:0], f.cells)
		all.Upper = keys.Successor(append(all.Upper[:0], all.Lower...))
		if s.cellSpace = f.cells; it != nil {
			it.SetBounds(all.Lower, all.Upper)
		} else if it, err = s.iterate(all, nil, &s.cellOpts); err != nil {
			return nil, 0, err
		}
		s.cellIter = it
		return it, it.SeekGEWithLimit(b.Lower, b.Upper), nil
	}
	if at = pebble.IterValid; !it.Valid() {
		at = it.NextWithLimit(b.Upper)
	}
	for range stepsToCells {
		if at != pebble.IterValid || bytes.Compare(it.Key(), b.Lower) >= 0 {
			return it, at, nil
		}
		at = it.NextWithLimit(b.Upper)
	}
	return it, it.SeekGEWithLimit(b.Lower, b.Upper), nil
}

// collection returns a column's value, which shares elems.
func collection(c *schemas.Column, elems []drivers.Value) drivers.Value {
	if len(elems) == 0 {
		return drivers.Value{}
	}
	return drivers.Collection(c.Type.Kind, elems)
}

// readElement appends the element at the iterator to s.elems. Its bytes are copied to the
// arena. The element's own part of the key begins at tail.
func (s *session) readElement(t schemas.Type, it *pebble.Iterator, tail int) error {
	if t.Kind != schemas.List {
		kind := t.Elem.Kind
		if t.Kind == schemas.Map {
			kind = t.Key.Kind
		}
		at := len(s.arena)
		s.arena = append(s.arena, it.Key()[tail:]...)
		v, _, arena, err := keys.Decode(s.arena[at:], kind, false, s.arena)
		s.arena = arena
		if err != nil && s.Tolerant {
			v, err = drivers.Broken(it.Key()[tail:]).Clone(), nil
		}
		if err != nil {
			return err
		}
		s.elems = append(s.elems, v)
	}
	if t.Kind == schemas.Set {
		return nil
	}
	data, err := it.ValueAndErr()
	if err != nil {
		return err
	}
	at := len(s.arena)
	s.arena = append(s.arena, data...)
	v, err := decodeScalar(t.Elem.Kind, s.arena[at:len(s.arena):len(s.arena)])
	if err != nil && s.Tolerant {
		v, err = drivers.Broken(s.arena[at:len(s.arena):len(s.arena)]), nil
	}
	s.elems = append(s.elems, v)
	return err
}

// appendCells writes the elements of v into the row's collection.
func (s *session) appendCells(f *family, row []byte, col int, v drivers.Value) error {
	t, elems, step := f.columns[col].Type, v.Elems(), 1
	if t.Kind == schemas.Map {
		step = 2
	}
	var buf entryBuffer
	for i := 0; i < len(elems); i += step {
		s.cellKey = f.cellsOf(s.cellKey[:0], row, col)
		if t.Kind == schemas.List {
			s.cellKey = binary.BigEndian.AppendUint64(s.cellKey, s.store.elements.Add(1))
		} else {
			s.cellKey = keys.Append(s.cellKey, elems[i], false)
		}
		var value []byte // a set has none
		if t.Kind != schemas.Set {
			_, value = operand{0, i + step - 1}.entry(elems, opSet, true, &buf) // the payload alone
		}
		if len(value) > maxRow {
			return tooLarge("cell", len(value))
		}
		if err := s.batch.Set(s.cellKey, value, nil); err != nil {
			return err
		}
	}
	return nil
}

// removeFromList deletes the elements of the row's list that equal one of v's.
func (s *session) removeFromList(f *family, row []byte, col int, v drivers.Value) error {
	b := &s.cells
	b.Lower = f.cellsOf(b.Lower[:0], row, col)
	b.Upper = keys.Successor(append(b.Upper[:0], b.Lower...))
	it, err := s.iterate(b, s.readThrough, &s.cellOpts)
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var data []byte
		var stored drivers.Value
		if data, err = it.ValueAndErr(); err == nil {
			stored, err = decodeScalar(f.columns[col].Type.Elem.Kind, data)
		}
		if err == nil && slices.ContainsFunc(v.Elems(), stored.Equal) {
			err = s.batch.Delete(it.Key(), nil)
		}
	}
	return s.endIter(it, err)
}

// clearCells deletes the elements of the row's columns from first to last.
func (s *session) clearCells(f *family, row []byte, first, last int) error {
	b := &s.cells
	b.Lower = f.cellsOf(b.Lower[:0], row, first)
	b.Upper = keys.Successor(f.cellsOf(b.Upper[:0], row, last))
	return s.clear(b, nil)
}
