package drivers_test

import (
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

func TestIgnore(t *testing.T) {
	all := []schemas.Difference{
		{Kind: schemas.DifferentSetting, Table: "orders", Part: "cassandra.read_repair"},
		{Kind: schemas.DifferentSetting, Table: "orders.lines", Part: "cassandra.read_repair"},
		{Kind: schemas.DifferentSetting, Table: "orders", Part: "cassandra.compaction.class"},
		{Kind: schemas.DifferentSetting, Part: "cassandra.replication.dc1"},
		{Kind: schemas.ExtraColumn, Table: "orders", Part: "note"},
		{Kind: schemas.MissingTable, Table: "note"},
	}
	for _, x := range []struct {
		words []string
		gone  []int // of all
		idle  []string
	}{
		{[]string{"read_repair"}, []int{0, 1}, nil},
		{[]string{"orders.read_repair"}, []int{0}, nil},
		{[]string{"orders.lines.read_repair"}, []int{1}, nil},
		{[]string{"compaction", "compaction.clas"}, []int{2}, []string{"compaction.clas"}},
		{[]string{"orders.compaction.class", "replication"}, []int{2, 3}, nil},
		{[]string{"orders"}, []int{0, 2, 4}, nil},
		{[]string{"note"}, []int{4, 5}, nil},
		{[]string{"orders.note"}, []int{4}, nil},
		{[]string{"extra column"}, []int{4}, nil},
		{[]string{"cassandra", "", "lines", "read_repairs"}, nil, []string{"cassandra", "", "lines", "read_repairs"}},
	} {
		c := drivers.Comparison{Drifts: drivers.Shell{}.Drifts(new(schemas.Schema), all, func(schemas.Difference) []string { return nil })}
		idle := c.Ignore(x.words)
		var gone []int
		for i, d := range all {
			if !slices.ContainsFunc(c.Drifts, func(left drivers.Drift) bool { return left.Difference == d }) {
				gone = append(gone, i)
			}
		}
		if !slices.Equal(gone, x.gone) || !slices.Equal(idle, x.idle) || len(c.Ignored) != len(gone) {
			t.Errorf("--ignore %q ignores %v (%d listed), want %v; idle %q, want %q", x.words, gone, len(c.Ignored), x.gone, idle, x.idle)
		}
	}
}
