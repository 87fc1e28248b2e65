package hbase

import (
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// TestRequests pins the requests for the patterns of models: one each, as
// somebody who knows HBase would have it, and no scanner to close.
func TestRequests(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), nil)
	james, inbox, datastax := apply(t, st, "james"), apply(t, st, "elasticinbox"), apply(t, st, "datastax")
	oracle := apply(t, st, "oracle")
	w := newWorker(t, st, james)
	sent := &recorder{RPCClient: st.regions}
	own := w.session.(*session)
	own.RPC, own.Client = sent, batches{st.regions, sent}
	box, uid := drivers.UUID([16]byte{1}), func(n int) drivers.Value { return drivers.Bigint(int64(n)) }
	null, data := drivers.Value{}, drivers.Blob([]byte("data"))
	chunk := func(n, c int) drivers.Call {
		return drivers.Call{Part: 0, Args: []drivers.Value{box, uid(n), uid(c), data}}
	}
	// metadata are the arguments of a message's row, whose last one are the properties.
	metadata := func(mailbox drivers.Value, n int, properties drivers.Value) []drivers.Value {
		yes := drivers.Boolean(true)
		return []drivers.Value{
			mailbox, uid(n), drivers.Timestamp(1), uid(4), drivers.Int(4), yes, yes, yes, yes, yes, drivers.Text(""), properties,
		}
	}
	message := func(part, n int) drivers.Call { return drivers.Call{Part: part, Args: metadata(box, n, data)} }
	row := func(part, n int) drivers.Call {
		return drivers.Call{Part: part, Args: []drivers.Value{box, uid(n)}}
	}
	batch := func(s *schemas.Schema, pattern string, parts ...drivers.Call) func() error {
		return func() error { return w.session.Batch(t.Context(), statementOf(t, st, s, pattern), parts) }
	}
	read := func(s *schemas.Schema, pattern string, rows int, args ...drivers.Value) func() error {
		return func() error {
			n := 0
			err := w.session.Read(t.Context(), statementOf(t, st, s, pattern), args,
				func([]drivers.Value) error { n++; return nil })
			if n != rows {
				t.Errorf("%s yields %d rows, expected %d", pattern, n, rows)
			}
			return err
		}
	}
	write := func(s *schemas.Schema, pattern string, args ...drivers.Value) func() error {
		return func() error {
			_, err := w.session.Write(t.Context(), statementOf(t, st, s, pattern), args)
			return err
		}
	}
	key, id := drivers.Text("joe@x"), func(n byte) drivers.Value { return drivers.TimeUUID([16]byte{6: 0x10, 8: 0x80, 15: n}) }
	column := func(part int, m byte, name string) drivers.Call {
		return drivers.Call{Part: part, Args: []drivers.Value{key, id(m), drivers.Text(name), data}}
	}
	attachment := func(n int) drivers.Call {
		return drivers.Call{Args: []drivers.Value{id(1), drivers.Text("a"), drivers.Int(int32(n)), data, drivers.Bigint(7)}}
	}
	shown := func(n byte, label string) drivers.Call {
		no := drivers.Boolean(false)
		return drivers.Call{Args: []drivers.Value{key, drivers.Text(label), id(n), drivers.Text("from"), drivers.Text("subject"), no}}
	}
	hidden := func(n byte, label string) drivers.Call {
		return drivers.Call{Part: 1, Args: []drivers.Value{key, drivers.Text(label), id(n)}}
	}
	mailOf := func(message string) drivers.Call {
		return drivers.Call{Args: []drivers.Value{
			key, key, drivers.Text(message), drivers.Timestamp(1), key, key, key, key, key, key,
			drivers.Boolean(false), uid(1), null, null,
		}}
	}
	counter := func(name string, n int) drivers.Call {
		return drivers.Call{Args: []drivers.Value{key, drivers.Text("l"), drivers.Text("0"), drivers.Text(name), drivers.Counter(int64(n))}}
	}
	for _, c := range []struct {
		what string
		run  func() error
		want string
	}{
		{"a mailbox", write(james, "mailbox_put", box, drivers.Text("joe"), drivers.Text("inbox")), "Mutate"},
		{"a UID", write(james, "next_uid", box, uid(1), uid(1)), "Mutate"},
		{"its count", write(james, "count", box, uid(1)), "Mutate"},
		{"a message of one chunk, both families", batch(james, "append", chunk(1, 1), message(1, 1)), "Mutate"},
		{"another", batch(james, "append", chunk(2, 1), message(1, 2)), "Mutate"},
		{"a chunk", write(james, "chunk_put", box, uid(2), uid(2), data), "Mutate"},
		{"an audit", read(james, "accounts", 1), "Scan"},
		{"a page", read(james, "page", 2, box, null, uid(2)), "Scan"},
		{"the page behind it", read(james, "page", 0, box, uid(1), uid(2)), "Scan"},
		{"metadata", read(james, "message", 1, box, uid(1)), "Get"},
		{"a chunk", read(james, "chunk", 1, box, uid(1), uid(1)), "Get"},
		{"a flag", write(james, "flag_seen", box, uid(1), drivers.Boolean(true)), "Mutate"},
		{"a name, if it is free", write(james, "claim", drivers.Text("joe"), drivers.Text("inbox"), box), "Mutate"},
		{"a message goes, both families", batch(james, "remove", row(0, 1), row(1, 1)), "Mutate"},
		{"two messages, both families of each", batch(james, "remove_unbatched", row(0, 1), row(1, 1), row(0, 2), row(1, 2)), "2 at once"},
		{"a message, and the chunks of another", batch(james, "remove_unbatched", row(0, 1), row(1, 2)), "Mutate, Mutate"},
		{"all chunks of one", write(james, "data_delete", box, uid(2)), "Mutate"},
		{
			"metadata with a null, which is a delete",
			write(james, "message_put", metadata(drivers.UUID([16]byte{2}), 1, null)...), "Multi",
		},

		{
			"sub-columns of a message, and two labels", batch(inbox, "store", column(0, 1, "from"), column(0, 1, "to"), column(1, 1, "size"), column(2, 1, "parts"),
				drivers.Call{Part: 3, Args: []drivers.Value{drivers.Text("joe@x:0"), id(1)}}, drivers.Call{Part: 3, Args: []drivers.Value{drivers.Text("joe@x:1"), id(1)}}),
			"Mutate, 2 at once",
		},
		{
			"chunks of an attachment", batch(datastax, "put_chunks", attachment(1), attachment(2), attachment(3), attachment(4)),
			"4 at once",
		},
		{"chunks are read", read(datastax, "chunks", 2, id(1), drivers.Text("a"), drivers.ListOf([]drivers.Value{drivers.Int(1), drivers.Int(2), drivers.Int(9)})), "3 at once"},
		{"rows of labels: those that show before those that hide", batch(datastax, "index", shown(1, "inbox"), shown(1, "all"), shown(2, "inbox"), hidden(3, "inbox")), "3 at once, Mutate"},
		{"an account's counters, at once", batch(inbox, "counts", counter("m", 1), counter("u", 1), counter("m", 1)), "Mutate"},
		{"the newest of a label", read(inbox, "index_page", 1, drivers.Text("joe@x:0"), null, uid(25)), "Get"},
		{"super columns, many", read(inbox, "messages", 4, key, drivers.ListOf([]drivers.Value{id(1), id(2)})), "Get"},
		{"four messages", batch(oracle, "deliver", mailOf("1"), mailOf("2"), mailOf("3"), mailOf("4")), "4 at once"},
		{"rows of a list of prefixes, in one scan", read(oracle, "existing", 2, key, key, drivers.ListOf([]drivers.Value{drivers.Text("1"), drivers.Text("3"), drivers.Text("5")})), "Scan"},
		{"the same against the order", read(oracle, "existing", 2, key, key, drivers.ListOf([]drivers.Value{drivers.Text("3"), drivers.Text("1")})), "Scan, Scan"},
		{"counters of a label", read(inbox, "counters", 2, key, drivers.Text("l"), drivers.Text("0")), "Scan"},
		{"a super column goes", write(inbox, "message_delete", key, id(1)), "Scan, Mutate"},
	} {
		sent.sent, sent.uncached = nil, 0
		if err := c.run(); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if audit := c.what == "an audit"; audit != (sent.uncached > 0) {
			t.Errorf("%s: %d scanners leave the block cache alone", c.what, sent.uncached)
		}
		if got := strings.Join(sent.sent, ", "); got != c.want {
			t.Errorf("%s sends %s, expected %s", c.what, got, c.want)
		}
	}
	var got []string
	err := w.session.Read(t.Context(), statementOf(t, st, inbox, "account_counters"), []drivers.Value{key}, func(row []drivers.Value) error {
		got = append(got, row[2].Str()+string(rune('0'+row[3].Int64())))
		return nil
	})
	if want := []string{"m2", "u1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("counters %q, %v; expected %q", got, err, want)
	}
}

