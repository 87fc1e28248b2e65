// Package modeltest is the contract of a mailbox data model: one suite, run over
// every model on every engine, in its own package:
//
//	var contract = modeltest.Suite{Model: james.Model(), Traits: …, Damages: …}
//
//	func TestContract(t *testing.T)           { contract.Run(t) }
//	func TestContractConcurrent(t *testing.T) { contract.RunConcurrent(t) }
//	func TestContractLive(t *testing.T)       { contract.RunLive(t) }
//	func TestContractQuorum(t *testing.T)     { contract.RunQuorum(t) }
//	func BenchmarkContract(b *testing.B)      { contract.Bench(b) }
//
// The name of a test says what it needs. Concurrent tests, and a model's other tests
// with Workers or Race in their names, run many workers and are useful with the race
// detector. Live tests need real engines, Quorum tests a cluster of three nodes. The
// others need nothing.
//
// Most rules are differential: they run each step on the model and on a plain
// in-memory mailbox (the reference), and compare folders, order, pages, numbers,
// flags, and every byte. Other rules cover damage, heap and races. Each rule has its
// own tables and ends with an audit of them.
package modeltest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/limited"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

// Suite is a model and the facts that its methods do not return. The suite fails
// without traits or damages.
type Suite struct {
	Model   models.Model
	Traits  Traits
	Damages []Damage
	Races   Races
	variant bool // the model is a variant of the one that the traits are of
}

// RunValues runs the rules with other values of the model's parameters, on the embedded engine and on engines with the
// limits of the others.
func (s Suite) RunValues(t *testing.T, values map[string]int) {
	t.Parallel()
	s.Model = s.Model.With(values)
	s.everywhere(t, func(t *testing.T, on *suite) {
		if on.few, on.shift = true, on.shift+len(inProcess()); on.sequences == onEmbedded {
			on.sequences = withValues
		} else {
			on.sequences = fewSequences
		}
		on.run(t, "random", "many", "additions", "two clients")
	})
}

// Run runs the tests that need neither a server nor the race detector: every rule on
// the embedded engine and on engines with the limits of the others, interruptions, races of two
// clients, store calls and tables, and allocations. Golden files are in testdata/contract of
// the model; -update-contract writes them.
func (s Suite) Run(t *testing.T) {
	embedded := s.on(openEmbedded)
	// Alone, because they measure the heap.
	t.Run("bounded memory", func(t *testing.T) { testBoundedMemory(t, embedded) })
	t.Run("a gigabyte", func(t *testing.T) { testGigabyte(t, embedded) })
	s.everywhere(t, func(t *testing.T, on *suite) {
		on.run(t, "random", "many", "additions")
		on.runDamages(t)
	})
	t.Run("calls", func(t *testing.T) { testCalls(t, embedded) })
	t.Run("several at once", func(t *testing.T) { testSeveralAtOnce(t, embedded) })
	t.Run("many recipients", func(t *testing.T) { testManyRecipients(t, embedded) })
	t.Run("interrupted", func(t *testing.T) { testInterrupted(t, s) })
	t.Run("races", func(t *testing.T) { testRaces(t, s) })
	t.Run("allocations", func(t *testing.T) { testAllocations(t, s.Model) })
}

// RunConcurrent runs the rules about many workers at once. The race detector is useful
// for them. Tests that call it have Concurrent in their names.
func (s Suite) RunConcurrent(t *testing.T) {
	s.everywhere(t, func(t *testing.T, on *suite) { on.run(t, "workers on one folder") })
}

// everywhere runs a subtest on the embedded engine, and on it with the limits of each other engine.
func (s Suite) everywhere(t *testing.T, check func(*testing.T, *suite)) {
	must(t, s.incomplete())
	for i, e := range inProcess() {
		name, on := e.Name, s.on(opening(e, 0))
		if i > 0 {
			name, on.shift, on.sequences = "as "+name, i, min(on.sequences, onLimited)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, on)
		})
	}
}

// incomplete returns an error that names what is missing.
func (s Suite) incomplete() error {
	switch {
	case s.Model.Name == "" || s.Model.Schema == nil || s.Model.Bind == nil:
		return errors.New("the suite has no model")
	case s.Traits.Order == 0:
		return fmt.Errorf("the suite of %s has no traits: say at least in which order it lists a folder", s.Model.Name)
	case len(s.Damages) == 0:
		return fmt.Errorf("the suite of %s has no damages: say what its audit finds", s.Model.Name)
	}
	return nil
}

// on is the suite over the stores of one engine.
func (s Suite) on(open drivertest.Open) *suite {
	on := &suite{Suite: s, open: open, sequences: onEmbedded}
	if s.variant {
		on.sequences = fewSequences
	}
	return on
}

// rule is one subtest. All are run on each real engine, which can break them by types, order, timestamps, limits,
// deletes or conditions.
type rule struct {
	name  string
	check func(*testing.T, *suite)
}

var rules = []rule{
	{"random", testRandom},
	{"many", testMany},
	{"additions", testAdditions},
	{"workers on one folder", testWorkersOneFolder},
	{"two clients", testTwoClients}, // in this process, "races" interleaves them in more ways
}

// has reports whether a mailbox implements the optional interface I.
func has[I any](mb models.Mailbox) bool {
	_, ok := mb.(I)
	return ok
}

