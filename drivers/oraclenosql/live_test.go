package oraclenosql

import (
	"regexp"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// described returns a table as the server describes it after its statement was run.
func described(t *table, schema string, marked bool) *liveTable {
	live := new(liveTable)
	for _, c := range slices.Concat(t.fullKey, t.columns) {
		typ, _ := fieldOf(c).columnType()
		live.Fields = append(live.Fields, fieldOfType(identifier(c.Name), typ))
	}
	for i, c := range t.fullKey {
		live.PrimaryKey = append(live.PrimaryKey, identifier(c.Name))
		if i < len(t.shardKey) {
			live.ShardKey = append(live.ShardKey, identifier(c.Name))
		}
	}
	for _, x := range t.kept {
		index := liveIndex{Name: identifier(x.Name)}
		for _, c := range x.Columns {
			index.Fields = append(index.Fields, struct {
				Path string `json:"path"`
			}{identifier(c.Column.Name)})
		}
		live.Indexes = append(live.Indexes, index)
	}
	if live.mark.Table = t.path; marked {
		live.marked = plan.ReadMark(plan.MarkText(t.mark("run", schema)), &live.mark)
	}
	return live
}

var ofType = regexp.MustCompile(`^(\w+)(?:\((.*)\)| AS (UUID))?$`)

// fieldOfType returns a column of a type as the DDL writes it.
func fieldOfType(name, typ string) liveField {
	parts := ofType.FindStringSubmatch(typ)
	f := liveField{Name: name, Type: parts[1], AsUUID: parts[3] != ""}
	switch {
	case f.Type == "TIMESTAMP":
		f.Precision = 6
	case parts[2] != "":
		inner := fieldOfType("", parts[2])
		f.Collection = &inner
	}
	return f
}

// TestReadTables: tables that Apply has created, with their marks, are those of the schema. Without marks they are
// those that the layout says.
func TestReadTables(t *testing.T) {
	all := []*schemas.Schema{asked(t)}
	for _, name := range schemas.BundledVariants("") {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	for _, s := range all {
		for _, marked := range []bool{true, false} {
			l, err := newLayout(s, "run", "n")
			if err != nil {
				t.Fatal(err)
			}
			there := make(liveTables)
			for _, table := range l.all {
				there[table.path] = described(table, s.Name, marked)
			}
			p := new(Store).placeOf(l, there)
			if d := schemas.Diff(p.Want, p.Have); len(d) > 0 {
				t.Errorf("%s, with marks %v: %v", s.Name, marked, d)
			}
		}
	}
}
