package pebble

import (
	"context"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Compare implements drivers.Comparer. It compares only the catalog, which says all about a
// table.
func (s *Store) Compare(_ context.Context, sch *schemas.Schema) (*drivers.Comparison, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	c := &drivers.Comparison{Where: "data folder " + s.dir}
	there := &schemas.Schema{Name: sch.Name}
	if s.db == nil {
		return nil, fmt.Errorf("compare schema %s: %w", sch.Name, drivers.ErrClosed)
	}
	data, err := find(s.db, []byte(schemaKey+sch.Name), nil)
	if err != nil {
		return nil, fmt.Errorf("compare schema %s: %w", sch.Name, err)
	}
	if data == nil {
		c.Unseen = append(c.Unseen, fmt.Sprintf("There is no schema %s in %s.", sch.Name, s.dir))
	} else if _, there, err = s.readEntry(data); err != nil {
		return nil, fmt.Errorf("compare schema %s: %w", sch.Name, err)
	}
	c.Drifts = drivers.Drifts(schemas.Diff(stored(sch), stored(there)))
	for i := range c.Drifts {
		c.Drifts[i].Mend = []string{"# its tables cannot be altered: load the data into a new folder, by a run with --data"}
	}
	return c, nil
}
