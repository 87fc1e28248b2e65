package null

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Engine returns the entry of the list of engines.
func Engine() drivers.Engine {
	return drivers.Engine{
		Name: "null",
		Doc:  "keeps nothing: the floor of harness and models",
		Open: open,
	}
}

func open(_ context.Context, o drivers.Options) (drivers.Store, error) {
	for name := range o.Settings {
		return nil, fmt.Errorf("unknown setting %q: the null engine has none", name)
	}
	if o.ReadOnly {
		return nil, errors.New("the null engine keeps nothing that could be read")
	}
	return &store{schemas: make(map[string]*schemas.Schema)}, nil
}

// table holds samples of a table's rows and of its static columns.
type table struct{ rows, statics samples }

type store struct {
	mu      sync.Mutex                 // guards schemas
	schemas map[string]*schemas.Schema // applied schemas in canonical form, by name
	tables  plan.Tables[table]
	numbers atomic.Int64 // the last number that an add returned
}

var _ drivers.Store = (*store)(nil)

// Capabilities implements drivers.Store.
func (s *store) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{
		Engine:       "null",
		Version:      "null",
		Durability:   drivers.Memory,
		Atomic:       schemas.AtomicAll,
		ReturnsNew:   true,
		PlainIndexes: true,
		InProcess:    true,
		Discards:     true,
	}
}

// Apply implements drivers.Store.
func (s *store) Apply(_ context.Context, sch *schemas.Schema) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := drivers.Portable(sch); err != nil {
		return err
	}
	stored := stored(sch)
	if there := s.schemas[sch.Name]; there != nil {
		if err := drivers.Conflict(schemas.Diff(stored, there)); err != nil {
			return fmt.Errorf("apply schema %s: %w", sch.Name, err)
		}
	}
	s.schemas[sch.Name] = stored
	tables := make(map[*schemas.Table]*table)
	for _, t := range sch.Tables {
		tables[t] = &table{
			rows:    samples{key: t.Key(), columns: t.Columns},
			statics: samples{key: t.Partition, columns: t.Static},
		}
	}
	s.tables.Add(sch, tables)
	return nil
}

// Stored implements drivers.Store.
func (s *store) Stored(sch *schemas.Schema) (*schemas.Schema, error) { return stored(sch), nil }

// stored returns the canonical form of a schema: the null engine takes all
// indexes, and no hints.
func stored(sch *schemas.Schema) *schemas.Schema {
	own := schemas.Canonical(sch)
	for _, t := range own.Tables {
		t.Hints = nil
	}
	return own
}

// Inspect implements drivers.Store.
func (s *store) Inspect(_ context.Context, name string) (*schemas.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there := s.schemas[name]; there != nil {
		return schemas.Canonical(there), nil
	}
	return nil, fmt.Errorf("inspect schema %s: it was not applied to this null engine", name)
}

// Prepare implements drivers.Store.
func (s *store) Prepare(_ context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	st, err := s.compile(p)
	if err != nil {
		return nil, fmt.Errorf("pattern %s: %w", p.Name, err)
	}
	return st, nil
}

// Session implements drivers.Store.
func (s *store) Session() (drivers.Session, error) { return &session{store: s}, nil }

// Close implements drivers.Store.
func (s *store) Close() error { return nil }
