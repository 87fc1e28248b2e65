package pebble

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// A delete of a range takes all its rows, their index entries and the elements of their
// collections, also beyond the rows that it deletes one by one, and nothing of its neighbors.
func TestDeletesOfManyRows(t *testing.T) {
	for _, n := range []int{maxPointDeletes, maxPointDeletes + 1, maxPointDeletes + 300} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			e := newEnv(t, drivers.Options{Durability: drivers.Memory})
			for id := range n {
				e.write("put", "b", "in", id%3, id, "s", id, true)
				e.write("post", "r", id, "hi", nil, list("p"), nil)
			}
			for _, other := range []string{"a", "c"} {
				e.write("put", other, "in", 1, 1, "s", 1, true)
			}
			for _, room := range []string{"q", "s"} {
				e.write("post", room, 1, "hi", nil, list("p"), nil)
			}
			e.write("drop_folder", "b", "in")
			e.write("leave", "r")

			e.want("", "days", "b", "in", nil, nil)
			e.want("", "id_only", "b", "in")
			e.want("a in 1 1; c in 1 1", "all")
			e.want("", "posts", "r")
			for _, id := range []int{0, n - 1} { // the last in reading order, and the first
				e.write("see", "r", id, list("new"))
			}
			e.want(fmt.Sprintf("r %d - - (new) -; r 0 - - (new) -", n-1), "posts", "r")
			for _, other := range []string{"a", "c"} {
				e.want("1 1", "id_only", other, "in")
			}
			for _, room := range []string{"q", "s"} {
				e.want(room+" 1 hi - (p) -", "posts", room)
			}
		})
	}
}

// A delete of a range holds the lock of each row that it may delete, so that no conditional
// write to one of them runs concurrently.
func TestDeletesLockTheirRows(t *testing.T) {
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	s := e.sess.(*session)
	locks := func(name string, args ...any) []uint8 {
		t.Helper()
		if err := s.begin(e.stmt(name).(*statement), []drivers.Call{{Args: values(args)}}); err != nil {
			t.Fatal(err)
		}
		held := slices.Clone(s.lockedStripes)
		if err := s.end(errDropped); !errors.Is(err, errDropped) {
			t.Fatal(err)
		}
		return held
	}
	for name, args := range map[string][]any{"drop_folder": {"b", "in"}, "drop_day": {"b", "in", 1}} {
		held := locks(name, args...)
		for id := range 2 * stripes {
			if row := locks("swap", "b", "in", 1, id, "new", "old"); !slices.Contains(held, row[0]) {
				t.Fatalf("%s holds %d locks, and not that of row %d", name, len(held), id)
			}
		}
	}
}

// TestDeletesBesideAWriter: a row that is written while a delete of many rows runs stays with its index entry.
func TestDeletesBesideAWriter(t *testing.T) {
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	for id := range maxPointDeletes + 1 {
		e.write("happen", "r", id)
	}
	s, st, args := e.session().(*session), e.stmt("forget").(*statement), values([]any{"r"})
	err := s.begin(st, []drivers.Call{{Args: args}})
	if err == nil {
		err = s.apply(st, args, false)
	}
	e.write("happen", "r", 2*maxPointDeletes)
	if err = s.end(err); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"events", "newest"} {
		e.want(fmt.Sprint(2*maxPointDeletes), name, "r")
	}
}

var errDropped = errors.New("dropped")
