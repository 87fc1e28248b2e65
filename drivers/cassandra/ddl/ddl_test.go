package ddl

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/schemas"
)

// parse reads a schema of tables and patterns in YAML.
func parse(t testing.TB, body string) *schemas.Schema {
	t.Helper()
	s, err := schemas.Parse("test.yaml", []byte("schema: 1\nname: test\n"+body))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// created returns the statements that create a definition where there is no keyspace.
func created(t testing.TB, d *Definition) []string {
	t.Helper()
	all, err := d.Missing(schemas.Diff(d.Want, new(schemas.Schema)))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// statementsOf returns the statements that create a schema.
func statementsOf(t testing.TB, s *schemas.Schema, r Replication) (string, error) {
	d, err := Define(s, "", r)
	if err != nil {
		return "", err
	}
	return strings.Join(created(t, d), ";\n\n") + ";\n", nil
}

func TestCQL(t *testing.T) {
	got, err := statementsOf(t, parse(t, `
tables:
  Head: {partition: [key text]}
  Head.columns:
    parent: Head
    clustering: [message timeuuid desc, name text]
    columns: {value: blob}
  users:
    partition: [u text, v int]
    clustering: [f text]
    static: {title: text}
    columns: {at: timestamp, times: "map<text,timestamp>", mail: text}
    indexes: {mail-idx: [mail], box: [u, v, mail], newest: [u, v, at desc]}
    hints:
      cassandra:
        compaction: LeveledCompactionStrategy sstable_size_in_mb=64
        compression: none
        caching: keys=ALL rows_per_partition=10
        gc_grace_seconds: 60
        bloom_filter_fp_chance: 0.1
        ttl: 86400
  users.folder: {parent: users, clustering: [g int]}
`), Replication{{Datacenter: "dc1", Factor: 3}})
	if err != nil {
		t.Fatal(err)
	}
	want := `CREATE KEYSPACE IF NOT EXISTS "mailbench_test"
  WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 3};

CREATE TABLE IF NOT EXISTS "mailbench_test"."Head" (
  "key" text,
  "message" timeuuid,
  "name" text,
  "value" blob,
  PRIMARY KEY ("key", "message", "name")
) WITH CLUSTERING ORDER BY ("message" DESC, "name" ASC)
  AND comment = 'mailbench {"schema":"test","table":"Head.columns","in":[{"table":"Head","key":1}]}';

CREATE TABLE IF NOT EXISTS "mailbench_test"."users" (
  "u" text,
  "v" int,
  "f" text,
  "title" text STATIC,
  "at" bigint,
  "times" map<text, bigint>,
  "mail" text,
  PRIMARY KEY (("u", "v"), "f")
) WITH CLUSTERING ORDER BY ("f" ASC)
  AND bloom_filter_fp_chance = 0.1
  AND caching = {'keys': 'ALL', 'rows_per_partition': '10'}
  AND compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': '64'}
  AND compression = {'enabled': 'false'}
  AND gc_grace_seconds = 60
  AND default_time_to_live = 86400
  AND comment = 'mailbench {"schema":"test","table":"users","types":{"at":"timestamp","times":"map<text,timestamp>"},"indexes":{"box":["u","v","mail"],"mail-idx":["mail"]}}';

CREATE INDEX IF NOT EXISTS "mail_idx" ON "mailbench_test"."users" ("mail");

CREATE TABLE IF NOT EXISTS "mailbench_test"."users_folder" (
  "u" text,
  "v" int,
  "f" text,
  "g" int,
  PRIMARY KEY (("u", "v"), "f", "g")
) WITH CLUSTERING ORDER BY ("f" ASC, "g" ASC)
  AND comment = 'mailbench {"schema":"test","table":"users.folder","in":[{"table":"users","key":3}]}';
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestBundledCQL: every schema that mailbench brings along has a CQL form, and
// the super column family is the table that the source design's mapping makes of it.
func TestBundledCQL(t *testing.T) {
	for _, name := range schemas.BundledVariants("") {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		cql, err := statementsOf(t, s, Replication{{Datacenter: "dc1", Factor: 1}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, variant := range schemas.BundledVariants(name) {
			s, err := schemas.Bundled(variant)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Keyspace("namespaceofruns1", variant); err != nil { // as long as that of a run
				t.Error(err)
			}
			if c, err := statementsOf(t, s, Replication{{Datacenter: "dc1", Factor: 1}}); err != nil || variant == "conversation@sai" && !strings.Contains(c, ` ("sender") USING 'sai';`) {
				t.Errorf("%s: %v\n%s", variant, err, c)
			}
		}
		if want := `."MessageMetadata" (`; name == "elasticinbox" && !strings.Contains(cql, want) {
			t.Errorf("%s has no table %s:\n%s", name, want, cql)
		}
	}
}

func TestCQLRefuses(t *testing.T) {
	for what, c := range map[string]struct{ tables, want string }{
		"an unknown hint":      {"  t: {partition: [k int], hints: {cassandra: {speed: high}}}", "unknown; expected one of batches, bloom_filter_fp_chance,"},
		"a hint for no table":  {"  h: {partition: [k int], hints: {cassandra: {gc_grace_seconds: 1}}}\n  t: {parent: h, clustering: [c int]}", "only a row header"},
		"a class left out":     {"  t: {partition: [k int], hints: {cassandra: {compaction: a=b}}}", "does not begin with a class"},
		"a word without value": {"  t: {partition: [k int], hints: {cassandra: {caching: keys}}}", "is not of the form key=value"},
		"no such class":        {"  t: {partition: [k int], hints: {cassandra: {compaction: Leveld}}}", `unknown class "Leveld"`},
		"half a second":        {"  t: {partition: [k int], hints: {cassandra: {gc_grace_seconds: 0.5}}}", "not a whole number"},
		"a chance of 2":        {"  t: {partition: [k int], hints: {cassandra: {bloom_filter_fp_chance: 2}}}", "expected a number above 0"},
		"a kind of batch":      {"  t: {partition: [k int], hints: {cassandra: {batches: logged}}}", `"logged"; expected unlogged`},
		"a kind of index":      {"  t: {partition: [k int], hints: {cassandra: {indexes: sasi}}}", "expected legacy or sai"},
		"one name twice":       {"  a.b: {partition: [k int]}\n  a_b: {partition: [k int]}", "would both be a_b"},
		"one index twice":      {"  a: {partition: [k int], columns: {v: int}, indexes: {x: [v]}}\n  b: {partition: [k int], columns: {v: int}, indexes: {x: [v]}}", "both have an index x"},
	} {
		_, err := statementsOf(t, parse(t, "tables:\n"+c.tables), Replication{{Datacenter: "dc1", Factor: 1}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", what, err, c.want)
		}
	}
	if _, err := Keyspace("sixteenletters16", strings.Repeat("s", 22)); err == nil {
		t.Errorf("a keyspace of 49 characters was taken")
	}
	if got, err := Keyspace("ns", "a.b-c@d"); err != nil || got != "mailbench_ns_a_b_c_d" {
		t.Errorf("keyspace %q, %v", got, err)
	}
}

// TestTypeOf: the mark has the type of a column, unless somebody has changed it.
func TestTypeOf(t *testing.T) {
	own := mark{Types: map[string]string{"at": "timestamp", "times": "map<text,timestamp>"}}
	for _, c := range []struct{ name, typ, want string }{
		{"at", "bigint", "timestamp"},
		{"at", "text", "text"},
		{"times", "map<text, bigint>", "map<text,timestamp>"},
		{"times", "map<text, int>", "map<text,int>"},
		{"n", "bigint", "bigint"},
		{"v", "varint", "varint"},
		{"p", "frozen<tuple<double, double>>", "tuple<double,double>"},
		{"u", `frozen<"Address">`, "frozen<Address>"},
	} {
		if got := own.typeOf(c.name, c.typ).String(); got != c.want {
			t.Errorf("column %s of the CQL type %s is a %s, want %s", c.name, c.typ, got, c.want)
		}
	}
}

// TestIndexesNameTheirKind: where the cluster's default may be another kind, a statement names that of
// legacy indexes too.
func TestIndexesNameTheirKind(t *testing.T) {
	s := parse(t, "tables:\n  t: {partition: [k int], columns: {v: text}, indexes: {x: [v]}}\n")
	for names, want := range map[bool]string{false: `"t" ("v")`, true: `"t" ("v") USING 'legacy_local_table'`} {
		d, err := Define(s, "", Replication{{Datacenter: "dc1", Factor: 1}})
		if err != nil {
			t.Fatal(err)
		}
		d.NamesLegacy = names
		if all := created(t, d); !strings.HasSuffix(all[len(all)-1], want) {
			t.Errorf("%v: %q, want it to end with %s", names, all, want)
		}
	}
}

// TestCreateOrder: the keyspace is created once and first, then types, and then tables.
func TestCreateOrder(t *testing.T) {
	d, err := Define(parse(t, `native: cassandra
types: {address: {street: text}}
tables:
  a: {partition: [k int], columns: {v: frozen<address>}, at: "a.cql:1"}
  b: {partition: [k int], at: "a.cql:2"}
`), "", Replication{{Datacenter: "dc1", Factor: 1}})
	if err != nil {
		t.Fatal(err)
	}
	all := created(t, d)
	want := []string{"CREATE KEYSPACE", "CREATE TYPE", "CREATE TABLE", "CREATE TABLE"}
	if len(all) != len(want) {
		t.Fatalf("%d statements, want %d:\n%s", len(all), len(want), strings.Join(all, "\n"))
	}
	for i, begin := range want {
		if !strings.HasPrefix(all[i], begin) {
			t.Errorf("statement %d is %s, want it to begin with %s", i+1, all[i], begin)
		}
	}
}
