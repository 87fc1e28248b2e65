package pebble

import (
	"context"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/schemas"
)

// TestContract runs the contract of all engines, each topic on a new store.
func TestContract(t *testing.T) {
	ctx := context.Background()
	drivertest.Run(t, func(t testing.TB, s *schemas.Schema) drivers.Store {
		st, err := Engine().Open(ctx, drivers.Options{Dir: t.TempDir(), Durability: drivers.Memory})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := st.Close(); err != nil {
				t.Errorf("close the store: %v", err)
			}
		})
		if err := st.Apply(ctx, s); err != nil {
			t.Fatal(err)
		}
		return st
	})
}
