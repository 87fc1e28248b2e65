package cassandra

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// Replication is the number of nodes in a datacenter that hold each row.
type Replication struct {
	Datacenter string
	Factor     int
}

// definition is a schema in CQL, as Apply creates it.
type definition struct {
	keyspace    string
	replication Replication
	tables      []tableDefinition
	namespace   string
	stored      *schemas.Schema // as Inspect will return it
	throwAway   string          // options that end each CREATE TABLE: throwAway or ""
}

// tableDefinition is a table that is not a row header.
type tableDefinition struct {
	table   *schemas.Table
	name    string // in CQL
	comment string // the mark
	options []option
	indexes []indexDefinition
	kind    string // kind of its indexes: legacy or sai
}

// indexDefinition is an index that Cassandra keeps.
type indexDefinition struct {
	name   string
	column *schemas.Column
}

// define translates a schema into CQL.
func define(s *schemas.Schema, namespace string, r Replication) (*definition, error) {
	d := &definition{replication: r, namespace: namespace}
	var err error
	if d.stored, err = stored(s); err != nil {
		return nil, err
	}
	if d.keyspace, err = Keyspace(namespace, s.Name); err != nil {
		return nil, err
	}
	named := make(map[string]string) // CQL name → table
	for _, t := range s.Tables {
		if t.Header() {
			if len(t.Hints[engineName]) > 0 {
				return nil,
					fmt.Errorf("table %s is only a row header and is not created: give its hints to the tables nested in it",
						t.Name)
			}
			continue
		}
		td := tableDefinition{table: t, name: tableName(t), comment: newMark(namespace, s.Name, t).comment()}
		if other, taken := named[td.name]; taken {
			return nil, fmt.Errorf("tables %s and %s would both be %s in CQL: rename one", other, t.Name, td.name)
		}
		named[td.name] = t.Name
		if td.options, err = options(t); err != nil {
			return nil, err
		}
		if td.kind, err = indexKind(t); err != nil {
			return nil, err
		}
		td.indexes = indexesOf(t)
		d.tables = append(d.tables, td)
	}
	indexed := make(map[string]string) // index → table: an index's name is unique in a keyspace
	for _, td := range d.tables {
		for _, x := range td.indexes {
			if other, taken := indexed[x.name]; taken {
				return nil,
					fmt.Errorf("tables %s and %s both have an index %s, but a keyspace can have only one of that name: rename one",
						other, td.table.Name, x.name)
			}
			indexed[x.name] = td.table.Name
		}
	}
	return d, nil
}

// indexesOf returns the indexes to create for a table. There is one for each
// column that is last in some index: a second one would be the same.
func indexesOf(t *schemas.Table) []indexDefinition {
	var all []indexDefinition
	has := make(map[*schemas.Column]bool)
	for _, x := range t.Indexes {
		column := x.Columns[len(x.Columns)-1].Column
		if !t.OneColumn(x) || has[column] {
			continue
		}
		has[column] = true
		all = append(all, indexDefinition{cqlName(x.Name), column})
	}
	return all
}

// statements returns all statements that create the definition, in order.
func (d *definition) statements() []string {
	all := []string{d.createKeyspace()}
	for _, t := range d.tables {
		all = append(all, d.createAll(t)...)
	}
	return all
}

// createAll returns the statements that create a table and its indexes.
func (d *definition) createAll(t tableDefinition) []string {
	all := []string{d.createTable(t)}
	for _, x := range t.indexes {
		all = append(all, d.createIndex(t, x))
	}
	return all
}

func (d *definition) createKeyspace() string {
	return fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS %s\n  WITH replication = {'class': 'NetworkTopologyStrategy', %s: %d}",
		quote(d.keyspace), literal(d.replication.Datacenter), d.replication.Factor)
}

func (d *definition) createTable(td tableDefinition) string {
	t := td.table
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s.%s (\n", quote(d.keyspace), quote(td.name))
	for _, c := range t.Key() {
		fmt.Fprintf(&b, "  %s %s,\n", quote(c.Name), cqlType(c.Type))
	}
	for _, c := range t.Static {
		fmt.Fprintf(&b, "  %s %s STATIC,\n", quote(c.Name), cqlType(c.Type))
	}
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "  %s %s,\n", quote(c.Name), cqlType(c.Type))
	}
	partition := quoted(t.Partition)
	if len(t.Partition) > 1 {
		partition = "(" + partition + ")"
	}
	b.WriteString("  PRIMARY KEY (" + partition)
	for _, c := range t.Clustering {
		b.WriteString(", " + quote(c.Name))
	}
	b.WriteString(")\n) WITH ")
	if len(t.Clustering) > 0 {
		var order []string
		for _, c := range t.Clustering {
			order = append(order, quote(c.Name)+direction(c.Desc))
		}
		b.WriteString("CLUSTERING ORDER BY (" + strings.Join(order, ", ") + ")\n  AND ")
	}
	for _, o := range td.options {
		b.WriteString(o.String() + "\n  AND ")
	}
	b.WriteString("comment = " + literal(td.comment) + d.throwAway)
	return b.String()
}

func (d *definition) createIndex(td tableDefinition, x indexDefinition) string {
	using := ""
	if td.kind == sai {
		using = " USING 'sai'"
	}
	return fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s.%s (%s)%s",
		quote(x.name), quote(d.keyspace), quote(td.name), quote(x.column.Name), using)
}

// quoted returns the columns' quoted names, separated by commas.
func quoted(cs []*schemas.Column) string {
	var words []string
	for _, c := range cs {
		words = append(words, quote(c.Name))
	}
	return strings.Join(words, ", ")
}

func direction(desc bool) string {
	if desc {
		return " DESC"
	}
	return " ASC"
}
