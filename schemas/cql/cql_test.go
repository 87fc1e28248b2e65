package cql_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mailbench/mailbench/schemas/cql"
)

const sensors = `CREATE TYPE IF NOT EXISTS iot.place (lat double, "Lon" double);
-- readings of a day
CREATE TABLE iot.readings (
  sensor uuid, day date, -- a bucket
  at timestamp, v vector<float, 3>, owner text static,
  tags map<TEXT, frozen<place>>,
  PRIMARY KEY ((sensor, day), at)
) WITH CLUSTERING ORDER BY (at DESC)
  AND compaction = {'class': 'TimeWindowCompactionStrategy'} AND default_time_to_live = 60 AND id = a1b2c3d4-0000-0000-0000-000000000000
  AND comment = 'it''s; /* one */';
CREATE CUSTOM INDEX ON iot.readings (values(tags)) USING 'sai' WITH OPTIONS = {'a': 'b'};`

func TestParse(t *testing.T) {
	var c cql.Catalog
	for _, d := range cql.Parse("a.cql", sensors).Definitions {
		if err := c.Apply(d); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"type iot.place (lat double:1, Lon double:1)",
		"table iot.readings (sensor uuid:4, day date:4, at timestamp:5, v vector<float, 3>:5, owner text static:5, " +
			"tags map<text, frozen<place>>:6) key sensor, day, at- | readings of a day",
		"  9 compaction = {'class': 'TimeWindowCompactionStrategy'}", "  9 default_time_to_live = 60",
		"  9 id = a1b2c3d4-0000-0000-0000-000000000000", "  10 comment = 'it''s; /* one */'",
		"index iot.readings (values tags) sai {'a': 'b'}",
	}
	if diff := cmp.Diff(want, written(&c)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// written writes a catalog, a line each.
func written(c *cql.Catalog) (all []string) {
	columns := func(of []cql.Column) string {
		var words []string
		for _, c := range of {
			word := c.Name + " " + c.Type.String()
			if c.Static {
				word += " static"
			}
			words = append(words, fmt.Sprintf("%s:%d", word, c.Pos.Line))
		}
		return "(" + strings.Join(words, ", ") + ")"
	}
	for _, u := range c.Types {
		all = append(all, fmt.Sprintf("type %s.%s %s", u.Keyspace, u.Name.Name, columns(u.Columns)))
	}
	for _, t := range c.Tables {
		line := fmt.Sprintf("table %s.%s %s key %s", t.Keyspace, t.Name.Name, columns(t.Columns), strings.Join(t.Partition, ", "))
		for _, o := range t.Cluster {
			if line += ", " + o.Column; o.Descending {
				line += "-"
			}
		}
		if t.View != nil {
			line += " of " + t.View.Base.Name
		}
		if t.Comments != nil {
			line += " | " + strings.Join(t.Comments, "; ")
		}
		all = append(all, line)
		for _, o := range t.Options {
			all = append(all, fmt.Sprintf("  %d %s = %s", o.Pos.Line, o.Name, o.Value))
		}
	}
	for _, x := range c.Indexes {
		all = append(all, strings.TrimSpace(fmt.Sprintf("index %s.%s (%s) %s %s", x.Table.Keyspace, x.Table.Name,
			strings.TrimSpace(x.Part+" "+x.Target), x.Using, x.Options)))
	}
	return all
}

// TestApply: definitions are applied in their order, and the last one counts; one that Cassandra would
// refuse is named.
func TestApply(t *testing.T) {
	const job = "CREATE TABLE job (id uuid PRIMARY KEY, state text); "
	for _, c := range []struct{ text, want, refused string }{
		{job + "ALTER TABLE job ADD owner text; ALTER TABLE job DROP state", "table .job (id uuid:1, owner text:1) key id", ""},
		{job + "ALTER TABLE job ADD (a int, b frozen<ks.u>)", "table .job (id uuid:1, state text:1, a int:1, b frozen<u>:1) key id", ""},
		{job + "ALTER TABLE job RENAME id TO nr", "table .job (nr uuid:1, state text:1) key nr", ""},
		{job + "ALTER TABLE job ALTER state TYPE blob", "table .job (id uuid:1, state blob:1) key id", ""},
		{job + "ALTER TABLE job WITH gc_grace_seconds = 5", "table .job (id uuid:1, state text:1) key id|  1 gc_grace_seconds = 5", ""},
		{job + "DROP TABLE job; CREATE TABLE job (k int PRIMARY KEY)", "table .job (k int:1) key k", ""},
		{job + "CREATE INDEX s ON job (state); DROP INDEX s;\nALTER TABLE job\n  DROP state", "table .job (id uuid:1) key id", ""},
		{job + "CREATE INDEX ON job (state); DROP INDEX job_state_idx", "table .job (id uuid:1, state text:1) key id", ""},
		{job + "CREATE TABLE IF NOT EXISTS job (k int PRIMARY KEY)", "table .job (id uuid:1, state text:1) key id", ""},
		{job + "DROP TABLE IF EXISTS other; ALTER TABLE IF EXISTS other ADD a int", "table .job (id uuid:1, state text:1) key id", ""},
		{"CREATE TYPE a (x int,); ALTER TYPE a ADD y int; ALTER TYPE a RENAME x TO z", "type .a (z int:1, y int:1)", ""},
		{"CREATE TYPE a (x int); DROP TYPE a; CREATE TYPE a (y int)", "type .a (y int:1)", ""},
		{
			"CREATE TABLE ks.m (p text, s bigint, tag text, st int STATIC, PRIMARY KEY (p, s));" +
				"CREATE MATERIALIZED VIEW ks.v AS SELECT * FROM ks.m WHERE tag IS NOT NULL AND p IS NOT NULL AND s IS NOT NULL " +
				"PRIMARY KEY (tag, p, s) WITH CLUSTERING ORDER BY (p DESC, s ASC) AND comment = 'x';",
			"table ks.m (p text:1, s bigint:1, tag text:1, st int static:1) key p, s|" +
				"table ks.v (p text:1, s bigint:1, tag text:1) key tag, p-, s of m|  1 comment = 'x'", "",
		},
		{
			"CREATE TABLE d (a text MASKED WITH DEFAULT PRIMARY KEY, b text MASKED WITH mask_inner(1, null),) WITH ID = " +
				"a1b2c3d4-0000-0000-0000-000000000000 AND DROPPED COLUMN RECORD x text USING TIMESTAMP 5 AND cdc = {'enabled': 'true'}",
			"table .d (a text:1, b text:1) key a|  1 id = a1b2c3d4-0000-0000-0000-000000000000|  1 cdc = {'enabled': 'true'}", "",
		},
		{"CREATE KEYSPACE k WITH replication = {'class': 'x'}; " + "USE k; " + job + "DROP KEYSPACE k", "", ""},
		{job + "CREATE TABLE job (k int PRIMARY KEY)", "table .job (id uuid:1, state text:1) key id", "it exists already"},
		{job + "ALTER TABLE job DROP id", "table .job (id uuid:1, state text:1) key id", "column id of table job is in the primary key"},
		{job + "ALTER TABLE job RENAME state TO s", "table .job (id uuid:1, state text:1) key id", "is not in the primary key"},
		{
			job + "CREATE INDEX ON job (state); ALTER TABLE job DROP state",
			"table .job (id uuid:1, state text:1) key id|index .job (state)", "index job_state_idx is on column state",
		},
		{
			"CREATE TYPE a (x int); CREATE TABLE t (k int PRIMARY KEY, v map<int, frozen<a>>); DROP TYPE a",
			"type .a (x int:1)|table .t (k int:1, v map<int, frozen<a>>:1) key k", "type a is used by t; drop that first",
		},
		{
			job + "CREATE MATERIALIZED VIEW v AS SELECT * FROM job WHERE state IS NOT NULL AND id IS NOT NULL PRIMARY KEY (state, id); " +
				"ALTER TABLE job RENAME id TO nr; DROP TABLE job",
			"table .job (nr uuid:1, state text:1) key nr|table .v (nr uuid:1, state text:1) key state, nr of job", "table job is used by v",
		},
		{job + "ALTER TABLE job ADD IF NOT EXISTS (state int, a int); ALTER TABLE job DROP IF EXISTS b, c", "table .job (id uuid:1, state text:1, a int:1) key id", ""},
		{job + "ALTER TABLE job RENAME IF EXISTS x TO y; ALTER TABLE job ALTER IF EXISTS x TYPE int; ALTER TABLE job DROP IF EXISTS (x, state)", "table .job (id uuid:1) key id", ""},
		{job + "DROP TABLE jobs", "table .job (id uuid:1, state text:1) key id", "there is no table jobs"},
		{job + "ALTER TABLE job DROP stat", "table .job (id uuid:1, state text:1) key id", "table job has no column stat"},
		{job + "ALTER TABLE job ADD state int", "table .job (id uuid:1, state text:1) key id", "has a column state already"},
		{"ALTER TABLE job ADD state int", "", "ALTER: there is no table job"},
		{job + "CREATE INDEX ON job (stat)", "table .job (id uuid:1, state text:1) key id", "table job has no column stat"},
	} {
		var catalog cql.Catalog
		var refused string
		s := cql.Parse("", c.text)
		for _, d := range s.Definitions {
			if err := catalog.Apply(d); err != nil {
				refused += err.Error()
			}
		}
		if got := strings.Join(written(&catalog), "|"); got != c.want || len(s.Unread) > 0 {
			t.Errorf("%s\ngot  %s\nwant %s\n%+v", c.text, got, c.want, s.Unread)
		}
		if !strings.Contains(refused, c.refused) || (refused == "") != (c.refused == "") {
			t.Errorf("%s: refused %q, want %q", c.text, refused, c.refused)
		}
	}
}

// TestPassed: a statement that defines no table and reads no row is named and is no fault.
func TestPassed(t *testing.T) {
	for _, text := range []string{
		"CREATE ROLE a", "CREATE OR REPLACE FUNCTION f(a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS $$ return a; $$",
		"GRANT SELECT ON KEYSPACE a TO b", "DROP AGGREGATE IF EXISTS f", "CONSISTENCY QUORUM",
		"SERIAL CONSISTENCY LOCAL_SERIAL", "COPY t (a) FROM 'a.csv'", "SHOW VERSION", "EXPAND ON", "EXIT",
		"PRUNE MATERIALIZED VIEW v WHERE a = 1", "COMMENT ON TABLE t IS 'x'", "ADD IDENTITY 'i' TO ROLE 'r'",
	} {
		if s := cql.Parse("", text+";\nSELECT a FROM t"); len(s.Passed) != 1 || len(s.Unread) > 0 || len(s.Statements) != 1 {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

// TestUnread: each of these is named, with its line and reason, and the statement after it is read.
func TestUnread(t *testing.T) {
	for _, c := range []struct{ text, reason string }{
		{"CREATE TABLE t (\n a int)", "without a primary key"},
		{"CREATE TABLE t (\n a int,\n PRIMARY KEY (b))", "column b"},
		{"CREATE TABLE t (a int PRIMARY KEY,\n a int)", "second column a"},
		{"CREATE TABLE t (a int PRIMARY KEY,\n b int, PRIMARY KEY (b))", "second primary key"},
		{"CREATE TABLE t (a int PRIMARY KEY,\n b map<int)", `expected ")", found "<"`},
		{"CREATE TABLE t (a int PRIMARY KEY,\n b int MASKED)", `expected ")", found "masked"`},
		{"CREATE TABLE t (a int,\n b int, PRIMARY KEY (a, b))\n WITH CLUSTERING ORDER BY (a)", "not clustering column 1"},
		{"CREATE TABLE t (a int PRIMARY KEY, b map<int>>)", `found ">"`},
		{"CREATE TABLE t (a int PRIMARY KEY) WITH c = 1 d = 2", "end of the statement"},
		{"CREATE TABLE t (a int PRIMARY KEY) WITH c = {'a': 1", "brackets do not match"},
		{"CREATE TABLE t (a int PRIMARY KEY) WITH c =", "expected a value, found the end"},
		{"CREATE TABLE t (a int PRIMARY KEY) x", "end of the statement"},
		{"CREATE TABLE t (a int PRIMARY KEY", "brackets do not match"},
		{"CREATE TABLE ${keyspace}.t (a int PRIMARY KEY)", `a strange character: "$"`},
		{"CREATE MATERIALIZED VIEW v (a int PRIMARY KEY)", `expected "as"`},
	} {
		s := cql.Parse("", "\n"+c.text+";\nCREATE TYPE u (a int);")
		if len(s.Unread) != 1 || !strings.Contains(s.Unread[0].Reason, c.reason) || s.Unread[0].Text != c.text ||
			s.Unread[0].Pos.Line < 2 || s.Unread[0].Pos.Line > 2+strings.Count(c.text, "\n") {
			t.Errorf("%s: unread %+v", c.text, s.Unread)
		}
		if len(s.Definitions) != 1 {
			t.Errorf("%s: read %+v", c.text, s)
		}
	}
	if s := cql.Parse("", "CREATE TABLE t (a int PRIMARY KEY) WITH comment = 'open;"); len(s.Unread) != 1 {
		t.Errorf("an open quote: %+v", s)
	}
}

// TestRendered: the bundled schemas' CQL is read whole.
func TestRendered(t *testing.T) {
	files, err := fs.Glob(os.DirFS(".."), "*.cql")
	if err != nil || len(files) < 5 {
		t.Fatalf("%q: %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile("../" + f)
		if err != nil {
			t.Fatal(err)
		}
		s := cql.Parse(f, string(text))
		if want := strings.Count(string(text), "\nCREATE "); len(s.Definitions) != want || want == 0 {
			t.Errorf("%s: %d definitions, want %d", f, len(s.Definitions), want)
		}
		for _, u := range s.Unread {
			t.Errorf("%s:%d: %s", f, u.Pos.Line, u.Reason)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sensors)
	f.Add("CREATE TABLE t (a int PRIMARY KEY) WITH x = 'open")
	for text := range statements {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := cql.Parse("", text)
		for _, u := range s.Unread {
			if u.Reason == "" || u.Pos.Line < 1 || u.Pos.Line > 1+strings.Count(text, "\n") || !strings.Contains(text, u.Text) {
				t.Errorf("unread %+v", u)
			}
		}
		for _, st := range s.Statements {
			if !strings.Contains(text, st.Text) || st.Text == "" || (st.Kind == cql.Batch) != (len(st.Parts) > 0) {
				t.Errorf("statement %+v", st)
			}
		}
		var c cql.Catalog
		for _, d := range s.Definitions {
			if err := c.Apply(d); err != nil {
				continue
			}
			for _, table := range c.Tables {
				for _, name := range table.Key() {
					if table.Column(name) == nil {
						t.Errorf("no column %s: %+v", name, table)
					}
				}
			}
		}
	})
}
