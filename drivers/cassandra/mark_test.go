package cassandra

import (
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
		k := &liveKeyspace{name: "k", tables: map[string]*liveTable{}}
		for name, comment := range map[string]string{"x": first, "y": second} {
			live := &liveTable{
				comment: comment, indexes: map[string]string{"i": "v", "j": "w"}, kinds: map[string]bool{"legacy": true},
				columns: []liveColumn{
					{name: "a", typ: "text", kind: "partition_key"},
					{name: "b", typ: "timeuuid", kind: "clustering", order: "desc"},
					{name: "v", typ: "bigint", kind: "regular", position: -1},
					{name: "w", typ: "map<text, int>", kind: "regular", position: -1},
				},
			}
			live.mark, live.marked = readMark(comment)
			k.tables[name] = live
		}
		k.markAs(nil)
		s := k.schema("s")
		for _, table := range s.Tables {
			if len(table.Key()) == 0 && !table.Header() {
				t.Errorf("table %s has no key", table.Name)
			}
		}
		schemas.Diff(s, other)
	})
}
