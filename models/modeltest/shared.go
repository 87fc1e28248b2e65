package modeltest

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/schemas"
)

// onShared is the suite over one store, for an engine on which tables take long to make. Its
// rules run one after another, and each begins with empty tables. Suites of several models may
// run at once.
func (s Suite) onShared(t *testing.T, st drivers.Store) *suite {
	t.Helper()
	schema, err := s.Model.Schema()
	if err != nil {
		t.Fatalf("schema of %s: %v", s.Model.Name, err)
	}
	if err := st.Apply(t.Context(), schema); err != nil {
		t.Fatalf("apply schema %s: %v", schema.Name, err)
	}
	s.Model.Schema = func() (*schemas.Schema, error) { return schema, nil } // the schema that was applied
	on := s.on(func(t testing.TB, s *schemas.Schema) drivers.Store {
		if err := drivertest.Empty(t.Context(), st, s); err != nil {
			t.Fatal(err)
		}
		return st
	})
	on.shared = true
	return on
}
