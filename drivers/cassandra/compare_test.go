package cassandra

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/schemas"
)

const drifting = `
types: {address: {street: text, place: 'tuple<double,double>', tags: 'frozen<set<text>>'}}
tables:
  mail:
    partition: [u text]
    clustering: [f text desc]
    static: {title: text}
    columns: {sender: text, at: timestamp, size: bigint}
    indexes: {by-sender: [sender]}
    hints: {cassandra: {compaction: LeveledCompactionStrategy, compression: none}}
  plain: {partition: [k text], columns: {v: text}}
  head: {partition: [h text]}
  head.rows: {parent: head, clustering: [n int], columns: {v: blob}}
`

// drift is a change that somebody makes by hand, and the report of it. fix fixes it
// if no reported statement alone does.
type drift struct{ change, expected, fix string }

// rounds are changes that exclude each other, so that they are made one round
// after the other.
var rounds = [][]drift{
	{
		{`DROP TABLE KS.plain`, "calls fail: table plain is missing", ""},
		{`ALTER TABLE KS.mail DROP size`, "calls fail: table mail has no column size; it should have a plain column of type bigint", ""},
		{
			`ALTER TABLE KS.mail WITH default_time_to_live = 60`,
			"rows are lost or wrong: setting cassandra.ttl of table mail is 60; it should be 0", "",
		},
		{
			`ALTER KEYSPACE KS WITH durable_writes = false`,
			"rows are lost or wrong: setting cassandra.durable_writes is false; it should be true", "",
		},
		{`DROP INDEX KS.by_sender`, "reads fail or are slow: table mail has no index by-sender; it should have one over (sender)", ""},
		{
			`ALTER TABLE KS.mail WITH compaction = {'class': 'SizeTieredCompactionStrategy'}`,
			"other costs: setting cassandra.compaction.class of table mail is SizeTieredCompactionStrategy; it should be LeveledCompactionStrategy", "",
		},
		{
			`ALTER TABLE KS.mail WITH compression = {'class': 'ZstdCompressor'}`,
			"other costs: setting cassandra.compression.enabled of table mail is not set; it should be false", "",
		},
		{`ALTER TABLE KS.mail ADD more text`, "not in the schema: table mail has a column more (a plain column of type text) and should not", `ALTER TABLE KS.mail DROP more`},
		{`CREATE INDEX at_idx ON KS.mail (at)`, "not in the schema: table mail has an index at_idx over (at) and should not", ""},
		{`CREATE TABLE KS.other (k text PRIMARY KEY)`, "not in the schema: table other is there and should not be", `DROP TABLE KS.other`},
	},
	{ // what the schema does not set
		{
			`ALTER TABLE KS.plain WITH comment = 'mine'`,
			`other costs: setting cassandra.comment of table plain is mine; it should be mailbench {"namespace":"NS","schema":"mail","table":"plain"}`, "",
		},
		{
			`ALTER TABLE KS.plain WITH bloom_filter_fp_chance = 0.5`,
			"other costs: setting cassandra.bloom_filter_fp_chance of table plain is 0.5; it should be 0.01", "",
		},
		{
			`ALTER TABLE KS.plain WITH caching = {'keys': 'NONE', 'rows_per_partition': 'NONE'}`,
			"other costs: setting cassandra.caching.keys of table plain is NONE; it should be ALL", "",
		},
		{
			`ALTER TABLE KS.plain WITH compaction = {'class': 'SizeTieredCompactionStrategy', 'min_threshold': '8'}`,
			"other costs: setting cassandra.compaction.min_threshold of table plain is 8; it should be 4", "",
		},
		{
			`ALTER TABLE KS.plain WITH compression = {'enabled': 'false'}`,
			"other costs: setting cassandra.compression.enabled of table plain is false; it should be not set", "",
		},
		{
			`ALTER TABLE KS.plain WITH gc_grace_seconds = 1`,
			"other costs: setting cassandra.gc_grace_seconds of table plain is 1; it should be 864000", "",
		},
	},
	{ // what the schema has no hint for
		{
			`ALTER KEYSPACE KS WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`,
			"rows are lost or wrong: setting cassandra.replication.class is SimpleStrategy; it should be NetworkTopologyStrategy", "",
		},
		{
			`ALTER TABLE KS.plain WITH additional_write_policy = 'ALWAYS'`,
			"other costs: setting cassandra.additional_write_policy of table plain is always; it should be 99p", "",
		},
		{
			`ALTER TABLE KS.plain WITH memtable_flush_period_in_ms = 60000`,
			"other costs: setting cassandra.memtable_flush_period_in_ms of table plain is 60000; it should be 0", "",
		},
		{
			`ALTER TABLE KS.plain WITH read_repair = 'NONE'`,
			"other costs: setting cassandra.read_repair of table plain is NONE; it should be BLOCKING", "",
		},
		{
			`ALTER TABLE KS.plain WITH speculative_retry = '50PERCENTILE'`,
			"other costs: setting cassandra.speculative_retry of table plain is 50p; it should be 99p", "",
		},
		{`CREATE TYPE KS.stray (a int)`, "not in the schema: type stray is there and should not be", `DROP TYPE KS.stray`},
	},
	{
		{`DROP TYPE KS.address`, "calls fail: type address is missing", ""},
	},
	{
		{
			`DROP TYPE KS.address; CREATE TYPE KS.address (street text)`,
			"calls fail: type address has the fields (street text); it should have " +
				"(street text, place tuple<double,double>, tags frozen<set<text>>)", "",
		},
	},
	{
		{
			`ALTER TYPE KS.address ADD more int`,
			"not in the schema: type address has the fields (street text, place tuple<double,double>, tags frozen<set<text>>, more int); " +
				"it should have (street text, place tuple<double,double>, tags frozen<set<text>>)",
			`DROP TYPE KS.address; CREATE TYPE KS.address (street text, place tuple<double, double>, tags frozen<set<text>>)`,
		},
	},
	{ // only a new table fixes this
		{
			`DROP TABLE KS.plain; CREATE TABLE KS.plain (k text, c int, v text, PRIMARY KEY (k, c)) WITH comment = 'PLAIN'`,
			"calls fail: the key of table plain is partition [k text], clustering [c int]; it should be partition [k text]",
			`DROP TABLE KS.plain; CREATE TABLE KS.plain (k text PRIMARY KEY, v text) WITH comment = 'PLAIN'`,
		},
		{
			`DROP TABLE KS.mail; CREATE TABLE KS.mail (u text, f text, title text, sender text, at timestamp, size int, PRIMARY KEY (u, f)) WITH comment = 'MAIL'
			 AND compaction = {'class': 'LeveledCompactionStrategy'} AND compression = {'enabled': 'false'}`,
			`calls fail: column at of table mail is timestamp_ms; it should be timestamp
calls fail: column size of table mail is int; it should be bigint
calls fail: column title of table mail is a plain column of type text; it should be a static column of type text
rows are lost or wrong: column f of table mail is ascending; it should be descending
reads fail or are slow: table mail has no index by-sender; it should have one over (sender)`,
			"DROP TABLE KS.mail",
		},
	},
}

