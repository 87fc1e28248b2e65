// Package null is the engine that does nothing. A workload's cost on it is that of
// the harness and of the model's own CPU and allocations. It takes every pattern,
// acknowledges every write (a put-if too), never blocks, and allocates nothing
// once it has its samples.
//
// # Rows that reads return
//
// Models must do their whole work on this engine, decoding included. Otherwise the floor
// would be the cost of lookups that fail. So a table keeps samples: the rows that its
// first 25 puts, put-ifs, adds and appends wrote. A read yields samples:
//
//   - Columns that by or an element of in bind have the arguments' values. All others
//     have the sample's. A get yields one row, and so does each element of its list: the
//     sample whose last key column is the text of the argument, or else the first sample
//     that has all requested columns, or else the first.
//   - A slice yields the samples with the key prefix of the first sample, for example the
//     folders of a user or the chunks of a body. They have the order of writing, or the
//     reverse. From and to apply to int and bigint columns.
//   - A slice with after is a page. It repeats those samples up to its limit, 25 at most.
//     A page after some row is empty. So a folder is one page long, and callers that page
//     to the end reach it.
//   - A scan yields each sample once.
//   - A table that was never written yields nothing. Filters are not applied,
//     deletes delete nothing, and static columns of rows are null.
//   - An add that returns the new value returns a number that ascends over the
//     whole store, so that UIDs are unique.
//
// A read, a write or a batch is one request, and so is each element of a parallel get. Of rows
// scanned the engine reports nothing.
//
// So a read does not return the rows that were written under its key, and an audit
// means nothing (see Capabilities.Discards).
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
		Doc:  "stores nothing: measures the overhead of harness and models",
		Open: open,
	}
}

func open(_ context.Context, o drivers.Options) (drivers.Store, error) {
	for name := range o.Settings {
		return nil, fmt.Errorf("unknown setting %q: the null engine has none", name)
	}
	if o.ReadOnly {
		return nil, errors.New("the null engine stores nothing that could be read")
	}
	return &store{
		gate: plan.Gate{Engine: "null engine", Uncounted: true}, schemas: make(map[string]*schemas.Schema),
	}, nil
}

// table holds samples of a table's rows and of its static columns.
type table struct{ rows, statics samples }

type store struct {
	gate    plan.Gate
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
	return plan.Prepare(&s.gate, p, s.compile)
}

// Session implements drivers.Store.
func (s *store) Session() (drivers.Session, error) {
	if err := s.gate.Enter(); err != nil {
		return nil, err
	}
	defer s.gate.Leave()
	se := &session{store: s}
	se.Init(&s.gate, se)
	return se, nil
}

// Close implements drivers.Store.
func (s *store) Close() error {
	s.gate.Close()
	return nil
}

// most is how many writes to a table become samples, and how many rows a page without a
// limit has.
const most = 25

// mostBytes bounds the samples of a table, in bytes. The first row is kept whatever its
// size.
const mostBytes = 1 << 20

// samples are the rows that the first writes to a table made.
type samples struct {
	key, columns []*schemas.Column
	writes       atomic.Int32
	mu           sync.Mutex // held by writers
	bytes        int        // size of the kept rows
	rows         atomic.Pointer[[]sample]
}

// sample is one row. Rows are never changed, only replaced.
type sample struct {
	vals []drivers.Value // values of the key, then of the columns
	// shared is how many of the leading key columns are those of the first sample.
	shared int
}

func (t *samples) all() []sample {
	if rows := t.rows.Load(); rows != nil {
		return *rows
	}
	return nil
}

// remember keeps the row of a write, if it is one of the first.
func (t *samples) remember(st *statement, args []drivers.Value) {
	if t.writes.Load() >= most || t.writes.Add(1) > most {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	size := 0
	for i := range args {
		size += args[i].Size()
	}
	if t.bytes+size > mostBytes && t.bytes > 0 {
		return
	}
	t.bytes += size
	old := t.all()
	rows := append(make([]sample, 0, len(old)+1), old...)
	at := 0
	for at < len(rows) && shared(rows[at].vals, args[:len(t.key)]) < len(t.key) {
		at++
	}
	row := sample{vals: make([]drivers.Value, len(t.key)+len(t.columns))}
	if at < len(rows) {
		copy(row.vals, rows[at].vals)
	} else {
		rows = append(rows, row)
	}
	for i := range t.key {
		row.vals[i] = args[i].Clone()
	}
	for i, column := range st.written {
		if v := args[st.Layout.Columns+i]; !v.IsNull() {
			row.vals[column] = v.Clone()
		}
	}
	row.shared = len(t.key)
	if at > 0 {
		row.shared = shared(rows[0].vals, row.vals[:len(t.key)])
	}
	rows[at] = row
	t.rows.Store(&rows)
}

// shared returns how many leading values are the same.
func shared(a, key []drivers.Value) int {
	for i := range key {
		if !a[i].Equal(key[i]) {
			return i
		}
	}
	return len(key)
}
