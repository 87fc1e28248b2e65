package pebble

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
)

// wrote checks what kinds of keys the last write put into Pebble.
func (e *env) wrote(what string, want ...pebble.InternalKeyKind) {
	e.t.Helper()
	var got []pebble.InternalKeyKind
	r := e.sess.(*session).batch.Reader()
	for {
		kind, _, _, ok, err := r.Next()
		if err != nil {
			e.t.Fatal(err)
		}
		if !ok {
			break
		}
		got = append(got, kind)
	}
	slices.Sort(got) // a batch is atomic: the order of its rows and index entries does not matter
	slices.Sort(want)
	if !slices.Equal(got, want) {
		e.t.Errorf("%s wrote %v, want %v", what, got, want)
	}
}

// TestRewrite: a write that has read its row leaves no chain of operands. It sets
// the whole row, with what the operands below it came to. A large row gets an
// operand, which is cheaper to write.
func TestRewrite(t *testing.T) {
	const set, merge = pebble.InternalKeyKindSet, pebble.InternalKeyKindMerge
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	e.write("add", "u", "uid", 5)
	e.wrote("add", merge)
	for range 3 {
		e.write("next", "u", "uid", 1)
		e.wrote("next", set)
	}
	e.write("add", "u", "uid", -2)
	e.write("next", "u", "uid", 1)
	e.wrote("next on a row and an operand", set)
	e.want("uid 7", "tallies", "u")

	row := []any{"u", "f", 1, 1}
	e.write("mark", "u", "f", 1, 1, false)
	e.wrote("a put of one column, which reads nothing", merge, set) // and its index entry
	e.write("put", "u", "f", 1, 1, "small", 5, true)
	e.write("swap", "u", "f", 1, 1, "other", "small")
	e.wrote("swap", set, set) // the row, and its index entry
	e.want("u f 1 1 - other 5 1", "get", row...)
	large := strings.Repeat("x", rewriteBelow)
	e.write("swap", "u", "f", 1, 1, large, "other")
	e.wrote("swap of a small row for a large one", set, set)
	e.write("swap", "u", "f", 1, 1, "small again", large)
	e.wrote("swap in a large row", merge, set)
	e.want("u f 1 1 - small again 5 1", "get", row...)
	e.write("mark", "u", "f", 1, 1, false)
	e.wrote("a put of one column of a row", merge, set)
	e.want("u f 1 1 - small again 5 0", "get", row...)
}

// TestNullsOfSetRows: a row that is set has no entries for its nulls, so that they take no space. An operand has some,
// because they delete what the row had.
func TestNullsOfSetRows(t *testing.T) {
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	values := func(kind pebble.InternalKeyKind) (all [][]byte) {
		r := e.sess.(*session).batch.Reader()
		for {
			k, _, value, ok, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return all
			}
			if k == kind && len(value) > 0 { // no entry of an index
				all = append(all, value)
			}
		}
	}
	e.write("put", "u", "f", 1, 1, nil, nil, nil)
	if got := values(pebble.InternalKeyKindSet); len(got) != 1 || !slices.Equal(got[0], []byte{rowByte}) {
		t.Errorf("a put of nulls set %x, want an empty row", got)
	}
	e.write("mark", "u", "f", 1, 1, nil)
	if got := values(pebble.InternalKeyKindMerge); len(got) != 1 || len(got[0]) != 3 || got[0][1]&opMask != opDelete {
		t.Errorf("a put of one null merged %x, want the deletion of a column", got)
	}
}

// TestLargeBatchIsLetGo: a session does not keep the memory of a large write.
func TestLargeBatchIsLetGo(t *testing.T) {
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	e.write("put", "u", "f", 1, 1, strings.Repeat("x", keepBatch), 5, true)
	if n := e.sess.(*session).batch.Len(); n > keepBatch {
		t.Errorf("the session keeps a batch of %d bytes, at most %d may stay", n, keepBatch)
	}
}
