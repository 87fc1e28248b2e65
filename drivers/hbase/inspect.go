package hbase

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Attributes of a table's descriptor that mailbench sets. HBase knows neither types nor
// nesting, nor which of its bytes are a key: attrTables holds these.
const (
	attrMark      = "mailbench" // the mark; its value is the version of these attributes
	attrNamespace = "mailbench.namespace"
	attrSchema    = "mailbench.schema"
	attrTables    = "mailbench.tables" // the tables in the schema language

	markVersion = "1"
)

// TableDescription is a table's descriptor as HBase has it.
type TableDescription struct {
	Name       string
	Attributes map[string]string
	Families   map[string]familySettings // name → setting → value, all that HBase returns
}

// foreign reports a table that mailbench did not make.
func (d TableDescription) foreign() error {
	if d.Attributes[attrMark] != markVersion {
		return fmt.Errorf("table %s: %w", d.Name, drivers.ErrForeign)
	}
	return nil
}

// descriptor returns the descriptor that Apply gives a table.
func (l *layout) descriptor(r *root, namespace string) TableDescription {
	return TableDescription{
		Name: r.name, Families: r.families,
		Attributes: map[string]string{
			attrMark: markVersion, attrNamespace: namespace, attrSchema: l.schema.Name, attrTables: l.tablesText(r),
		},
	}
}

// Describe returns the descriptors of the tables of this store's namespace, in
// the order of their names, and of no others.
func (s *Store) Describe(ctx context.Context) ([]TableDescription, error) {
	if err := s.enter(); err != nil {
		return nil, fmt.Errorf("describe tables: %w", err)
	}
	defer s.leave()
	all, err := s.describe(ctx, drivers.Prefix)
	if err != nil {
		return nil, fmt.Errorf("describe tables: %w", err)
	}
	var ours []TableDescription
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if d := all[name]; d.foreign() == nil && d.Attributes[attrNamespace] == s.namespace {
			ours = append(ours, d)
		}
	}
	return ours, nil
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

func settingsOf(attributes []*pb.BytesBytesPair, configuration []*pb.NameStringPair) map[string]string {
	m := make(map[string]string)
	for _, a := range attributes {
		m[string(a.GetFirst())] = string(a.GetSecond())
	}
	for _, c := range configuration {
		m[c.GetName()] = c.GetValue()
	}
	return m
}

// Inspect implements drivers.Store.
func (s *Store) Inspect(ctx context.Context, name string) (*schemas.Schema, error) {
	if err := s.enter(); err != nil {
		return nil, fmt.Errorf("inspect schema %s: %w", name, err)
	}
	defer s.leave()
	sch, err := s.inspect(ctx, name)
	if err == nil && len(sch.Tables) == 0 {
		err = fmt.Errorf("HBase has no table that begins with %s", s.prefix(name))
	}
	if err != nil {
		return nil, fmt.Errorf("inspect schema %s: %w", name, err)
	}
	return sch, nil
}

// inspect inspects a schema. If no table of it exists, it returns a schema without
// tables.
func (s *Store) inspect(ctx context.Context, name string) (*schemas.Schema, error) {
	prefix := s.prefix(name)
	there, err := s.describe(ctx, prefix)
	if err != nil {
		return nil, err
	}
	for _, table := range slices.Sorted(maps.Keys(there)) {
		d := there[table]
		if err := d.foreign(); err != nil {
			return nil, err
		}
		of, in := d.Attributes[attrSchema], d.Attributes[attrNamespace]
		if s.keyspace == "" && (of != name || in != s.namespace) {
			return nil, fmt.Errorf("table %s belongs to the schema %s in the namespace %q", table, of, in)
		}
	}
	return s.read(name, prefix, there)
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
func (s *Store) find(ctx context.Context, l *layout) (*foundTables, error) {
	prefix := s.prefix(l.schema.Name)
	there, err := s.describe(ctx, prefix)
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
	if f.schema, err = s.read(l.schema.Name, prefix, there); err != nil {
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
func (s *Store) read(name, prefix string, there map[string]TableDescription) (*schemas.Schema, error) {
	if len(there) == 0 {
		return &schemas.Schema{Name: name}, nil
	}
	text := "schema: 1\nname: " + name + tablesKey
	families := make(map[string]map[string]familySettings)
	for _, table := range slices.Sorted(maps.Keys(there)) {
		text += there[table].Attributes[attrTables]
		families[table] = there[table].Families
	}
	sch, err := schemas.Parse("HBase at "+s.contact[0], []byte(text))
	if err != nil {
		return nil, err
	}
	l, err := newLayout(prefix, sch)
	if err != nil {
		return nil, err
	}
	return l.withFamilies(families), nil
}
