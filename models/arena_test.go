package models

import (
	"bytes"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// TestArena copies many rows, overwrites what they were copied from, and finds
// every copy as it was, also those made before the arena grew.
func TestArena(t *testing.T) {
	text := []byte("some text")
	elems := []drivers.Value{drivers.TextBytes(text), drivers.Bigint(7)}
	row := []drivers.Value{drivers.TextBytes(text), drivers.MapOf(elems), {}, drivers.ListOf(nil), drivers.Boolean(true)}
	want := make([]drivers.Value, len(row))
	for i := range row {
		want[i] = row[i].Clone()
	}
	var a Arena
	var copies [][]drivers.Value
	for range 100 {
		copies = append(copies, a.Row(row))
	}
	copy(text, bytes.Repeat([]byte("x"), len(text)))
	elems[1] = drivers.Value{}
	for n, got := range copies {
		for i := range want {
			if !got[i].Equal(want[i]) {
				t.Fatalf("value %d of copy %d is %v, want %v", i, n, got[i], want[i])
			}
		}
	}
	a.Reset()
	if n := testing.AllocsPerRun(100, func() { a.Row(row); a.Reset() }); n != 0 {
		t.Errorf("%v allocations for a row, once there is room", n)
	}
}

func TestReuse(t *testing.T) {
	if b := Reuse(make([]byte, 10, KeepBuffer)); b == nil || len(b) != 0 {
		t.Errorf("a buffer of %d bytes is kept, and empty; got %v", KeepBuffer, b)
	}
	if b := Reuse(make([]byte, 10, KeepBuffer+1)); b != nil {
		t.Error("a larger one goes")
	}
}

func TestIDs(t *testing.T) {
	a, b, c := Handle{1}, Handle{31: 1}, Handle{2}
	var s Caller[int]
	id := func(h Handle) drivers.Value { return drivers.Blob(h[:]) }
	for _, x := range []struct {
		hs   []Handle
		want bool
	}{{nil, true}, {[]Handle{a}, true}, {[]Handle{a, b, c}, true}, {[]Handle{b, a, b}, false}, {[]Handle{{}}, false}} {
		if ids, err := s.IDs(x.hs, id); (err == nil) != x.want || x.want && len(ids) != len(x.hs) {
			t.Errorf("ids of %v: %v, %v", x.hs, ids, err)
		}
	}
}
