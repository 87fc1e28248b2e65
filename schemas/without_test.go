package schemas

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWithout: all that needs a missing table or column goes with it, by name, and the rest stays.
func TestWithout(t *testing.T) {
	s := parseText(t, `schema: 1
name: mail
tables:
  t:
    partition: [k text]
    columns: {v: int, extra: {type: int, addition: for tests}}
    references: {r: {to: more, by: k}, kept: {to: base, by: k}}
    counts: {c: {column: extra, of: base, by: k}}
  base: {partition: [k text], columns: {v: int}}
  more: {partition: [k text], addition: for tests, columns: {v: int}}
  more.below: {parent: more, clustering: [c int], columns: {v: int}}
patterns:
  put: {put: t}
  put_v: {put: t, columns: v}
  both: {batch: [put, put_v]}
  one: {get: base}
  below: {get: more.below}
workflow: {one: [below]}
`)
	missing := []Difference{
		{Kind: MissingColumn, Table: "t", Part: "extra"}, {Kind: MissingTable, Table: "more"},
	}
	for _, d := range missing {
		if !s.Added(d) {
			t.Errorf("%s: it is an addition", d)
		}
	}
	if !s.Added(Difference{Kind: MissingTable, Table: "more.below"}) || s.Added(Difference{Kind: MissingColumn, Table: "t", Part: "v"}) ||
		s.Added(Difference{Kind: DifferentType, Table: "t", Part: "extra"}) {
		t.Error("additions are taken for others, or others for them")
	}
	own, skipped, err := s.Without(missing)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"column extra of table t", "table more", "reference r of table t", "count c of table t", "pattern put", "pattern both",
		"pattern below",
	}
	if diff := cmp.Diff(want, skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if len(own.Tables) != 2 || len(own.Table("t").Columns) != 1 || len(own.Table("t").Refers) != 1 || len(own.Patterns) != 2 ||
		len(own.Workflow) != 1 || len(own.Workflow[0].Next) != 0 {
		t.Errorf("left:\n%s", Format(own))
	}
	if len(s.Tables) != 4 || len(s.Table("t").Columns) != 2 {
		t.Error("the schema itself has changed")
	}
}
