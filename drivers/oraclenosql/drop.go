package oraclenosql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
)

// owners reads all namespaces with mailbench's prefix. An empty one has no tables.
func (s *Store) owners(ctx context.Context) ([]*liveNamespace, error) {
	s.admin.Lock()
	names, err := ask(s.ddl, ctx, true, func(time.Duration) ([]string, error) { return s.ddl.client.ListNamespaces() })
	s.admin.Unlock()
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", readError(ctx, err))
	}
	slices.Sort(names)
	var all []*liveNamespace
	for _, name := range names {
		if !strings.HasPrefix(name, drivers.Prefix) {
			continue
		}
		n, err := s.readNamespace(ctx, name)
		if err != nil {
			return nil, err
		}
		if n == nil {
			n = &liveNamespace{name: name}
		}
		all = append(all, n)
	}
	return all, nil
}

// owner returns the namespace of the run that made all tables, and a table that somebody
// else made, or "".
func (n *liveNamespace) owner() (namespace, foreign string) {
	for i, path := range slices.Sorted(maps.Keys(n.tables)) {
		t := n.tables[path]
		if !t.marked || i > 0 && t.mark.Namespace != namespace {
			return namespace, path
		}
		namespace = t.mark.Namespace
	}
	return namespace, ""
}

// Namespaces implements drivers.Admin.
func (s *Store) Namespaces(ctx context.Context) ([]string, error) {
	return plan.Call(&s.gate, "list namespaces", func() ([]string, error) {
		all, err := s.owners(ctx)
		names := make(map[string]bool)
		for _, n := range all {
			if namespace, foreign := n.owner(); foreign == "" && namespace != "" {
				names[namespace] = true
			}
		}
		return slices.Sorted(maps.Keys(names)), err
	})
}

// Drop implements drivers.Admin. An empty namespace with the name of one of the store's
// goes too: a run that was killed may have made it. The server drops it only if it is
// still empty.
func (s *Store) Drop(ctx context.Context) error {
	return s.gate.During("drop", func() error { return s.drop(ctx) })
}

func (s *Store) drop(ctx context.Context) error {
	if s.gate.ReadOnly {
		return drivers.ErrReadOnly
	}
	all, err := s.owners(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range all {
		namespace, foreign := n.owner()
		named := s.namespace != "" && strings.HasPrefix(n.name, drivers.Prefix+s.namespace+"_")
		statement := ""
		switch {
		case len(n.tables) == 0 && named:
			statement = "DROP NAMESPACE IF EXISTS " + n.name
		case len(n.tables) > 0 && foreign == "" && namespace == s.namespace:
			statement = "DROP NAMESPACE IF EXISTS " + n.name + " CASCADE"
		case foreign != "" && named:
			errs = append(errs, fmt.Errorf("drop namespace %s: table %s: %w, so the namespace is left alone",
				n.name, foreign, drivers.ErrForeign))
		}
		if statement == "" {
			continue
		}
		if err := s.run(ctx, statement); err != nil {
			errs = append(errs, fmt.Errorf("drop namespace %s: %w", n.name, err))
		}
	}
	s.applied.Clear()
	return errors.Join(errs...)
}
