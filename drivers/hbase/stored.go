package hbase

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// tablesKey is the line of a schema file that its tables follow.
const tablesKey = "\ntables:\n"

// tablesText writes a root table and the tables nested in it in the schema language, without
// indexes and the hints for other engines.
func (l *layout) tablesText(r *root) string {
	own := schemas.Canonical(l.schema)
	own.Tables = slices.DeleteFunc(own.Tables, func(t *schemas.Table) bool { return t.Root().Name != r.schema.Name })
	for _, t := range own.Tables {
		t.Indexes = nil
		maps.DeleteFunc(t.Hints, func(engine string, _ map[string]string) bool { return engine != engineName })
	}
	_, tables, _ := strings.Cut(string(schemas.Format(own)), tablesKey)
	return tables
}

// stored returns the layout's schema as it is after Apply.
func (l *layout) stored() *schemas.Schema {
	families := make(map[string]map[string]familySettings)
	for _, r := range l.roots {
		families[r.name] = r.families
	}
	return l.withFamilies(families)
}

// withFamilies returns, in canonical form, those tables of the layout's schema whose families
// exist (HBase table → family → settings). A family that the schema does not have becomes a
// table called "root:family", of which only the key is known.
func (l *layout) withFamilies(families map[string]map[string]familySettings) *schemas.Schema {
	own := schemas.Canonical(l.schema)
	there := &schemas.Schema{Name: own.Name, File: own.File}
	known := make(map[string]bool) // "HBase table:family"
	for _, t := range own.Tables {
		tb := l.tables[l.schema.Table(t.Name)]
		t.Hints, t.Indexes = nil, nil
		if tb == nil { // a row header stores nothing: it exists if a nested table does
			continue
		}
		live := families[string(tb.hbase)]
		known[string(tb.hbase)+":"+tb.family] = true
		if live[tb.family] == nil {
			t.Columns, t.Static = nil, nil
			continue
		}
		settings := l.settings(tb)
		addSettings(settings, "", live[tb.family])
		if len(t.Static) > 0 {
			known[string(tb.hbase)+":"+staticFamily] = true
			addSettings(settings, staticFamilyHint, live[staticFamily])
		}
		if live[staticFamily] == nil {
			t.Static = nil
		}
		t.Hints = map[string]map[string]string{engineName: settings}
		there.Tables = append(there.Tables, t)
	}
	for _, r := range l.roots {
		t := own.Table(r.schema.Name)
		for family := range families[r.name] {
			if !known[r.name+":"+family] {
				there.Tables = append(there.Tables, &schemas.Table{
					Name: t.Name + ":" + family, Parent: t, Partition: t.Partition, Clustering: t.Clustering,
				})
			}
		}
	}
	return schemas.Canonical(there)
}

// staticFamilyHint begins the settings of the family of static columns.
const staticFamilyHint = "static."

// layoutSettings are the settings that layout.settings returns: they decide under which keys
// rows are stored.
var layoutSettings = []string{"hbase.family", "hbase.order", "hbase.unsigned", "hbase.salt"}

// settings returns a table's layout settings: the values of its hints family, order and
// unsigned.
func (l *layout) settings(tb *table) map[string]string {
	var unsigned []string
	for _, c := range ownKey(tb.schema) {
		if l.unsigned[c] {
			unsigned = append(unsigned, c.Name)
		}
	}
	order := ""
	if tb.flipped {
		order = "reversed"
	}
	salt := ""
	if tb.schema.Parent == nil && tb.row[0].salt > 0 {
		salt = strconv.Itoa(tb.row[0].salt)
	}
	return map[string]string{"family": tb.family, "order": order, "unsigned": strings.Join(unsigned, " "), "salt": salt}
}

// addSettings adds the settings of a family under the names of their hints.
func addSettings(settings map[string]string, prefix string, family familySettings) {
	names := make(map[string]string)
	for hint, f := range familyHints {
		names[f.setting] = hint
	}
	if _, reported := family["NEW_VERSION_BEHAVIOR"]; !reported && family != nil {
		settings[prefix+names["NEW_VERSION_BEHAVIOR"]] = "false" // HBase's own default
	}
	for setting, value := range family {
		name := names[setting]
		if name == "" {
			name = strings.ToLower(setting)
		}
		if setting == "TTL" && value == defaults["TTL"] {
			value = "0"
		}
		settings[prefix+name] = strings.ToLower(value)
	}
}

