package pebble

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// fill writes mail of days 1 to 3, ids 1 and 2 in each, and a neighbor's on
// each side.
func (e *env) fill() {
	for day := 1; day <= 3; day++ {
		for id := 1; id <= 2; id++ {
			for _, user := range []string{"a", "b", "c"} {
				e.write("put", user, "in", day, id, "s", 10*day+id, day == 2)
			}
		}
	}
}

func TestSlices(t *testing.T) {
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	e.fill()
	e.want("3 1 s; 3 2 s; 2 1 s", "page", "b", "in", nil, nil, 3)
	e.want("2 2 s; 1 1 s; 1 2 s", "page", "b", "in", 2, 1, 10)
	e.want("1 2; 1 1; 2 2; 2 1; 3 2; 3 1", "back", "b", "in")
	e.want("2 1; 2 2; 1 1; 1 2", "days", "b", "in", 1, 3)
	e.want("3 1; 3 2", "days", "b", "in", 3, nil)
	e.want("", "days", "b", "in", 3, 2)
	e.want("2 s; 1 s", "some", "b", "in", 3, list(2, 7, 1))
	e.want("1; 2", "seen", "b", "in", true)
	e.want("", "back", "x", "in")
	e.write("title", "b", "in", "T")
	e.want("2 s T; 2 s T; 2 s T", "ids", "b", "in")
	e.want("2 3; 2 2; 2 1; 1 3; 1 2; 1 1", "id_only", "b", "in")
}

func TestDeletes(t *testing.T) {
	for _, c := range []struct {
		name, left string
		args       []any
	}{
		{"drop", "3 2; 2 1; 2 2; 1 1; 1 2", []any{3, 1}},
		{"drop_day", "3 1; 3 2; 1 1; 1 2", []any{2}},
		{"drop_folder", "", nil},
	} {
		e := newEnv(t, drivers.Options{Durability: drivers.Memory})
		e.fill()
		e.write("title", "b", "in", "T")
		e.write("put_part", "b", "in", 3, 1, int32(1), []byte("x"))
		e.write(c.name, append([]any{"b", "in"}, c.args...)...)
		e.want(c.left, "days", "b", "in", nil, nil)
		e.want("1 x", "parts", "b", "in", 3, 1) // rows of nested tables stay
		for _, user := range []string{"a", "c"} {
			e.want("1 2; 1 1; 2 2; 2 1; 3 2; 3 1", "back", user, "in")
			e.want("2 3; 2 2; 2 1; 1 3; 1 2; 1 1", "id_only", user, "in")
		}
		if c.left == "" {
			e.want("", "titled", "b", "in")
			e.want("", "id_only", "b", "in")
		} else {
			e.want("T", "titled", "b", "in")
		}
	}
}

func TestPartialWrites(t *testing.T) {
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	row := []any{"u", "f", 1, 1}
	with := func(xs ...any) []any { return append(append([]any{}, row...), xs...) }
	e.write("mark", with(true)...)
	e.want("u f 1 1 - - - 1", "get", row...)
	e.want("1 1", "id_only", "u", "f")
	e.write("put", with("s", 5, nil)...)
	e.want("u f 1 1 - s 5 -", "get", row...)
	e.write("mark", with(false)...)
	e.want("u f 1 1 - s 5 0", "get", row...)
	e.write("put", with(nil, nil, nil)...)
	e.want("u f 1 1 - - - -", "get", row...)
}

func TestConditions(t *testing.T) {
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	if r := e.write("swap", "u", "f", 1, 1, "x", "old"); r.Applied || r.Row != nil {
		t.Errorf("swap on an absent row: %+v", r)
	}
	if r := e.write("claim", "u", "f", 1, 1, "s", 1, true); !r.Applied {
		t.Error("claim of an absent row was refused")
	}
	if r := e.write("claim", "u", "f", 1, 1, "t", 1, true); r.Applied {
		t.Error("claim of a present row was applied")
	}
	if r := e.write("swap", "u", "f", 1, 1, "x", "old"); r.Applied || text(r.Row) != "s" {
		t.Errorf("swap with a wrong value: %+v", r)
	}
	if r := e.write("swap", "u", "f", 1, 1, "x", "s"); !r.Applied {
		t.Error("swap was refused")
	}
	e.want("u f 1 1 - x 1 1", "get", "u", "f", 1, 1)

	large := strings.Repeat("x", keepBatch)
	e.write("put", "u", "f", 1, 1, large, 1, true)
	if r := e.write("swap", "u", "f", 1, 1, "y", "x"); r.Applied || text(r.Row) != large {
		t.Errorf("swap with a wrong value: applied %v, and the value is not the one of %d bytes", r.Applied, len(large))
	}
}

