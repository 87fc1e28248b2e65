package cmd

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// TestAllMissing: nothing of a schema is there only if each of its tables is missing, and nothing
// else differs.
func TestAllMissing(t *testing.T) {
	s, err := schemas.Bundled("james")
	if err != nil {
		t.Fatal(err)
	}
	var all []drivers.Drift
	for _, table := range s.Tables {
		if !table.Header() {
			all = append(all, drivers.Drift{Difference: schemas.Difference{Kind: schemas.MissingTable, Table: table.Name}})
		}
	}
	other := drivers.Drift{Difference: schemas.Difference{Kind: schemas.MissingColumn}}
	for name, c := range map[string]struct {
		drifts []drivers.Drift
		want   int
	}{
		"no difference":          {nil, 0},
		"all tables":             {all, len(all)},
		"one table":              {all[:1], 0},
		"all but one":            {all[1:], 0},
		"all, and another thing": {append(all[:len(all):len(all)], other), 0},
	} {
		if got := allMissing(s, &drivers.Comparison{Drifts: c.drifts}); got != c.want {
			t.Errorf("%s: %d missing, want %d", name, got, c.want)
		}
	}
}
