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

// Rows are the rows of a keyspace in the tables of system_schema.
type Rows map[string][]map[string]any

// Sources are the tables of system_schema that Read needs.
var Sources = []string{"keyspaces", "tables", "columns", "indexes", "types", "views", "triggers"}

// field returns a column of a row, or the zero value: which columns there are depends on the version.
func field[T any](row map[string]any, name string) T {
	v, _ := row[name].(T)
	return v
}

// Read reads the keyspace of the definition, with its tables in canonical form. A table without a mark gets the one
// that Apply would have written for the definition of that name; without such a definition, a mark that has only the
// table's name in CQL.
func (d *Definition) Read(rows Rows) {
	d.Name = "keyspace " + d.Keyspace
	for _, row := range rows["keyspaces"] {
		d.Absent, d.durable = false, field[bool](row, "durable_writes")
		d.existing = field[map[string]string](row, "replication")
	}
	slices.SortStableFunc(rows["columns"], func(a, b map[string]any) int {
		return cmp.Compare(field[int](a, "position"), field[int](b, "position"))
	})
	tables, outer := make(map[string]*schemas.Table), make(map[*schemas.Table][]ancestor)
	for _, row := range rows["tables"] {
		name, comment := field[string](row, "table_name"), field[string](row, "comment")
		own, marked := ReadMark(name, comment)
		td, original := d.named[name], d.Of[d.Schema.Table(own.Table)]
		marked = marked && (original == nil || original == td) // else somebody has copied it
		switch {
		case marked:
		case td != nil:
			own, _ = ReadMark(name, td.Comment)
		case d.Of[d.Schema.Table(name)] != nil: // which has another name in CQL
			own = mark{Mark: plan.Mark{Table: Quote(name)}}
		default:
			own = mark{Mark: plan.Mark{Table: name}}
		}
		d.Own(name, own.Mark, marked, d.namespace, d.Schema.Name)
		d.drops[own.Table] = cqlsh.Unsafe("removes its rows", "DROP TABLE "+d.Qualified(name))
		live := rows.table(row, own)
		live.Marked = marked
		tables[own.Table], outer[live.Table] = live.Table, own.In
		if td != nil {
			td.Live = live
		}
	}
	nest(tables, outer)
	d.Have = schemas.Canonical(&schemas.Schema{
		Name: d.Schema.Name, File: d.Name, Tables: slices.Collect(maps.Values(tables)),
	})
	for _, row := range rows["types"] {
		u, types := &schemas.UserType{Name: field[string](row, "type_name")}, field[[]string](row, "field_types")
		for i, name := range field[[]string](row, "field_names") {
			u.Fields = append(u.Fields, &schemas.Column{Name: name, Type: schemas.TypeOfCQL(types[i])})
		}
		d.Have.Types = append(d.Have.Types, u)
	}
	for _, row := range rows["views"] { // which cost every write of their table
		name, base := field[string](row, "view_name"), field[string](row, "base_table_name")
		drop := "DROP MATERIALIZED VIEW " + d.Qualified(name)
		d.drops[partName(name, "materialized view", base)] = cqlsh.Unsafe("removes its rows", drop)
	}
	for _, row := range rows["triggers"] {
		name, table := field[string](row, "trigger_name"), field[string](row, "table_name")
		d.drops[partName(name, "trigger", table)] = "DROP TRIGGER " + Quote(name) + " ON " + d.Qualified(table)
	}
}

// partName is how differences name a view or a trigger of a table.
func partName(name, what, base string) string { return fmt.Sprintf("%s (%s of %s)", name, what, base) }

// table returns a table by its name in the schema, not yet nested in others. The rows of columns are sorted by their
// position.
func (r Rows) table(row map[string]any, own mark) *TableDefinition {
	name, settings := field[string](row, "table_name"), readSettings(row)
	t := &schemas.Table{Name: own.Table, Hints: map[string]map[string]string{EngineName: settings}}
	live := &TableDefinition{
		Table: t, Name: name, Comment: field[string](row, "comment"), settings: settings, ID: fmt.Sprint(row["id"]),
	}
	roles := map[string]struct {
		role schemas.Role
		all  *[]*schemas.Column
	}{
		"partition_key": {schemas.Partition, &t.Partition}, "clustering": {schemas.Clustering, &t.Clustering},
		"static": {schemas.Static, &t.Static}, "regular": {schemas.Plain, &t.Columns},
	}
	for _, row := range r["columns"] {
		if in := roles[field[string](row, "kind")]; in.all != nil && row["table_name"] == name {
			column := field[string](row, "column_name")
			typ := own.typeOf(column, field[string](row, "type"))
			desc := row["clustering_order"] == "desc"
			*in.all = append(*in.all, &schemas.Column{Name: column, Type: typ, Role: in.role, Desc: desc})
		}
	}
	columns := make(map[string][]string) // of indexes by their names
	for _, row := range r["indexes"] {
		if row["table_name"] == name {
			x, options := &IndexDefinition{Name: field[string](row, "index_name")}, field[map[string]string](row, "options")
			x.Target = strings.ReplaceAll(options["target"], `"`, "") // of names that are keywords or have capitals
			x.Kind = kindOf(field[string](row, "kind"), options["class_name"])
			live.Indexes, columns[x.Name] = append(live.Indexes, x), []string{x.Target}
		}
	}
	settings[indexesHint] = cmp.Or(kindsOf(live.Indexes), own.Kind, legacyIndex)
	for name, cs := range own.Indexes {
		if slices.ContainsFunc(live.Indexes, func(x *IndexDefinition) bool { return x.Target == cs[len(cs)-1] }) {
			delete(columns, plan.Identifier(name))
			columns[name] = cs
		}
	}
	for name, cs := range columns {
		x := &schemas.Index{Name: name}
		for _, c := range cs { // of an index that Apply does not create there is no column, such as keys(files)
			x.Columns = append(x.Columns, schemas.IndexColumn{Column: cmp.Or(t.Column(c), &schemas.Column{Name: c})})
		}
		t.Indexes = append(t.Indexes, x)
	}
	return live
}

