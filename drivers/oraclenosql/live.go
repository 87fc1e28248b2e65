package oraclenosql

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oracle/nosql-go-sdk/nosqldb"
	"github.com/oracle/nosql-go-sdk/nosqldb/nosqlerr"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// liveTable is a table as the server describes it.
type liveTable struct {
	Comment    string      `json:"comment"`
	Fields     []liveField `json:"fields"`
	PrimaryKey []string    `json:"primaryKey"`
	ShardKey   []string    `json:"shardKey"`
	Indexes    []liveIndex `json:"indexes"`

	mark   mark
	marked bool
}

// liveField is a column of it, or the elements of a collection.
type liveField struct {
	Name       string     `json:"name"`
	Type       string     `json:"type"`
	Precision  int        `json:"precision"`
	AsUUID     bool       `json:"as uuid"`
	Collection *liveField `json:"collection"`
}

// liveIndex is an index of it.
type liveIndex struct {
	Name   string `json:"name"`
	Fields []struct {
		Path string `json:"path"`
	} `json:"fields"`
}

// liveTables are the tables of a namespace as the server has them, by their paths.
type liveTables map[string]*liveTable

// readNamespace reads the tables of a namespace. There are none if there is no such namespace.
func (s *Store) readNamespace(ctx context.Context, name string) (liveTables, error) {
	list, err := onDDL(ctx, s, func(c *nosqldb.Client, left time.Duration) (*nosqldb.ListTablesResult, error) {
		return c.ListTables(&nosqldb.ListTablesRequest{Namespace: name, Timeout: left})
	})
	if err != nil {
		if is(err, nosqlerr.ResourceNotFound) || strings.Contains(err.Error(), "amespace") &&
			strings.Contains(err.Error(), "not") {
			return nil, nil
		}
		return nil, fmt.Errorf("list the tables of namespace %s: %w", name, err)
	}
	all := make(liveTables)
	for _, path := range list.Tables {
		if _, own, qualified := strings.Cut(path, ":"); qualified {
			path = own
		}
		full, t := name+":"+path, new(liveTable)
		r, err := onDDL(ctx, s, func(c *nosqldb.Client, left time.Duration) (*nosqldb.TableResult, error) {
			return c.GetTable(&nosqldb.GetTableRequest{TableName: full, Timeout: left})
		})
		if is(err, nosqlerr.TableNotFound) {
			continue // it was dropped meanwhile
		}
		if err == nil {
			err = json.Unmarshal([]byte(r.Schema), t)
		}
		if err != nil {
			return nil, fmt.Errorf("describe table %s: %w", full, err)
		}
		if t.marked = plan.ReadMark(t.Comment, &t.mark); !t.marked {
			t.mark = mark{Mark: plan.Mark{Table: path}}
		}
		all[path] = t
	}
	return all, nil
}

// sqlType writes a field's type as the DDL does.
func (f *liveField) sqlType() string {
	switch {
	case f.AsUUID:
		return "STRING AS UUID"
	case f.Type == "TIMESTAMP":
		return fmt.Sprintf("TIMESTAMP(%d)", f.Precision)
	case f.Collection != nil:
		return f.Type + "(" + f.Collection.sqlType() + ")"
	}
	return f.Type
}

// column returns a field as a column of the schema. The mark says its name and type; the
// type does not count if somebody has changed the field.
func (t *liveTable) column(name string, role schemas.Role) *schemas.Column {
	at := slices.IndexFunc(t.Fields, func(f liveField) bool { return strings.EqualFold(f.Name, name) })
	c := &schemas.Column{Name: name, Role: role}
	if at < 0 {
		return c
	}
	f := t.Fields[at]
	c.Name = f.Name
	typ := f.sqlType()
	if own, ok := t.mark.Columns[f.Name]; ok {
		c.Name, c.Desc, c.Type = cmp.Or(own.Name, f.Name), own.Desc, schemas.TypeOf(own.Type)
		if c.Type.Foreign == "" {
			if want, _ := fieldOf(c).columnType(); want == typ {
				return c
			}
		}
	}
	c.Type = schemas.Type{Foreign: typ + " of Oracle"}
	for _, text := range []string{"text", "blob", "int", "bigint", "boolean", "timestamp", "uuid"} {
		plain := field{typ: schemas.TypeOf(text)}
		if of, _ := plain.columnType(); of == typ {
			c.Type = plain.typ
		}
	}
	return c
}

// Stored implements drivers.Store. Oracle keeps every table, and the indexes over columns
// that it can index.
func (s *Store) Stored(sch *schemas.Schema) (*schemas.Schema, error) {
	if _, err := newLayout(sch, "", ""); err != nil {
		return nil, err
	}
	return plan.Stored(sch, keeps), nil
}

