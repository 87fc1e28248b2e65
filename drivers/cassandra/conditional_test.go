package cassandra

import (
	"slices"
	"testing"

	"github.com/mailbench/mailbench/schemas"
)

// TestCellsAreConditionalOrPlain: no plain write of a model sets a cell that a condition compares.
// Nodes order conditional writes by their ballots and plain ones by their clocks. A plain write of a
// node whose clock is ahead would hide the conditional ones that follow it, and each would be
// applied: two messages would get one UID. Variants may mix them, of which schema lint tells.
func TestCellsAreConditionalOrPlain(t *testing.T) {
	compared := 0
	for _, name := range schemas.BundledNames() {
		if schemas.BaseOf(name) != "" {
			continue
		}
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, conditional := range s.Patterns {
			for _, c := range conditional.If {
				compared++
				for _, p := range s.Patterns {
					switch p.Kind {
					case schemas.Put, schemas.Append, schemas.Remove:
						if p.Table == conditional.Table && slices.Contains(p.Columns, c) {
							t.Errorf("%s: %s compares %s, which %s sets without a condition", name, conditional.Name, c.Name, p.Name)
						}
					}
				}
			}
		}
	}
	if compared < 2 {
		t.Errorf("%d columns are compared, expected James' numbers", compared)
	}
}
