package modeltest

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/schemas"
)

// lesserEngines are engines that can do less than the embedded one, which
// stands in for them.
var lesserEngines = map[string]func(drivers.Store) drivers.Store{"cassandra": AsCassandra, "hbase": AsHBase}

// TestLesserEngines runs the suite over every model with the fallbacks that it
// needs on other engines, and within their limits. Those of a value are made
// smaller, so that what is too large is quickly made.
func TestLesserEngines(t *testing.T) {
	for engine, as := range lesserEngines {
		for _, m := range all() {
			t.Run(engine+"/"+m.Name, func(t *testing.T) {
				s := &suite{model: m, traits: traitsOf(m.Name), open: func(t testing.TB, s *schemas.Schema) drivers.Store {
					st := as(openEmbedded(t, s)).(*lesser)
					st.caps.MaxCellBytes /= 4
					st.caps.MaxRowBytes /= 4
					return st
				}}
				s.runRules(t)
			})
		}
	}
}

// TestShared runs the suite as it runs on an engine whose tables are shared.
// One model shows that the rules do not get into each other's way.
func TestShared(t *testing.T) {
	st, err := pebble.Engine().Open(t.Context(), drivers.Options{Dir: t.TempDir() + "/data", Durability: drivers.Process})
	if err != nil {
		t.Fatalf("open the embedded engine: %v", err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close the embedded engine: %v", err)
		}
	})
	RunShared(t, conversation.Model(), st)
}
