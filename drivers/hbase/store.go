package hbase

import (
	"context"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Store is an open HBase. Its parts are the connection, the administration of tables, the
// patterns of applied schemas and the region servers. Sessions run calls.
type Store struct {
	*cluster
	admin    *admin
	compiler *compiler
	fleet    *fleet
}

var (
	_ drivers.Store      = (*Store)(nil)
	_ drivers.Settler    = (*Store)(nil)
	_ drivers.Observer   = (*Store)(nil)
	_ drivers.Admin      = (*Store)(nil)
	_ drivers.Comparer   = (*Store)(nil)
	_ drivers.Ranger     = (*Store)(nil)
	_ drivers.Identified = (*Store)(nil)
	_ drivers.Tracer     = (*Store)(nil)
)

// Engine returns the engine's entry for the list of engines.
func Engine() drivers.Engine {
	return drivers.Engine{
		Name:     engineName,
		Doc:      "Apache HBase 2.4 or newer, found through its ZooKeeper",
		Remote:   true,
		Settings: settingList,
		Open:     openStore,
		Render:   renderShell,
		Compile:  compilerOf,
		Forecast: forecastOf,
		CheckHints: func(t *schemas.Table) error {
			_, err := parseHints(t)
			return err
		},
		Namespace: "namespace",
		TraceDoc: `NODES are regions. READ are HBase rows: for a scan all rows that region servers read,
for a get the rows returned. CELLS and BYTES were returned. TIME is the client's.`,
	}
}

func openStore(ctx context.Context, o drivers.Options) (drivers.Store, error) {
	err := o.CheckKeyspace()
	var set *settings
	if err == nil {
		set, err = newSettings(o)
	}
	if err == nil {
		err = checkNamespace(o.Namespace)
	}
	var c *cluster
	if err == nil {
		c, err = connect(ctx, set)
	}
	if err != nil {
		return nil, fmt.Errorf("open HBase: %w", err)
	}
	s := newStore(c, o)
	if err := s.admin.findDotted(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("open HBase: %w", err)
	}
	return s, nil
}

func newStore(c *cluster, o drivers.Options) *Store {
	a := new(compiler)
	return &Store{
		cluster: c, compiler: a, fleet: &fleet{cluster: c, compiler: a},
		admin: &admin{catalog{cluster: c, namespace: o.Namespace, keyspace: o.Keyspace}, o.ReadOnly},
	}
}

// Close implements drivers.Store. It waits for the calls under way, which all end within the
// timeout of a call. A call made from within a yield is refused.
func (s *Store) Close() error {
	s.close()
	return nil
}

// Capabilities implements drivers.Store.
func (s *Store) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{
		Engine:        engineName,
		Version:       s.version,
		Durability:    s.durability,
		Atomic:        schemas.AtomicRow,
		ReturnsNew:    true,
		EqualIndexes:  true,
		MaxBatchBytes: maxRequest,
		MaxCellBytes:  maxCell,
	}
}

// Apply implements drivers.Store.
func (s *Store) Apply(ctx context.Context, sch *schemas.Schema) error {
	return s.during("apply schema "+sch.Name, func() error {
		l, err := s.admin.apply(ctx, sch)
		if err == nil {
			s.compiler.add(l)
		}
		return err
	})
}

// Stored implements drivers.Store. HBase keeps every table and no index. The settings
// of a table are its layout hints and all settings of its family. Those of the family
// of its static columns begin with "static.".
func (s *Store) Stored(sch *schemas.Schema) (*schemas.Schema, error) {
	l, err := newLayout(s.admin.prefix(sch.Name), sch)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", sch.Name, err)
	}
	return l.stored(), nil
}

// Inspect implements drivers.Store.
func (s *Store) Inspect(ctx context.Context, name string) (sch *schemas.Schema, err error) {
	err = s.during("inspect schema "+name, func() error {
		sch, err = s.admin.inspect(ctx, name)
		if err == nil && len(sch.Tables) == 0 {
			err = fmt.Errorf("HBase has no table that begins with %s", s.admin.prefix(name))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return sch, nil
}

// Compare implements drivers.Comparer.
func (s *Store) Compare(ctx context.Context, sch *schemas.Schema) (c *drivers.Comparison, err error) {
	err = s.during("compare schema "+sch.Name, func() error {
		c, err = s.admin.compare(ctx, sch)
		return err
	})
	return c, err
}

// Identity implements drivers.Identified: the id that HBase gave the cluster when it first started.
func (s *Store) Identity(ctx context.Context, _ *schemas.Schema) (id string, err error) {
	err = s.during("ask for the cluster's id", func() error {
		status, err := s.cluster.status(ctx)
		id = status.GetClusterId().GetClusterId()
		return err
	})
	return id, err
}

// Namespaces implements drivers.Admin.
func (s *Store) Namespaces(ctx context.Context) (names []string, err error) {
	err = s.during("list namespaces", func() error {
		names, err = s.admin.namespaces(ctx)
		return err
	})
	return names, err
}

// Drop implements drivers.Admin.
func (s *Store) Drop(ctx context.Context) error {
	return s.during("drop", func() error {
		err := s.admin.drop(ctx)
		if !s.admin.readOnly {
			s.compiler.clear()
		}
		return err
	})
}

// Settle implements drivers.Settler.
func (s *Store) Settle(ctx context.Context) error {
	return s.during("settle", func() error { return s.fleet.settle(ctx) })
}

// Observe implements drivers.Observer.
func (s *Store) Observe() drivers.Observation { return s.fleet.observe() }

// Prepare implements drivers.Store.
func (s *Store) Prepare(_ context.Context, p *schemas.Pattern) (st drivers.Statement, err error) {
	err = s.during("pattern "+p.Name, func() error {
		if s.admin.readOnly && !p.Kind.Reads() {
			return drivers.ErrReadOnly
		}
		st, err = s.compiler.compile(p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return st, nil
}

// Split implements drivers.Splitter.
func (s *Store) Split(ctx context.Context, scan drivers.Statement, n int) (parts []drivers.Statement, err error) {
	st, ok := scan.(*statement)
	if !ok || st.compiler != s.compiler {
		return nil, plan.Foreign(scan)
	}
	err = s.during("split pattern "+st.Pattern().Name, func() error {
		sl := s.newSlot()
		defer sl.close()
		parts, err = st.split(ctx, sl, n)
		return err
	})
	return parts, err
}

// Range implements drivers.Ranger.
func (s *Store) Range(part drivers.Statement) string {
	st := part.(*statement)
	return keys.FormatRange(st.from, st.to)
}

// Within implements drivers.Ranger.
func (s *Store) Within(_ context.Context, scan drivers.Statement, ranges []string) ([]drivers.Statement, error) {
	st, ok := scan.(*statement)
	if !ok || st.compiler != s.compiler {
		return nil, plan.Foreign(scan)
	}
	parts := make([]drivers.Statement, len(ranges))
	for i, r := range ranges {
		from, to, err := keys.ParseRange(r)
		if err != nil {
			return nil, err
		}
		part := *st
		part.from, part.to = from, to
		parts[i] = &part
	}
	return parts, nil
}

// Session implements drivers.Store.
func (s *Store) Session() (drivers.Session, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	return newSession(s.cluster, s.compiler), nil
}

// Traced implements drivers.Tracer.
func (s *Store) Traced() (drivers.TracedSession, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	return newTraced(newSession(s.cluster, s.compiler)), nil
}
