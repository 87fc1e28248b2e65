// Package ddl translates a schema into CQL's tables, and back. [Define] gives the
// statements that create a schema's keyspace. [Rows] describe a keyspace as it is, as
// system_schema does; a [Definition] reads them, compares itself with them, and says
// which statements would fix each difference. The package uses no cluster.
package ddl

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers/plan"
	words "github.com/mailbench/mailbench/drivers/render"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// Replication is how many nodes of each datacenter hold each row. The first datacenter is the one that runs use.
type Replication []Replicas

// Replicas are the nodes of one datacenter that hold each row.
type Replicas struct {
	Datacenter string
	Factor     int
}

// String returns the replicas of the only datacenter, or those of all if there are several.
func (r Replication) String() string {
	if len(r) == 1 {
		return strconv.Itoa(r[0].Factor)
	}
	var words []string
	for _, in := range r {
		words = append(words, fmt.Sprintf("%s:%d", in.Datacenter, in.Factor))
	}
	return strings.Join(words, ",")
}

// cql returns the replication as CQL writes it.
func (r Replication) cql() string {
	words := []string{"'class': 'NetworkTopologyStrategy'"}
	for _, in := range r {
		words = append(words, fmt.Sprintf("%s: %d", cql.Literal(in.Datacenter), in.Factor))
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// Cluster is what statements and differences depend on besides the schema.
type Cluster struct {
	Exact    bool   // more replicas than those of the Replication are a difference too
	Strategy string // the class of the nodes' default compaction; "" if they do not report one
	// ThrowAway: tables may have the options throwAway, as in Cassandra 5.0. Cassandra 4.0 and ScyllaDB
	// refuse a table that has them.
	ThrowAway bool
	// Tablets: keyspaces may have tablets, as in ScyllaDB from 6.0 on. The older of these versions
	// have no counters and no conditional writes in such a keyspace. gocql knows no tablets: it would
	// send requests to nodes that are no replicas. So mailbench's keyspaces have none.
	Tablets bool
	// NamesLegacy: statements name the kind of legacy indexes too. Clusters before Cassandra 5.0
	// have no name for it; in newer ones default_secondary_index may be another kind.
	NamesLegacy bool
}

// throwAway are the options of every table that Apply creates, if the cluster knows them. The
// rows are synthetic, so there is no need for backups of the table's files, nor the snapshot that a node
// with auto_snapshot keeps of a dropped table. Without these options each run would leave its
// data on the cluster's disks. Render leaves them out: they belong to the run and not to the model.
const throwAway = "\n  AND allow_auto_snapshot = false AND incremental_backups = false"

// Definition is a schema in CQL, as Apply creates it, and the keyspace that is to have it.
type Definition struct {
	Cluster
	plan.Found  // the schema as Inspect will return it, without materialized views, and the keyspace as it is
	Schema      *schemas.Schema
	Keyspace    string
	Replication Replication
	Tables      []*TableDefinition
	Of          map[*schemas.Table]*TableDefinition
	named       map[string]*TableDefinition // by their names in CQL
	namespace   string

	existing map[string]string // the replication of the keyspace as it is
	durable  bool              // its writes go into the commit log
	// replication is what the keyspace should have, in CQL and, as replicas, by datacenter: keyspace sets both.
	replication string
	replicas    map[string]string
	// drops has the statement that drops each table and view of the keyspace, by the name in differences. One
	// that would remove rows is a comment.
	drops map[string]string
}

// TableDefinition is a table in CQL that is not a row header: one of the definition, or one that is there.
// Name, Comment and Indexes are those in CQL; Table has the schema's.
type TableDefinition struct {
	*schemas.Table
	Name     string // in CQL
	Comment  string // of the definition's tables the text of the mark
	Indexes  []*IndexDefinition
	settings map[string]string // that the schema sets, or all of a table that is there

	// Of a table of the definition.
	In          *Definition
	Live        *TableDefinition            // the table as it is; nil: there is no such table
	Conditional bool                        // some pattern writes to the table by compare-and-set
	indexes     map[string]*IndexDefinition // those of the schema that are made: two may be the same one

	// Of a table that is there.
	ID     string // Cassandra gives each new table another one
	Marked bool
}

// Define translates a schema into CQL.
func Define(s *schemas.Schema, namespace string, r Replication) (_ *Definition, err error) {
	d := &Definition{
		Replication: r, Schema: s, namespace: namespace,
		Of: make(map[*schemas.Table]*TableDefinition), named: make(map[string]*TableDefinition),
		drops: make(map[string]string),
		Found: plan.Found{Want: schemas.Canonical(s), Absent: true}, // until Read finds it
	}
	if d.Keyspace, err = Keyspace(namespace, s.Name); err != nil {
		return nil, err
	}
	for _, u := range s.Types {
		own := &schemas.UserType{Name: u.Name}
		for _, c := range u.Fields {
			own.Fields = append(own.Fields, &schemas.Column{Name: c.Name, Type: schemas.TypeOfCQL(cqlType(c.Type))})
		}
		d.Want.Types = append(d.Want.Types, own)
	}
	indexed := make(map[string]string) // in CQL → table
	for _, t := range s.Tables {
		settings, err := settingsOf(t)
		if err != nil {
			return nil, err
		}
		want := d.Want.Table(t.Name)
		want.Hints = nil
		if t.Header() {
			if len(t.Hints[EngineName]) > 0 {
				return nil,
					fmt.Errorf("table %s is only a row header and is not created: give its hints to the tables nested in it",
						t.Name)
			}
			want.Indexes = nil
			continue
		}
		td := &TableDefinition{Table: t, In: d, Name: tableName(t), settings: settings}
		td.Indexes, td.indexes = indexesOf(t)
		writesIf := func(p *schemas.Pattern) bool { return p.Conditional() && p.Table == t }
		td.Conditional = slices.ContainsFunc(s.Patterns, writesIf)
		td.store(want)
		td.Comment = td.mark(namespace, s.Name)
		if other := d.named[td.Name]; other != nil {
			return nil, fmt.Errorf("tables %s and %s would both be %s in CQL: rename one", other.Table.Name, t.Name, td.Name)
		}
		d.named[td.Name] = td
		for _, x := range td.Indexes {
			if other, taken := indexed[x.Name]; taken {
				return nil,
					fmt.Errorf("tables %s and %s both have an index %s, but a keyspace can have only one of that name: rename one",
						other, t.Name, x.Name)
			}
			indexed[x.Name] = t.Name
		}
		d.Tables, d.Of[t] = append(d.Tables, td), td
	}
	d.Want.Tables = slices.DeleteFunc(d.Want.Tables, func(t *schemas.Table) bool {
		return s.Table(t.Name).View() != ""
	})
	return d, nil
}

// store makes a table in canonical form the one that Inspect will return: an index is over what CQL calls its target,
// such as full(tags), with its kind.
func (td *TableDefinition) store(t *schemas.Table) {
	t.Indexes = slices.DeleteFunc(t.Indexes, func(x *schemas.Index) bool {
		made := td.indexes[x.Name]
		if made != nil && made.String() != made.Column.Name {
			x.Columns[len(x.Columns)-1].Column = &schemas.Column{Name: made.String()}
		}
		return made == nil
	})
	own := map[string]string{schemas.ExpirySetting: "0"}
	maps.Copy(own, td.settings)
	t.Hints = map[string]map[string]string{EngineName: own}
}

// Qualified returns the name of the table with that of the keyspace.
func (td *TableDefinition) Qualified() string { return td.In.Qualified(td.Name) }

// Indexed reports whether a column of the table has an index of its own.
func (td *TableDefinition) Indexed(column string) bool {
	return slices.ContainsFunc(td.Indexes, func(x *IndexDefinition) bool { return x.Target == column })
}

// Qualified returns the name of a table with that of the keyspace.
func (d *Definition) Qualified(table string) string {
	return cql.Quote(d.Keyspace) + "." + cql.Quote(table)
}

// inKeyspace returns statements after the one that creates the keyspace, if there is none.
func (d *Definition) inKeyspace(statements ...string) []string {
	if !d.Absent {
		return statements
	}
	create := "CREATE KEYSPACE IF NOT EXISTS " + cql.Quote(d.Keyspace) + "\n  WITH replication = " + d.Replication.cql()
	if d.Tablets {
		create += " AND tablets = {'enabled': false}"
	}
	return slices.Insert(statements, 0, create)
}

func (d *Definition) createType(u *schemas.UserType) string {
	var fields []string
	for _, c := range u.Fields {
		fields = append(fields, "\n  "+typed(c))
	}
	return fmt.Sprintf("CREATE TYPE IF NOT EXISTS %s (%s\n)", d.Qualified(u.Name), strings.Join(fields, ","))
}

// create returns the statements that create a table and its indexes.
func (td *TableDefinition) create() []string {
	t, text := td.Table, "CREATE TABLE IF NOT EXISTS "+td.Qualified()+" (\n"
	for _, c := range t.All() {
		text += "  " + typed(c) + ",\n"
	}
	key := []string{Quoted(t.Partition)}
	if len(t.Partition) > 1 {
		key[0] = "(" + key[0] + ")"
	}
	var order, options []string
	for _, c := range t.Clustering {
		key, order = append(key, cql.Quote(c.Name)), append(order, cql.Quote(c.Name)+Direction(c.Desc))
	}
	if len(order) > 0 {
		options = append(options, "CLUSTERING ORDER BY ("+strings.Join(order, ", ")+")")
	}
	for _, name := range slices.Sorted(maps.Keys(td.settings)) {
		options = append(options, optionOf(td.settings, name))
	}
	options = append(slices.Compact(options), "comment = "+cql.Literal(td.Comment)) // the fields of a map are one option
	text += "  PRIMARY KEY (" + strings.Join(key, ", ") + ")\n) WITH "
	text += strings.Join(options, "\n  AND ")
	if td.In.ThrowAway {
		text += throwAway
	}
	all := []string{text}
	for _, x := range td.Indexes {
		all = append(all, td.createIndex(x))
	}
	return all
}

// typed returns a column with its type.
func typed(c *schemas.Column) string {
	text := cql.Quote(c.Name) + " " + cqlType(c.Type)
	if c.Role == schemas.Static {
		text += " STATIC"
	}
	return text
}

func (td *TableDefinition) createIndex(x *IndexDefinition) string {
	create, using := "CREATE INDEX", ""
	switch {
	case x.Kind == sai:
		using = " USING 'sai'"
	case x.Kind != legacyIndex:
		create, using = "CREATE CUSTOM INDEX", " USING "+cql.Literal(x.Kind)
	case td.In.NamesLegacy:
		using = " USING 'legacy_local_table'"
	}
	target := cql.Quote(x.Column.Name)
	if part, found := strings.CutSuffix(x.Target, x.Column.Name+")"); found {
		target = part + target + ")"
	}
	return strings.TrimSpace(fmt.Sprintf("%s IF NOT EXISTS %s ON %s (%s)%s %s",
		create, cql.Quote(x.Name), td.Qualified(), target, using, x.Options))
}

// Quoted returns the columns' quoted names, separated by commas.
func Quoted(cs []*schemas.Column) string {
	var words []string
	for _, c := range cs {
		words = append(words, cql.Quote(c.Name))
	}
	return strings.Join(words, ", ")
}

func Direction(desc bool) string {
	if desc {
		return " DESC"
	}
	return " ASC"
}

// maxName is the longest name that Cassandra takes for a keyspace, table or index,
// which are all parts of file names.
const maxName = 48

// Keyspace returns the name of a schema's keyspace: mailbench_<namespace>_<schema>,
// or mailbench_<schema> without a namespace.
func Keyspace(namespace, schema string) (string, error) {
	name := plan.PlaceName(namespace, plan.Identifier(schema))
	if len(name) > maxName {
		return "", fmt.Errorf("keyspace %s has %d characters, but Cassandra accepts at most %d: shorten the schema's name or "+
			"the namespace",
			name, len(name), maxName)
	}
	return name, nil
}

// tableName returns a table's name in CQL. A table that is alone below a row header
// has the header's name, because the source design gives its rows that name. So
// ElasticInbox's super column family MessageMetadata is the CQL table
// "MessageMetadata" with the primary key (key, message, name).
func tableName(t *schemas.Table) string {
	for t.Parent != nil && t.Parent.Header() && len(t.Parent.Children) == 1 {
		t = t.Parent
	}
	return plan.Identifier(t.Name)
}

var typeWords = regexp.MustCompile(`\w+`)

// cqlType returns a type in CQL. A timestamp becomes a bigint: the schema language
// counts microseconds, but a CQL timestamp only milliseconds. A bigint sorts the
// same way and loses nothing.
func cqlType(t schemas.Type) string {
	text := typeWords.ReplaceAllStringFunc(t.String(), func(word string) string {
		switch {
		case word == "timestamp_ms":
			return "timestamp"
		case word == "timestamp":
			return "bigint"
		case strings.ToLower(word) != word:
			return cql.Quote(word)
		}
		return word
	})
	return strings.ReplaceAll(text, ",", ", ")
}

// Render writes the statements of Apply in a form that cqlsh takes.
func Render(s *schemas.Schema, namespace string, r Replication) (string, error) {
	d, err := Define(s, namespace, r)
	if err != nil {
		return "", fmt.Errorf("schema %s: %w", s.Name, err)
	}
	t := words.New("--")
	t.Head(s, fmt.Sprintf("The CQL by which mailbench creates the schema %s, for replication %d in datacenter %s. "+
		"The comment of a table is mailbench's mark. The tables of a run have allow_auto_snapshot = false and incremental_backups = false, too, "+
		"where Cassandra has these options: a benchmark needs no backups.", s.Name, r[0].Factor, r[0].Datacenter))
	statements := d.inKeyspace()
	for _, u := range s.Types {
		statements = append(statements, d.createType(u))
	}
	for _, statement := range statements {
		t.Statement("\n" + statement + ";")
	}
	for _, td := range d.Tables {
		t.Table(td.Table)
		if base := td.Table.View(); base != "" {
			t.Comment(fmt.Sprintf("It is a materialized view of %s: create it by the statement that was imported.", base))
			continue
		}
		for p := td.Table.Parent; p != nil; p = p.Parent {
			if p.Header() {
				t.Comment(fmt.Sprintf("Its rows are nested in %s, which stores nothing of its own and is no table here.", p.Name))
			}
		}
		for _, c := range append(td.Table.Key(), td.Table.Columns...) {
			if strings.Contains(c.Type.String(), schemas.Timestamp.String()) && c.Type.Foreign == "" {
				t.Comment(fmt.Sprintf("Column %s has microseconds since 1970: a CQL timestamp has only milliseconds.", c.Name))
			}
		}
		for _, x := range td.Table.Indexes {
			if td.indexes[x.Name] == nil {
				t.Comment(fmt.Sprintf("Index %s over (%s) is left out: an index of Cassandra is over one plain column.", x.Name,
					strings.Join(columnsOf(x), ", ")))
			}
		}
		for _, stmt := range td.create() {
			t.Statement(stmt + ";")
		}
	}
	return t.String(), nil
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
}

// ancestor is a table that another is nested in. Key is the number of its primary
// key columns. A row header is an ancestor too, though it has no CQL table.
type ancestor struct {
	Table string `json:"table"`
	Key   int    `json:"key"`
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
	for p := t.Parent; p != nil; p = p.Parent {
		m.In = append(m.In, ancestor{Table: p.Name, Key: len(p.Partition) + len(p.Clustering)})
	}
	for _, c := range t.All() {
		if own := c.Type.String(); schemas.TypeOfCQL(cqlType(c.Type)).String() != own {
			m.Types[c.Name] = own
		}
	}
	for _, x := range t.Indexes {
		if t.OneColumn(x) && (len(x.Columns) > 1 || td.indexes[x.Name].Name != x.Name) {
			m.Indexes[x.Name] = columnsOf(x)
		}
	}
	return plan.MarkText(m)
}
