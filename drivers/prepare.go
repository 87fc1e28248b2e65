package drivers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// Prepared holds a schema's statements on one store, by pattern name.
type Prepared struct {
	schema *schemas.Schema
	caps   Capabilities
	byName map[string]Statement
}

// PrepareAll prepares every pattern that the schema declares. If the engine cannot run
// one, PrepareAll prepares its declared fallback. Without a fallback only Get of the
// pattern returns an error, because a model may not need it.
// On a store that is open for reading only, patterns that write have statements that
// no session runs, so that a model that also writes can be bound and read.
// A pattern that filters by an indexed column counts as emulated if the engine keeps no
// such index and reads the rows that the filter drops.
func PrepareAll(ctx context.Context, st Store, s *schemas.Schema) (*Prepared, error) {
	set := &Prepared{schema: s, caps: st.Capabilities(), byName: make(map[string]Statement, len(s.Patterns))}
	for _, p := range s.Patterns {
		stmt, err := prepare(ctx, st, p)
		switch {
		case errors.Is(err, ErrUnsupported):
		case errors.Is(err, ErrReadOnly):
			set.byName[p.Name] = &unwritable{pattern: p}
		case err != nil:
			return nil, fmt.Errorf("prepare pattern %s of schema %s: %w", p.Name, s.Name, err)
		default:
			set.byName[p.Name] = stmt
		}
	}
	return set, nil
}

// unwritable is the statement of a pattern that writes, on a store that is open for
// reading only.
type unwritable struct {
	Emulation
	pattern *schemas.Pattern
}

// Pattern implements Statement.
func (u *unwritable) Pattern() *schemas.Pattern { return u.pattern }

func prepare(ctx context.Context, st Store, p *schemas.Pattern) (Statement, error) {
	stmt, err := st.Prepare(ctx, p)
	if err == nil {
		// An engine that keeps an index answers a filter by its first column from it.
		indexed := p.Index == nil && slices.ContainsFunc(p.Filter, func(c *schemas.Column) bool {
			return slices.ContainsFunc(p.Table.Indexes, func(x *schemas.Index) bool { return x.Columns[0].Column == c })
		})
		if caps := st.Capabilities(); indexed && !caps.PlainIndexes && !caps.EqualIndexes {
			stmt.Emulate(p)
		}
		return stmt, nil
	}
	if !errors.Is(err, ErrUnsupported) || p.Fallback == nil {
		return nil, err
	}
	if stmt, err = st.Prepare(ctx, p.Fallback); err != nil {
		return nil, fmt.Errorf("fallback %s: %w", p.Fallback.Name, err)
	}
	stmt.Emulate(p)
	return stmt, nil
}

// Get returns the statement of a declared pattern. The error wraps
// ErrUnsupported if the engine can run neither it nor a fallback. It does not if the
// schema declares no such pattern, which is a defect of the model.
func (s *Prepared) Get(name string) (Statement, error) {
	if stmt, ok := s.byName[name]; ok {
		return stmt, nil
	}
	if s.schema.Pattern(name) == nil {
		return nil, fmt.Errorf("schema %s declares no pattern %q", s.schema.Name, name)
	}
	return nil, fmt.Errorf("pattern %s of schema %s on %s: %w", name, s.schema.Name, s.caps.Engine, ErrUnsupported)
}

// Capabilities returns the store's capabilities.
func (s *Prepared) Capabilities() Capabilities { return s.caps }

// Fill sets each statement of the map to that of the pattern with its key as name. The
// error is Get's for the first pattern, in alphabetical order, without a statement.
func (s *Prepared) Fill(byName map[string]*Statement) (err error) {
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if *byName[name], err = s.Get(name); err != nil {
			return err
		}
	}
	return nil
}

// Arg returns the position of the argument of that name in calls of a pattern, or -1.
// A fallback may take the arguments of after in another order than its pattern.
func (s *Prepared) Arg(name, arg string) int {
	stmt := s.byName[name]
	if stmt == nil {
		return -1
	}
	return slices.IndexFunc(stmt.Pattern().Args(), func(a schemas.Arg) bool { return a.Name == arg })
}

// Parameter returns the value of a parameter of the schema. The error says that it has none of
// that name.
func (s *Prepared) Parameter(name string) (int, error) {
	if q := s.schema.Parameter(name); q != nil {
		return q.Value, nil
	}
	return 0, fmt.Errorf("schema %s declares no parameter %q, which its model needs", s.schema.Name, name)
}

// Conditional reports whether calls of a pattern give a condition: the fallback of
// an add may be a compare-and-set.
func (s *Prepared) Conditional(name string) bool {
	stmt := s.byName[name]
	return stmt != nil && stmt.Pattern().Kind == schemas.PutIf
}

// Emulation says which declared pattern a statement emulates. Statements embed it.
type Emulation struct{ declared *schemas.Pattern }

// Emulates implements Statement.
func (e *Emulation) Emulates() *schemas.Pattern { return e.declared }

// Emulate implements Statement.
func (e *Emulation) Emulate(declared *schemas.Pattern) { e.declared = declared }

// Portable returns an error that wraps ErrUnsupported if a schema has what only Cassandra has: types
// of CQL, and what schema import carries through. Every other engine refuses such a schema.
func Portable(s *schemas.Schema) error {
	if why := s.CassandraOnly(); why != "" {
		return fmt.Errorf("schema %s: %s, which no engine but Cassandra has: %w", s.Name, why, ErrUnsupported)
	}
	return nil
}