// admin creates, compares and drops the tables of schemas.
type admin struct {
	*cluster
	namespace string
	keyspace  string // Options.Keyspace: where the tables of every schema are; "" if not given
	dotted    bool   // keyspace is no namespace of HBase, but how names of tables begin, up to a dot
}

// findDotted finds out whether the keyspace is a namespace of HBase or the beginning of
// names of tables. It is a namespace if there is one with tables, or neither.
func (a *admin) findDotted(ctx context.Context) error {
	if a.keyspace == "" || a.keyspace == hbaseNamespace || strings.HasPrefix(a.keyspace, drivers.Prefix) {
		return nil
	}
	in, err := a.describe(ctx, a.keyspace+":")
	if err != nil && !isClass(err, "NamespaceNotFoundException") || len(in) > 0 {
		return err
	}
	begin, err := a.describe(ctx, a.keyspace+".")
	a.dotted = len(begin) > 0
	return err
}

// prefix returns how the names of a schema's HBase tables begin in this store.
func (a *admin) prefix(schema string) string {
	switch {
	case a.keyspace == "":
		return prefixOf(a.namespace, schema)
	case a.keyspace == hbaseNamespace:
		return ""
	case strings.HasPrefix(a.keyspace, drivers.Prefix) || a.dotted:
		return a.keyspace + "."
	}
	return a.keyspace + ":"
}

// describe returns the descriptors of all tables whose names begin with prefix, by
// their names. Those of the default namespace are named without it.
func (a *admin) describe(ctx context.Context, prefix string) (map[string]TableDescription, error) {
	var answer pb.GetTableDescriptorsResponse
	in := tableName(prefix)
	request := &pb.GetTableDescriptorsRequest{
		Regex:     proto.String(regexp.QuoteMeta(string(in.Qualifier)) + ".*"),
		Namespace: proto.String(string(in.Namespace)),
	}
	if err := a.askMaster(ctx, "GetTableDescriptors", request, &answer); err != nil {
		return nil, err
	}
	all := make(map[string]TableDescription)
	for _, t := range answer.GetTableSchema() {
		name := string(t.GetTableName().GetQualifier())
		if n := string(t.GetTableName().GetNamespace()); n != hbaseNamespace {
			name = n + ":" + name
		}
		d := TableDescription{
			Name: name, Attributes: settingsOf(t.GetAttributes(), t.GetConfiguration()),
			Families: make(map[string]familySettings),
		}
		for _, f := range t.GetColumnFamilies() {
			d.Families[string(f.GetName())] = settingsOf(f.GetAttributes(), f.GetConfiguration())
		}
		all[d.Name] = d
	}
	return all, nil
}

// inspect inspects the tables of a schema, which must be mailbench's.
func (a *admin) inspect(ctx context.Context, name string) (*foundTables, error) {
	prefix := a.prefix(name)
	there, err := a.describe(ctx, prefix)
	if err != nil {
		return nil, err
	}
	for _, table := range slices.Sorted(maps.Keys(there)) {
		d := there[table]
		if err := d.foreign(); err != nil {
			return nil, err
		}
		of, in := d.Attributes[attrSchema], d.Attributes[attrNamespace]
		if a.keyspace == "" && (of != name || in != a.namespace) {
			return nil, fmt.Errorf("table %s belongs to the schema %s in the namespace %q", table, of, in)
		}
	}
	sch, err := a.read(name, prefix, there)
	return &foundTables{schema: sch, tables: there}, err
}

// foundTables are the HBase tables whose names begin with the store's prefix for a schema.
type foundTables struct {
	schema   *schemas.Schema             // all of them, in canonical form
	tables   map[string]TableDescription // those whose columns are known, by their names in HBase
	others   []string                    // names in HBase of the tables of which only the name is known
	unmarked []string                    // names in HBase of the schema's tables that lack mailbench's mark
}

