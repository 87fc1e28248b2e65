package hbase

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// tablesKey is the line of a schema file that its tables follow.
const tablesKey = "\ntables:\n"

// tablesText writes a root table and the tables nested in it in the schema language.
func (l *layout) tablesText(r *root) string {
	_, tables, _ := strings.Cut(string(schemas.Format(l.under(r))), tablesKey)
	return tables
}

// under returns a root table and the tables nested in it, in canonical form, without indexes and the hints for other
// engines.
func (l *layout) under(r *root) *schemas.Schema {
	own := schemas.Canonical(l.schema)
	own.Tables = slices.DeleteFunc(own.Tables, func(t *schemas.Table) bool { return t.Root().Name != r.schema.Name })
	for _, t := range own.Tables {
		t.Indexes = nil
		maps.DeleteFunc(t.Hints, func(engine string, _ map[string]string) bool { return engine != engineName })
	}
	return own
}

// stored returns the layout's schema as it is after Apply.
func (l *layout) stored() *schemas.Schema {
	made := make(map[string]TableDescription)
	for _, r := range l.roots {
		made[r.Name] = r.TableDescription
	}
	return l.in(made)
}

// in returns, in canonical form, those tables of the layout's schema whose families exist in tables of HBase. A family
// that the schema does not have becomes a table called "root:family", of which only the key is known.
func (l *layout) in(tables map[string]TableDescription) *schemas.Schema {
	own := schemas.Canonical(l.schema)
	there := &schemas.Schema{Name: own.Name, File: own.File}
	for _, t := range own.Tables {
		tb := l.tables[l.schema.Table(t.Name)]
		t.Hints, t.Indexes = nil, nil
		if tb == nil { // a row header stores nothing: it exists if a nested table does
			continue
		}
		live := tables[string(tb.hbase)].Families
		if live[tb.family] == nil {
			t.Columns, t.Static = nil, nil
			continue
		}
		var unsigned []string
		for _, c := range tb.schema.OwnKey() {
			if l.unsigned[c] {
				unsigned = append(unsigned, c.Name)
			}
		}
		hints := tb.schema.Hints[engineName]
		settings := map[string]string{
			"family": tb.family, "order": hints["order"], "unsigned": strings.Join(unsigned, " "), "salt": hints["salt"],
		}
		addSettings(settings, "", live[tb.family])
		if len(t.Static) > 0 {
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
		for family := range tables[r.Name].Families {
			if _, known := r.Families[family]; !known {
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

// layoutSettings are the settings that decide under which keys rows are stored.
var layoutSettings = []string{"hbase.family", "hbase.order", "hbase.unsigned", "hbase.salt"}

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

// prefix returns how the names of a schema's HBase tables begin in this store.
func (s *Store) prefix(schema string) string {
	if s.Keyspace == "" {
		return prefixOf(s.Namespace, schema)
	}
	return s.begin
}

// describe returns the descriptors of all tables whose names begin with prefix, by
// their names. Those of the default namespace are named without it.
func (s *Store) describe(ctx context.Context, prefix string) (map[string]TableDescription, error) {
	var answer pb.GetTableDescriptorsResponse
	in := tableName(prefix)
	request := &pb.GetTableDescriptorsRequest{
		Regex:     proto.String(regexp.QuoteMeta(string(in.Qualifier)) + ".*"),
		Namespace: proto.String(string(in.Namespace)),
	}
	if err := s.askMaster(ctx, "GetTableDescriptors", request, &answer); err != nil {
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

// find returns the tables of a schema as they are in HBase. HBase itself knows only a table's
// families, so find assumes that a table without a mark is laid out as the schema says.
func (s *Store) find(ctx context.Context, sch *schemas.Schema) (plan.Place, error) {
	prefix := s.prefix(sch.Name)
	l, err := newLayout(prefix, sch)
	if err != nil {
		return nil, err
	}
	p := &place{
		Found:  plan.Found{Name: "HBase tables " + prefix + "*", Want: l.stored()},
		layout: l, store: s, prefix: prefix, namespace: s.NamespaceOf(sch.Name), regions: s.preSplit, users: s.users,
	}
	p.there, err = s.describe(ctx, prefix)
	if err != nil && !rpc.IsClass(err, "NamespaceNotFoundException") { // without a namespace there are no tables
		return nil, err
	}
	if prefix == "" { // in the namespace default, mailbench's own tables belong to other schemas
		maps.DeleteFunc(p.there, func(table string, _ TableDescription) bool {
			return strings.HasPrefix(table, drivers.Prefix)
		})
	}
	p.Absent = len(p.there) == 0
	have := &schemas.Schema{Name: sch.Name, File: "HBase at " + s.contact[0]}
	var others []*schemas.Table // of which only the name is known
	for _, table := range slices.Sorted(maps.Keys(p.there)) {
		m, of, marked := p.there[table].mark(prefix)
		p.Own(table, m, marked, p.namespace, sch.Name)
		i := slices.IndexFunc(l.roots, func(r *root) bool { return r.Name == table })
		switch {
		case marked:
		case i < 0:
			others = append(others, &schemas.Table{Name: strings.TrimPrefix(table, prefix)})
			continue
		default:
			p.unmarked = append(p.unmarked, table)
			of = l.under(l.roots[i])
		}
		have.Tables = append(have.Tables, of.Tables...)
	}
	there, err := newLayout(prefix, have)
	if err != nil {
		return nil, err
	}
	p.Have = there.in(p.there)
	p.Have.Tables = append(p.Have.Tables, others...)
	p.Have = schemas.Canonical(p.Have)
	return p, nil
}

// NotThere implements plan.Place. The error names the namespaces that exist, and what names of tables begin with, up
// to their first dot, as Options.Keyspace takes them.
func (p *place) NotThere(ctx context.Context) error {
	s := p.store
	name := cmp.Or(s.Keyspace, strings.TrimSuffix(s.prefix(p.schema.Name), "."))
	var answer pb.GetTableNamesResponse
	request := &pb.GetTableNamesRequest{Regex: proto.String(".*")}
	if err := s.askMaster(ctx, "GetTableNames", request, &answer); err != nil {
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
		What: "namespace", Name: name, Where: "with tables at " + strings.Join(s.contact, ", "),
		There: slices.Sorted(maps.Keys(there)),
	}
}
