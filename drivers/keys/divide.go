package keys

import (
	"bytes"
	"encoding/binary"
	"iter"
)

// Divide returns up to n-1 keys, in ascending order, that divide the keys from first
// to last into n ranges. first and last are existing keys. It repeatedly halves ranges
// by the value of their bytes. around returns the last existing key before mid, and
// the first existing key from mid on. So the ranges have similar extents in key space,
// not similar numbers of rows.
func Divide(n int, first, last []byte, around func(mid []byte) (before, from []byte, err error)) ([][]byte, error) {
	type extent struct{ first, last []byte }
	whole := []extent{{first, last}} // extents in the order of keys
	for {
		var halves []extent
		for i, x := range whole {
			if len(halves)+len(whole)-i >= n || bytes.Equal(x.first, x.last) {
				halves = append(halves, x)
				continue
			}
			before, from, err := around(middle(x.first, x.last))
			if err != nil {
				return nil, err
			}
			if bytes.Compare(before, x.first) < 0 || bytes.Compare(from, x.last) > 0 || len(from) == 0 {
				halves = append(halves, x) // keys were deleted meanwhile
				continue
			}
			halves = append(halves, extent{x.first, before}, extent{from, x.last})
		}
		done := len(halves) == len(whole)
		if whole = halves; done {
			break
		}
	}
	var at [][]byte
	for _, x := range whole[1:] {
		at = append(at, x.first)
	}
	return at, nil
}

// Ranges yields the ranges into which keys divide a table. A nil key is the table's
// beginning or its end.
func Ranges(at [][]byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(from, to []byte) bool) {
		var from []byte
		for _, key := range at {
			if !yield(from, key) {
				return
			}
			from = key
		}
		yield(from, nil)
	}
}

// middle returns a key above a and not above b, about in the middle between them.
func middle(a, b []byte) []byte {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	var x, y [8]byte
	copy(x[:], a[n:])
	copy(y[:], b[n:])
	low, high := binary.BigEndian.Uint64(x[:]), binary.BigEndian.Uint64(y[:])
	mid := binary.BigEndian.AppendUint64(append([]byte{}, b[:n]...), low+(high-low+1)/2)
	if bytes.Compare(mid, a) <= 0 || bytes.Compare(mid, b) > 0 {
		return b
	}
	return mid
}
