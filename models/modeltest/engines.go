package modeltest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// limitedEngine is the embedded engine with the limits of another engine: its driver says which patterns it cannot
// run, and limits says how large a row, a cell and a batch may be.
type limitedEngine struct {
	drivers.Engine
	limits func(*drivers.Capabilities)
}

var limitedEngines = []limitedEngine{
	// Cassandra 5.0 refuses a batch over several partitions from 50 KiB on, and any mutation from 16 MiB on.
	{cassandra.Engine(), func(c *drivers.Capabilities) {
		c.Atomic, c.MaxCellBytes, c.MaxRowBytes, c.MaxSpreadBytes = schemas.AtomicAll, 16<<20, 16<<20, 50<<10
	}},
	// HBase refuses a cell from 10 MiB on.
	{hbase.Engine(), func(c *drivers.Capabilities) { c.Atomic, c.MaxCellBytes = schemas.AtomicRow, 10<<20 }},
}

// open opens the embedded engine with the limits of the other engine. Size limits are
// smaller than the real ones, so that a test can exceed them quickly.
func (e limitedEngine) open(t testing.TB, s *schemas.Schema) drivers.Store {
	st := e.as(t, openEmbedded(t, s), s)
	st.caps.MaxCellBytes /= 4
	st.caps.MaxRowBytes /= 4
	return st
}

func (e limitedEngine) as(t testing.TB, st drivers.Store, s *schemas.Schema) *limitedStore {
	t.Helper()
	l := &limitedStore{Store: st, caps: st.Capabilities()}
	l.caps.Engine, l.caps.ReturnsNew, l.caps.PlainIndexes, l.caps.EqualIndexes = e.Name, e.Name != "cassandra", false, true
	e.limits(&l.caps)
	var err error
	l.compile, err = e.Compile(s, drivers.Options{})
	must(t, err)
	for _, p := range s.Patterns {
		if p.Kind != schemas.Batch && p.Conditional() {
			l.conditional = append(l.conditional, p.Table.Name)
		}
	}
	return l
}

// partOverhead is the approximate size that Cassandra adds to each part of a batch:
// the table, timestamps, lengths.
const partOverhead = 40

// limitedStore is a store that keeps the limits of another engine.
type limitedStore struct {
	drivers.Store
	caps    drivers.Capabilities
	compile drivers.Compiler
	// conditional are the names of the tables that conditional writes are made to.
	conditional []string
}

// Capabilities implements drivers.Store.
func (s *limitedStore) Capabilities() drivers.Capabilities { return s.caps }

// Prepare implements drivers.Store.
func (s *limitedStore) Prepare(ctx context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	_, err := s.compile(p)
	if p.Kind == schemas.Batch && p.Atomic > s.caps.Atomic {
		err = fmt.Errorf("batch %s is %s: %w", p.Name, p.Atomic, drivers.ErrUnsupported)
	}
	if errors.Is(err, drivers.ErrUnsupported) {
		return nil, err
	}
	if p.Index != nil {
		p = p.Fallback // it gives the answer of an index
	}
	return s.Store.Prepare(ctx, p)
}

// Session implements drivers.Store.
func (s *limitedStore) Session() (drivers.Session, error) {
	session, err := s.Store.Session()
	return &limitedSession{session, &s.caps, s.conditional}, err
}

type limitedSession struct {
	drivers.Session
	caps        *drivers.Capabilities
	conditional []string
}

// Read implements drivers.Session.
func (s *limitedSession) Read(ctx context.Context, st drivers.Statement, args []drivers.Value,
	yield func(row []drivers.Value) error,
) error {
	if err := s.fits(st.Pattern(), args); err != nil {
		return err
	}
	return s.Session.Read(ctx, st, args, yield)
}

// Write implements drivers.Session.
func (s *limitedSession) Write(ctx context.Context, st drivers.Statement,
	args []drivers.Value,
) (drivers.Result, error) {
	if err := s.fits(st.Pattern(), args); err != nil {
		return drivers.Result{}, err
	}
	return s.Session.Write(ctx, st, args)
}