// find returns the tables of a schema as they are in HBase. HBase itself knows only a table's
// families, so find assumes that a table without a mark is laid out as the schema says.
func (a *admin) find(ctx context.Context, l *layout) (*foundTables, error) {
	prefix := a.prefix(l.schema.Name)
	there, err := a.describe(ctx, prefix)
	if err != nil && !isClass(err, "NamespaceNotFoundException") { // without a namespace there are no tables
		return nil, err
	}
	if prefix == "" { // in the namespace default, mailbench's own tables belong to other schemas
		maps.DeleteFunc(there, func(table string, _ TableDescription) bool {
			return strings.HasPrefix(table, drivers.Prefix)
		})
	}
	f := &foundTables{tables: there}
	for _, table := range slices.Sorted(maps.Keys(there)) {
		d := there[table]
		if d.foreign() == nil && d.marks(strings.TrimPrefix(table, prefix)) {
			continue
		}
		i := slices.IndexFunc(l.roots, func(r *root) bool { return r.name == table })
		if i < 0 {
			delete(there, table)
			f.others = append(f.others, table)
			continue
		}
		f.unmarked = append(f.unmarked, table)
		d.Attributes[attrTables] = l.tablesText(l.roots[i])
	}
	if f.schema, err = a.read(l.schema.Name, prefix, there); err != nil {
		return nil, err
	}
	for _, table := range f.others {
		f.schema.Tables = append(f.schema.Tables, &schemas.Table{Name: strings.TrimPrefix(table, prefix)})
	}
	f.schema = schemas.Canonical(f.schema)
	return f, nil
}

// marks reports whether the mark belongs to the root table of that name. If somebody cloned
// the table, its mark is that of the original.
func (d TableDescription) marks(name string) bool {
	sch, err := schemas.Parse(d.Name, []byte("schema: 1\nname: x"+tablesKey+d.Attributes[attrTables]))
	return err == nil && sch.Tables[0].Root().Name == name
}

// read reads the tables of a schema out of their descriptors.
func (a *admin) read(name, prefix string, there map[string]TableDescription) (*schemas.Schema, error) {
	if len(there) == 0 {
		return &schemas.Schema{Name: name}, nil
	}
	text := "schema: 1\nname: " + name + tablesKey
	families := make(map[string]map[string]familySettings)
	for _, table := range slices.Sorted(maps.Keys(there)) {
		text += there[table].Attributes[attrTables]
		families[table] = there[table].Families
	}
	sch, err := schemas.Parse("HBase at "+a.contact[0], []byte(text))
	if err != nil {
		return nil, err
	}
	dropIndexes(sch)
	l, err := newLayout(prefix, sch)
	if err != nil {
		return nil, err
	}
	return l.withFamilies(families), nil
}

// dropIndexes removes the indexes, and the tables of their entries, which an earlier mailbench made.
func dropIndexes(s *schemas.Schema) {
	for _, t := range slices.Clone(s.Tables) {
		for _, x := range t.Indexes {
			entries := strings.ReplaceAll(t.Name, ".", "_") + "_" + x.Name
			s.Tables = slices.DeleteFunc(s.Tables, func(t *schemas.Table) bool { return t.Name == entries })
		}
		t.Indexes = nil
	}
}

// namespaces returns the namespaces of all tables that mailbench made.
func (a *admin) namespaces(ctx context.Context) ([]string, error) {
	all, err := a.describe(ctx, drivers.Prefix)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range all {
		if d.foreign() == nil {
			names = append(names, d.Attributes[attrNamespace])
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// absent is the error for tables of which none exists. It names the namespaces that do, and what names of
// tables begin with, up to their first dot, as Options.Keyspace takes them.
func (a *admin) absent(ctx context.Context, schema string) error {
	name := a.keyspace
	if name == "" {
		name = strings.TrimSuffix(a.prefix(schema), ".")
	}
	var answer pb.GetTableNamesResponse
	request := &pb.GetTableNamesRequest{Regex: proto.String(".*")}
	if err := a.askMaster(ctx, "GetTableNames", request, &answer); err != nil {
		return fmt.Errorf("list tables: %w", err)
	}
	there := make(map[string]bool)
	for _, t := range answer.GetTableNames() {
		in, table := string(t.GetNamespace()), string(t.GetQualifier())
		if begin, _, dotted := strings.Cut(table, "."); in == hbaseNamespace && dotted {
			in = begin
		}
		there[in] = true
	}
	return &drivers.AbsentError{
		What: "namespace", Name: name, Where: "with tables at " + strings.Join(a.contact, ", "),
		There: slices.Sorted(maps.Keys(there)),
	}
}
