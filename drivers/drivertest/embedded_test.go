package drivertest_test

import (
	"context"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/pebble"
)

// TestEmbedded runs the suite over one store that all topics share, as the
// engines do that are slow to start. Package pebble runs it over a new store
// for each.
func TestEmbedded(t *testing.T) {
	ctx := context.Background()
	st, err := pebble.Engine().Open(ctx, drivers.Options{Dir: t.TempDir() + "/data", Durability: drivers.Process})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	drivertest.RunShared(t, st)
}
