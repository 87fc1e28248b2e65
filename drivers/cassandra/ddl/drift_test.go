package ddl

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// column returns a row of system_schema.columns.
func column(table, name, typ, kind string, position int) map[string]any {
	return map[string]any{"table_name": table, "column_name": name, "type": typ, "kind": kind, "position": position}
}

const said = `schema: 1
name: shop
other:
  replication: "{'class': 'org.apache.cassandra.locator.NetworkTopologyStrategy', 'dc1': '3', 'dc2': 2}"
  durable_writes: "false"
tables:
  orders:
    partition: [k text]
    columns: {v: text}
    hints: {cassandra: {ttl: 60}}
    other: {cdc: "true", speculative_retry: "'99.0PERCENTILE'", read_repair: "'none'", memtable_flush_period_in_ms: "7"}
`

// TestDriftSaid: the text of a schema under "other" is expected, and is that of CREATE TABLE. A
// statement that loses something is a comment.
func TestDriftSaid(t *testing.T) {
	s, err := schemas.Parse("shop.yaml", []byte(said))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Define(s, "", Replication{{Datacenter: "dc1", Factor: 1}})
	if err != nil {
		t.Fatal(err)
	}
	made := strings.Join(created(t, d), "\n")
	for _, want := range []string{
		"cdc = true", "speculative_retry = '99p'", "read_repair = 'NONE'", "memtable_flush_period_in_ms = 7",
	} {
		if !strings.Contains(made, want) {
			t.Errorf("CREATE TABLE lacks %q:\n%s", want, made)
		}
	}
	live := func(replication map[string]string, options map[string]any, durable bool, ttl int) Rows {
		table := maps.Clone(options)
		table["table_name"], table["default_time_to_live"] = "orders", ttl
		return Rows{
			"keyspaces": {{"replication": replication, "durable_writes": durable}}, "tables": {table},
			"columns": {column("orders", "k", "text", "partition_key", 0), column("orders", "v", "text", "regular", -1)},
		}
	}
	class := "org.apache.cassandra.locator.NetworkTopologyStrategy"
	as := map[string]any{"cdc": true, "speculative_retry": "99p", "read_repair": "NONE", "memtable_flush_period_in_ms": 7}
	usual := map[string]any{"cdc": false, "speculative_retry": "99p", "read_repair": "BLOCKING", "memtable_flush_period_in_ms": 0}
	for _, x := range []struct {
		there Rows
		want  []string
		first string // the first statement of the first difference
	}{
		{live(map[string]string{"class": class, "dc1": "3", "dc2": "2"}, as, false, 60), nil, ""},
		{
			live(map[string]string{"class": class, "dc1": "1", "dc3": "1"}, as, true, 60),
			[]string{
				"setting cassandra.replication.dc1 is 1; it should be 3", "setting cassandra.replication.dc2 is not set; it should be 2",
				"setting cassandra.replication.dc3 is 1; it should be not set", "setting cassandra.durable_writes is true; it should be false",
			},
			"-- removes copies of rows: ALTER KEYSPACE",
		},
		{
			live(map[string]string{"class": class, "dc1": "1", "dc2": "2"}, as, false, 60),
			[]string{"setting cassandra.replication.dc1 is 1; it should be 3"},
			`ALTER KEYSPACE "shop" WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3', 'dc2': '2'};`,
		},
		{
			live(map[string]string{"class": class, "dc1": "3", "dc2": "2"}, usual, false, 60),
			[]string{
				"setting cassandra.cdc of table orders is false; it should be true",
				"setting cassandra.memtable_flush_period_in_ms of table orders is 0; it should be 7",
				"setting cassandra.read_repair of table orders is BLOCKING; it should be NONE",
			},
			`ALTER TABLE "shop"."orders" WITH cdc = true;`,
		},
		{
			live(map[string]string{"class": class, "dc1": "3", "dc2": "2"}, as, false, 0),
			[]string{"setting cassandra.ttl of table orders is 0; it should be 60"},
			`-- new rows are lost after 60 seconds: ALTER TABLE "shop"."orders" WITH default_time_to_live = 60;`,
		},
		{
			live(map[string]string{"class": class, "dc1": "3", "dc2": "2"}, as, false, 90),
			[]string{"setting cassandra.ttl of table orders is 90; it should be 60"},
			"-- new rows are lost after 60 seconds",
		},
		{
			live(map[string]string{"class": class, "dc1": "3", "dc2": "2"}, as, false, 30),
			[]string{"setting cassandra.ttl of table orders is 30; it should be 60"},
			"ALTER TABLE",
		},
	} {
		d, err := Define(s, "", Replication{{Datacenter: "dc1", Factor: 1}})
		if err != nil {
			t.Fatal(err)
		}
		d.Keyspace = "shop"
		d.Read(x.there)
		c, err := d.Compare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, drift := range c.Drifts {
			got = append(got, drift.String())
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(x.want, "\n  "))
		} else if len(got) > 0 && !strings.HasPrefix(c.Drifts[0].Fix[0], x.first) {
			t.Errorf("%s: mended by %s, want %s", got[0], c.Drifts[0].Fix[0], x.first)
		}
	}
}