// run runs all rules, unless some are named.
func (s *suite) run(t *testing.T, names ...string) {
	for _, r := range rules {
		if len(names) == 0 || slices.Contains(names, r.name) {
			s.each(t, r.name, func(t *testing.T) { r.check(t, s) })
		}
	}
}

func (s *suite) runDamages(t *testing.T) {
	for _, d := range append([]Damage{{Name: "none"}}, s.Damages...) {
		s.each(t, "damage/"+d.Name, func(t *testing.T) { testDamage(t, s, d) })
	}
}

// each runs a subtest, in parallel with others unless they share a store.
func (s *suite) each(t *testing.T, name string, check func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		if !s.shared {
			t.Parallel()
		}
		check(t)
	})
}

// suite is a Suite with the state that all rules of one run share.
type suite struct {
	Suite
	open   drivertest.Open // of stores to which the schema was applied
	golden string          // the folder of the golden files, "" for the model's own
	shared bool            // open returns one store again and again
	few    bool            // it interleaves operations in few ways
	second drivers.Store   // of the second process of random sequences; nil: the store of the first
	starts int             // how often a rule has begun on it

	shift, sequences int  // it runs so many random sequences, others than with another shift
	many             bool // the one begins with many messages
}

// domain is the mail domain of a rule's accounts.
type domain string

func (d domain) at(local string) string { return local + "@" + string(d) }

// fixture is the model on tables that hold nothing else.
type fixture struct {
	*World
	*suite
	domain
	bound models.Bound
	opts  models.Options
}

// Sized are options with chunks or blocks of so many bytes, and labels of so many messages. 0 is
// the schema's value. A model ignores what it does not have.
func Sized(chunk, overflow int) models.Options {
	return models.Options{Values: map[string]int{"chunk_size": chunk, "block_size": chunk, "overflow_after": overflow}}
}

// start opens a store and binds the model to it. It sets the clock and the node, so
// that every run stores the same.
//
// On a shared store each rule has its own addresses and node, since some engines
// cannot use a deleted counter again.
func (s *suite) start(t testing.TB, o models.Options) *fixture {
	t.Helper()
	f := &fixture{World: newWorld(t, s.Model, s.open), suite: s, domain: "example.org"}
	o.Node, o.Blobs = 1, t.TempDir()
	if s.shared {
		s.starts++
		f.domain, o.Node = domain(fmt.Sprintf("%d.example.org", s.starts)), uint64(s.starts)
	}
	f.opts = o
	f.bound = f.Bind(o)
	return f
}

// mailbox returns the mailbox of one more worker.
func (f *fixture) mailbox() models.Mailbox { return f.bound.Mailbox(f.Session()) }

// start is the time at which every rule begins: a whole second, well inside the range of every
// engine's timestamps.
var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// clock does not move until advance is called, so that a model and its reference read the same
// time however often they read it.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(0, c.nanos.Load()).UTC() }

func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

// RunVariants runs random sequences on the embedded engine and on engines with the limits of the
// others, for each bundled variant of the model. A variant that only has other hints for engines is
// the same as the model there, so RunVariants only binds it.
func (s Suite) RunVariants(t *testing.T) {
	t.Parallel()
	s.eachVariant(t, func(t *testing.T, v Suite) {
		st := v.on(openEmbedded).start(t, models.Options{}).Store
		if stored(t, st, s.Model) == stored(t, st, v.Model) {
			return
		}
		v.everywhere(t, func(t *testing.T, on *suite) { on.run(t, "random") })
	})
}

// RunVariantsLive runs random sequences of each variant on each real engine. It skips an
// engine that stores a variant as it stores the model. Tests that call it have Live in their names.
func (s Suite) RunVariantsLive(t *testing.T) {
	t.Parallel()
	s.remotely(t, func(t *testing.T, open func(testing.TB) drivers.Store) {
		t.Parallel()
		s.eachVariant(t, func(t *testing.T, v Suite) {
			st := open(t)
			if stored(t, st, s.Model) == stored(t, st, v.Model) {
				t.Skip(st.Capabilities().Engine + " keeps the variant as it keeps the model")
			}
			v.onShared(t, st).run(t, "random")
		})
	})
}

// stored returns the text of a model's schema with the tables as an engine stores them.
func stored(t *testing.T, st drivers.Store, m models.Model) string {
	s, err := m.Schema()
	must(t, err)
	kept, err := st.Stored(s)
	must(t, err)
	s.Name, s.Doc, s.Tables = "", "", kept.Tables
	return string(schemas.Format(s))
}

// eachVariant runs a subtest for each variant.
func (s Suite) eachVariant(t *testing.T, check func(t *testing.T, v Suite)) {
	must(t, s.incomplete())
	variants := s.Model.Variants()
	if len(variants) == 0 {
		t.Fatalf("%s has no variants", s.Model.Name)
	}
	for _, m := range variants {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			v := s
			v.Model, v.variant = m, true
			check(t, v)
		})
	}
}

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
	// One damage for each distinct list of findings of a check against the schema is enough: engines differ in how they
	// read rows, but audits are the same on all.
	declared := s.Damages
	s.Damages = nil
	for _, d := range declared {
		same := func(o Damage) bool { return slices.Equal(o.Finds, d.Finds) }
		if len(d.Finds) > 0 && !slices.ContainsFunc(s.Damages, same) {
			s.Damages = append(s.Damages, d)
		}
	}
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
