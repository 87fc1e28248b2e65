package modeltest

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// TestModelsLive runs the suite over every model on real engines, one store
// for all models of an engine.
func TestModelsLive(t *testing.T) {
	for _, e := range []struct {
		engine  drivers.Engine
		contact func(testing.TB) string
	}{{cassandra.Engine(), live.Cassandra}, {hbase.Engine(), live.HBase}} {
		t.Run(e.engine.Name, func(t *testing.T) {
			st := openLive(t, e.engine, drivers.Options{Contact: []string{e.contact(t)}})
			for _, m := range all() {
				t.Run(m.Name, func(t *testing.T) { RunShared(t, m, st) })
			}
		})
	}
}

// openLive opens a store in a namespace of its own, which goes with the test.
func openLive(t *testing.T, e drivers.Engine, o drivers.Options) drivers.Store {
	t.Helper()
	o.Namespace = "m" + strings.ToLower(rand.Text()[:15])
	st, err := e.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.(drivers.Dropper).Drop(context.Background()); err != nil {
			t.Errorf("drop the namespace: %v", err)
		}
		if err := st.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return withFault(t, st)
}
