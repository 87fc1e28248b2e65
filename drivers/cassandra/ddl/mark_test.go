package ddl

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
		k.MarkAs(nil)
		s := k.Schema("s")
		for _, table := range s.Tables {
			if len(table.Key()) == 0 && !table.Header() {
				t.Errorf("table %s has no key", table.Name)
			}
		}
		schemas.Diff(s, other)
	})
}
