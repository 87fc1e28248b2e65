package rpc

import (
	"errors"
	"testing"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// TestCells: the cells of an answer are those that were written. A block that ends early, or has fewer cells than the
// answer says, is an error: not a panic in gohbase's goroutine, and no allocation of that many cells.
func TestCells(t *testing.T) {
	write := Op{family: "m", Qualifier: []byte("q"), value: []byte("value"), Action: Action{stamp: 7}}
	block := appendCell(appendCell(nil, []byte("row"), &write), []byte("row"), &Op{family: "m", Qualifier: []byte("r")})
	decode := func(cells int32, block []byte) ([]Cell, error) {
		c := NewGet(Range{}, 0)
		c.together = true
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
	scan := new(ScanCall)
	answer := &pb.ScanResponse{CellsPerResult: []uint32{1<<32 - 1, 1<<32 - 1}, PartialFlagPerResult: []bool{false}}
	if _, err := scan.DeserializeCellBlocks(proto.Message(answer), block); err == nil {
		t.Error("no error for the cells of a scan")
	}
	answer.CellsPerResult = []uint32{1, 1}
	if _, err := scan.DeserializeCellBlocks(answer, block); err == nil {
		t.Error("no error for two results with one flag")
	}
}

// TestCellsInResponse: the cells of a get that is sent alone are in its response. One that ends early is an error.
func TestCellsInResponse(t *testing.T) {
	want := []*pb.Cell{
		{Row: []byte("row"), Family: []byte("m"), Qualifier: []byte("a"), Value: []byte("1"), Timestamp: proto.Uint64(7)},
		{Row: []byte("row"), Family: []byte("m"), Qualifier: []byte("b"), CellType: pb.CellType_PUT.Enum()},
	}
	response, err := proto.Marshal(&pb.GetResponse{Result: &pb.Result{Cell: want, Stale: proto.Bool(true)}})
	if err != nil {
		t.Fatal(err)
	}
	send := func(response []byte) (cells []Cell, err error) {
		get := NewGet(Range{Table: []byte("t"), Start: []byte("row")}, 0)
		s := Sender{RPC: answer(response), Timeout: time.Minute}
		err = s.Send(t.Context(), get)
		return get.Found(), err
	}
	got, err := send(response)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v, %v", got, err)
	}
	for i, c := range got {
		if w := want[i]; string(c.Row) != "row" || string(c.Family) != "m" || string(c.Qualifier) != string(w.Qualifier) ||
			string(c.Value) != string(w.Value) || c.Stamp != w.GetTimestamp() {
			t.Errorf("%v, expected %v", c, w)
		}
	}
	if got, err := send(nil); err != nil || len(got) != 0 {
		t.Errorf("of no row: %v, %v", got, err)
	}
	if _, err := send([]byte{1<<3 | 2, 4, 1<<3 | 2, 9, 0, 0}); !errors.Is(err, errCells) {
		t.Errorf("a cell that ends early: %v", err)
	}
}

// answer is a server that has one response to all calls.
type answer []byte

func (a answer) SendRPC(c hrpc.Call) (proto.Message, error) {
	m := c.NewResponse()
	return m, proto.Unmarshal(a, m)
}
