package modeltest

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/schemas"
)

// lesserEngines are engines that can do less than the embedded one, which
// stands in for them.
var lesserEngines = map[string]func(drivers.Store) drivers.Store{"cassandra": AsCassandra, "hbase": AsHBase}

// TestLesserEngines runs the suite over every model with the fallbacks that it
// needs on other engines, within those engines' limits.
func TestLesserEngines(t *testing.T) {
	for engine, as := range lesserEngines {
		for _, m := range all() {
			t.Run(engine+"/"+m.Name, func(t *testing.T) {
				Run(t, m, func(t testing.TB, s *schemas.Schema) drivers.Store { return as(openEmbedded(t, s)) })
			})
		}
	}
}

// TestShared runs the suite as it runs on an engine whose tables are shared.
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
	for _, m := range all() {
		t.Run(m.Name, func(t *testing.T) { RunShared(t, m, st) })
	}
}
