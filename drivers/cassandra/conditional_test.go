package cassandra

import (
	"maps"
	"slices"
	"testing"

	"github.com/mailbench/mailbench/schemas"
)

// TestCellsAreConditionalOrPlain: no plain write of a model sets a cell that a condition compares.
// Nodes order conditional writes by their ballots and plain ones by their clocks. A plain write of a
// node whose clock is ahead would hide the conditional ones that follow it, and each would be
// applied: two messages would get one UID. Two variants mix them, which schema lint reports. That of
// james@checked-flags is safe as long as a partition's first node is up (TestOneClock), and the code
// of james@one-lwt makes the plain writes only where the engine has no such condition.
func TestCellsAreConditionalOrPlain(t *testing.T) {
	compared := 0
	mixed := make(map[string]bool)
	names := schemas.BundledVariants("")
	for _, base := range schemas.BundledVariants("") {
		names = append(names, schemas.BundledVariants(base)...)
	}
	for _, name := range names {
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
							mixed[name] = true
						}
					}
				}
			}
		}
	}
	if want := map[string]bool{"james@checked-flags": true, "james@one-lwt": true}; !maps.Equal(mixed, want) {
		t.Errorf("plain and conditional writes of one cell are in %v, want %v", mixed, want)
	}
	if compared < 2 {
		t.Errorf("%d columns are compared, expected James' numbers", compared)
	}
}