// TestDrift makes every kind of drift by hand. Each is reported, the worst first, and
// the reported statement fixes it.
func TestDrift(t *testing.T) {
	st := openLive(t, nil)
	s := schemaOf(t, "mail", drifting)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	d, err := ddl.Define(s, st.Namespace, st.replication)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // with what carries no mark
		if err := st.alter(context.Background(), "DROP KEYSPACE IF EXISTS "+d.Keyspace); err != nil {
			t.Error(err)
		}
	})
	o := drivers.Options{Contact: []string{live.Contact(t, "cassandra")}, ReadOnly: true, Keyspace: d.Keyspace}
	reader, err := Engine().Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	words := strings.NewReplacer("KS", d.Keyspace, "NS", st.Namespace, "PLAIN", comment(d, "plain"), "MAIL", comment(d, "mail"))
	alter := func(statements string) {
		t.Helper()
		for stmt := range strings.SplitSeq(words.Replace(statements), "; ") {
			if err := st.alter(t.Context(), stmt); err != nil {
				t.Fatalf("%v, at %s", err, stmt)
			}
		}
	}
	compare := func() []drivers.Drift {
		t.Helper()
		c, err := drivers.Compare(t.Context(), reader, s)
		if err != nil {
			t.Fatal(err)
		}
		return c.Drifts
	}
	clean := func(when string) {
		t.Helper()
		if left := compare(); len(left) > 0 {
			t.Fatalf("%s: %q", when, driftTexts(left))
		}
	}
	clean("of what Apply has made")
	for _, round := range rounds {
		var expected []string
		for _, d := range round {
			alter(d.change)
			expected = append(expected, strings.Split(words.Replace(d.expected), "\n")...)
		}
		found := compare()
		if got := driftTexts(found); !slices.Equal(got, expected) {
			t.Fatalf("found\n  %s\nexpected\n  %s", strings.Join(got, "\n  "), strings.Join(expected, "\n  "))
		}
		for _, d := range found { // what loses data is for people to run
			for _, stmt := range d.Fix {
				if strings.Contains(stmt, "DROP ") && !strings.HasPrefix(stmt, "--") && !strings.HasPrefix(stmt, "DROP INDEX") {
					t.Errorf("%s is not a comment", stmt)
				}
			}
		}
		for _, d := range round {
			if d.fix != "" {
				alter(d.fix)
			}
		}
		found = slices.DeleteFunc(compare(), func(d drivers.Drift) bool {
			for _, stmt := range d.Fix {
				if !strings.HasPrefix(stmt, "--") {
					alter(strings.TrimSuffix(stmt, ";"))
				}
			}
			return len(d.Fix) > 0
		})
		if len(found) > 0 {
			t.Errorf("nothing is said to mend %q", driftTexts(found))
		}
		clean("mended")
	}
}

