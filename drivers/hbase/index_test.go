package hbase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
)

const notesSchema = `
schema: 1
name: notes
tables:
  noted: {partition: [id int], columns: {word: text, n: bigint}, indexes: {by_word: [word]}}
patterns:
  note: {put: noted, columns: word}
  put_n: {put: noted, columns: n}
  claim: {put-if: noted, if: absent}
  drop: {delete: noted, by: id}
  both: {batch: [note, drop]}
  worded: {slice: noted, index: by_word, by: word, columns: [id], fallback: worded_scan}
  page: {slice: noted, index: by_word, by: word, after: id, limit: arg, columns: [id]}
  worded_scan: {scan: noted, filter: word, columns: [id]}
`

// notes is a table with an index over a plain column.
type notes struct {
	*worker
	t *table
}

func newNotes(t *testing.T) *notes {
	t.Helper()
	st, s := openLive(t, newNamespace(), nil), parse(t, notesSchema)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	_, tb, err := st.compiler.tables.Find(s.Pattern("note"))
	if err != nil {
		t.Fatal(err)
	}
	return &notes{newWorker(t, st, s), tb}
}

func (n *notes) note(id int, word string) {
	n.write("note", drivers.Int(int32(id)), drivers.Text(word))
}

// entry puts or drops an entry and leaves the row as it is.
func (n *notes) entry(st *statement, id int, word string) {
	n.Helper()
	x := &n.t.indexes[0]
	e, err := x.edit(st, []drivers.Value{drivers.Int(int32(id)), drivers.Text(word), {}})
	if err == nil {
		err = n.session.(*session).writing.sendEntries(n.Context(), []edit{e})
	}
	if err != nil {
		n.Fatal(err)
	}
}