// TestViews: a materialized view that was imported is no table: it is compared by its name, and not created as one.
func TestViews(t *testing.T) {
	s, err := schemas.Parse("shop.yaml", []byte(`schema: 1
name: shop
native: cassandra
tables:
  orders: {partition: [id text], columns: {tag: text}, at: "a.cql:1"}
  by_tag: {partition: [tag text], clustering: [id text], other: {materialized view of: orders}, at: "a.cql:2"}
`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := Render(s, "", Replication{{Datacenter: "dc1", Factor: 1}})
	if err != nil || strings.Count(text, "CREATE TABLE") != 1 || !strings.Contains(text, "-- It is a materialized view of orders") {
		t.Errorf("rendered: %v\n%s", err, text)
	}
	for _, c := range []struct {
		base string // of the view that is there, or ""
		want string // the difference
		fix  string
	}{
		{"", "table by_tag (materialized view of orders) is missing", "-- create it by the statement that was imported"},
		{"orders", "", ""},
	} {
		d, err := Define(s, "", Replication{{Datacenter: "dc1", Factor: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(created(t, d), ""); strings.Contains(text, "by_tag") {
			t.Errorf("the view is created as a table:\n%s", text)
		}
		rows := make(Rows)
		if c.base != "" {
			rows["views"] = append(rows["views"], map[string]any{"view_name": "by_tag", "base_table_name": c.base})
		}
		d.Read(rows)
		comparison, err := d.Compare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got, fix string
		for _, x := range comparison.Drifts {
			if strings.HasPrefix(x.Table, "by_tag") {
				got, fix = x.String(), strings.Join(x.Fix, "\n")
			}
		}
		if got != c.want || fix != c.fix {
			t.Errorf("with a view of %q there: %q, fixed by %q; want %q, %q", c.base, got, fix, c.want, c.fix)
		}
	}
}

// TestCarriedRefused: an option that Cassandra does not know is named before a request is sent.
func TestCarriedRefused(t *testing.T) {
	for _, x := range []struct{ old, new, want string }{
		{"cdc: \"true\"", "cdc: often", "cdc under other is often"},
		{"'none'", "'sometimes'", "its default is BLOCKING"},
		{"'class': 'org.apache.cassandra.locator.NetworkTopologyStrategy', ", "", "such as {'class'"},
		{"'dc1': '3'", "'dc 1': '3'", "such as {'class'"}, // the rest cannot be read
	} {
		s, err := schemas.Parse("shop.yaml", []byte(strings.Replace(said, x.old, x.new, 1)))
		if err != nil {
			t.Fatal(err)
		}
		d, err := Define(s, "", Replication{{Datacenter: "dc1", Factor: 1}})
		if err == nil {
			d.Read(Rows{"keyspaces": {{"replication": map[string]string{}}}})
			_, err = d.Compare(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: error %v does not say %q", x.new, err, x.want)
		}
	}
}

// TestOtherClass: a statement names a class that is not Cassandra's with its package.
func TestOtherClass(t *testing.T) {
	s := parse(t, "tables:\n  t: {partition: [k int], hints: {cassandra: {compaction: com.example.Tiered levels=8, "+
		"compression: org.apache.cassandra.io.compress.Encryptor}}}\n") // which is not one of those that mailbench knows
	d, err := Define(s, "", Replication{{Datacenter: "dc1", Factor: 1}})
	if err != nil {
		t.Fatal(err)
	}
	d.Read(Rows{
		"keyspaces": {{"replication": map[string]string{}}}, "columns": {column("t", "k", "int", "partition_key", 0)},
		"tables": {{"table_name": "t", "compaction": map[string]string{"class": "com.example.Tiered", "levels": "4"}}},
	})
	c, err := d.Compare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`ALTER TABLE "mailbench_test"."t" WITH compaction = {'class': 'com.example.Tiered', 'levels': '8'};`,
		`ALTER TABLE "mailbench_test"."t" WITH compression = {'class': 'Encryptor'};`,
	} {
		if !slices.ContainsFunc(c.Drifts, func(d drivers.Drift) bool { return slices.Contains(d.Fix, want) }) {
			t.Errorf("%+v: not fixed by %q", c.Drifts, want)
		}
	}
}

// A keyspace whose strategy has one factor for all datacenters gets one for each. Copies are removed only if there are
// fewer after that, also where the factor of a datacenter may be larger than that of the store. CQL without CREATE
// KEYSPACE says nothing of it.
func TestOneFactor(t *testing.T) {
	for others, want := range map[int]string{2: "ALTER KEYSPACE", 1: "ALTER KEYSPACE", 0: "-- removes copies of rows", -1: ""} {
		r := Replication{{Datacenter: "dc1", Factor: 2}}
		if others > 0 {
			r = append(r, Replicas{"dc2", others})
		}
		from := map[bool]string{true: ", at: t.cql:1"}[want == ""]
		d, err := Define(parse(t, "tables: {t: {partition: [k int]"+from+"}}"), "", r)
		if err != nil {
			t.Fatal(err)
		}
		d.Read(Rows{"keyspaces": {{
			"replication":    map[string]string{"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "3"},
			"durable_writes": true,
		}}})
		c, err := d.Compare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(c.Drifts, func(d drivers.Drift) bool { return strings.HasSuffix(d.Part, "replication.class") })
		if (i < 0) != (want == "") || i >= 0 && !strings.HasPrefix(c.Drifts[i].Fix[0], want) {
			t.Errorf("%d copies in dc2: %+v; want %s", others, c.Drifts, want)
		}
	}
}

// TestUnreported: an option that a cluster does not report is named and not compared. A type with more fields than the
// schema's harms nothing.
func TestUnreported(t *testing.T) {
	d, err := Define(parse(t, `native: cassandra
types: {address: {street: text}}
tables:
  a: {partition: [k int], columns: {v: frozen<address>}, other: {cdc: "true", read_repair: "'NONE'"}, at: "a.cql:1"}
`), "", Replication{{Datacenter: "dc1", Factor: 1}})
	if err != nil {
		t.Fatal(err)
	}
	d.Read(Rows{
		"keyspaces": {{"replication": map[string]string{}, "durable_writes": true}},
		"tables":    {{"table_name": "a", "comment": d.Tables[0].Comment, "default_time_to_live": 0, "read_repair": "NONE"}},
		"columns":   {column("a", "k", "int", "partition_key", 0), column("a", "v", "frozen<address>", "regular", -1)},
		"types": {{
			"type_name": "address", "field_names": []string{"street", "place"}, "field_types": []string{"text", "int"},
		}},
	})
	c, err := d.Compare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Drifts) != 1 || c.Drifts[0].Kind != schemas.DifferentFields || c.Drifts[0].Harm != schemas.OnlyThere {
		t.Errorf("differences %+v, want that the type has more fields", c.Drifts)
	}
	if want := "This Cassandra does not report cdc of table a: it is not compared."; !slices.Equal(c.Unseen, []string{want}) {
		t.Errorf("not compared: %q, want %q", c.Unseen, want)
	}
}

// readA returns the definition of a schema, with the table a of it there, which has these columns.
func readA(t *testing.T, schema string, columns ...map[string]any) *Definition {
	d, err := Define(parse(t, schema), "", Replication{{Datacenter: "dc1", Factor: 1}})
	if err != nil {
		t.Fatal(err)
	}
	d.Read(Rows{
		"keyspaces": {{"replication": map[string]string{}}},
		"tables":    {{"table_name": "a", "comment": d.Tables[0].Comment, "default_time_to_live": 0}},
		"columns":   columns,
	})
	return d
}

// TestOneIndex: two indexes of a schema over one column are one in CQL. Both are there if it is.
func TestOneIndex(t *testing.T) {
	d := readA(t, `
tables:
  a: {partition: [k int], clustering: [c int], columns: {v: text}, indexes: {by-v: [v], in-k: [k, v]}}
`,
		column("a", "k", "int", "partition_key", 0), column("a", "c", "int", "clustering", 0), column("a", "v", "text", "regular", -1))
	var statements []string
	for _, m := range schemas.Diff(d.Want, d.Have) {
		statements = append(statements, d.statements(m)...)
	}
	want := `CREATE INDEX IF NOT EXISTS "by_v" ON "mailbench_test"."a" ("v")`
	if !slices.Equal(statements, []string{want, want}) {
		t.Errorf("created by %q, want %s for both", statements, want)
	}
}

// TestIndexOfHeader: a row header has no table in CQL, and so no indexes.
func TestIndexOfHeader(t *testing.T) {
	d := readA(t, `
tables:
  a: {partition: [k int], clustering: [c int], indexes: {by-c: [c]}}
  b: {parent: a, clustering: [d int], columns: {v: text}}
`,
		column("a", "k", "int", "partition_key", 0), column("a", "c", "int", "clustering", 0),
		column("a", "d", "int", "clustering", 1), column("a", "v", "text", "regular", -1))
	if all := schemas.Diff(d.Want, d.Have); len(all) > 0 {
		t.Errorf("differences %v", all)
	}
}
