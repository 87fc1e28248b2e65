package ddl

import (
	"errors"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// index returns a row of system_schema.indexes.
func index(table, name, target, class string) map[string]any {
	kind := "COMPOSITES"
	if class != "" {
		kind = "CUSTOM"
	}
	return map[string]any{
		"table_name": table, "index_name": name, "kind": kind, "options": map[string]string{"target": target, "class_name": class},
	}
}

// FuzzMark: whatever comments a cluster has, its tables can be described, and compared
// with a schema.
func FuzzMark(f *testing.F) {
	f.Add(`mailbench {"schema":"s","table":"x"}`, `mailbench {"schema":"s","table":"y","in":[{"table":"x","key":1}],"types":{"v":"bigint"}}`)
	f.Add(`mailbench {"schema":"s","table":"x","indexes":{"i":["a","v"]},"kind":"sai"}`, "a table of somebody else's")
	f.Add(`mailbench {"schema":"s","table":"x","indexes":{"i":[]}}`, `mailbench {"schema":"s","table":"x"}`)
	f.Add(`mailbench {"schema":"s","table":"x","in":[{"table":"y","key":-1}]}`, `mailbench {"schema":"s","table":"y","in":[{"table":"x","key":99}]}`)
	f.Add(`mailbench {"schema":"s","table":"x","in":[{"table":"x","key":1}]}`, `mailbench {"schema":"s","table":"y","in":[{"table":"z"},{"table":"z"},{"table":""}]}`)
	f.Add(`mailbench {"schema":"s","table":"x","in":[{"table":"y","key":1},{"table":"z","key":1}]}`, `mailbench {"schema":"s","table":"y","in":[{"table":"z","key":1},{"table":"x","key":1}]}`)
	other := &schemas.Schema{Name: "s"}
	f.Fuzz(func(t *testing.T, first, second string) {
		d, err := Define(other, "", Replication{})
		if err != nil {
			t.Fatal(err)
		}
		rows := make(Rows)
		for name, comment := range map[string]string{"x": first, "y": second} {
			rows["tables"] = append(rows["tables"], map[string]any{"table_name": name, "comment": comment})
			descending := column(name, "b", "timeuuid", "clustering", 0)
			descending["clustering_order"] = "desc"
			rows["columns"] = append(rows["columns"], column(name, "a", "text", "partition_key", 0), descending,
				column(name, "v", "bigint", "regular", -1), column(name, "w", "map<text, int>", "regular", -1))
			rows["indexes"] = append(rows["indexes"], index(name, "i", "v", ""), index(name, "j", "w", ""))
		}
		d.Read(rows)
		s := d.Have
		for _, table := range s.Tables {
			if len(table.Key()) == 0 && !table.Header() {
				t.Errorf("table %s has no key", table.Name)
			}
		}
		schemas.Diff(s, other)
	})
}

// TestReadMark: only a table with the mark of its own name is mailbench's, and only if the mark makes sense.
func TestReadMark(t *testing.T) {
	const of = `mailbench {"schema":"s","table":"a.b"`
	for _, c := range []struct {
		table, comment string
		ours           bool
	}{
		{"a_b", of + `}`, true},
		{"a_b", of + `,"in":[{"table":"a","key":1}],"indexes":{"i":["v"]},"kind":"sai"}`, true},
		{"a", of + `,"in":[{"table":"a","key":1}]}`, true},                       // below a row header
		{"a", of + `,"in":[{"table":"a","key":2},{"table":"r","key":1}]}`, true}, // which is below a table with rows
		{"a_b_copy", of + `}`, false},
		{"a_b", of + `,"in":[{"table":"a.b","key":1}]}`, false},
		{"a_b", of + `,"in":[{"table":"a","key":1},{"table":"a","key":1}]}`, false},
		{"a_b", of + `,"in":[{"table":"","key":1}]}`, false},
		{"a_b", of + `,"in":[{"table":"a"}]}`, false},
		{"a_b", of + `,"in":1}`, false},
		{"a_b", of + `,"indexes":{"i":[]}}`, false},
		{"a_b", `mailbench {"schema":"s"}`, false},
		{"a_b", `mailbench {"table":"a.b"}`, false},
		{"a_b", "mail", false},
	} {
		if _, ours := ReadMark(c.table, c.comment); ours != c.ours {
			t.Errorf("table %s with %s: ours %v, want %v", c.table, c.comment, ours, c.ours)
		}
		d, err := Define(&schemas.Schema{Name: "s"}, "", Replication{})
		if err != nil {
			t.Fatal(err)
		}
		d.Read(Rows{"tables": {{"table_name": c.table, "comment": c.comment}}})
		if ours := d.Foreign == nil; ours != c.ours {
			t.Errorf("table %s with %s is in the keyspace: %v", c.table, c.comment, d.Foreign)
		}
	}
}

// TestCopy: a table of a schema that Cassandra has under the name of its row header is not the one of its own name, which
// somebody has copied from it: that one is not mailbench's, and no statement changes a table that is not there.
func TestCopy(t *testing.T) {
	for _, nested := range []string{"a.b", "a_b"} {
		d, err := Define(parse(t, `
tables:
  a: {partition: [k text]}
  `+nested+`: {parent: a, clustering: [c int], columns: {v: int}, indexes: {i: [v]}}
`), "", Replication{{Datacenter: "dc1", Factor: 1}})
		if err != nil {
			t.Fatal(err)
		}
		comment := d.Tables[0].Comment
		d.Read(Rows{
			"keyspaces": {{"replication": map[string]string{}}}, "tables": {{"table_name": "a_b", "comment": comment}},
			"columns": {column("a_b", "k", "text", "partition_key", 0), column("a_b", "v", "int", "regular", -1)},
			"indexes": {index("a_b", "i", "v", "sai")},
		})
		if !errors.Is(d.Foreign, drivers.ErrForeign) {
			t.Errorf("a keyspace with a copy of %s is not foreign: %v", nested, d.Foreign)
		}
		c, err := d.Compare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		missing := false
		for _, drift := range c.Drifts {
			missing = missing || drift.Kind == schemas.MissingTable && drift.Table == nested
			if fix := strings.Join(drift.Fix, "\n"); strings.Contains(fix, `ALTER TABLE "mailbench_test"."a"`) {
				t.Errorf("%s: mended by %s", drift, fix)
			}
		}
		if !missing {
			t.Errorf("%+v: %s is not missing", c.Drifts, nested)
		}
		marks := make(Marks)
		for _, x := range []struct {
			keyspace, table string
			ours            bool
		}{{"mailbench_copy", "a", false}, {"mailbench_test", "a", true}, {"mailbench_test", "a_b", false}} {
			if _, ours := marks.Add(x.keyspace, x.table, comment); ours != x.ours {
				t.Errorf("table %s of %s: ours %v, want %v", x.table, x.keyspace, ours, x.ours)
			}
		}
	}
}

// TestImportedIndexes: a keyspace does not differ from the schema that was imported of it, whatever its indexes are
// over and of which class they are; and no statement drops an index of a class that mailbench does not know.
func TestImportedIndexes(t *testing.T) {
	const sasi = "org.apache.cassandra.index.sasi.SASIIndex"
	s, err := schemas.Parse("a.yaml", []byte(`schema: 1
name: s
native: cassandra
tables:
  x:
    partition: [a text, b int]
    clustering: [c int]
    columns: {v: text, w: int, m: 'map<text,text>', l: 'frozen<list<text>>', n: 'set<text>'}
    indexes: {of_b: [b], of_c: [c], of_v: [v], of_w: [w], of_m: [m], of_l: [l], of_n: [n]}
    hints: {cassandra: {indexes: sai}}
    other: {index of_v: "USING '`+sasi+`' WITH OPTIONS = {'mode': 'CONTAINS',\n 'analyzed': 'true'}", index of_m: keys(m) USING 'legacy_local_table',
      index of_l: full(l)}
    at: a.cql:1
`))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Define(s, "", Replication{})
	if err != nil {
		t.Fatal(err)
	}
	d.Read(Rows{
		"tables": {{"table_name": "x", "default_time_to_live": 0}},
		"indexes": {
			index("x", "of_b", "b", "StorageAttachedIndex"), index("x", "of_c", "c", "StorageAttachedIndex"), index("x", "of_v", "v", sasi),
			index("x", "of_w", "w", "sai"), index("x", "of_m", "keys(m)", ""), index("x", "of_l", "full(l)", "sai"),
			index("x", "of_n", "values(n)", "sai"),
		},
		"columns": {
			column("x", "a", "text", "partition_key", 0), column("x", "b", "int", "partition_key", 1),
			column("x", "c", "int", "clustering", 0), column("x", "v", "text", "regular", -1), column("x", "w", "int", "regular", -1),
			column("x", "m", "map<text, text>", "regular", -1), column("x", "l", "frozen<list<text>>", "regular", -1),
			column("x", "n", "set<text>", "regular", -1),
		},
	})
	for _, d := range schemas.Diff(d.Want, d.Have) {
		if d.Kind != schemas.DifferentSetting {
			t.Errorf("%s", d)
		}
	}
	f := schemas.Difference{Kind: schemas.DifferentIndex, Table: "x", Part: "of_w", Want: "w", Have: "w USING " + sasi}
	if stmts := strings.Join(d.statements(f), "\n"); !strings.HasPrefix(stmts, "-- ") || strings.Contains(stmts, "DROP") {
		t.Errorf("of another class: %s", stmts)
	}
}

// TestOtherKind: an index of another kind is created again by statements, unless mailbench does not know its class.
func TestOtherKind(t *testing.T) {
	for class, want := range map[string]string{
		"sai":             `DROP INDEX IF EXISTS "mailbench_test"."i"`,
		"com.example.Own": "-- drop index i and create it again, by hand: mailbench does not know its class",
		"":                "",
	} {
		d, err := Define(parse(t, "tables:\n  a: {partition: [k int], columns: {v: int}, indexes: {i: [v]}}\n"), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		d.Read(Rows{
			"tables":  {{"table_name": "a", "comment": d.Tables[0].Comment}},
			"columns": {column("a", "k", "int", "partition_key", 0), column("a", "v", "int", "regular", -1)},
			"indexes": {index("a", "i", "v", class)},
		})
		got := ""
		for _, f := range schemas.Diff(d.Want, d.Have) {
			if f.Kind == schemas.DifferentIndex {
				got = d.statements(f)[0]
			}
		}
		if got != want {
			t.Errorf("an index of the class %q: %q, want %s", class, got, want)
		}
	}
}