// faults returns what a check of the index finds.
func (n *notes) faults() (all []string) {
	n.Helper()
	err := n.store.CheckIndexes(n.Context(), n.schema.Tables[0], func() error { return nil }, func(f drivers.IndexFault) {
		line := fmt.Sprint(f.Index, " ", f.What)
		if f.Key != nil {
			line = fmt.Sprint(line, ": ", f.Key[0].Int64())
		}
		if f.Stale {
			line += " (stale)"
		}
		all = append(all, line)
	})
	if err != nil {
		n.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// want checks which rows have a word.
func (n *notes) want(word string, ids ...int) {
	n.Helper()
	if got := n.numbers("worded", drivers.Text(word)); !slices.Equal(got, ids) {
		n.Errorf("%s is in rows %v, want %v", word, got, ids)
	}
}

// TestIndexDamage takes an entry away, adds one without a row, and changes one: a check finds each, and
// no look-up answers with a row that has another value.
func TestIndexDamage(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	for id, word := range []string{"one", "two", "three"} {
		n.note(id, word)
	}
	n.write("put_n", drivers.Int(3), drivers.Bigint(1))
	if got := n.faults(); len(got) > 0 {
		t.Fatalf("before anything is damaged: %q", got)
	}
	x := &n.t.indexes[0]
	n.entry(x.drop, 0, "one")
	n.entry(x.put, 9, "nine")
	n.entry(x.drop, 2, "three")
	n.entry(x.put, 2, "tree")
	want := []string{
		"by_word the index has an entry of another value: 2 (stale)",
		"by_word the index has an entry, and there is no row: 9 (stale)",
		"by_word the row has no entry in the index: 0",
		"by_word the row has no entry in the index: 2",
	}
	if got := n.faults(); !slices.Equal(got, want) {
		t.Errorf("a check finds\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	n.want("tree")
	n.want("nine")
	n.want("two", 1)
}

// TestIndexPages reads pages that end among entries that are left over.
func TestIndexPages(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	for id := range 12 {
		n.note(id, "w")
		if id%4 > 0 {
			n.write("drop", drivers.Int(int32(id)))
			n.entry(n.t.indexes[0].put, id, "w")
		}
	}
	n.want("w", 0, 4, 8)
	w, null := drivers.Text("w"), drivers.Value{}
	if got := n.numbers("page", w, null, drivers.Bigint(2)); !slices.Equal(got, []int{0, 4}) {
		t.Errorf("the first page is %v", got)
	}
	if got := n.numbers("page", w, drivers.Int(4), drivers.Bigint(2)); !slices.Equal(got, []int{8}) {
		t.Errorf("the second page is %v", got)
	}
}

// TestIndexRace writes few rows from many sessions at once: each row has the entry of its last value.
func TestIndexRace(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	var g sync.WaitGroup
	for w := range 4 {
		own := newWorker(t, n.store, n.schema)
		note, claim := own.prepare("note"), own.prepare("claim")
		g.Go(func() {
			for i := range 60 {
				id, word := drivers.Int(int32(i%3)), drivers.Text(fmt.Sprint(w, " ", i))
				if _, err := own.session.Write(t.Context(), note, []drivers.Value{id, word}); err != nil {
					t.Error(err)
				}
				id = drivers.Int(int32(10 + i)) // all claim the same rows with the same word
				if _, err := own.session.Write(t.Context(), claim, []drivers.Value{id, drivers.Text("c"), {}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	g.Wait()
	got := slices.DeleteFunc(n.faults(), func(f string) bool { return strings.HasSuffix(f, "(stale)") })
	if len(got) > 0 {
		t.Errorf("index entries and rows differ: %q", got)
	}
}

// onWrite calls do before each write to a table, and fails the write with its error.
type onWrite struct {
	gohbase.RPCClient
	table []byte
	do    func() error
}

func (o onWrite) SendRPC(c hrpc.Call) (proto.Message, error) {
	if bytes.Equal(c.Table(), o.table) && c.Name() == "Mutate" {
		if err := o.do(); err != nil {
			return nil, err
		}
	}
	return o.RPCClient.SendRPC(c)
}

// beside runs a write, and another client's before it sends its n-th write to a table.
func (n *notes) beside(table []byte, nth int, write, other func()) {
	sl := n.session.(*session).slot
	sent := sl.rpc
	defer func() { sl.rpc = sent }()
	sl.rpc = onWrite{sent, table, func() error {
		if nth--; nth == 0 {
			other()
		}
		return nil
	}}
	write()
	if nth > 0 {
		n.Errorf("the write sends %d writes less to %s", nth, table)
	}
}

// TestIndexBeside has another client write a row while its entries change: the row has an entry, and none is
// left over.
func TestIndexBeside(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	other := &notes{newWorker(t, n.store, n.schema), n.t}
	entries, id, word := n.t.indexes[0].entries.hbase, drivers.Int(1), drivers.Text("old")
	n.note(1, "old")
	n.beside(entries, 2, func() { n.note(1, "new") }, func() { other.note(1, "old") })
	n.want("old", 1)
	n.write("drop", id)
	n.beside(entries, 1, func() {
		if n.write("claim", id, word, drivers.Value{}).Applied {
			t.Error("two clients have claimed one row")
		}
	}, func() { other.write("claim", id, word, drivers.Value{}) })
	n.want("old", 1)
	n.write("drop", id)
	if got := n.faults(); !slices.Equal(got, nil) {
		t.Errorf("a check finds %q", got)
	}
}

// TestIndexInterrupted lets each step of a write fail: no row lacks an entry, and no look-up finds a row that
// has another value.
func TestIndexInterrupted(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	n.note(1, "old")
	sl := n.session.(*session).slot
	sent := sl.rpc
	write := func(pattern string, table []byte, args ...drivers.Value) {
		t.Helper()
		sl.rpc = onWrite{sent, table, func() error { return context.DeadlineExceeded }}
		_, err := n.session.Write(t.Context(), n.prepare(pattern), args)
		sl.rpc = sent
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s that cannot write to %s: %v, want %v", pattern, table, err, context.DeadlineExceeded)
		}
	}
	check := func(stale ...string) {
		t.Helper()
		for i := range stale {
			stale[i] = "by_word the index has an entry" + stale[i] + " (stale)"
		}
		if got := n.faults(); !slices.Equal(got, stale) {
			t.Errorf("a check finds %q, want %q", got, stale)
		}
	}
	id, entries := drivers.Int(1), n.t.indexes[0].entries.hbase
	write("note", entries, id, drivers.Text("new"))
	n.want("old", 1)
	n.want("new")
	check()
	write("note", n.t.hbase, id, drivers.Text("new"))
	n.want("old", 1)
	n.want("new")
	check(" of another value: 1")
	write("drop", n.t.hbase, id)
	n.want("old", 1)
	n.note(1, "new")
	n.want("old")
	n.want("new", 1)
	check()
	write("drop", entries, id)
	n.want("new")
	check(", and there is no row: 1")
}

// TestIndexRequests pins what an index costs: a look-up is two requests whatever the number of rows, a put that
// may change it one read of the row and one or two writes of entries, and a put of other columns nothing.
func TestIndexRequests(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	for id := range 50 {
		n.note(id, fmt.Sprint("word ", id%25))
	}
	id, word := drivers.Int(7), func(s string) drivers.Value { return drivers.Text(s) }
	cost := func(what string, calls, rows int64, do func()) {
		t.Helper()
		n.session.Take()
		do()
		if c := n.session.Take(); c.Calls != calls || c.RowsExamined != rows {
			t.Errorf("%s: %d requests and %d rows, want %d and %d", what, c.Calls, c.RowsExamined, calls, rows)
		}
	}
	cost("look-up", 2, 4, func() { n.want("word 7", 7, 32) })
	cost("look-up of what is not there", 1, 0, func() { n.want("none") })
	cost("scan", 1, 50, func() { n.numbers("worded_scan", word("word 7")) })
	cost("put of another column", 1, 0, func() { n.write("put_n", id, drivers.Bigint(1)) })
	cost("put of a new row", 3, 0, func() { n.write("note", drivers.Int(100), word("x")) })
	cost("put of another value", 4, 1, func() { n.write("note", id, word("x")) })
	cost("put of the same value", 3, 1, func() { n.write("note", id, word("x")) })
	cost("refused put-if", 1, 1, func() { n.write("claim", id, word("y"), drivers.Value{}) })
	cost("batch of new rows", 3, 0, func() {
		var calls []drivers.Call
		for id := range 10 {
			calls = append(calls, drivers.Call{Args: []drivers.Value{drivers.Int(int32(200 + id)), word("z")}})
		}
		if err := n.session.Batch(t.Context(), n.prepare("both"), calls); err != nil {
			t.Error(err)
		}
	})
	cost("delete", 3, 1, func() { n.write("drop", id) })
	if got := n.faults(); len(got) > 0 {
		t.Errorf("index entries and rows differ: %q", got)
	}
}

// TestIndexOfRows refuses a table whose rows were written without the entries of an index. A store for reading
// only runs the fallback.
func TestIndexOfRows(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	n.note(1, "one")
	if err := n.store.admin.dropTable(t.Context(), string(n.t.indexes[0].entries.hbase)); err != nil {
		t.Fatal(err)
	}
	if err := second(t, n.store).Apply(t.Context(), n.schema); err == nil || !strings.Contains(err.Error(), "no entries") {
		t.Errorf("Apply without the table of entries: %v", err)
	}
	o := drivers.Options{Contact: n.store.contact, Namespace: n.store.admin.namespace, ReadOnly: true}
	reader, err := Engine().Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := reader.Apply(t.Context(), n.schema); err != nil {
		t.Fatal(err)
	}
	p, err := drivers.PrepareAll(t.Context(), reader, n.schema)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := p.Get("worded"); err != nil || st.Emulates() == nil {
		t.Errorf("a look-up without the table of entries: %v, want its fallback", err)
	}
}
