package modeltest

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// liveEngines are real ones, and where a test finds them.
func liveEngines() []liveEngine {
	return []liveEngine{{cassandra.Engine(), live.Cassandra}, {hbase.Engine(), live.HBase}}
}

type liveEngine struct {
	engine  drivers.Engine
	contact func(testing.TB) string
}

// TestModelsLive runs the suite over every model on real engines, one store
// for all models of an engine. What measures the heap runs by itself; after that
// all models of all engines run at once.
func TestModelsLive(t *testing.T) {
	for _, e := range liveEngines() {
		var st drivers.Store
		for _, m := range all() {
			t.Run(e.engine.Name+"/"+m.Name, func(model *testing.T) {
				contact := e.contact(model)
				if st == nil {
					st = openLive(t, e.engine, drivers.Options{Contact: []string{contact}})
				}
				RunShared(model, m, st)
			})
		}
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
		if err := drivers.Drop(context.Background(), st); err != nil {
			t.Errorf("drop the namespace: %v", err)
		}
		if err := st.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return withFault(t, st)
}

// seesLive are some of the faults that the suite must see on each engine, too.
var seesLive = map[string][]struct{ fault, model, rule string }{
	"cassandra": {
		{"ignores-limit", "james", "pages"},
		{"drops-chunk", "datastax", "chunk seams"},
		{"loses-statics", "conversation", "shared folder"},
		{"put-if-always", "oracle", "stale handles"},
		{"retries-adds", "elasticinbox", "deliver"},
	},
	"hbase": {
		{"reverses-desc", "conversation", "slice"},
		{"loses-second-family", "james", "deliver"},
		{"empty-is-null", "datastax", "chunk seams"},
		{"returns-old", "james", "uids"},
		{"halves-batches", "oracle", "move"},
	},
}

// TestFaultsLive puts faults in front of the drivers of real engines, each in a
// process of its own, and expects the rule named to fail.
func TestFaultsLive(t *testing.T) {
	for _, e := range liveEngines() {
		t.Run(e.engine.Name, func(t *testing.T) {
			e.contact(t)
			for _, s := range seesLive[e.engine.Name] {
				t.Run(s.fault+"/"+s.model, func(t *testing.T) {
					t.Parallel()
					test := e.engine.Name + "/" + s.model + "/" + strings.ReplaceAll(s.rule, " ", "_")
					saw := expectFailure(t, "^TestModelsLive$/^"+strings.ReplaceAll(test, "/", "$/^")+"$", faultEnv+"="+s.fault)
					if !slices.Contains(saw, test) {
						t.Errorf("%s was not seen by %s", s.fault, test)
					}
				})
			}
		})
	}
}