// schema returns the tables in canonical form.
func (all liveTables) schema(name, file string) *schemas.Schema {
	tables := make(map[string]*schemas.Table)            // by their names in the schema
	for _, path := range slices.Sorted(maps.Keys(all)) { // parents first
		live := all[path]
		own := tables[live.mark.Table]
		if own == nil {
			own = &schemas.Table{Name: live.mark.Table}
			if up := all[path[:max(0, strings.LastIndexByte(path, '.'))]]; up != nil {
				own.Parent = tables[up.mark.Table]
			}
			tables[own.Name] = own
		}
		live.into(own)
	}
	return schemas.Canonical(&schemas.Schema{Name: name, File: file, Tables: slices.Collect(maps.Values(tables))})
}

// into adds what a table of Oracle has to the schema's table.
func (t *liveTable) into(own *schemas.Table) {
	var partition, clustering, columns []*schemas.Column
	for _, name := range t.ShardKey { // with which the primary key begins
		partition = append(partition, t.column(name, schemas.Partition))
	}
	for _, name := range t.PrimaryKey[min(len(t.ShardKey), len(t.PrimaryKey)):] {
		clustering = append(clustering, t.column(name, schemas.Clustering))
	}
	role := schemas.Plain
	if t.mark.Static {
		role = schemas.Static
	}
	for _, f := range t.Fields {
		if !slices.ContainsFunc(t.PrimaryKey, func(name string) bool { return strings.EqualFold(name, f.Name) }) {
			columns = append(columns, t.column(f.Name, role))
		}
	}
	if t.mark.Static { // the table of rows follows
		own.Partition, own.Static = partition, columns
		return
	}
	own.Partition, own.Clustering, own.Columns = partition, clustering, columns
	for _, x := range t.Indexes {
		m := t.mark.Indexes[x.Name]
		index := &schemas.Index{Name: cmp.Or(m.Name, x.Name)}
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
	at := slices.IndexFunc(l.all, func(t *table) bool { return t.of.Name == d.Table && !t.static })
	if at < 0 {
		if d.Kind == schemas.ExtraTable {
			return []string{sqlShell.Unsafe("removes its rows", "DROP TABLE "+l.namespace+":"+d.Table)}
		}
		return nil
	}
	t := l.all[at]
	drop := fmt.Sprintf("DROP INDEX %s ON %s", identifier(d.Part), t.full)
	switch d.Kind {
	case schemas.MissingTable: // with that of its static columns, and the parents that have no rows
		for up := t; up != nil; up = up.parent {
			if up.of == t.of || up.of.Header() {
				all = append(all, up.create(plan.MarkText(up.mark(l.run, l.schema.Name))))
			}
		}
		slices.Reverse(all)
		for _, x := range t.kept {
			all = append(all, t.createIndex(x))
		}
		return all
	case schemas.MissingIndex:
		return []string{t.createIndex(t.of.Index(d.Part))}
	case schemas.ExtraIndex:
		return []string{drop}
	case schemas.DifferentIndex:
		if columns := strings.NewReplacer(" desc", ""); columns.Replace(d.Want) != columns.Replace(d.Have) {
			return []string{drop, t.createIndex(t.of.Index(d.Part))} // else it is the table's comment that differs
		}
	case schemas.MissingColumn:
		if c := t.of.Column(d.Part); slices.Contains(t.columns, c) { // and not static
			typ, _ := fieldOf(c).columnType()
			return []string{fmt.Sprintf("ALTER TABLE %s (ADD %s %s)", t.full, identifier(c.Name), typ)}
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
	m := mark{
		Mark: plan.Mark{Namespace: namespace, Schema: schema, Table: t.of.Name}, Static: t.static,
		Columns: make(map[string]markColumn), Indexes: make(map[string]markIndex),
	}
	for _, c := range slices.Concat(t.fullKey, t.columns) {
		m.Columns[identifier(c.Name)] = markColumn{Name: renamed(c.Name), Type: c.Type.String(), Desc: c.Desc}
	}
	for _, x := range t.kept {
		own := markIndex{Name: renamed(x.Name)}
		for _, c := range x.Columns {
			if c.Desc {
				own.Desc = append(own.Desc, c.Column.Name)
			}
		}
		if own.Name != "" || len(own.Desc) > 0 {
			m.Indexes[identifier(x.Name)] = own
		}
	}
	return m
}

// renamed returns a name if Oracle has another for it, or "".
func renamed(name string) string {
	if identifier(name) == name {
		return ""
	}
	return name
}

// keeps reports whether Oracle keeps an index.
func keeps(x *schemas.Index) bool { return !slices.ContainsFunc(x.Columns, notIndexable) }