func comment(d *ddl.Definition, table string) string {
	for _, td := range d.Tables {
		if td.Name == table {
			return td.Comment
		}
	}
	return ""
}

// created returns the statements that create a definition where there is no keyspace.
func created(t testing.TB, d *ddl.Definition) []string {
	t.Helper()
	all, err := d.Missing(schemas.Diff(d.Want, new(schemas.Schema)))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// driftTexts writes drifts in words.
func driftTexts(drifts []drivers.Drift) (words []string) {
	for _, d := range drifts {
		words = append(words, d.Harm.String()+": "+d.String())
	}
	return words
}

// TestDriftForeign compares a keyspace that mailbench did not create: all that CQL says
// is compared, and the rest is reported as not compared. Nothing is written to it.
func TestDriftForeign(t *testing.T) {
	st := openLive(t, nil)
	s := schemaOf(t, "mail", drifting)
	keyspace := "foreign_" + st.Namespace
	defer func() {
		if err := st.alter(t.Context(), "DROP KEYSPACE IF EXISTS "+keyspace); err != nil {
			t.Error(err)
		}
	}()
	d, err := ddl.Define(s, "", st.replication)
	if err != nil {
		t.Fatal(err)
	}
	open := func(settings map[string]string) *drivers.Comparison {
		t.Helper()
		o := drivers.Options{Contact: []string{live.Contact(t, "cassandra")}, ReadOnly: true, Keyspace: keyspace, Settings: settings}
		reader, err := Engine().Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		c, err := drivers.Compare(t.Context(), reader, s)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := open(nil); len(c.Drifts) != 3 || c.Drifts[0].Kind != schemas.MissingTable || !strings.HasPrefix(c.Drifts[0].Fix[0], "CREATE KEYSPACE") {
		t.Errorf("of a keyspace that is not there: %q", driftTexts(c.Drifts))
	}
	d.Keyspace, d.Replication = keyspace, ddl.Replication{{Datacenter: st.datacenter, Factor: 2}}
	for i := range d.Tables {
		d.Tables[i].Comment = "theirs"
	}
	for _, stmt := range created(t, d) {
		if err := st.alter(t.Context(), stmt); err != nil {
			t.Fatal(err)
		}
	}
	c := open(nil)
	if len(c.Drifts) > 0 || len(c.Unseen) != 1 || !strings.Contains(c.Unseen[0], "head, mail, plain") {
		t.Errorf("of their own keyspace: %q, unseen %q", driftTexts(c.Drifts), c.Unseen)
	}
	want := "rows are lost or wrong: setting cassandra.replication." + st.datacenter + " is 2; it should be 1"
	if got := driftTexts(open(map[string]string{"replication": "1"}).Drifts); !slices.Equal(got, []string{want}) {
		t.Errorf("other replication than the setting's: %q", got)
	}
}

// TestImportedView: a keyspace with a materialized view that was imported has all tables of the schema, so its rows can
// be read, also those of the view. Apply creates the other tables only.
func TestImportedView(t *testing.T) {
	st := openLive(t, nil)
	keyspace := "view_" + st.Namespace
	defer func() {
		if err := st.alter(t.Context(), "DROP KEYSPACE IF EXISTS "+keyspace); err != nil {
			t.Error(err)
		}
	}()
	for _, stmt := range []string{
		"CREATE KEYSPACE " + keyspace + " WITH replication = {'class': 'NetworkTopologyStrategy', '" + st.datacenter + "': 1}",
		"CREATE TABLE " + keyspace + ".orders (id text PRIMARY KEY, tag text)",
		"CREATE MATERIALIZED VIEW " + keyspace + ".by_tag AS SELECT tag, id FROM " + keyspace + ".orders " +
			"WHERE tag IS NOT NULL AND id IS NOT NULL PRIMARY KEY (tag, id)",
	} {
		if err := st.alter(t.Context(), stmt); err != nil {
			t.Fatal(err)
		}
	}
	s := schemaOf(t, "shop", `native: cassandra
tables:
  orders: {partition: [id text], columns: {tag: text}, at: "a.cql:1"}
  by_tag: {partition: [tag text], clustering: [id text], other: {materialized view of: orders}, at: "a.cql:2"}
`)
	reader, err := Engine().Open(t.Context(), drivers.Options{
		Contact: []string{live.Contact(t, "cassandra")}, ReadOnly: true, Keyspace: keyspace,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := reader.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Prepare(t.Context(), schemas.ScanOf(s.Table("by_tag"))); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := st.Apply(t.Context(), s); err != nil {
			t.Error(err)
		}
	}
}
