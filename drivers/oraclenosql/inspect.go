package oraclenosql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Stored implements drivers.Store. Oracle keeps every table, and the indexes over columns
// that it can index.
func (s *Store) Stored(sch *schemas.Schema) (*schemas.Schema, error) { return stored(sch) }

func stored(sch *schemas.Schema) (*schemas.Schema, error) {
	if _, err := newLayout(sch, ""); err != nil {
		return nil, err
	}
	own := schemas.Canonical(sch)
	for _, t := range own.Tables {
		if err := checkHints(t); err != nil {
			return nil, fmt.Errorf("schema %s: %w", sch.Name, err)
		}
		t.Hints = nil
		t.Indexes = (&table{of: t, parent: &table{}}).kept()
	}
	return own, nil
}

// Inspect implements drivers.Store.
func (s *Store) Inspect(ctx context.Context, name string) (*schemas.Schema, error) {
	if err := s.enter(); err != nil {
		return nil, fmt.Errorf("inspect schema %s: %w", name, err)
	}
	defer s.leave()
	sch, err := s.inspect(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("inspect schema %s: %w", name, err)
	}
	return sch, nil
}

func (s *Store) inspect(ctx context.Context, name string) (*schemas.Schema, error) {
	n, err := s.readNamespace(ctx, s.place(name))
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, fmt.Errorf("there is no namespace %s with tables", s.place(name))
	}
	if s.keyspace == "" {
		if err := n.owned(s.namespace, name); err != nil {
			return nil, err
		}
	}
	return n.schema(name), nil
}

// place returns the namespace of a schema.
func (s *Store) place(schema string) string {
	if s.keyspace != "" {
		return s.keyspace
	}
	return namespaceOf(s.namespace, schema)
}

// owned returns an error if somebody else made one of the namespace's tables.
func (n *liveNamespace) owned(namespace, schema string) error {
	for _, path := range slices.Sorted(maps.Keys(n.tables)) {
		t := n.tables[path]
		if !t.marked || t.mark.Namespace != namespace || t.mark.Schema != schema {
			return fmt.Errorf("namespace %s: table %s: %w", n.name, path, drivers.ErrForeign)
		}
	}
	return nil
}

// schema returns the namespace's tables in canonical form.
func (n *liveNamespace) schema(name string) *schemas.Schema {
	tables := make(map[string]*schemas.Table) // by their names in the schema
	in := make(map[string]string)
	for _, path := range slices.Sorted(maps.Keys(n.tables)) {
		live := n.tables[path]
		own := live.mark.Table
		if !live.marked {
			own = path
		}
		t := tables[own]
		if t == nil {
			t = &schemas.Table{Name: own}
			tables[own] = t
		}
		live.into(t)
		in[own] = live.mark.In
		if !live.marked && strings.Contains(path, ".") {
			in[own] = path[:strings.LastIndexByte(path, '.')]
		}
	}
	for own, parent := range in {
		for up := parent; up != own && tables[own].Parent == nil; up = in[up] {
			if up == "" || tables[up] == nil {
				tables[own].Parent = tables[parent]
				break
			}
		}
	}
	return schemas.Canonical(&schemas.Schema{
		Name: name, File: "namespace " + n.name, Tables: slices.Collect(maps.Values(tables)),
	})
}

// into adds what a table of Oracle has to the schema's table.
func (t *liveTable) into(own *schemas.Table) {
	key := make(map[string]bool)
	var partition, clustering []*schemas.Column
	for i, name := range t.PrimaryKey {
		key[strings.ToLower(name)] = true
		if i < len(t.ShardKey) {
			partition = append(partition, t.column(name, schemas.Partition))
		} else {
			clustering = append(clustering, t.column(name, schemas.Clustering))
		}
	}
	role := schemas.Plain
	if t.mark.Static {
		role = schemas.Static
	}
	var columns []*schemas.Column
	for _, f := range t.Fields {
		if !key[strings.ToLower(f.Name)] {
			columns = append(columns, t.column(f.Name, role))
		}
	}
	if t.mark.Static {
		own.Static = columns
		if own.Partition == nil {
			own.Partition = partition
		}
		return
	}
	own.Partition, own.Clustering, own.Columns = partition, clustering, columns
	for _, x := range t.Indexes {
		index := &schemas.Index{Name: x.Name}
		m := t.mark.Indexes[x.Name]
		if m.Name != "" {
			index.Name = m.Name
		}
		for _, f := range x.Fields {
			c := t.column(f.Path, schemas.Plain)
			if found := own.Column(c.Name); found != nil {
				c = found
			}
			index.Columns = append(index.Columns, schemas.IndexColumn{Column: c, Desc: slices.Contains(m.Desc, c.Name)})
		}
		own.Indexes = append(own.Indexes, index)
	}
}
