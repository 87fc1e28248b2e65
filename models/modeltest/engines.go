package modeltest

import (
	"crypto/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/limited"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/schemas"
)

// opening opens stores of an engine in this process, which need not survive a crash of the machine.
func opening(e drivers.Engine, cache int64) drivertest.Open {
	return func(t testing.TB, s *schemas.Schema) drivers.Store {
		t.Helper()
		dir, err := os.MkdirTemp(t.TempDir(), "store")
		must(t, err)
		st, err := e.Open(t.Context(), drivers.Options{Dir: dir, Durability: drivers.Process, CacheBytes: cache})
		must(t, err)
		t.Cleanup(func() {
			if err := st.Close(); err != nil {
				t.Errorf("close the engine: %v", err)
			}
		})
		must(t, st.Apply(t.Context(), s))
		return st
	}
}

var openEmbedded = opening(pebble.Engine(), 0)

// inProcess are the embedded engine, and that with the limits of others.
func inProcess() []drivers.Engine {
	return append([]drivers.Engine{pebble.Engine()}, limited.Engines()...)
}

// onShared is the suite over one store, for an engine on which tables take long to make. Its
// rules run one after another, and each begins with empty tables. Suites of several models may
// run at once.
func (s Suite) onShared(t *testing.T, st drivers.Store) *suite {
	t.Helper()
	schema, err := s.Model.Schema()
	must(t, err)
	must(t, st.Apply(t.Context(), schema))
	s.Model.Schema = func() (*schemas.Schema, error) { return schema, nil } // the schema that was applied
	on := s.on(func(t testing.TB, s *schemas.Schema) drivers.Store {
		must(t, drivertest.Empty(t.Context(), st, s))
		return st
	})
	on.shared, on.few, on.sequences = true, true, fewSequences
	return on
}

// RunLive runs, on each engine that is reached over the network, the rules that a real engine
// can break. Each engine has a namespace for it. Tests that call RunLive have Live in their
// names.
func (s Suite) RunLive(t *testing.T) {
	// Of damages in a row that a check against the schema finds alike, one is enough: engines differ in how they read
	// rows, but audits are the same on all.
	alike := func(a, b Damage) bool { return slices.Equal(a.Finds, b.Finds) }
	s.Damages = slices.CompactFunc(slices.Clone(s.Damages), alike)
	s.remotely(t, func(t *testing.T, open func(testing.TB) drivers.Store) {
		shared := s.onShared(t, open(t))
		t.Run("bounded memory", func(t *testing.T) { testBoundedMemory(t, shared) })
		t.Parallel() // engines run at once from here on, since no heap is measured any more
		shared.run(t)
		shared.runDamages(t)
	})
}

// RunValuesLive runs the rules with other values of parameters on each engine that is reached over the network.
func (s Suite) RunValuesLive(t *testing.T, values map[string]int) {
	t.Parallel()
	s.Model = s.Model.With(values)
	s.remotely(t, func(t *testing.T, open func(testing.TB) drivers.Store) {
		t.Parallel()
		s.onShared(t, open(t)).run(t, "random", "many", "additions", "workers on one folder")
	})
}

// remotely runs a subtest for each engine that is reached over the network.
func (s Suite) remotely(t *testing.T, check func(t *testing.T, open func(testing.TB) drivers.Store)) {
	must(t, s.incomplete())
	for _, e := range engines.All() {
		if e.Remote {
			t.Run(e.Name, func(t *testing.T) {
				contact := []string{live.Contact(t, e.Name)}
				check(t, func(t testing.TB) drivers.Store {
					return drivertest.OpenLive(t, e, drivers.Options{Contact: contact, Namespace: newNamespace()})
				})
			})
		}
	}
}

func newNamespace() string { return "m" + strings.ToLower(rand.Text()[:15]) }

// RunQuorum runs the rules about several nodes on a cluster of three, with three replicas, at
// quorum: random sequences, numbers, counters and moves of workers that use different nodes. The
// second process of the sequences reads from and writes to all three replicas. Tests that call it have
// Quorum in their names.
func (s Suite) RunQuorum(t *testing.T) {
	must(t, s.incomplete())
	// It makes tables faster. They would not survive a crash, but these nodes need not.
	t.Setenv("JAVA_TOOL_OPTIONS", "-Dcassandra.test.flush_local_schema_changes=false")
	cluster := live.Cassandra3(t)
	o := drivers.Options{
		Contact: cluster.Contact(), Namespace: newNamespace(),
		Settings: map[string]string{"replication": "3", "consistency": "QUORUM"},
	}
	st := drivertest.OpenLive(t, cassandra.Engine(), o)
	if d := st.Capabilities().Durability; d != drivers.Quorum {
		t.Errorf("durability is %s, want %s", d, drivers.Quorum)
	}
	shared := s.onShared(t, st)
	o.Settings = map[string]string{"replication": "3", "consistency": "ALL"}
	every, err := cassandra.Engine().Open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { every.Close() })
	schema, err := shared.Model.Schema()
	must(t, err)
	must(t, every.Apply(t.Context(), schema))
	shared.second = every
	shared.run(t, "random", "workers on one folder")
}
