package pebble

import (
	"encoding/binary"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// TestRender: the key spaces that are shown are those that a new store writes to.
func TestRender(t *testing.T) {
	s, err := schemas.Parse("test.yaml", []byte(testSchema))
	if err != nil {
		t.Fatal(err)
	}
	text, err := Engine().Render(s, drivers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[uint16]bool)
	for _, m := range regexp.MustCompile(`(?m)^ +(\d+)  `).FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseUint(m[1], 10, 16)
		if err != nil {
			t.Fatal(err)
		}
		shown[uint16(n)] = true
	}

	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	e.write("put", "u", "f", 1, 2, "subject", 3, true)
	e.write("title", "u", "f", "title")
	e.write("note", int32(1), "word")
	e.write("put_part", "u", "f", 1, 2, int32(1), []byte("data"))
	e.write("add", "u", "n", 1)
	e.write("see", "r", 1, list("seen"))
	e.write("happen", "r", 1)
	it, err := e.store.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	written := make(map[uint16]bool)
	for ok := it.First(); ok; ok = it.Next() {
		if space := binary.BigEndian.Uint16(it.Key()); space != 0 { // 0 is the catalog
			written[space] = true
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(shown, written) {
		t.Errorf("shown are the key spaces %v, and written %v:\n%s", slices.Sorted(maps.Keys(shown)),
			slices.Sorted(maps.Keys(written)), text)
	}
}
