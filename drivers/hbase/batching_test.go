package hbase

import (
	"testing"

	"github.com/mailbench/mailbench/drivers/drivertest"
)

// TestBatching runs what batching changes with gohbase's own batching on.
func TestBatching(t *testing.T) {
	t.Parallel()
	st := openLive(t, newNamespace(), map[string]string{"batching": "64/1ms"})
	if got := st.Observe().Settings["batching"]; got != "64/1ms" {
		t.Errorf("the effective setting is %q", got)
	}
	drivertest.RunShared(t, st, "rows", "batches", "sessions")
}

// TestSearchAlone: a batch may have only parts that must find what they delete, which have no edit.
func TestSearchAlone(t *testing.T) {
	if n := independent([]step{{}, {}}, true); n != 1 {
		t.Errorf("%d steps are sent together, want 1", n)
	}
}