func TestCounters(t *testing.T) {
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	e.write("add", "u", "a", 5)
	e.write("add", "u", "a", -7)
	if r := e.write("next", "u", "a", 10); text(r.Row) != "8" {
		t.Errorf("next returned %q", text(r.Row))
	}
	if r := e.write("next", "u", "b", 1); text(r.Row) != "1" {
		t.Errorf("first next returned %q", text(r.Row))
	}
	e.want("a 8; b 1", "tallies", "u")
	if err := e.store.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.write("add", "u", "a", 1)
	e.want("a 9; b 1", "tallies", "u")
}

func TestCollections(t *testing.T) {
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	e.write("see", "r", 1, list("x"))
	e.want("r 1 - - (x) -", "posts", "r")
	e.write("post", "r", 1, "hi", set("b", "a"), list("p", "q"), pairs("f", 1, "e\x00", 2))
	e.want("r 1 hi (a b) (p q) (e\x00 2 f 1)", "posts", "r")
	e.write("see", "r", 1, list("a", "q"))
	e.want("r 1 hi (a b) (p q a q) (e\x00 2 f 1)", "posts", "r")
	e.want("1", "file", "r", 1, "f")
	e.want("", "file", "r", 1, "g")
	e.write("unsee", "r", 1, list("q", "none"))
	e.want("r 1 hi (a b) (p a) (e\x00 2 f 1)", "posts", "r")
	e.write("post", "r", 2, "ho", nil, nil, nil)
	e.write("see", "r", 2, list("z"))
	e.want("r 2 ho - (z) -; r 1 hi (a b) (p a) (e\x00 2 f 1)", "posts", "r")
	e.write("unpost", "r", 1)
	e.write("see", "r", 1, list("new"))
	e.want("r 2 ho - (z) -; r 1 - - (new) -", "posts", "r")
	e.write("post", "s", 1, "other", nil, list("o"), nil)
	e.write("leave", "r")
	e.want("", "posts", "r")
	e.write("see", "r", 1, list("again"))
	e.want("r 1 - - (again) -", "posts", "r")
	e.want("s 1 other - (o) -", "posts", "s")
}

// Parts of a batch take effect in order, also where a later one has to find
// what an earlier one wrote.
func TestBatches(t *testing.T) {
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	e.fill()
	e.batch("move", call(0, "b", "in", 3, 1), call(1, "b", "out", 3, 1, "m", 1, true), call(2, "b", "out", 1),
		call(2, "b", "out", 1))
	e.want("3 2 s", "page", "b", "in", nil, nil, 1)
	e.want("3 1 m", "page", "b", "out", nil, nil, 9)
	e.want("out 2", "tallies", "b")
	e.write("post", "r", 1, "old", set("a"), list("x"), nil)
	e.batch("repost", call(0, "r", 1), call(1, "r", 1, "new", set("b"), nil, nil))
	e.want("r 1 new (b) - -", "posts", "r")
	e.batch("postrepost", call(0, "r", 1, "p", set("c"), list("y"), nil), call(1, "r", 1),
		call(2, "r", 1, "q", nil, list("z"), nil))
	e.want("r 1 q - (z) -", "posts", "r")
}

// All that was written is there after closing and opening again, and appends still
// come after it.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	for i, want := range []string{"(0)", "(0 1)", "(0 1 2)"} {
		e := newEnv(t, drivers.Options{Dir: dir})
		e.write("see", "r", 1, list(string(rune('0'+i))))
		e.want("r 1 - - "+want+" -", "posts", "r")
		e.sess.Close()
		if err := e.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
