package oraclenosql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
)

// owners returns the owner of each namespace that has mailbench's prefix.
func (s *Store) owners(ctx context.Context) (plan.Owners, error) {
	s.admin.Lock()
	names, err := send(s.ddl, ctx, true, func(time.Duration) ([]string, error) { return s.ddl.client.ListNamespaces() })
	s.admin.Unlock()
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", readError(ctx, err))
	}
	all := make(plan.Owners)
	for _, name := range names {
		if !strings.HasPrefix(name, drivers.Prefix) {
			continue
		}
		n, err := s.readNamespace(ctx, name)
		if err != nil {
			return nil, err
		}
		o := all.Of(name)
		if n == nil {
			continue // it has no tables
		}
		for _, path := range slices.Sorted(maps.Keys(n.tables)) {
			o.Add(path, n.tables[path].mark.Namespace, n.tables[path].marked)
		}
	}
	return all, nil
}

// Namespaces implements drivers.Admin.
func (s *Store) Namespaces(ctx context.Context) ([]string, error) {
	return plan.Call(&s.gate, "list namespaces", func() ([]string, error) {
		all, err := s.owners(ctx)
		return all.Namespaces(), err
	})
}

// Drop implements drivers.Admin. The server drops a namespace without tables only if it is still empty.
func (s *Store) Drop(ctx context.Context) error {
	return plan.Drop(&s.gate, "namespace", s.namespace, func() (plan.Owners, error) { return s.owners(ctx) },
		func(name string, o *plan.Owner) error {
			s.applied.Clear()
			statement := "DROP NAMESPACE IF EXISTS " + name
			if o.Tables > 0 {
				statement += " CASCADE"
			}
			return s.run(ctx, statement)
		})
}
