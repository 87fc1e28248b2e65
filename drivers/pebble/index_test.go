package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
)

// faults returns what a check of all indexes of a store finds.
func faults(t testing.TB, s *Store) (all []string) {
	t.Helper()
	snapshot := s.db.NewSnapshot()
	defer snapshot.Close()
	for tb := range s.tables.All() {
		for _, x := range tb.indexes {
			err := checkIndex(t.Context(), snapshot, tb, x, func(index, what string, key []drivers.Value) {
				all = append(all, fmt.Sprint(index, " ", len(key), " ", what))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.Sort(all)
	return all
}

// checkIndex compares the entries of an index with the rows of its table, and calls found for each that differs.
// key is the row's primary key, or nil if the entry does not have it.
func checkIndex(
	ctx context.Context, r pebble.Reader, tb *table, x *path, found func(index, what string, key []drivers.Value),
) error {
	n := len(tb.key)
	row := make([]drivers.Value, n+len(tb.rows.columns)) // as path.append takes it
	var arena, key, entry []byte
	data := []byte{} // not nil: an entry has an empty value
	// wanted returns the entry that the row with the key in row and this value should have.
	wanted := func(value []byte) (_ []byte, err error) {
		if err = tb.rows.decodeRow(value, row[n:], false); err == nil {
			entry = x.append(entry[:0], row)
		}
		return entry, err
	}
	err := Each(ctx, r, x.cols[0].Before, func(at, _ []byte) (err error) { // has each entry its row?
		if arena, err = x.cols.Decode(at, row, arena[:0], false); err != nil {
			found(x.name, fmt.Sprintf("entry %x cannot be read", at), nil)
			return nil
		}
		key = tb.rows.append(key[:0], row)
		stored, err := find(r, key, data)
		if err == nil && stored == nil {
			found(x.name, "the index has an entry without a row", row[:n])
		}
		if err != nil || stored == nil {
			return err
		}
		data = stored
		if want, err := wanted(stored); err == nil && !bytes.Equal(want, at) {
			found(x.name, "the index has an entry of another value", row[:n])
		}
		return nil
	})
	if err != nil {
		return err
	}
	return Each(ctx, r, tb.rows.cols[0].Before, func(at, value []byte) (err error) { // has each row its entry?
		if arena, err = tb.rows.cols.Decode(at, row, arena[:0], false); err != nil {
			return nil // rows that cannot be read are found by reading them
		}
		want, err := wanted(value)
		if err != nil || len(want) == 0 {
			return nil
		}
		there, err := find(r, want, data)
		if there == nil && err == nil {
			found(x.name, "the row has no entry in the index", row[:n])
		}
		return err
	})
}

// TestIndexDamage takes an entry away, adds one without a row, and changes one: a check finds each, and
// no look-up answers with a row that has another value.
func TestIndexDamage(t *testing.T) {
	e := newEnv(t, drivers.Options{})
	for id, word := range []any{"one", "two", "three", nil} {
		e.write("note", int32(id), word)
	}
	if got := faults(t, e.store); len(got) > 0 {
		t.Fatalf("before anything is damaged: %q", got)
	}
	tb, err := e.store.tables.Find(e.stmt("note").Pattern())
	if err != nil {
		t.Fatal(err)
	}
	key := func(id int32, word string) []byte {
		return tb.indexes[0].append(nil, values([]any{id, word}))
	}
	db := e.store.db
	for _, err := range []error{
		db.Delete(key(0, "one"), pebble.NoSync),
		db.Set(key(9, "nine"), nil, pebble.NoSync),
		db.Delete(key(2, "three"), pebble.NoSync), db.Set(key(2, "tree"), nil, pebble.NoSync),
		db.Set(append(binary.BigEndian.AppendUint16(nil, tb.indexes[0].space), 0xff), nil, pebble.NoSync),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		fmt.Sprintf("by_word 0 entry %x cannot be read", append(binary.BigEndian.AppendUint16(nil, tb.indexes[0].space), 0xff)),
		"by_word 1 the index has an entry of another value",
		"by_word 1 the index has an entry without a row",
		"by_word 1 the row has no entry in the index",
		"by_word 1 the row has no entry in the index",
	}
	if got := faults(t, e.store); !slices.Equal(got, want) {
		t.Errorf("a check finds\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	e.want("", "worded_whole", "tree")
}

// TestIndexOfNull: an index has no entries of rows without a value. A filter that goes through it refuses null.
func TestIndexOfNull(t *testing.T) {
	e := newEnv(t, drivers.Options{})
	e.write("note", int32(1), nil)
	e.write("note", int32(2), "two")
	e.want("2", "wordless", "two")
	err := e.sess.Read(t.Context(), e.stmt("wordless"), values([]any{nil}), func([]drivers.Value) error { return nil })
	if !errors.Is(err, plan.ErrNull) {
		t.Errorf("error %v, want %v", err, plan.ErrNull)
	}
}

// TestIndexRace writes few rows from many sessions concurrently: each row has the entry of its last value.
func TestIndexRace(t *testing.T) {
	e := newEnv(t, drivers.Options{Durability: drivers.Memory})
	var g sync.WaitGroup
	note := e.stmt("note")
	for w := range 8 {
		s := e.session()
		g.Go(func() {
			for i := range 500 {
				if _, err := s.Write(t.Context(), note, values([]any{int32(i % 3), fmt.Sprint(w, " ", i)})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	g.Wait()
	if got := faults(t, e.store); len(got) > 0 {
		t.Errorf("index entries and rows differ: %q", got)
	}
}

// TestOlderLayout: a folder whose rows may lack index entries is refused, not answered from.
func TestOlderLayout(t *testing.T) {
	o := drivers.Options{Dir: t.TempDir()}
	e, err := openEnv(o)
	if err != nil {
		t.Fatal(err)
	}
	e.close()
	older := strings.Replace(string(mark), "layout 3", "layout 2", 1)
	if err := os.WriteFile(filepath.Join(o.Dir, markName), []byte(older), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o.ReadOnly = range []bool{false, true} {
		if _, err := Engine().Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "layout 2") {
			t.Errorf("read-only %v: error is %v, want one that names the layout", o.ReadOnly, err)
		}
	}
}
