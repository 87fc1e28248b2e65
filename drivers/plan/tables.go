package plan

import (
	"fmt"
	"iter"
	"sync"

	"github.com/mailbench/mailbench/schemas"
)

// Tables holds a driver's own data on each table of the schemas that were applied.
// The zero Tables is empty.
type Tables[T any] struct {
	mu     sync.RWMutex
	tables map[*schemas.Table]*T
	latest map[string]*schemas.Schema // the last one applied, by its name
}

// Add adds the tables of an applied schema. If it was added before,
// its tables stay: all statements share them.
func (ts *Tables[T]) Add(s *schemas.Schema, tables map[*schemas.Table]*T) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.tables == nil {
		ts.tables, ts.latest = make(map[*schemas.Table]*T), make(map[string]*schemas.Schema)
	}
	ts.latest[s.Name] = s
	for t, own := range tables {
		if ts.tables[t] == nil {
			ts.tables[t] = own
		}
	}
}

// Find returns the driver's data on the pattern's table.
func (ts *Tables[T]) Find(p *schemas.Pattern) (*T, error) {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	if t := ts.tables[p.Table]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("table %s does not exist: apply its schema to this store first", p.Table.Name)
}

// All yields the driver's data on each table of the schemas that were applied last.
func (ts *Tables[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		ts.mu.RLock()
		defer ts.mu.RUnlock()
		for _, s := range ts.latest {
			for _, t := range s.Tables {
				if own := ts.tables[t]; own != nil && !yield(own) { // a row header may have none
					return
				}
			}
		}
	}
}

// Clear forgets all tables.
func (ts *Tables[T]) Clear() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	clear(ts.tables)
	clear(ts.latest)
}