// apply applies a schema that mailbench brings along.
func apply(t *testing.T, st *Store, name string) *schemas.Schema {
	t.Helper()
	s, err := schemas.Bundled(name)
	if err == nil {
		err = st.Apply(t.Context(), s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func statementOf(t *testing.T, st *Store, s *schemas.Schema, pattern string) drivers.Statement {
	t.Helper()
	stmt, err := st.Prepare(t.Context(), s.Pattern(pattern))
	if err != nil {
		t.Fatal(err)
	}
	return stmt
}

// TestUnsupported pins which patterns of the five schemas HBase cannot run, and
// that each one of any schema has a fallback that it can.
func TestUnsupported(t *testing.T) {
	st := newStore(&settings{}, drivers.Options{}) // preparing sends nothing to HBase
	var got []string
	for _, name := range schemas.BundledVariants("") {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		l, err := newLayout(prefixOf("", name), s)
		if err != nil {
			t.Fatal(err)
		}
		st.tables.Add(s, l.tables)
		if _, err := drivers.PrepareAll(t.Context(), st, s); err != nil {
			t.Error(err)
		}
		for _, p := range s.Patterns {
			if _, err := st.Prepare(t.Context(), p); err != nil {
				if slices.Contains(pinned, name) {
					got = append(got, name+" "+p.Name)
				}
				if p.Fallback == nil {
					t.Errorf("schema %s: pattern %s has no fallback: %v", name, p.Name, err)
				}
			}
		}
	}
	want := []string{
		"conversation take_parts", "conversation reposts", "conversation delete_messages", "conversation by_sender",
		"datastax put_folders",
		"james create", "james remove_many", "james replace",
		"oracle user_by_address", "oracle nested", "oracle inbox", "oracle delete_present", "oracle move", "oracle delete",
	}
	if !slices.Equal(got, want) {
		t.Errorf("HBase cannot run\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSearchAlone: a batch may have only parts that must find what they delete, which have no edit.
func TestSearchAlone(t *testing.T) {
	if _, n := together([]step{{}, {}}, true); n != 1 {
		t.Errorf("%d steps are sent together, want 1", n)
	}
}