// Batch implements drivers.Session. Without atomicity it writes its parts one by one. As on
// Cassandra, parts whose order counts are in no batch that writes to a table with conditional writes.
func (s *limitedSession) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	p, total, several := st.Pattern(), int64(0), false
	if s.caps.Engine == "cassandra" && (p.Atomic > schemas.AtomicNone || p.Parallel > 1) {
		conditional := func(t *schemas.Table) bool { return slices.Contains(s.conditional, t.Name) }
		if err := new(plan.Order).Counts(p, parts, conditional); err != nil {
			return fmt.Errorf("batch %s: %w", p.Name, err)
		}
	}
	for i := range parts {
		part := p.Parts[parts[i].Part].Pattern
		if err := s.fits(part, parts[i].Args); err != nil {
			return err
		}
		total += bytesOf(parts[i].Args) + partOverhead
		several = several || !samePartition(parts[0].Args, parts[i].Args, len(part.Table.Partition))
	}
	if p.Atomic > schemas.AtomicNone {
		if limit := s.caps.MaxSpreadBytes; several && limit > 0 && total > limit {
			return fmt.Errorf("batch %s of %d bytes: %w", p.Name, total, drivers.ErrTooLarge)
		}
		return s.Session.Batch(ctx, st, parts)
	}
	for i := range parts {
		if err := s.Session.Batch(ctx, st, parts[i:i+1]); err != nil && i > 0 {
			return fmt.Errorf("%w: part %d of %d: %w", drivers.ErrUnknown, i+1, len(parts), err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// fits checks the size of a row's cells, and the size of all its values together.
func (s *limitedSession) fits(p *schemas.Pattern, args []drivers.Value) error {
	if s.caps.Engine == "cassandra" && p.Table != nil && len(p.Table.Partition) == 1 && len(p.By) > 0 && p.Index == nil &&
		args[0].Size() == 0 && (args[0].Kind() == schemas.Text || args[0].Kind() == schemas.Blob) {
		return fmt.Errorf("pattern %s: key may not be empty", p.Name) // as Cassandra says
	}
	for _, v := range args {
		cells := v.Elems()
		if cells == nil {
			cells = []drivers.Value{v}
		}
		for _, c := range cells {
			if limit := s.caps.MaxCellBytes; limit > 0 && int64(c.Size()) > limit {
				return fmt.Errorf("pattern %s: a value of %d bytes: %w", p.Name, c.Size(), drivers.ErrTooLarge)
			}
		}
	}
	if n, limit := bytesOf(args), s.caps.MaxRowBytes; limit > 0 && n > limit {
		return fmt.Errorf("pattern %s: %d bytes: %w", p.Name, n, drivers.ErrTooLarge)
	}
	return nil
}

func bytesOf(args []drivers.Value) (n int64) {
	for _, v := range args {
		n += int64(v.Size())
	}
	return n
}

// samePartition compares the n columns of a partition key with which the
// arguments of two parts begin.
func samePartition(a, b []drivers.Value, n int) bool {
	return slices.EqualFunc(a[:n], b[:min(n, len(b))], drivers.Value.Equal)
}

// openEmbedded opens an engine for one test. It need not survive a crash of the machine.
func openEmbedded(t testing.TB, s *schemas.Schema) drivers.Store {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "store")
	must(t, err)
	st, err := pebble.Engine().Open(t.Context(), drivers.Options{Dir: dir, Durability: drivers.Process})
	must(t, err)
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close the embedded engine: %v", err)
		}
	})
	must(t, st.Apply(t.Context(), s))
	return st
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
	on.shared, on.sequences = true, fewSequences
	return on
}

// RunLive runs, on each engine that is reached over the network, the rules that a real engine
// can break. Each engine has a namespace for it. Tests that call RunLive have Live in their
// names.
func (s Suite) RunLive(t *testing.T) {
	s.Damages = findable(s.Damages)
	s.remotely(t, func(t *testing.T, open func(testing.TB) drivers.Store) {
		shared := s.onShared(t, open(t))
		t.Run("bounded memory", func(t *testing.T) { testBoundedMemory(t, shared) })
		t.Parallel() // engines run at once from here on, since no heap is measured any more
		shared.run(t, all())
		shared.runDamages(t)
	})
}

// RunValuesLive runs the rules with other Values on each engine that is reached over the network.
func (s Suite) RunValuesLive(t *testing.T) {
	t.Parallel()
	s.remotely(t, func(t *testing.T, open func(testing.TB) drivers.Store) {
		t.Parallel()
		s.onShared(t, open(t)).run(t, slices.Concat(rules(), concurrent()))
	})
}

// remotely runs a subtest for each engine that is reached over the network.
func (s Suite) remotely(t *testing.T, check func(t *testing.T, open func(testing.TB) drivers.Store)) {
	s.complete(t)
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

// findable returns one damage for each distinct list of findings of a check against the
// schema. Engines differ in how they read rows, but audits are the same on all.
func findable(all []Damage) []Damage {
	var some []Damage
	for _, d := range all {
		same := func(o Damage) bool { return slices.Equal(o.Finds, d.Finds) }
		if len(d.Finds) > 0 && !slices.ContainsFunc(some, same) {
			some = append(some, d)
		}
	}
	return some
}

func newNamespace() string { return "m" + strings.ToLower(rand.Text()[:15]) }

// RunQuorum runs the rules about several nodes on a cluster of three, with three replicas, at
// quorum: random sequences, numbers, counters and moves of workers that use different nodes. The
// second process of the sequences reads from and writes to all three replicas. Tests that call it have
// Quorum in their names.
func (s Suite) RunQuorum(t *testing.T) {
	s.complete(t)
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
	shared.run(t, slices.DeleteFunc(all(), func(r rule) bool { return !r.nodes }))
}
