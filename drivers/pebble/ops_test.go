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
