package hbase

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/schemas"
)

// TestBatching runs what batching changes with gohbase's own batching on.
func TestBatching(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), map[string]string{"batching": "64/1ms"})
	if got := st.Observe().Settings["batching"]; got != "64/1ms" {
		t.Errorf("the effective setting is %q", got)
	}
	for _, topic := range drivertest.Topics() {
		switch topic.Name {
		case "rows", "batches", "concurrency", "contexts":
			t.Run(topic.Name, func(t *testing.T) {
				topic.Run(t, func(t testing.TB, s *schemas.Schema) drivers.Store {
					if err := st.Apply(t.Context(), s); err != nil {
						t.Fatal(err)
					}
					return st
				})
			})
		}
	}
}
