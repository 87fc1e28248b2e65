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
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
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
	// Values are those of parameters with which RunValues runs the rules, in place of the schema's.
	Values  map[string]int
	variant bool // the model is a variant of the one that the traits are of
}

// RunValues runs every rule and two clients with other Values, on the embedded engine and on engines with the
// limits of the others. Files outside of the engine are in a folder of each rule.
func (s Suite) RunValues(t *testing.T) {
	t.Parallel()
	s.everywhere(t, func(t *testing.T, on *suite) { on.run(t, append(rules(), twoClients)) })
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
		on.run(t, rules())
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
	s.everywhere(t, func(t *testing.T, on *suite) { on.run(t, concurrent()) })
}

// everywhere runs a subtest on the embedded engine, and on it with the limits of each other engine.
func (s Suite) everywhere(t *testing.T, check func(*testing.T, *suite)) {
	must(t, s.incomplete())
	for i, e := range inProcess() {
		name, on := e.Name, s.on(opening(e, 0))
		if i > 0 {
			name, on.after, on.sequences = "as "+name, onEmbedded+(i-1)*onLimited, min(on.sequences, onLimited)
		}
		switch {
		case len(s.Values) == 0:
		case i == 0:
			on.after, on.sequences = sequencesInAll-withValues, withValues
		default:
			on.sequences = fewSequences
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

// opener returns a store to which the schema was applied and whose tables are
// empty, and closes it when the test ends. Stores of different tests may be in
// use at once, and may share one server.
type opener func(t testing.TB, s *schemas.Schema) drivers.Store

// on is the suite over the stores of one engine.
func (s Suite) on(open opener) *suite {
	on := &suite{Suite: s, open: open, sequences: onEmbedded}
	if s.variant {
		on.sequences = fewSequences
	}
	return on
}

// rule is one subtest. It is run on the embedded engine, on the limited ones, and on each real engine, which
// can break it by types, order, timestamps, limits, deletes or conditions.
type rule struct {
	name  string
	nodes bool // it is also run on three nodes, whose replicas must agree
	check func(*testing.T, *suite)
}

// has reports whether a mailbox implements the optional interface I.
func has[I any](mb models.Mailbox) bool {
	_, ok := mb.(I)
	return ok
}

func rules() []rule {
	return []rule{
		{"random", true, testRandom},
		{"many", false, testMany},
		{"account race", false, testAccountRace},
	}
}

// concurrent are the rules about many workers at once.
func concurrent() []rule {
	return []rule{{"workers on one folder", true, testWorkersOneFolder}}
}

// twoClients is about two clients on one message. In this process, "races" interleaves them in more ways.
var twoClients = rule{"two clients", false, testTwoClients}

func all() []rule { return slices.Concat(rules(), concurrent(), []rule{twoClients}) }

func (s *suite) run(t *testing.T, rules []rule) {
	for _, r := range rules {
		s.each(t, r.name, func(t *testing.T) { r.check(t, s) })
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
	open   opener
	golden string        // the folder of the golden files, "" for the model's own
	faulty bool          // a fault was planted: golden files differ
	shared bool          // open returns one store again and again
	second drivers.Store // of the second process of random sequences; nil: the store of the first
	starts int           // how often a rule has begun on it

	after, sequences int  // it runs so many random sequences, those after some others
	many             bool // of them one begins with many messages
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
	o.Node = 1
	if len(s.Values) > 0 {
		o.Blobs = t.TempDir()
		values := maps.Clone(s.Values)
		maps.Copy(values, o.Values)
		o.Values = values
	}
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
	s.eachVariant(t, func(t *testing.T, v Suite, same bool) {
		if same {
			v.on(openEmbedded).start(t, models.Options{})
			return
		}
		v.everywhere(t, func(t *testing.T, on *suite) { on.run(t, rules()[:1]) })
	})
}

// RunVariantsLive runs random sequences of each variant on each real engine. It skips an
// engine that stores a variant as it stores the model. Tests that call it have Live in their names.
func (s Suite) RunVariantsLive(t *testing.T) {
	t.Parallel()
	s.remotely(t, func(t *testing.T, open func(testing.TB) drivers.Store) {
		t.Parallel()
		s.eachVariant(t, func(t *testing.T, v Suite, _ bool) {
			st := open(t)
			if bytes.Equal(stored(t, st, s.Model), stored(t, st, v.Model)) {
				t.Skip(st.Capabilities().Engine + " keeps the variant as it keeps the model")
			}
			v.onShared(t, st).run(t, rules()[:1])
		})
	})
}

// stored returns the text of a model's tables as an engine stores them, and of its patterns.
func stored(t *testing.T, st drivers.Store, m models.Model) []byte {
	s, err := m.Schema()
	must(t, err)
	kept, err := st.Stored(s)
	must(t, err)
	kept.Name, kept.Doc = "", ""
	return append(schemas.Format(kept), shape(t, m)...)
}

// eachVariant runs a subtest for each variant. same says that the variant has the model's
// tables and patterns.
func (s Suite) eachVariant(t *testing.T, check func(t *testing.T, v Suite, same bool)) {
	must(t, s.incomplete())
	variants := s.Model.Variants()
	if len(variants) == 0 {
		t.Fatalf("%s has no variants", s.Model.Name)
	}
	base := shape(t, s.Model)
	for _, m := range variants {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			v := s
			v.Model, v.variant = m, true
			check(t, v, bytes.Equal(base, shape(t, m)))
		})
	}
}

// shape returns the text of a model's tables and patterns without hints.
func shape(t *testing.T, m models.Model) []byte {
	s, err := m.Schema()
	must(t, err)
	s.Name, s.Doc = "", ""
	for _, table := range s.Tables {
		table.Hints = nil
	}
	return schemas.Format(s)
}
