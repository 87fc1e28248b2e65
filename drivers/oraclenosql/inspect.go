package oraclenosql

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Stored implements drivers.Store. Oracle keeps every table, and the indexes over columns
// that it can index.
func (s *Store) Stored(sch *schemas.Schema) (*schemas.Schema, error) {
	l, err := newLayout(sch, "", "")
	if err != nil {
		return nil, err
	}
	return l.stored()
}

// stored returns the layout's schema as it is after Apply.
func (l *layoutOf) stored() (*schemas.Schema, error) {
	own := schemas.Canonical(l.schema)
	for _, t := range own.Tables {
		if err := checkHints(t); err != nil {
			return nil, fmt.Errorf("schema %s: %w", l.schema.Name, err)
		}
		t.Hints = nil
		t.Indexes = (&table{of: t, parent: &table{}}).kept()
	}
	return own, nil
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

// sqlShell is the shell that takes the statements.
var sqlShell = drivers.Shell{Comment: "#", End: ";"}

// statements returns the statements of a change. One that would remove data is a comment, and so is what no
// statement does.
func (l *layoutOf) statements(d schemas.Difference) (all []string) {
	at := slices.IndexFunc(l.all, func(t *table) bool { return t.of.Name == d.Table && !t.isStatic() })
	if at < 0 {
		if d.Kind == schemas.ExtraTable {
			return []string{sqlShell.Unsafe("removes its rows", "DROP TABLE "+l.namespace+":"+d.Table)}
		}
		return nil
	}
	t := l.all[at]
	switch d.Kind {
	case schemas.MissingTable: // with that of its static columns, and the parents that have no rows
		for up := t; up != nil; up = up.parent {
			if up.of == t.of || up.of.Header() {
				all = append(all, up.create(plan.MarkText(up.mark(l.run, l.schema.Name))))
			}
		}
		slices.Reverse(all)
		for _, x := range t.kept() {
			all = append(all, t.createIndex(x))
		}
		return all
	case schemas.MissingIndex:
		for _, x := range t.kept() {
			if x.Name == d.Part {
				return []string{t.createIndex(x)}
			}
		}
	case schemas.ExtraIndex:
		return []string{fmt.Sprintf("DROP INDEX %s ON %s", identifier(d.Part), t.full)}
	case schemas.MissingColumn:
		for _, c := range t.columns {
			if c.Name == d.Part {
				typ, _ := columnType(c)
				return []string{fmt.Sprintf("ALTER TABLE %s (ADD %s %s)", t.full, identifier(c.Name), typ)}
			}
		}
	case schemas.ExtraColumn:
		statement := fmt.Sprintf("ALTER TABLE %s (DROP %s)", t.full, identifier(d.Part))
		return []string{sqlShell.Unsafe("removes its values", statement)}
	}
	return []string{"# no statement changes this: re-create the table, and copy its rows"}
}

// mark is the mark of a table (plan.MarkText). It holds what Oracle does not know of a table; all
// else is read from the server.
type mark struct {
	plan.Mark
	Static bool `json:"static,omitempty"` // it has the static columns of the table
	// In is the table that it is nested in, or "".
	In string `json:"in,omitempty"`
	// Columns are the key, static and plain columns, by Oracle's name of each.
	Columns map[string]markColumn `json:"columns"`
	// Indexes are the columns of each index, those that descend with " desc".
	Indexes map[string]markIndex `json:"indexes,omitempty"`
}

// markColumn is a column in the schema's terms. Type is the schema's type.
type markColumn struct {
	Name string `json:"name,omitempty"` // if Oracle has another
	Type string `json:"type"`
	Desc bool   `json:"desc,omitempty"`
}

// markIndex is an index in the schema's terms.
type markIndex struct {
	Name string   `json:"name,omitempty"` // if Oracle has another
	Desc []string `json:"desc,omitempty"` // the columns that descend
}

func (t *table) mark(namespace, schema string) mark {
	m := mark{Mark: plan.Mark{Namespace: namespace, Schema: schema, Table: t.of.Name}, Static: t.isStatic()}
	m.Columns = make(map[string]markColumn)
	if t.of.Parent != nil {
		m.In = t.of.Parent.Name
	}
	for _, c := range slices.Concat(t.fullKey(), t.columns) {
		own := markColumn{Type: c.Type.String(), Desc: c.Desc}
		if id := identifier(c.Name); id != c.Name {
			own.Name = c.Name
		}
		m.Columns[identifier(c.Name)] = own
	}
	for _, x := range t.kept() {
		own := markIndex{}
		if id := identifier(x.Name); id != x.Name {
			own.Name = x.Name
		}
		for _, c := range x.Columns {
			if c.Desc {
				own.Desc = append(own.Desc, c.Column.Name)
			}
		}
		if own.Name != "" || len(own.Desc) > 0 {
			if m.Indexes == nil {
				m.Indexes = make(map[string]markIndex)
			}
			m.Indexes[identifier(x.Name)] = own
		}
	}
	return m
}

// isStatic reports whether the table has the static columns of the schema's table.
func (t *table) isStatic() bool { return len(t.of.Static) > 0 && t.parent == nil }

// kept returns the indexes that Oracle keeps of the table.
func (t *table) kept() []*schemas.Index {
	if t.isStatic() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.of.Indexes), func(x *schemas.Index) bool {
		return slices.ContainsFunc(x.Columns, func(c schemas.IndexColumn) bool { return !indexable(c.Column) })
	})
}

// readMark reads a table's comment; ok is false if mailbench did not write it, or somebody
// has changed it so that it makes no sense.
func readMark(comment string) (m mark, ok bool) {
	if !plan.ReadMark(comment, &m) || m.Schema == "" || m.Table == "" || m.In == m.Table {
		return mark{}, false
	}
	return m, true
}
