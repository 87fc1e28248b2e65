package ddl

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// Replication is the number of nodes in a datacenter that hold each row.
type Replication struct {
	Datacenter string // the one that runs use
	Factor     int
	Others     map[string]int // replicas in other datacenters
}

// All yields the datacenters with their replicas: the one that runs use, and then the others by name.
func (r Replication) All() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		if !yield(r.Datacenter, r.Factor) {
			return
		}
		for _, dc := range slices.Sorted(maps.Keys(r.Others)) {
			if !yield(dc, r.Others[dc]) {
				return
			}
		}
	}
}

// String returns the replicas of the local datacenter, or those of all if there are several.
func (r Replication) String() string {
	if len(r.Others) == 0 {
		return strconv.Itoa(r.Factor)
	}
	var words []string
	for dc, n := range r.All() {
		words = append(words, fmt.Sprintf("%s:%d", dc, n))
	}
	return strings.Join(words, ",")
}

// cql returns the replication as CQL writes it.
func (r Replication) cql() string {
	words := []string{"'class': 'NetworkTopologyStrategy'"}
	for dc, n := range r.All() {
		words = append(words, fmt.Sprintf("%s: %d", Literal(dc), n))
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// AnyDatacenter is the datacenter of a node whose configuration names none.
const AnyDatacenter = "datacenter1"

// Definition is a schema in CQL, as Apply creates it.
type Definition struct {
	Keyspace    string
	Replication Replication
	Tables      []TableDefinition
	namespace   string
	types       []*schemas.UserType
	other       []schemas.Setting // of the schema
	Stored      *schemas.Schema   // as Inspect will return it
	ThrowAway   string            // options that end each CREATE TABLE: throwAway or ""
	NoTablets   bool              // the keyspace is to have no tablets, which ScyllaDB would give it
	// NamesLegacy: statements name the kind of legacy indexes too. Clusters before Cassandra 5.0
	// have no name for it; in newer ones default_secondary_index may be another kind.
	NamesLegacy bool
}

// TableDefinition is a table that is not a row header.
type TableDefinition struct {
	Table   *schemas.Table
	Name    string // in CQL
	Comment string // the mark
	options []option
	Indexes []IndexDefinition
	kind    string // kind of its indexes: legacy or sai
}

// Define translates a schema into CQL.
func Define(s *schemas.Schema, namespace string, r Replication) (*Definition, error) {
	d := &Definition{Replication: r, namespace: namespace, types: s.Types, other: s.Other}
	var err error
	if d.Stored, err = Stored(s); err != nil {
		return nil, err
	}
	if d.Keyspace, err = Keyspace(namespace, s.Name); err != nil {
		return nil, err
	}
	named := make(map[string]string) // CQL name → table
	for _, t := range s.Tables {
		if t.Header() {
			if len(t.Hints[EngineName]) > 0 {
				return nil,
					fmt.Errorf("table %s is only a row header and is not created: give its hints to the tables nested in it",
						t.Name)
			}
			continue
		}
		td := TableDefinition{Table: t, Name: tableName(t), Comment: newMark(namespace, s.Name, t).comment()}
		if other, taken := named[td.Name]; taken {
			return nil, fmt.Errorf("tables %s and %s would both be %s in CQL: rename one", other, t.Name, td.Name)
		}
		named[td.Name] = t.Name
		if td.options, err = options(t); err != nil {
			return nil, err
		}
		if td.kind, err = indexKind(t); err != nil {
			return nil, err
		}
		td.Indexes = indexesOf(t)
		d.Tables = append(d.Tables, td)
	}
	indexed := make(map[string]string) // index → table: an index's name is unique in a keyspace
	for _, td := range d.Tables {
		for _, x := range td.Indexes {
			if other, taken := indexed[x.Name]; taken {
				return nil,
					fmt.Errorf("tables %s and %s both have an index %s, but a keyspace can have only one of that name: rename one",
						other, td.Table.Name, x.Name)
			}
			indexed[x.Name] = td.Table.Name
		}
	}
	return d, nil
}

// Qualified returns the name of a table with that of the keyspace.
func (d *Definition) Qualified(table string) string {
	return Quote(d.Keyspace) + "." + Quote(table)
}

// Statements returns all statements that create the definition, in order.
func (d *Definition) Statements() []string {
	all := append([]string{d.createKeyspace()}, d.createTypes()...)
	for _, t := range d.Tables {
		all = append(all, d.createAll(t)...)
	}
	return all
}

// createAll returns the statements that create a table and its indexes.
func (d *Definition) createAll(t TableDefinition) []string {
	all := []string{d.createTable(t)}
	for _, x := range t.Indexes {
		all = append(all, d.createIndex(t, x))
	}
	return all
}

func (d *Definition) createKeyspace() string {
	tablets := ""
	if d.NoTablets {
		tablets = " AND tablets = {'enabled': false}"
	}
	return fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS %s\n  WITH replication = %s%s",
		Quote(d.Keyspace), d.Replication.cql(), tablets)
}

func (d *Definition) createTypes() (all []string) {
	for _, u := range d.types {
		var fields []string
		for _, c := range u.Fields {
			fields = append(fields, "\n  "+Quote(c.Name)+" "+cqlType(c.Type))
		}
		all = append(all, fmt.Sprintf("CREATE TYPE IF NOT EXISTS %s (%s\n)", d.Qualified(u.Name), strings.Join(fields, ",")))
	}
	return all
}

func (d *Definition) createTable(td TableDefinition) string {
	t := td.Table
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s.%s (\n", Quote(d.Keyspace), Quote(td.Name))
	for _, c := range t.Key() {
		fmt.Fprintf(&b, "  %s %s,\n", Quote(c.Name), cqlType(c.Type))
	}
	for _, c := range t.Static {
		fmt.Fprintf(&b, "  %s %s STATIC,\n", Quote(c.Name), cqlType(c.Type))
	}
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "  %s %s,\n", Quote(c.Name), cqlType(c.Type))
	}
	partition := Quoted(t.Partition)
	if len(t.Partition) > 1 {
		partition = "(" + partition + ")"
	}
	b.WriteString("  PRIMARY KEY (" + partition)
	for _, c := range t.Clustering {
		b.WriteString(", " + Quote(c.Name))
	}
	b.WriteString(")\n) WITH ")
	if len(t.Clustering) > 0 {
		var order []string
		for _, c := range t.Clustering {
			order = append(order, Quote(c.Name)+Direction(c.Desc))
		}
		b.WriteString("CLUSTERING ORDER BY (" + strings.Join(order, ", ") + ")\n  AND ")
	}
	for _, o := range td.options {
		b.WriteString(o.String() + "\n  AND ")
	}
	b.WriteString("comment = " + Literal(td.Comment) + d.ThrowAway)
	return b.String()
}

func (d *Definition) createIndex(td TableDefinition, x IndexDefinition) string {
	using := ""
	switch {
	case td.kind == sai:
		using = " USING 'sai'"
	case d.NamesLegacy:
		using = " USING 'legacy_local_table'"
	}
	return fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s.%s (%s)%s",
		Quote(x.Name), Quote(d.Keyspace), Quote(td.Name), Quote(x.Column.Name), using)
}

// Quoted returns the columns' quoted names, separated by commas.
func Quoted(cs []*schemas.Column) string {
	var words []string
	for _, c := range cs {
		words = append(words, Quote(c.Name))
	}
	return strings.Join(words, ", ")
}

func Direction(desc bool) string {
	if desc {
		return " DESC"
	}
	return " ASC"
}
