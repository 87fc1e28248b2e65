package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// Stored implements drivers.Store. Cassandra keeps every table, the indexes for
// which schemas.Table.OneColumn is true, the options that hints set, each as a setting of
// its own (compaction.class), and how long rows live.
func (s *Store) Stored(sch *schemas.Schema) (*schemas.Schema, error) {
	own, err := stored(sch)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", sch.Name, err)
	}
	return own, nil
}

func stored(sch *schemas.Schema) (*schemas.Schema, error) {
	own := schemas.Canonical(sch)
	for _, t := range own.Tables {
		options, err := options(t)
		if err != nil {
			return nil, err
		}
		kind, err := indexKind(t)
		if err != nil {
			return nil, err
		}
		t.Indexes = slices.DeleteFunc(t.Indexes, func(x *schemas.Index) bool { return !t.OneColumn(x) })
		t.Hints = nil
		if t.Header() {
			continue
		}
		settings := map[string]string{schemas.ExpirySetting: "0"}
		if len(t.Indexes) > 0 {
			settings[indexesHint] = kind
		}
		for _, o := range options {
			addSettings(settings, o.name, o.number, o.fields)
		}
		t.Hints = map[string]map[string]string{engineName: settings}
	}
	return own, nil
}

// addSettings adds an option: a number, or the fields of a map.
func addSettings(settings map[string]string, name, number string, fields map[string]string) {
	if fields == nil {
		settings[name] = number
	}
	for k, v := range fields {
		if k == "class" {
			v = v[strings.LastIndexByte(v, '.')+1:] // the engine names classes in full
		}
		settings[name+"."+k] = v
	}
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
	keyspace, err := Keyspace(s.namespace, name)
	if err != nil {
		return nil, err
	}
	if s.keyspace != "" {
		keyspace = s.keyspace
	}
	k, err := s.readKeyspace(ctx, keyspace)
	if err != nil {
		return nil, fmt.Errorf("read keyspace %s: %w", keyspace, err)
	}
	if k == nil || len(k.tables) == 0 {
		return nil, fmt.Errorf("there is no keyspace %s with tables", keyspace)
	}
	if s.keyspace != "" {
		k.markAs(nil)
	} else if err := k.owned(s.namespace, name); err != nil {
		return nil, err
	}
	return k.schema(name), nil
}

// schema returns the keyspace's tables in canonical form.
func (k *liveKeyspace) schema(name string) *schemas.Schema {
	tables := make(map[string]*schemas.Table)
	names := slices.Sorted(maps.Keys(k.tables))
	for _, n := range names {
		t := k.tables[n]
		tables[t.mark.Table] = t.table()
	}
	for _, n := range names {
		inner := tables[k.tables[n].mark.Table]
		for _, in := range k.tables[n].mark.In {
			outer := tables[in.Table]
			if outer == nil { // a row header, which has no table: its key begins the nested table's
				key := max(0, in.Key-len(inner.Partition))
				clustering := inner.Clustering[:min(key, len(inner.Clustering))]
				outer = &schemas.Table{Name: in.Table, Partition: inner.Partition, Clustering: clustering}
				tables[in.Table] = outer
			}
			if within(outer, inner) { // two comments contradict each other
				break
			}
			inner.Parent, inner = outer, outer
		}
	}
	return schemas.Canonical(&schemas.Schema{
		Name: name, File: "keyspace " + k.name,
		Tables: slices.Collect(maps.Values(tables)),
	})
}

// within reports whether a table is another or nested in it.
func within(t, other *schemas.Table) bool {
	for t != nil && t != other {
		t = t.Parent
	}
	return t != nil
}

// table returns the table by its name in the schema. It is not yet nested in others.
func (t *liveTable) table() *schemas.Table {
	settings := map[string]string{schemas.ExpirySetting: strconv.Itoa(t.expiry)}
	settings[indexesHint] = cmp.Or(strings.Join(slices.Sorted(maps.Keys(t.kinds)), ", "), t.mark.Kind, legacyIndex)
	for name, number := range t.numbers {
		addSettings(settings, name, number, nil)
	}
	for name, fields := range t.fields {
		addSettings(settings, name, "", fields)
	}
	own := &schemas.Table{
		Name: t.mark.Table, Hints: map[string]map[string]string{engineName: settings},
		Partition: t.roles("partition_key", schemas.Partition), Clustering: t.roles("clustering", schemas.Clustering),
		Static: t.roles("static", schemas.Static), Columns: t.roles("regular", schemas.Plain),
	}
	columns := make(map[string][]string) // of indexes, by their names
	for name, column := range t.indexes {
		columns[name] = []string{column}
	}
	for name, cs := range t.mark.Indexes {
		if t.indexed(cs[len(cs)-1]) {
			delete(columns, cqlName(name))
			columns[name] = cs
		}
	}
	for name, cs := range columns {
		x := &schemas.Index{Name: name}
		for _, c := range cs {
			column := own.Column(c)
			if column == nil { // an index that Apply does not create, such as keys(files)
				column = &schemas.Column{Name: c}
			}
			x.Columns = append(x.Columns, schemas.IndexColumn{Column: column})
		}
		own.Indexes = append(own.Indexes, x)
	}
	return own
}

// roles returns the columns of a kind.
func (t *liveTable) roles(kind string, role schemas.Role) []*schemas.Column {
	var cs []*schemas.Column
	for _, c := range t.ofKind(kind) {
		cs = append(cs, &schemas.Column{Name: c.name, Type: t.typeOf(c), Role: role, Desc: c.order == "desc"})
	}
	return cs
}

// typeOf returns a column's type in the schema language. For types that CQL writes differently
// the mark has the schema's type; it does not count if somebody has changed the column.
func (t *liveTable) typeOf(c liveColumn) schemas.Type {
	if own := schemas.TypeOf(t.mark.Types[c.name]); cqlType(own) == c.typ {
		return own
	}
	typ := schemas.TypeOf(c.typ)
	if typ.Foreign == "" && cqlType(typ) != c.typ { // CQL's timestamp counts milliseconds
		return schemas.Type{Foreign: c.typ + " of CQL"}
	}
	return typ
}

// hints returns the table's options in the form of hints.
func (t *liveTable) hints() map[string]string {
	hints := maps.Clone(t.numbers)
	for name, fields := range t.fields {
		var words []string
		for _, k := range slices.Sorted(maps.Keys(fields)) {
			if k != "class" {
				words = append(words, k+"="+fields[k])
			}
		}
		if class := fields["class"]; class != "" {
			words = slices.Insert(words, 0, class[strings.LastIndexByte(class, '.')+1:])
		}
		if name == "compression" && fields["enabled"] == "false" {
			words = []string{"none"}
		}
		hints[name] = strings.Join(words, " ")
	}
	return hints
}
