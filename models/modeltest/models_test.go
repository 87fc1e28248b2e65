package modeltest

import (
	"os"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/conversation"
	"github.com/mailbench/mailbench/models/datastax"
	"github.com/mailbench/mailbench/models/elasticinbox"
	"github.com/mailbench/mailbench/models/james"
	"github.com/mailbench/mailbench/models/oracle"
	"github.com/mailbench/mailbench/schemas"
)

// all are the models that the suite is run over.
func all() []models.Model {
	return []models.Model{elasticinbox.Model(), james.Model(), datastax.Model(), oracle.Model(), conversation.Model()}
}

// TestModels runs the suite over every model on the embedded engine.
func TestModels(t *testing.T) {
	for _, m := range all() {
		t.Run(m.Name, func(t *testing.T) { Run(t, m, openEmbedded) })
	}
}

// openEmbedded opens an engine of its own for each test. What a crash of the
// machine would lose is not what these tests are about.
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
	st = withFault(t, st)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatalf("apply schema %s: %v", s.Name, err)
	}
	return st
}
