package oraclenosql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/render"
	"github.com/mailbench/mailbench/schemas"
)

// renderSQL writes the statements that create a schema, as the SQL shell takes them.
func renderSQL(s *schemas.Schema, o drivers.Options) (string, error) {
	if _, err := readSettings(o.Settings); err != nil {
		return "", err
	}
	namespace := namespaceOf(o.Namespace, s.Name)
	l, err := newLayout(s, namespace)
	if err != nil {
		return "", err
	}
	t := render.New("#")
	t.Head(s, fmt.Sprintf("The DDL of Oracle NoSQL Database for the schema %s. The Cloud Service has no namespaces: "+
		"leave %s: out there.",
		s.Name, namespace))
	t.Statement("\nCREATE NAMESPACE IF NOT EXISTS " + namespace + ";")
	for _, table := range l.all {
		t.Table(table.of)
		for _, note := range table.allNotes() {
			t.Comment(note)
		}
		t.Statement(table.create(namespace, "") + ";")
		if table.of.Static == nil || table.parent != nil { // the rows are indexed, not the static columns
			table.indexes(t)
		}
	}
	return t.String(), nil
}

// allNotes returns sentences on how the table differs from the schema's.
func (t *table) allNotes() []string {
	notes := slices.Clone(t.notes)
	if t.of.Header() {
		notes = append(notes, "It has no rows: the tables nested in it need a parent.")
	}
	var desc []string
	for _, c := range slices.Concat(t.shard, t.key, t.columns) {
		if id := identifier(c.Name); id != c.Name {
			notes = append(notes, fmt.Sprintf("Column %s is called %s: SQL does not take its name.", c.Name, id))
		}
		if _, note := columnType(c); note != "" {
			notes = append(notes, fmt.Sprintf("Column %s %s.", c.Name, note))
		}
		if c.Desc {
			desc = append(desc, c.Name+" DESC")
		}
	}
	if len(desc) > 0 {
		note := "Keys ascend: reads say ORDER BY " + strings.Join(desc, ", ") + " and go backwards."
		if len(desc) < len(t.key) {
			note = "Keys ascend: the order " + strings.Join(desc, ", ") + ", with other key columns ascending, needs a sort."
		}
		notes = append(notes, note)
	}
	return notes
}

// create returns the statement that creates the table. A child table inherits the key
// columns of its parents and does not name them. A comment has no single quotes.
func (t *table) create(namespace, comment string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s:%s ", namespace, t.path)
	if comment != "" {
		fmt.Fprintf(&b, "COMMENT '%s' ", comment)
	}
	b.WriteString("(\n")
	own := t.key
	if t.parent == nil {
		own = slices.Concat(t.shard, t.key)
	}
	for _, c := range slices.Concat(own, t.columns) {
		typ, _ := columnType(c)
		fmt.Fprintf(&b, "  %s %s,\n", identifier(c.Name), typ)
	}
	key := names(t.key)
	if t.parent == nil {
		key = strings.TrimSuffix("SHARD("+names(t.shard)+"), "+key, ", ")
	}
	fmt.Fprintf(&b, "  PRIMARY KEY(%s)\n)", key)
	return b.String()
}

// indexes writes the statements that create the table's indexes.
func (t *table) indexes(text *render.Text) {
	for _, x := range t.of.Indexes {
		var cs []*schemas.Column
		var desc int
		for _, c := range x.Columns {
			cs = append(cs, c.Column)
			if c.Desc {
				desc++
			}
		}
		if i := slices.IndexFunc(cs, func(c *schemas.Column) bool { return !indexable(c) }); i >= 0 {
			text.Comment(fmt.Sprintf("Index %s is left out: no index is over %s, which is %s.", x.Name, cs[i].Name, cs[i].Type))
			continue
		}
		if desc > 0 {
			text.Comment(fmt.Sprintf("Index %s ascends: reads go backwards.", x.Name))
		}
		text.Statement(t.createIndex(x) + ";")
	}
}

func (t *table) createIndex(x *schemas.Index) string {
	var ids []string
	for _, c := range x.Columns {
		ids = append(ids, identifier(c.Column.Name))
	}
	return fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (%s)", identifier(x.Name), t.full, strings.Join(ids, ", "))
}

func names(cs []*schemas.Column) string {
	var ids []string
	for _, c := range cs {
		ids = append(ids, identifier(c.Name))
	}
	return strings.Join(ids, ", ")
}
