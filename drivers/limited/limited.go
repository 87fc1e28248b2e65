// Package limited has the embedded engine with the limits of other engines: the driver of the other
// one says which patterns it cannot run, and its limits say how large a row, a cell and a batch may
// be. Models are tested on it without a server.
package limited

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra"
	"github.com/mailbench/mailbench/drivers/hbase"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Engines returns an engine for each that has limits. Those of rows and cells are a quarter of the real ones, so that a
// test can exceed them quickly.
func Engines() []drivers.Engine {
	return []drivers.Engine{
		// Cassandra 5.0 refuses a batch over several partitions from 50 KiB on, and any mutation from 16 MiB on.
		as(cassandra.Engine(), func(c *drivers.Capabilities) {
			c.Atomic, c.MaxCellBytes, c.MaxRowBytes, c.MaxSpreadBytes = schemas.AtomicAll, 4<<20, 4<<20, 50<<10
		}),
		// HBase refuses a cell from 10 MiB on.
		as(hbase.Engine(), func(c *drivers.Capabilities) {
			c.Atomic, c.MaxCellBytes, c.MaxRowBytes = schemas.AtomicRow, 10<<20/4, c.MaxRowBytes/4
		}),
	}
}

// as returns the embedded engine under the name of another one.
func as(other drivers.Engine, limits func(*drivers.Capabilities)) drivers.Engine {
	return drivers.Engine{
		Name: other.Name, Doc: "the embedded engine with the limits of " + other.Name,
		Open: func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
			st, err := pebble.Engine().Open(ctx, o)
			if err != nil {
				return nil, err
			}
			s := &store{Store: st, engine: other, caps: st.Capabilities()}
			s.caps.Engine, s.caps.ReturnsNew, s.caps.PlainIndexes, s.caps.EqualIndexes = other.Name, other.Name != "cassandra",
				false, true
			limits(&s.caps)
			return s, nil
		},
	}
}

// partOverhead is the approximate size that Cassandra adds to each part of a batch:
// the table, timestamps, lengths.
const partOverhead = 40

// store is a store that keeps the limits of another engine.
type store struct {
	drivers.Store
	engine  drivers.Engine // the other one
	caps    drivers.Capabilities
	compile drivers.Compiler
	schema  *schemas.Schema // that is applied
}

// Apply implements drivers.Store.
func (s *store) Apply(ctx context.Context, schema *schemas.Schema) (err error) {
	if s.compile, err = s.engine.Compile(schema, drivers.Options{}); err != nil {
		return err
	}
	s.schema = schema
	return s.Store.Apply(ctx, schema)
}

// Capabilities implements drivers.Store.
func (s *store) Capabilities() drivers.Capabilities { return s.caps }

// Prepare implements drivers.Store.
func (s *store) Prepare(ctx context.Context, p *schemas.Pattern) (drivers.Statement, error) {
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
func (s *store) Session() (drivers.Session, error) {
	inner, err := s.Store.Session()
	return &session{inner, s}, err
}

type session struct {
	drivers.Session
	store *store
}

// Read implements drivers.Session.
func (s *session) Read(ctx context.Context, st drivers.Statement, args []drivers.Value,
	yield func(row []drivers.Value) error,
) error {
	if _, err := s.store.fits(st.Pattern(), args); err != nil {
		return err
	}
	return s.Session.Read(ctx, st, args, yield)
}

// Write implements drivers.Session.
func (s *session) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	if _, err := s.store.fits(st.Pattern(), args); err != nil {
		return drivers.Result{}, err
	}
	return s.Session.Write(ctx, st, args)
}

// Batch implements drivers.Session. Without atomicity it writes its parts one by one. As on
// Cassandra, parts whose order counts are in no batch that writes to a table with conditional writes.
func (s *session) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	p, total, several := st.Pattern(), int64(0), false
	if s.store.caps.Engine == "cassandra" && (p.Atomic > schemas.AtomicNone || p.Parallel > 1) {
		conditional := func(t *schemas.Table) bool { // has conditional writes
			return slices.ContainsFunc(s.store.schema.Patterns, func(p *schemas.Pattern) bool {
				return p.Kind != schemas.Batch && p.Conditional() && p.Table.Name == t.Name
			})
		}
		if err := plan.OrderCounts(p, parts, conditional); err != nil {
			return fmt.Errorf("batch %s: %w", p.Name, err)
		}
	}
	for i := range parts {
		part := p.Parts[parts[i].Part].Pattern
		size, err := s.store.fits(part, parts[i].Args)
		if err != nil {
			return err
		}
		total += size + partOverhead
		n := len(part.Table.Partition)
		several = several || !slices.EqualFunc(parts[0].Args[:n], parts[i].Args[:n], drivers.Value.Equal)
	}
	if p.Atomic > schemas.AtomicNone {
		if limit := s.store.caps.MaxSpreadBytes; several && limit > 0 && total > limit {
			return fmt.Errorf("batch %s of %d bytes: %w", p.Name, total, drivers.ErrTooLarge)
		}
		return s.Session.Batch(ctx, st, parts)
	}
	applied, err := plan.Writes(len(parts), 1, func(i int) error { return s.Session.Batch(ctx, st, parts[i:i+1]) })
	return plan.PartsApplied(err, applied, len(parts))
}

// fits checks the size of a row's cells, and the size of all its values together, which it returns.
func (s *store) fits(p *schemas.Pattern, args []drivers.Value) (size int64, err error) {
	if s.caps.Engine == "cassandra" && p.Table != nil && len(p.Table.Partition) == 1 && len(p.By) > 0 && p.Index == nil &&
		args[0].Size() == 0 && (args[0].Kind() == schemas.Text || args[0].Kind() == schemas.Blob) {
		return 0, fmt.Errorf("pattern %s: key may not be empty", p.Name) // as Cassandra says
	}
	for _, v := range args {
		size += int64(v.Size())
		cells := v.Elems()
		if cells == nil {
			cells = []drivers.Value{v}
		}
		for _, c := range cells {
			if int64(c.Size()) > s.caps.MaxCellBytes {
				return 0, fmt.Errorf("pattern %s: a value of %d bytes: %w", p.Name, c.Size(), drivers.ErrTooLarge)
			}
		}
	}
	if size > s.caps.MaxRowBytes {
		err = fmt.Errorf("pattern %s: %d bytes: %w", p.Name, size, drivers.ErrTooLarge)
	}
	return size, err
}