// nest nests tables in those that their marks name, the innermost first. A row header has no table in CQL: its key
// begins the nested table's.
func nest(tables map[string]*schemas.Table, outer map[*schemas.Table][]ancestor) {
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		inner := tables[name]
		for _, in := range outer[inner] {
			above := tables[in.Table]
			if above == nil {
				key := max(0, in.Key-len(inner.Partition))
				clustering := inner.Clustering[:min(key, len(inner.Clustering))]
				above = &schemas.Table{Name: in.Table, Partition: inner.Partition, Clustering: clustering}
				tables[in.Table] = above
			}
			at := above
			for at != nil && at != inner {
				at = at.Parent
			}
			if at != nil { // two comments contradict each other
				break
			}
			inner.Parent, inner = above, above
		}
	}
}

// customIndex is what Cassandra calls an index that has a class.
const customIndex = "CUSTOM"

// kindOf returns the kind of an index: legacy, sai, or its class.
func kindOf(kind, class string) string {
	switch {
	case kind != customIndex, class == "legacy_local_table":
		return legacyIndex
	case strings.EqualFold(class, sai) || strings.HasSuffix(class, "StorageAttachedIndex"):
		return sai
	}
	return class
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

// ReadMark reads the mark of a table from its comment. It returns false if mailbench did not write the comment for a
// table of that name, which somebody may have copied, or if somebody has changed it so that it makes no sense.
func ReadMark(table, comment string) (m mark, ok bool) {
	ok = plan.ReadMark(comment, &m)
	names := []string{m.Table}
	for _, in := range m.In {
		ok = ok && in.Table != "" && in.Key > 0 && !slices.Contains(names, in.Table)
		names = append(names, in.Table)
	}
	for _, columns := range m.Indexes {
		ok = ok && len(columns) > 0
	}
	// Below row headers a table may have the name of the outermost (tableName).
	return m, ok && slices.ContainsFunc(names, func(name string) bool { return plan.Identifier(name) == table })
}

// Marks are the marks that were read, by the keyspace and the table's name in the schema.
type Marks map[[2]string]bool

// Add reads the mark of a table. It returns false as ReadMark does, and if somebody has copied the table: from another
// keyspace, or from the table that has the same mark.
func (all Marks) Add(keyspace, table, comment string) (m mark, ours bool) {
	m, ours = ReadMark(table, comment)
	of := [2]string{keyspace, m.Table}
	ours = ours && m.IsIn(keyspace) && !all[of]
	all[of] = all[of] || ours
	return m, ours
}

// ancestor is a table that another is nested in. Key is the number of its primary
// key columns. A row header is an ancestor too, though it has no CQL table.
type ancestor struct {
	Table string `json:"table"`
	Key   int    `json:"key"`
}

// typeOf returns a column's type in the schema language. For types that CQL writes differently
// the mark has the schema's type; it does not count if somebody has changed the column.
func (m *mark) typeOf(column, cql string) schemas.Type {
	if own := schemas.TypeOf(m.Types[column]); cqlType(own) == cql {
		return own
	}
	return schemas.TypeOfCQL(cql)
}

// mark returns the text of the mark of a table.
func (td *TableDefinition) mark(namespace, schema string) string {
	t := td.Table
	m := mark{
		Mark:  plan.Mark{Namespace: namespace, Schema: schema, Table: t.Name},
		Types: make(map[string]string), Indexes: make(map[string][]string),
	}
	if kind := t.Hints[EngineName][indexesHint]; kind != legacyIndex && len(t.Indexes) > 0 {
		m.Kind = kind
	}
	for p := t.Parent; p != nil; p = p.Parent {
		m.In = append(m.In, ancestor{p.Name, len(p.Partition) + len(p.Clustering)})
	}
	for _, c := range t.All() {
		if own := c.Type.String(); schemas.TypeOfCQL(cqlType(c.Type)).String() != own {
			m.Types[c.Name] = own
		}
	}
	for _, x := range t.Indexes {
		if !t.OneColumn(x) || len(x.Columns) == 1 && td.indexes[x.Name].Name == x.Name {
			continue
		}
		for _, c := range x.Columns {
			m.Indexes[x.Name] = append(m.Indexes[x.Name], c.Column.Name)
		}
	}
	return plan.MarkText(m)
}
