package hbase

import (
	"context"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/schemas"
)

// openLive opens a store in a namespace of its own on the HBase that tests
// share; what was applied to it is dropped in the end.
func openLive(t testing.TB, namespace string, settings map[string]string) *Store {
	t.Helper()
	o := drivers.Options{Contact: []string{live.HBase(t)}, Namespace: namespace, Settings: settings}
	st, err := Engine().Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.(*Store).Drop(context.Background()); err != nil {
			t.Errorf("drop: %v", err)
		}
		if err := st.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return st.(*Store)
}

// applied applies a schema to a store.
func applied(t testing.TB, st drivers.Store, s *schemas.Schema) drivers.Store {
	t.Helper()
	if err := st.Apply(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	return st
}

// TestContract runs the contract over one store that all topics share.
func TestContract(t *testing.T) {
	st := openLive(t, "contract", nil)
	drivertest.Run(t, func(t testing.TB, s *schemas.Schema) drivers.Store { return applied(t, st, s) })
}
