// Package ddl translates a schema into CQL's tables, and back. [Define] gives the
// statements that create a schema's keyspace. [Rows] describe a keyspace as it is, as
// system_schema does; a [Definition] reads them, compares itself with them, and says
// which statements would fix each difference. The package uses no cluster.
package ddl

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers/plan"
	words "github.com/mailbench/mailbench/drivers/render"
	"github.com/mailbench/mailbench/schemas"
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
		words = append(words, fmt.Sprintf("%s: %d", Literal(in.Datacenter), in.Factor))
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// Definition is a schema in CQL, as Apply creates it, and the keyspace that is to have it.
type Definition struct {
	plan.Found  // the schema as Inspect will return it, without materialized views, and the keyspace as it is
	Schema      *schemas.Schema
	Keyspace    string
	Replication Replication
	Tables      []*TableDefinition
	Of          map[*schemas.Table]*TableDefinition
	named       map[string]*TableDefinition // by their names in CQL
	namespace   string
	Exact       bool   // more replicas than those of Replication are a difference too
	Strategy    string // the class of the nodes' default compaction; "" if they do not report one
	ThrowAway   string // options that end each CREATE TABLE: throwAway or ""
	NoTablets   bool   // the keyspace is to have no tablets, which ScyllaDB would give it
	// NamesLegacy: statements name the kind of legacy indexes too. Clusters before Cassandra 5.0
	// have no name for it; in newer ones default_secondary_index may be another kind.
	NamesLegacy bool

	existing map[string]string // the replication of the keyspace as it is
	durable  bool              // its writes go into the commit log
	// replication is what the keyspace should have, in CQL and, as replicas, by datacenter: keyspace sets both.
	replication string
	replicas    map[string]string
	// drops has the statement that drops each table, view and trigger of the keyspace, by the name in differences. One
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

// store makes a table in canonical form the one that Inspect will return: an index that is over a part of a column is
// over what CQL calls its target, such as full(tags).
func (td *TableDefinition) store(t *schemas.Table) {
	t.Indexes = slices.DeleteFunc(t.Indexes, func(x *schemas.Index) bool {
		made := td.indexes[x.Name]
		if made != nil && made.Target != made.Column.Name {
			x.Columns = []schemas.IndexColumn{{Column: &schemas.Column{Name: made.Target}}}
		}
		return made == nil
	})
	own := map[string]string{schemas.ExpirySetting: "0"}
	if len(td.Indexes) > 0 {
		own[indexesHint] = kindsOf(td.Indexes)
	}
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
	return Quote(d.Keyspace) + "." + Quote(table)
}

func (d *Definition) createKeyspace() string {
	tablets := ""
	if d.NoTablets {
		tablets = " AND tablets = {'enabled': false}"
	}
	return fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS %s\n  WITH replication = %s%s",
		Quote(d.Keyspace), d.Replication.cql(), tablets)
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
		key, order = append(key, Quote(c.Name)), append(order, Quote(c.Name)+Direction(c.Desc))
	}
	if len(order) > 0 {
		options = append(options, "CLUSTERING ORDER BY ("+strings.Join(order, ", ")+")")
	}
	for _, name := range slices.Sorted(maps.Keys(td.settings)) {
		options = append(options, optionOf(td.settings, name))
	}
	options = append(slices.Compact(options), "comment = "+Literal(td.Comment)) // the fields of a map are one option
	text += "  PRIMARY KEY (" + strings.Join(key, ", ") + ")\n) WITH "
	all := []string{text + strings.Join(options, "\n  AND ") + td.In.ThrowAway}
	for _, x := range td.Indexes {
		all = append(all, td.createIndex(x))
	}
	return all
}

// typed returns a column with its type.
func typed(c *schemas.Column) string {
	text := Quote(c.Name) + " " + cqlType(c.Type)
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
		create, using = "CREATE CUSTOM INDEX", " USING "+Literal(x.Kind)
	case td.In.NamesLegacy:
		using = " USING 'legacy_local_table'"
	}
	target := Quote(x.Column.Name)
	if part, found := strings.CutSuffix(x.Target, x.Column.Name+")"); found {
		target = part + target + ")"
	}
	return strings.TrimSpace(fmt.Sprintf("%s IF NOT EXISTS %s ON %s (%s)%s %s",
		create, Quote(x.Name), td.Qualified(), target, using, x.Options))
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

// Quote returns an identifier in double quotes. Without them CQL would refuse keywords, such as
// the columns "from", "to" and "key", and ignore capitals, such as those of JAMES_MESSAGES.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func Literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

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
			return Quote(word)
		}
		return word
	})
	return strings.ReplaceAll(text, ",", ", ")
}

// IndexDefinition is an index that Cassandra keeps.
type IndexDefinition struct {
	Name    string
	Column  *schemas.Column
	Target  string // the column, or what of it is indexed: keys(tags)
	Kind    string // legacy, sai, or the class
	Options string // the clause of the options of the class, or ""
}

// indexesOf returns the indexes to create for a table: those over one plain column. An index of an imported table can
// be over any column, and over parts of a collection: its values, unless it says otherwise. of has them by the names in
// the schema, of which those that find the same rows in the same way are one.
func indexesOf(t *schemas.Table) (all []*IndexDefinition, of map[string]*IndexDefinition) {
	of = make(map[string]*IndexDefinition)
	for _, x := range t.Indexes {
		if !t.OneColumn(x) && (t.Imported == nil || len(x.Columns) > 1) {
			continue
		}
		c := x.Columns[len(x.Columns)-1].Column
		part, class, options := t.IndexClauses(x)
		if c.Type.Collection() && c.Type.Foreign == "" {
			part = cmp.Or(part, "values")
		}
		kind := cmp.Or(t.Hints[EngineName][indexesHint], legacyIndex)
		made := &IndexDefinition{plan.Identifier(x.Name), c, c.Name, kind, options}
		if part != "" {
			made.Target = part + "(" + c.Name + ")"
		}
		if class != "" {
			made.Kind = kindOf(customIndex, class)
		}
		same := func(o *IndexDefinition) bool { return made.Target == o.Target && made.Kind == o.Kind }
		if i := slices.IndexFunc(all, same); i >= 0 {
			of[x.Name] = all[i]
			continue
		}
		all, of[x.Name] = append(all, made), made
	}
	return all, of
}

// kindsOf names the kinds of indexes, each once.
func kindsOf(indexes []*IndexDefinition) string {
	var kinds []string
	for _, x := range indexes {
		kinds = append(kinds, x.Kind)
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), ", ")
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
	t.Statement("\n" + d.createKeyspace() + ";")
	for _, u := range s.Types {
		t.Statement("\n" + d.createType(u) + ";")
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
			var names []string
			for _, c := range x.Columns {
				names = append(names, c.Column.Name)
			}
			if td.indexes[x.Name] == nil {
				t.Comment(fmt.Sprintf("Index %s over (%s) is left out: an index of Cassandra is over one plain column.", x.Name,
					strings.Join(names, ", ")))
			}
		}
		for _, stmt := range td.create() {
			t.Statement(stmt + ";")
		}
	}
	return t.String(), nil
}
