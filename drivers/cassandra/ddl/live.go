package ddl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// LiveKeyspace is a keyspace as system_schema describes it.
type LiveKeyspace struct {
	Name        string
	Replication map[string]string     // nil: there is no such keyspace
	Durable     bool                  // writes go into the commit log
	Tables      map[string]*LiveTable // by name
	Types       []*schemas.UserType
	Parts       map[string]string // views and triggers as differences name them → the statement that drops each
}

// LiveTable is a table of a keyspace.
type LiveTable struct {
	ID      string // Cassandra gives each new table another one
	Comment string
	Mark    mark
	Marked  bool
	Columns []LiveColumn
	Indexes map[string]string // name → column
	Kinds   map[string]bool   // the kinds of its indexes: legacy, sai, or another class
	// Settings are those of ReadSettings.
	Settings map[string]string
}

// LiveColumn is a column of a table.
type LiveColumn struct {
	Name, Type string
	Kind       string // partition_key, clustering, static or regular
	Order      string // asc, desc or none
	Position   int
}

// customIndex is what Cassandra calls an index that has a class.
const customIndex = "CUSTOM"

// IndexKindOf returns the kind of an index: legacy, sai, or its class.
func IndexKindOf(kind, class string) string {
	switch {
	case kind != customIndex, class == "legacy_local_table":
		return legacyIndex
	case strings.EqualFold(class, sai) || strings.HasSuffix(class, "StorageAttachedIndex"):
		return sai
	}
	return class
}

// factor returns the number of replicas in a datacenter.
func (k *LiveKeyspace) factor(datacenter string) string {
	return cmp.Or(k.Replication[datacenter], k.Replication["replication_factor"])
}

// AddType adds a type that the keyspace defines, with the names and CQL types of its fields.
func (k *LiveKeyspace) AddType(name string, fields, types []string) {
	u := &schemas.UserType{Name: name}
	for i, field := range fields {
		u.Fields = append(u.Fields, &schemas.Column{Name: field, Type: plainType(types[i])})
	}
	k.Types = append(k.Types, u)
}

// AddView adds a materialized view, which costs every write of its table.
func (k *LiveKeyspace) AddView(name, base string) {
	drop := "DROP MATERIALIZED VIEW " + Quote(k.Name) + "." + Quote(name)
	k.Parts[partName(name, "materialized view", base)] = cqlsh.Unsafe("removes its rows", drop)
}

// AddTrigger adds a trigger of a table.
func (k *LiveKeyspace) AddTrigger(name, table string) {
	k.Parts[partName(name, "trigger", table)] = "DROP TRIGGER " + Quote(name) + " ON " + Quote(k.Name) + "." + Quote(table)
}

// partName is how differences name a view or a trigger of a table.
func partName(name, what, base string) string { return fmt.Sprintf("%s (%s of %s)", name, what, base) }

func (t *LiveTable) Indexed(column string) bool {
	return slices.Contains(slices.Collect(maps.Values(t.Indexes)), column)
}

// Schema returns the keyspace's tables in canonical form. A table without a mark gets the one that Apply would have
// written for the definition of that name; without such a definition, a mark that has only the table's name in CQL. A
// copy of a table, which has the original's mark, counts as a table without a mark.
func (k *LiveKeyspace) Schema(name string, definitions []TableDefinition) *schemas.Schema {
	tables := make(map[string]*schemas.Table)
	names := slices.Sorted(maps.Keys(k.Tables))
	for _, n := range names {
		t := k.Tables[n]
		own, marked := mark{Mark: plan.Mark{Table: n}}, t.Marked
		for _, td := range definitions {
			if td.Name == n {
				own = td.mark
			} else if td.Table.Name == t.Mark.Table {
				marked = false
			}
		}
		if !marked {
			t.Mark = own
		}
		tables[t.Mark.Table] = t.table()
	}
	for _, n := range names {
		inner := tables[k.Tables[n].Mark.Table]
		for _, in := range k.Tables[n].Mark.In {
			outer := tables[in.Table]
			if outer == nil { // a row header, which has no table: its key begins the nested table's
				key := max(0, in.Key-len(inner.Partition))
				clustering := inner.Clustering[:min(key, len(inner.Clustering))]
				outer = &schemas.Table{Name: in.Table, Partition: inner.Partition, Clustering: clustering}
				tables[in.Table] = outer
			}
			above := outer
			for above != nil && above != inner {
				above = above.Parent
			}
			if above != nil { // two comments contradict each other
				break
			}
			inner.Parent, inner = outer, outer
		}
	}
	own := schemas.Canonical(&schemas.Schema{
		Name: name, File: "keyspace " + k.Name, Tables: slices.Collect(maps.Values(tables)),
	})
	own.Types = k.Types
	return own
}

