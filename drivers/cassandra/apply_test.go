package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// withHints is a schema with all that Apply creates and Inspect reads.
const withHints = `
tables:
  head: {partition: [k text]}
  head.rows:
    parent: head
    clustering: [m timeuuid desc, n text]
    columns: {v: blob}
    hints:
      cassandra:
        compaction: LeveledCompactionStrategy sstable_size_in_mb=64
        compression: ZstdCompressor chunk_length_in_kb=32
        caching: keys=NONE rows_per_partition=10
        gc_grace_seconds: 60
        bloom_filter_fp_chance: 0.2
        ttl: 86400
  mail:
    partition: [u text]
    clustering: [f text]
    static: {title: text}
    columns: {sender: text, at: timestamp, times: "map<text,timestamp>"}
    indexes: {by-sender: [sender], by_box: [u, f, sender], newest: [u, at desc]}
    hints: {cassandra: {compression: none}}
patterns:
  mark: {put: mail}
`

// schemaOf returns a schema of that body under a name.
func schemaOf(t testing.TB, name, body string) *schemas.Schema {
	t.Helper()
	s, err := schemas.Parse(name+".yaml", []byte("schema: 1\nname: "+name+"\n"+body))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestApply is about creating a schema, from two clients together, and about what
// is in its way.
func TestApply(t *testing.T) {
	ctx := t.Context()
	namespace := newNamespace()
	st, other := openIn(t, namespace, nil), openIn(t, namespace, nil)
	var g errgroup.Group
	for _, client := range []*Store{st, other} {
		g.Go(func() error { return client.Apply(ctx, schemaOf(t, "mail", withHints)) })
	}
	if err := g.Wait(); err != nil {
		t.Fatalf("two clients apply one schema at once: %v", err)
	}

	// Half of it is there, as after a client that was killed.
	keyspace, err := ddl.Keyspace(namespace, "mail")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.alter(ctx, "DROP TABLE "+cql.Quote(keyspace)+`."head"`); err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(ctx, schemaOf(t, "mail", withHints)); err != nil {
		t.Fatalf("apply over half of the schema: %v", err)
	}

	for what, c := range map[string]struct{ old, new, want string }{
		"another hint":       {"gc_grace_seconds: 60", "gc_grace_seconds: 61", "gc_grace_seconds of table head.rows is 60; it should be 61"},
		"another expiry":     {"ttl: 86400", "ttl: 3600", "ttl of table head.rows is 86400; it should be 3600"},
		"another compaction": {"sstable_size_in_mb=64", "sstable_size_in_mb=65", "compaction.sstable_size_in_mb of table head.rows is 64; it should be 65"},
		"another type":       {"sender: text", "sender: blob", "column sender of table mail is text; it should be blob"},
		"another direction":  {"m timeuuid desc", "m timeuuid", "column m of table head.rows is descending; it should be ascending"},
		"another timestamp":  {"at: timestamp", "at: bigint", "column at of table mail is timestamp; it should be bigint"},
		"no static column":   {"    static: {title: text}\n", "", "has a column title (a static column of type text) and should not"},
		"another index":      {"by_box: [u, f, sender]", "by_box: [u, sender]", "index by_box of table mail is over (u, f, sender); it should be over (u, sender)"},
		"one index more":     {"by_box: [u, f, sender]", "by_box: [u, f, sender], by-box: [u, f, sender]", "has no index by-box"},
		"another table":      {"\n  mail:", "\n  letters:", "table mail is there and should not be"},
	} {
		if !strings.Contains(withHints, c.old) {
			t.Fatalf("%s: no %q in the schema", what, c.old)
		}
		changed := strings.ReplaceAll(strings.Replace(withHints, c.old, c.new, 1), "put: mail", "put: head.rows")
		if err := st.Apply(ctx, schemaOf(t, "mail", changed)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s was applied over the one that is there: %v, want an error with %q", what, err, c.want)
		}
	}
	if two := openIn(t, namespace, map[string]string{"local_dc": st.datacenter}); two.Apply(ctx, schemaOf(t, "mail", withHints)) != nil {
		t.Errorf("the schema as it is was refused")
	}
	inspected(t, st)
	drifted(t, st, keyspace)
	foreign(t, st, keyspace)
}

// drifted changes what is there by hand, one thing at a time: Diff names each of
// them, and nothing else.
func drifted(t *testing.T, st *Store, keyspace string) {
	ctx := t.Context()
	want, err := st.Stored(schemaOf(t, "mail", withHints))
	if err != nil {
		t.Fatal(err)
	}
	check := func(changed string, expected ...string) {
		t.Helper()
		have, err := st.Inspect(ctx, "mail")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range schemas.Diff(want, have) {
			got = append(got, d.String())
		}
		if !slices.Equal(got, expected) {
			t.Errorf("%s: found\n  %s\nexpected\n  %s", changed, strings.Join(got, "\n  "), strings.Join(expected, "\n  "))
		}
	}
	check("nothing")
	mail := cql.Quote(keyspace) + ".mail"
	for _, c := range []struct{ change, fix, expected string }{
		{"DROP TABLE " + cql.Quote(keyspace) + ".head", "", "table head.rows is missing"},
		{"ALTER TABLE " + mail + " WITH default_time_to_live = 60", "ALTER TABLE " + mail + " WITH default_time_to_live = 0", "setting cassandra.ttl of table mail is 60; it should be 0"},
		{
			"ALTER TABLE " + mail + " WITH compression = {'class': 'LZ4Compressor'}", "ALTER TABLE " + mail + " WITH compression = {'enabled': 'false'}",
			"setting cassandra.compression.enabled of table mail is not set; it should be false",
		},
		{"ALTER TABLE " + mail + " WITH gc_grace_seconds = 1", "ALTER TABLE " + mail + " WITH gc_grace_seconds = 864000", ""}, // not compared
		{"ALTER TABLE " + mail + " ADD more varint", "ALTER TABLE " + mail + " DROP more", "table mail has a column more (a plain column of type varint) and should not"},
		{"CREATE INDEX by_keys ON " + mail + " (keys(times))", "DROP INDEX " + cql.Quote(keyspace) + ".by_keys", "table mail has an index by_keys over (keys(times)) and should not"},
		{
			"DROP INDEX " + cql.Quote(keyspace) + ".by_sender", `CREATE INDEX by_sender ON ` + mail + " (sender)",
			"table mail has no index by-sender; it should have one over (sender)\n  table mail has no index by_box; it should have one over (u, f, sender)",
		},
	} {
		if err := st.alter(ctx, c.change); err != nil {
			t.Fatalf("%s: %v", c.change, err)
		}
		if c.expected == "" {
			check(c.change)
		} else {
			check(c.change, strings.Split(c.expected, "\n  ")...)
		}
		err := error(nil)
		if c.fix == "" {
			err = st.Apply(ctx, schemaOf(t, "mail", withHints))
		} else {
			err = st.alter(ctx, c.fix)
		}
		if err != nil {
			t.Fatalf("mend %s: %v", c.change, err)
		}
	}
	check("nothing, in the end")
}

// inspected compares the schema that the engine reports with what was applied.
func inspected(t *testing.T, st *Store) {
	s, err := st.Inspect(t.Context(), "mail")
	if err != nil {
		t.Fatal(err)
	}
	rows, mail := s.Table("head.rows"), s.Table("mail")
	if rows == nil || rows.Parent == nil || !rows.Parent.Header() || rows.Parent.Name != "head" || len(rows.Clustering) != 2 || !rows.Clustering[0].Desc || rows.Clustering[1].Desc {
		t.Fatalf("head.rows is %+v", rows)
	}
	for name, want := range map[string]string{
		"compaction.class": "LeveledCompactionStrategy", "compaction.sstable_size_in_mb": "64",
		"compression.class": "ZstdCompressor", "compression.chunk_length_in_kb": "32",
		"caching.keys": "NONE", "caching.rows_per_partition": "10", "gc_grace_seconds": "60", "bloom_filter_fp_chance": "0.2", "ttl": "86400",
	} {
		if got := rows.Hints[ddl.EngineName][name]; got != want {
			t.Errorf("setting %s is %q, want %q", name, got, want)
		}
	}
	if got := mail.Hints[ddl.EngineName]["compression.enabled"]; got != "false" {
		t.Errorf("compression.enabled is %q, want false", got)
	}
	if got := mail.Column("at").Type.Kind; got != schemas.Timestamp {
		t.Errorf("a timestamp is inspected as a %s", got)
	}
	if got := mail.Column("times").Type.String(); got != "map<text,timestamp>" {
		t.Errorf("a map of timestamps is inspected as a %s", got)
	}
	var indexes []string
	for _, x := range mail.Indexes {
		words := []string{x.Name}
		for _, c := range x.Columns {
			words = append(words, c.Column.Name)
		}
		indexes = append(indexes, strings.Join(words, " "))
	}
	slices.Sort(indexes)
	// Not newest: Cassandra keeps no index in an order.
	if want := []string{"by-sender sender", "by_box u f sender"}; !slices.Equal(indexes, want) {
		t.Errorf("indexes are %q, want %q", indexes, want)
	}
}

// foreign puts a table into the keyspace that mailbench did not make: from then
// on Apply, Inspect and Drop refuse it, until the table is gone.
func foreign(t *testing.T, st *Store, keyspace string) {
	ctx := t.Context()
	table := cql.Quote(keyspace) + ".somebodys"
	if err := st.alter(ctx, "CREATE TABLE "+table+" (k text PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(ctx, schemaOf(t, "mail", withHints)); !errors.Is(err, drivers.ErrForeign) {
		t.Errorf("apply: %v, want ErrForeign", err)
	}
	if _, err := st.Inspect(ctx, "mail"); !errors.Is(err, drivers.ErrForeign) {
		t.Errorf("inspect: %v, want ErrForeign", err)
	}
	if _, err := st.Drop(ctx); !errors.Is(err, drivers.ErrForeign) {
		t.Errorf("drop: %v, want ErrForeign", err)
	}
	if all, err := st.Namespaces(ctx); err != nil || among(all, st.Namespace) {
		t.Errorf("namespaces: %+v, %v; the one with a foreign table is not mailbench's", all, err)
	}
	if k, err := readKeyspace(ctx, st.session, keyspace); err != nil || len(k["tables"]) != 3 {
		t.Errorf("something was dropped: %v, %v", k, err)
	}
	if err := st.alter(ctx, "DROP TABLE "+table); err != nil {
		t.Fatal(err)
	}
}

// among reports whether a namespace is among all.
func among(all []drivers.Namespace, name string) bool {
	return slices.ContainsFunc(all, func(n drivers.Namespace) bool { return n.Name == name })
}

// TestDrop: a namespace goes with all of its schemas, and no other does.
func TestDrop(t *testing.T) {
	ctx := t.Context()
	const body = "tables:\n  t: {partition: [k text]}\n"
	one, two := openLive(t, nil), openLive(t, nil)
	if _, err := one.Drop(ctx); err != nil {
		t.Errorf("drop a namespace in which nothing was applied: %v", err)
	}
	// Without a namespace, the schema's name makes its keyspace look as if it were
	// in the first one.
	none, err := Engine().Open(ctx, drivers.Options{Contact: []string{live.Contact(t, "cassandra")}})
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	lookalike := schemaOf(t, one.Namespace+"_b", body)
	for st, s := range map[drivers.Store]*schemas.Schema{one: schemaOf(t, "a", body), two: schemaOf(t, "a", body), none: lookalike} {
		if err := st.Apply(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	all, err := one.Namespaces(ctx)
	if err != nil || !among(all, one.Namespace) || !among(all, two.Namespace) {
		t.Errorf("namespaces: %+v, %v; want %s and %s among them", all, err, one.Namespace, two.Namespace)
	}
	for _, n := range all {
		if n.Name == one.Namespace && (n.Tables != 1 || n.Bytes == nil || time.Since(n.Since) > time.Hour) {
			t.Errorf("%+v, want one table, its size, and that it is new", n)
		}
	}
	// A client was killed before it created a table.
	empty, err := ddl.Keyspace(one.Namespace, "empty")
	if err != nil {
		t.Fatal(err)
	}
	if err := one.alter(ctx, "CREATE KEYSPACE "+empty+" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"); err != nil {
		t.Fatal(err)
	}
	used, err := ddl.Keyspace(one.Namespace, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := one.remove(ctx, used, new(plan.Owner)); err == nil {
		t.Errorf("a keyspace went that had no tables when the drop began, but has some now")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := one.Drop(ended); err == nil {
		t.Errorf("a drop under a context that has ended returned no error")
	}
	if _, err := one.Drop(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Inspect(ctx, "a"); err == nil {
		t.Errorf("a dropped schema is there")
	}
	if k, err := readKeyspace(ctx, one.session, empty); err != nil || len(k["keyspaces"]) > 0 {
		t.Errorf("a keyspace without tables is left: %v, %v", k, err)
	}
	if _, err := two.Inspect(ctx, "a"); err != nil {
		t.Errorf("the schema of another namespace is gone: %v", err)
	}
	if _, err := none.Inspect(ctx, lookalike.Name); err != nil {
		t.Errorf("the schema without a namespace is gone: %v", err)
	}
	if _, err := one.Inspect(ctx, "b"); err == nil {
		t.Errorf("the schema without a namespace is told as one in it")
	}
	if err := one.Apply(ctx, schemaOf(t, "b", body)); err == nil {
		t.Errorf("a schema was applied over the lookalike, which has another mark")
	}
	if _, err := one.Drop(ctx); err != nil {
		t.Errorf("drop again: %v", err)
	}
	if err := one.alter(ctx, "DROP KEYSPACE "+cql.Quote(drivers.Prefix+lookalike.Name)); err != nil {
		t.Error(err)
	}
}

// TestReplication: replication that the cluster does not provide is refused: more replicas than
// nodes, a datacenter that is not there, another durability.
func TestReplication(t *testing.T) {
	st := openLive(t, nil)
	more := fmt.Sprint(st.nodes.count(st.datacenter) + 1)
	_, err := Engine().Open(t.Context(), drivers.Options{Contact: []string{live.Contact(t, "cassandra")}, Settings: map[string]string{"replication": more}})
	if err == nil || !strings.Contains(err.Error(), "setting replication") {
		t.Errorf("replication %s on %d nodes: %v", more, st.nodes.count(st.datacenter), err)
	}
	_, err = Engine().Open(t.Context(), drivers.Options{Contact: []string{live.Contact(t, "cassandra")}, Settings: map[string]string{"local_dc": "nowhere"}})
	if err == nil || !strings.Contains(err.Error(), "no datacenter nowhere") {
		t.Errorf("local_dc nowhere: %v", err)
	}
	_, err = Engine().Open(t.Context(), drivers.Options{Contact: []string{live.Contact(t, "cassandra")}, Durability: drivers.Process})
	if err == nil || !strings.Contains(err.Error(), "durability process") {
		t.Errorf("durability process, which the cluster does not give: %v", err)
	}
}

// TestForeignReplication: a keyspace that is there with other replication is not
// used, since the run would measure something else.
func TestForeignReplication(t *testing.T) {
	st, s := openLive(t, nil), schemaOf(t, "replicated", "tables:\n  t: {partition: [k text]}\n")
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	keyspace, err := ddl.Keyspace(st.Namespace, s.Name)
	if err != nil {
		t.Fatal(err)
	}
	factor := st.replication[0].Factor
	network := func(n int) string {
		return fmt.Sprintf("{'class': 'NetworkTopologyStrategy', '%s': %d}", st.datacenter, n)
	}
	for _, c := range []struct {
		replication string
		refused     bool
	}{
		{network(factor + 1), true},
		{fmt.Sprintf("{'class': 'SimpleStrategy', 'replication_factor': %d}", factor+1), true},
		{network(factor), false},
	} {
		if err := st.alter(t.Context(), "ALTER KEYSPACE "+cql.Quote(keyspace)+" WITH replication = "+c.replication); err != nil {
			t.Fatal(err)
		}
		err := st.Apply(t.Context(), s)
		want := fmt.Sprintf("keyspace %s: it has", keyspace)
		switch {
		case !c.refused && err != nil:
			t.Errorf("replication %s: %v", c.replication, err)
		case c.refused && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("is to be %d", factor))):
			t.Errorf("replication %s: %v; want it refused, with both replications", c.replication, err)
		}
	}
}

// TestIndexKind: an index is of the schema's kind, whatever the cluster's default is.
func TestIndexKind(t *testing.T) {
	st := openLive(t, nil)
	s := schemaOf(t, "kinds", `
tables:
  legacy: {partition: [k int], columns: {v: text}, indexes: {x: [v]}}
  attached: {partition: [k int], columns: {v: text}, indexes: {y: [v]}, hints: {cassandra: {indexes: sai}}}
patterns:
  put: {put: legacy}
`)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	there, err := st.Inspect(t.Context(), "kinds")
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]string{"legacy": "v", "attached": "v USING sai"} {
		if over := there.Table(table).Indexes[0].Columns[0].Column.Name; over != want {
			t.Errorf("the index of table %s is over %s, want %s (the default is %q)", table, over, want, st.server[defaultIndex])
		}
	}
	reported := st.Observe().Settings
	for _, name := range []string{"sstable.selected_format", "memtable_heap_space", "concurrent_compactors", defaultIndex, "java.version"} {
		if reported["server_"+name] == "" {
			t.Errorf("setting %s is not reported", name)
		}
	}
	// An index that another client drops while it is waited for does not keep this one waiting.
	d, err := ddl.Define(s, st.Namespace, ddl.Replication{})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.alter(t.Context(), "DROP INDEX "+cql.Quote(d.Keyspace)+"."+cql.Quote(d.Tables[0].Indexes[0].Name)); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := st.awaitIndexes(soon, d); err != nil {
		t.Errorf("wait for the index that is left: %v", err)
	}
}

// TestImportedTable: a table with features of CQL alone equals its schema once it is created, though Cassandra reports
// some of them in other words, and a statement of the comparison fixes what is changed.
func TestImportedTable(t *testing.T) {
	ctx, st := t.Context(), openLive(t, nil)
	s := schemaOf(t, "pairs", `native: cassandra
types: {address: {tags: 'frozen<map<text,frozen<list<text>>>>'}}
tables:
  a:
    partition: [Key text]
    clustering: [c int, 'd frozen<list<frozen<address>>>']
    static: {s: 'set<text>'}
    columns: {v: 'tuple<int,text>', w: 'frozen<tuple<int,text>>', x: 'list<tuple<int,frozen<list<int>>>>', M: 'map<text,text>'}
    indexes: {by_s: [s], by_c: [c], by_m: [M], by_v: [v]}
    hints: {cassandra: {compaction: 'UnifiedCompactionStrategy scaling_parameters=L10,T4', caching: rows_per_partition=9}}
    other: {index by_m: entries(M), speculative_retry: "'10.5ms'", additional_write_policy: "'NONE'"}
    at: "a.cql:1"
`)
	for range 2 {
		if err := st.Apply(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	found, err := st.find(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	a := found.(*place)
	for _, change := range []string{
		"ALTER TABLE TABLE WITH compaction = {'class': 'SizeTieredCompactionStrategy'}", "DROP INDEX KEYSPACE.by_m",
		"DROP INDEX KEYSPACE.by_s", "DROP TABLE TABLE",
	} {
		change = strings.NewReplacer(" TABLE WITH", " "+a.Qualified("a")+" WITH", "TABLE TABLE", "TABLE "+a.Qualified("a"),
			"KEYSPACE", cql.Quote(a.Keyspace)).Replace(change)
		if err := st.alter(ctx, change); err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		for _, fixed := range []bool{false, true} {
			c, err := drivers.Compare(ctx, st, s)
			if err != nil || len(c.Drifts) == 0 != fixed {
				t.Fatalf("%s: fixed %t: %q, %v", change, fixed, driftTexts(c.Drifts), err)
			}
			for _, d := range c.Drifts {
				for _, stmt := range d.Fix {
					if err := st.alter(ctx, strings.TrimSuffix(stmt, ";")); err != nil {
						t.Errorf("%s: %v, at %s", change, err, stmt)
					}
				}
			}
		}
	}
}
