package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
)

// owner says who made a keyspace, by the marks of its tables.
type owner struct {
	namespace string
	foreign   string // a table without a mark, or of another namespace; "" if there is none
}

// owners returns the owner of each keyspace that has mailbench's prefix and tables.
func (s *Store) owners(ctx context.Context) (map[string]owner, error) {
	all := make(map[string]owner)
	it := s.session.Query("SELECT keyspace_name, table_name, comment FROM system_schema.tables").WithContext(ctx).Iter()
	var keyspace, table, comment string
	for it.Scan(&keyspace, &table, &comment) {
		if !strings.HasPrefix(keyspace, drivers.Prefix) {
			continue
		}
		o, seen := all[keyspace]
		m, ok := readMark(comment)
		switch {
		case !ok || seen && o.foreign == "" && m.Namespace != o.namespace:
			o.foreign = table
		case o.foreign == "":
			o.namespace = m.Namespace
		}
		all[keyspace] = o
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("list keyspaces: %w", err)
	}
	return all, nil
}

// Namespaces implements drivers.Admin.
func (s *Store) Namespaces(ctx context.Context) ([]string, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	all, err := s.owners(ctx)
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	for _, o := range all {
		if o.foreign == "" && o.namespace != "" {
			names[o.namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// Drop implements drivers.Admin.
func (s *Store) Drop(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	defer s.leave()
	if s.readOnly {
		return fmt.Errorf("drop: %w", drivers.ErrReadOnly)
	}
	all, err := s.owners(ctx)
	if err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch o := all[name]; {
		case o.foreign == "" && o.namespace == s.namespace:
			if err := s.alter(ctx, "DROP KEYSPACE IF EXISTS "+quote(name)); err != nil {
				errs = append(errs, fmt.Errorf("drop keyspace %s: %w", name, err))
			}
		case o.foreign != "" && s.namespace != "" && strings.HasPrefix(name, drivers.Prefix+s.namespace+"_"):
			errs = append(errs, fmt.Errorf("drop keyspace %s: table %s: %w, so the keyspace is left alone",
				name, o.foreign, drivers.ErrForeign))
		}
	}
	s.applied.Clear()
	return errors.Join(errs...)
}
