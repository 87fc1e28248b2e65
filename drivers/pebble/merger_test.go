package pebble

import (
	"bytes"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// appendEntryOf appends an entry with the payload v. A nil v is an empty payload.
func appendEntryOf(dst []byte, column int, op byte, v *drivers.Value) []byte {
	e := entry{column: column, op: op}
	if v != nil {
		_, e.payload = operand{}.entry([]drivers.Value{*v}, op, false, new(entryBuffer))
	}
	return e.append(dst)
}

// drawOperand draws an operand over three number columns, and applies it to a
// row that is given as a map.
func drawOperand(t *rapid.T, row map[int]int64) []byte {
	operand := []byte{rowByte}
	for col := range 3 {
		v := drivers.Bigint(rapid.Int64Range(-300, 300).Draw(t, "value"))
		n := v.Int64()
		switch op := rapid.IntRange(0, 3).Draw(t, "op"); {
		case op == opDelete:
			operand = appendEntryOf(operand, col, opDelete, nil)
			delete(row, col)
		case op == opSet:
			operand = appendEntryOf(operand, col, opSet, &v)
			row[col] = n
		case op == opAdd:
			operand = appendEntryOf(operand, col, opAdd, &v)
			row[col] += n
		}
	}
	return operand
}

// numberColumns returns n bigint columns.
func numberColumns(n int) []*schemas.Column {
	cs := make([]*schemas.Column, n)
	for i := range cs {
		cs[i] = &schemas.Column{Type: schemas.Type{Kind: schemas.Bigint}}
	}
	return cs
}

// However the operands of a row are folded, in whichever groups, they come to what
// doing one after the other comes to.
func TestMerge(t *testing.T) {
	f := &family{columns: numberColumns(3)}
	rapid.Check(t, func(t *rapid.T) {
		want := map[int]int64{}
		var operands [][]byte
		for range rapid.IntRange(1, 6).Draw(t, "operands") {
			operands = append(operands, drawOperand(t, want))
		}
		for len(operands) > 1 { // as partial compactions do
			i := rapid.IntRange(0, len(operands)-2).Draw(t, "pair")
			m, err := Merger().Merge(nil, operands[i+1])
			if err != nil {
				t.Fatal(err)
			}
			if err := m.MergeOlder(operands[i]); err != nil {
				t.Fatal(err)
			}
			out, closer, err := m.Finish(false)
			if err != nil {
				t.Fatal(err)
			}
			operands[i] = bytes.Clone(out)
			operands = append(operands[:i+1], operands[i+2:]...)
			if err := closer.Close(); err != nil {
				t.Fatal(err)
			}
		}
		m, err := Merger().Merge(nil, operands[0])
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := m.Finish(true)
		if err != nil {
			t.Fatal(err)
		}
		vals := make([]drivers.Value, 3)
		if err := f.decodeRow(out, vals, false); err != nil {
			t.Fatal(err)
		}
		got := map[int]int64{}
		for i, v := range vals {
			if !v.IsNull() {
				got[i] = v.Int64()
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("merged to %v, want %v", got, want)
		}
	})
}

// Damaged rows are errors, and never panics.
func FuzzDecodeRow(f *testing.F) {
	v := drivers.Bigint(-5)
	f.Add(appendEntryOf([]byte{rowByte}, 1, opSet, &v), []byte{rowByte})
	f.Add(appendEntryOf([]byte{rowByte}, 1, opAdd, &v), appendEntryOf([]byte{rowByte}, 2, opDelete, nil))
	f.Add([]byte{1, 0xFF, 0xFF}, []byte{})
	fam := &family{columns: numberColumns(3)}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		vals := make([]drivers.Value, 3)
		if fam.decodeRow(a, vals, false) != nil || fam.decodeRow(b, vals, false) != nil || len(a) == 0 || len(b) == 0 {
			return
		}
		out, err := foldOperands(nil, a, b)
		if err != nil {
			return
		}
		if err := fam.decodeRow(out, vals, false); err != nil {
			t.Errorf("two good operands fold to a bad one: %x + %x = %x: %v", a, b, out, err)
		}
	})
}