// table returns the table by its name in the schema. It is not yet nested in others.
func (t *LiveTable) table() *schemas.Table {
	settings := map[string]string{
		indexesHint: cmp.Or(strings.Join(slices.Sorted(maps.Keys(t.Kinds)), ", "), t.Mark.Kind, legacyIndex),
	}
	maps.Copy(settings, t.Settings)
	own := &schemas.Table{Name: t.Mark.Table, Hints: map[string]map[string]string{EngineName: settings}}
	roles := map[string]struct {
		role schemas.Role
		all  *[]*schemas.Column
	}{
		"partition_key": {schemas.Partition, &own.Partition}, "clustering": {schemas.Clustering, &own.Clustering},
		"static": {schemas.Static, &own.Static}, "regular": {schemas.Plain, &own.Columns},
	}
	slices.SortStableFunc(t.Columns, func(a, b LiveColumn) int { return cmp.Compare(a.Position, b.Position) })
	for _, c := range t.Columns {
		if in := roles[c.Kind]; in.all != nil {
			*in.all = append(*in.all, &schemas.Column{Name: c.Name, Type: t.typeOf(c), Role: in.role, Desc: c.Order == "desc"})
		}
	}
	columns := make(map[string][]string) // of indexes, by their names
	for name, column := range t.Indexes {
		columns[name] = []string{column}
	}
	for name, cs := range t.Mark.Indexes {
		if t.Indexed(cs[len(cs)-1]) {
			delete(columns, plan.Identifier(name))
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

// typeOf returns a column's type in the schema language. For types that CQL writes differently
// the mark has the schema's type; it does not count if somebody has changed the column.
func (t *LiveTable) typeOf(c LiveColumn) schemas.Type {
	if own := schemas.TypeOf(t.Mark.Types[c.Name]); cqlType(own) == c.Type {
		return own
	}
	return schemas.TypeOfCQL(strings.ReplaceAll(c.Type, `"`, ""))
}

// Hints returns the options that hints can set, but for ttl, in the form of hints.
func (t *LiveTable) Hints() map[string]string {
	hints := make(map[string]string)
	for _, setting := range slices.Sorted(maps.Keys(t.Settings)) {
		name, field, isMap := strings.Cut(setting, ".")
		switch value := t.Settings[setting]; {
		case carried[name] != nil || name == schemas.ExpirySetting:
		case !isMap:
			hints[name] = value
		case field == "class":
			hints[name] = strings.TrimSpace(value + " " + hints[name])
		default:
			hints[name] = strings.TrimSpace(hints[name] + " " + field + "=" + value)
		}
	}
	if t.Settings[uncompressed] == "false" {
		hints[compressionHint] = "none"
	}
	return hints
}

// mark is the mark of a table (plan.MarkText). It holds what CQL cannot say about a table;
// all else is read from system_schema.
type mark struct {
	plan.Mark
	// In are the tables that the table is nested in, innermost first.
	In []ancestor `json:"in,omitempty"`
	// Types are the types of the columns whose CQL type is another.
	Types map[string]string `json:"types,omitempty"`
	// Indexes are the columns of the indexes that look different in CQL. CQL names
	// only the last column of an index that begins with columns of the primary key.
	// Two indexes with the same last column are one in CQL.
	Indexes map[string][]string `json:"indexes,omitempty"`
	// Kind is the kind that the table's indexes are to have, if it is not legacy. It is
	// needed while the table has no index yet.
	Kind string `json:"kind,omitempty"`
}

// ancestor is a table that another is nested in. Key is the number of its primary
// key columns. A row header is an ancestor too, though it has no CQL table.
type ancestor struct {
	Table string `json:"table"`
	Key   int    `json:"key"`
}

// newMark returns the mark of a table that is created with these indexes.
func newMark(namespace, schema string, t *schemas.Table, created []IndexDefinition) mark {
	m := mark{
		Mark:  plan.Mark{Namespace: namespace, Schema: schema, Table: t.Name},
		Types: make(map[string]string), Indexes: make(map[string][]string),
	}
	if kind := indexKind(t); kind != legacyIndex && len(t.Indexes) > 0 {
		m.Kind = kind
	}
	for p := t.Parent; p != nil; p = p.Parent {
		m.In = append(m.In, ancestor{p.Name, len(p.Partition) + len(p.Clustering)})
	}
	for _, c := range slices.Concat(t.Partition, t.Clustering, t.Static, t.Columns) {
		if own := c.Type.String(); schemas.TypeOfCQL(cqlType(c.Type)).String() != own {
			m.Types[c.Name] = own
		}
	}
	for _, x := range t.Indexes {
		known := len(x.Columns) == 1 && slices.Contains(created, IndexDefinition{x.Name, x.Columns[0].Column})
		if !t.OneColumn(x) || known {
			continue
		}
		for _, c := range x.Columns {
			m.Indexes[x.Name] = append(m.Indexes[x.Name], c.Column.Name)
		}
	}
	return m
}

// ReadMark reads a table's comment; ok is false if mailbench did not write it, or
// somebody has changed it so that it makes no sense.
func ReadMark(comment string) (m mark, ok bool) {
	ok = plan.ReadMark(comment, &m) && m.Schema != "" && m.Table != ""
	names := map[string]bool{"": true, m.Table: true}
	for _, in := range m.In {
		ok = ok && !names[in.Table] && in.Key > 0
		names[in.Table] = true
	}
	for _, columns := range m.Indexes {
		ok = ok && len(columns) > 0
	}
	if !ok {
		return mark{}, false
	}
	return m, true
}
