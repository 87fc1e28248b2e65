package rpc

import (
	"testing"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// TestCells: the cells of an answer are those that were written. A block that ends early, or has fewer cells than the
// answer says, is an error: not a panic in gohbase's goroutine, and no allocation of that many cells.
func TestCells(t *testing.T) {
	write := op{family: "m", qualifier: []byte("q"), value: []byte("value"), stamp: 7}
	block := appendCell(appendCell(nil, []byte("row"), &write), []byte("row"), &op{family: "m", qualifier: []byte("r")})
	decode := func(cells int32, block []byte) ([]Cell, error) {
		c := NewGet(nil, nil, nil, nil, 0)
		answer := c.NewResponse().(*pb.GetResponse)
		answer.Result = &pb.Result{AssociatedCellCount: &cells}
		size, err := c.DeserializeCellBlocks(answer, block)
		if err == nil && int(size) != len(block) {
			t.Errorf("%d bytes of %d were read", size, len(block))
		}
		return c.Found(), err
	}
	found, err := decode(2, block)
	if err != nil || len(found) != 2 || string(found[0].Row) != "row" || string(found[0].Value) != "value" ||
		string(found[0].Family) != "m" || found[0].Stamp != 7 || string(found[1].Qualifier) != "r" || len(found[1].Value) != 0 {
		t.Errorf("%v, %v", found, err)
	}
	for n := range block {
		if _, err := decode(2, block[:n]); err == nil {
			t.Errorf("no error for %d bytes of %d", n, len(block))
		}
	}
	for at := range 14 { // the lengths
		broken := append([]byte(nil), block...)
		broken[at] ^= 0x80
		if _, err := decode(2, broken); err == nil {
			t.Errorf("no error for another length in byte %d", at)
		}
	}
	for at, length := range map[int]byte{13: 200, 17: 200} { // of the row, of the family
		broken := append([]byte(nil), block...)
		broken[at] = length
		if _, err := decode(2, broken); err == nil {
			t.Errorf("no error for a length of %d in byte %d", length, at)
		}
	}
	for _, n := range []int32{-1, 3, 1<<31 - 1} {
		if _, err := decode(n, block); err == nil {
			t.Errorf("no error for %d cells", n)
		}
	}
	scan := newScan(new(Range), nil, 0, false)
	answer := &pb.ScanResponse{CellsPerResult: []uint32{1<<32 - 1, 1<<32 - 1}, PartialFlagPerResult: []bool{false}}
	if _, err := scan.DeserializeCellBlocks(proto.Message(answer), block); err == nil {
		t.Error("no error for the cells of a scan")
	}
	answer.CellsPerResult = []uint32{1, 1}
	if _, err := scan.DeserializeCellBlocks(answer, block); err == nil {
		t.Error("no error for two results with one flag")
	}
}
