package plan

import (
	"fmt"
	"iter"
	"maps"
	"sync"

	"github.com/mailbench/mailbench/schemas"
)

// Tables holds a driver's own data on each table of the schemas that were applied.
// The zero Tables is empty.
type Tables[T any] struct {
	mu     sync.RWMutex
	byName map[string]*schemas.Schema // the first one applied, by its name
	tables map[*schemas.Table]*T
}

// Add adds the tables of an applied schema. If an equal schema was added before,
// its tables stay: all statements share them.
func (ts *Tables[T]) Add(s *schemas.Schema, tables map[*schemas.Table]*T) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.tables == nil {
		ts.byName, ts.tables = make(map[string]*schemas.Schema), make(map[*schemas.Table]*T)
	}
	if before := ts.byName[s.Name]; before != nil && Same(before, s) {
		return
	}
	ts.byName[s.Name] = s
	maps.Copy(ts.tables, tables)
}

// Same reports whether two schemas are equal in all that drivers use.
func Same(a, b *schemas.Schema) bool { return string(schemas.Format(a)) == string(schemas.Format(b)) }

// Find returns the driver's data on the pattern's table. The pattern may be of another
// parse of the applied schema. Find returns the pattern with the tables and columns of
// the applied one.
func (ts *Tables[T]) Find(p *schemas.Pattern) (*schemas.Pattern, *T, error) {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	if t := ts.tables[p.Table]; t != nil {
		return p, t, nil
	}
	s := ts.byName[p.Table.Schema]
	if s == nil {
		return nil, nil, fmt.Errorf("table %s does not exist: apply its schema to this store first", p.Table.Name)
	}
	own, err := s.Own(p)
	if err != nil {
		return nil, nil, err
	}
	return own, ts.tables[own.Table], nil
}

// All yields the driver's data on each table.
func (ts *Tables[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		ts.mu.RLock()
		defer ts.mu.RUnlock()
		for _, t := range ts.tables {
			if !yield(t) {
				return
			}
		}
	}
}

// Clear forgets all tables.
func (ts *Tables[T]) Clear() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	clear(ts.byName)
	clear(ts.tables)
}
