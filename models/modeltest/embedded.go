package modeltest

import (
	"os"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/schemas"
)

// openEmbedded opens an engine for one test. It need not survive a crash of the machine.
func openEmbedded(t testing.TB, s *schemas.Schema) drivers.Store {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "store")
	if err != nil {
		t.Fatal(err)
	}
	st, err := pebble.Engine().Open(t.Context(), drivers.Options{Dir: dir, Durability: drivers.Process})
	if err != nil {
		t.Fatalf("open the embedded engine: %v", err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close the embedded engine: %v", err)
		}
	})
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatalf("apply schema %s: %v", s.Name, err)
	}
	return st
}
