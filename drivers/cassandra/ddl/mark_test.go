package ddl

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/schemas"
)

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
		k := &LiveKeyspace{Name: "k", Tables: map[string]*LiveTable{}}
		for name, comment := range map[string]string{"x": first, "y": second} {
			live := &LiveTable{
				Comment: comment, Indexes: map[string]string{"i": "v", "j": "w"}, Kinds: map[string]bool{"legacy": true},
				Columns: []LiveColumn{
					{Name: "a", Type: "text", Kind: "partition_key"},
					{Name: "b", Type: "timeuuid", Kind: "clustering", Order: "desc"},
					{Name: "v", Type: "bigint", Kind: "regular", Position: -1},
					{Name: "w", Type: "map<text, int>", Kind: "regular", Position: -1},
				},
			}
			live.Mark, live.Marked = ReadMark(comment)
			k.Tables[name] = live
		}
		s := k.Schema("s", nil)
		for _, table := range s.Tables {
			if len(table.Key()) == 0 && !table.Header() {
				t.Errorf("table %s has no key", table.Name)
			}
		}
		schemas.Diff(s, other)
	})
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
    other: {index of_v: "USING '`+sasi+`' WITH OPTIONS = {'mode': 'CONTAINS'}", index of_m: keys(m) USING 'legacy_local_table',
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
	k := &LiveKeyspace{Name: "k", Tables: map[string]*LiveTable{"x": {
		Indexes: map[string]string{
			"of_b": "b", "of_c": "c", "of_v": "v", "of_w": "w", "of_m": "keys(m)", "of_l": "full(l)", "of_n": "values(n)",
		},
		Kinds:    map[string]bool{"legacy": true, "sai": true, sasi: true},
		Settings: map[string]string{"ttl": "0"},
		Columns: []LiveColumn{
			{Name: "a", Type: "text", Kind: "partition_key"},
			{Name: "b", Type: "int", Kind: "partition_key", Position: 1},
			{Name: "c", Type: "int", Kind: "clustering", Order: "asc"},
			{Name: "v", Type: "text", Kind: "regular", Position: -1},
			{Name: "w", Type: "int", Kind: "regular", Position: -1},
			{Name: "m", Type: "map<text, text>", Kind: "regular", Position: -1},
			{Name: "l", Type: "frozen<list<text>>", Kind: "regular", Position: -1},
			{Name: "n", Type: "set<text>", Kind: "regular", Position: -1},
		},
	}}}
	for _, d := range schemas.Diff(d.Want, k.Schema("s", nil)) {
		if kind := d.Kind; kind != schemas.DifferentSetting || strings.Contains(d.String(), "indexes") {
			t.Errorf("%s", d)
		}
	}
	for _, have := range []string{sasi, "legacy, " + sasi, "legacy, sai"} {
		f := schemas.Difference{
			Kind: schemas.DifferentSetting, Table: "x", Part: "cassandra.indexes", Want: "legacy", Have: have,
		}
		if stmts := strings.Join(d.statements(f), "\n"); strings.Contains(stmts, "DROP") {
			t.Errorf("for %s: %s", have, stmts)
		}
	}
}
