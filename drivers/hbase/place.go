package hbase

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tsuna/gohbase/pb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// place is the tables of a schema as they are (plan.Place). It has the commands of the HBase shell that change them as
// a difference needs it: Apply runs those that create tables, schema diff prints them, and schema render prints those
// of a store without tables.
type place struct {
	plan.Found
	*layout
	store     *Store
	prefix    string                      // how their names in HBase begin
	there     map[string]TableDescription // by their names in HBase
	unmarked  []string                    // names in HBase of the schema's tables that lack mailbench's mark
	namespace string                      // the namespace in marks
	regions   int                         // that a new table begins with
	users     []string                    // a sample, which divides addresses among regions
}

// Create implements plan.Place. Each HBase table that does not exist is created, all in parallel. A table that
// has no such family is refused.
func (p *place) Create(changes []schemas.Difference) ([]string, func(context.Context) error, error) {
	missing := make(map[string]*root)
	for _, d := range changes {
		r := p.rootOf(p.schema.Table(d.Table))
		if _, ok := p.there[r.Name]; ok { // without a family
			return nil, nil, drivers.Conflict([]schemas.Difference{d})
		}
		missing[r.Name] = r
	}
	return drivers.Statements(changes, p.statements), func(ctx context.Context) error {
		var g errgroup.Group
		for _, r := range missing {
			request := &pb.CreateTableRequest{TableSchema: p.descriptor(r).message(), SplitKeys: p.splits(r)}
			g.Go(func() error { return crash.Guard(func() error { return p.store.createTable(ctx, request) }) })
		}
		return g.Wait()
	}, nil
}

// Use implements plan.Place.
func (p *place) Use() { p.store.tables.Add(p.schema, p.layout.tables) }

// createTable creates a table, or waits until another client has created it.
func (s *Store) createTable(ctx context.Context, request *pb.CreateTableRequest) error {
	name := string(request.GetTableSchema().GetTableName().GetQualifier())
	err := s.run(ctx, "CreateTable", request, new(pb.CreateTableResponse))
	if err == nil {
		return nil
	}
	if !rpc.IsClass(err, "TableExistsException") {
		return fmt.Errorf("create table %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	for {
		there, err := s.describe(ctx, name)
		if _, ok := there[name]; ok || err != nil {
			return err
		}
		if err := drivers.Pause(ctx, pollInterval); err != nil {
			return fmt.Errorf("table %s, which another client creates: %w", name, err)
		}
	}
}

// owners returns the owner of each table that has mailbench's prefix: every table is a place of its own.
func (s *Store) owners(ctx context.Context) (plan.Owners, error) {
	there, err := s.describe(ctx, drivers.Prefix)
	all := make(plan.Owners)
	for name, d := range there {
		m, _, marked := d.mark(prefixOf(d.Attributes[attrNamespace], d.Attributes[attrSchema]))
		all.Of(name).Add(name, m.Namespace, marked)
	}
	return all, err
}

// dropTable disables and deletes one table. That it is disabled or gone already,
// as an interrupted or another client's drop leaves it, is no error.
func (s *Store) dropTable(ctx context.Context, name string) error {
	err := s.run(ctx, "DisableTable", &pb.DisableTableRequest{TableName: tableName(name)}, new(pb.DisableTableResponse))
	if err == nil || rpc.IsClass(err, "TableNotEnabledException") {
		err = s.run(ctx, "DeleteTable", &pb.DeleteTableRequest{TableName: tableName(name)}, new(pb.DeleteTableResponse))
	}
	if rpc.IsClass(err, "TableNotFoundException") {
		return nil
	}
	return err
}

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

const hbaseNamespace = "default"

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

// mark returns the mark of a table, and the schema's tables in it. The names of the schema's tables in HBase begin with
// the prefix. ok is false if mailbench did not make the table, or somebody cloned it: a clone has the original's mark.
func (d TableDescription) mark(prefix string) (m plan.Mark, of *schemas.Schema, ok bool) {
	m = plan.Mark{Namespace: d.Attributes[attrNamespace], Schema: d.Attributes[attrSchema]}
	of, err := schemas.ParseStored(d.Name, []byte("schema: 1\nname: x"+tablesKey+d.Attributes[attrTables]))
	if err != nil || d.Attributes[attrMark] != markVersion {
		return m, nil, false
	}
	return m, of, d.Name == prefix+of.Tables[0].Root().Name
}

// descriptor returns the descriptor that Apply gives a table.
func (p *place) descriptor(r *root) TableDescription {
	marked := r.TableDescription
	marked.Attributes = map[string]string{
		attrMark: markVersion, attrNamespace: p.namespace, attrSchema: p.schema.Name, attrTables: p.tablesText(r),
	}
	return marked
}

// message returns the descriptor as a message to HBase's master.
func (d TableDescription) message() *pb.TableSchema {
	t := &pb.TableSchema{TableName: tableName(d.Name)}
	for name, value := range d.Attributes {
		t.Attributes = append(t.Attributes, pair(name, value))
	}
	for name, settings := range d.Families {
		f := &pb.ColumnFamilySchema{Name: []byte(name)}
		for setting, value := range settings {
			if isConfiguration(setting) {
				f.Configuration = append(f.Configuration, &pb.NameStringPair{Name: &setting, Value: &value})
				continue
			}
			f.Attributes = append(f.Attributes, pair(setting, value))
		}
		t.ColumnFamilies = append(t.ColumnFamilies, f)
	}
	return t
}

// isConfiguration reports whether a setting of a family is in its configuration and no attribute.
func isConfiguration(setting string) bool { return strings.Contains(setting, ".") }

func settingsOf(attributes []*pb.BytesBytesPair, configuration []*pb.NameStringPair) map[string]string {
	m := make(map[string]string)
	for _, a := range attributes {
		m[string(a.GetFirst())] = string(a.GetSecond())
	}
	for _, o := range configuration {
		m[o.GetName()] = o.GetValue()
	}
	return m
}

// tableName splits a table's name. One without a namespace is in the default one.
func tableName(name string) *pb.TableName {
	namespace, qualifier, ok := strings.Cut(name, ":")
	if !ok {
		namespace, qualifier = hbaseNamespace, name
	}
	return &pb.TableName{Namespace: []byte(namespace), Qualifier: []byte(qualifier)}
}

func pair(name, value string) *pb.BytesBytesPair {
	return &pb.BytesBytesPair{First: []byte(name), Second: []byte(value)}
}

// splits returns the row keys at which the regions of a new table begin, without the first
// region. A salted table has a region for each bucket, or with pre_split as many as that says. Where
// row keys begin with addresses, the regions have equal shares of the users.
func (p *place) splits(r *root) (keys [][]byte) {
	switch {
	case r.salt == 0 && len(p.users) > 0 && addressed(p.schema, r.schema):
		return sampledKeys(p.users, p.regions)
	case r.salt == 0:
		return splitKeys(r.schema.Partition[0].Type.Kind, p.regions)
	}
	regions := min(p.regions, r.salt)
	if p.regions == 1 {
		regions = r.salt
	}
	for i := 1; i < regions; i++ {
		keys = append(keys, []byte{byte(r.salt * i / regions)})
	}
	return keys
}

// letters are those with which texts in keys are assumed to begin, such as mail addresses and
// hexadecimal ids.
const letters = "0123456789abcdefghijklmnopqrstuvwxyz"

// splitKeys returns the keys that divide the keys of one kind evenly. It returns none for numbers
// and times, whose range is unknown: see the hint salt.
func splitKeys(kind schemas.Kind, regions int) (keys [][]byte) {
	for i := 1; i < regions; i++ {
		switch kind {
		case schemas.Text:
			at := len(letters) * len(letters) * i / regions
			keys = append(keys, []byte{letters[at/len(letters)], letters[at%len(letters)]})
		case schemas.Blob, schemas.UUID:
			at := 1 << 16 * i / regions
			keys = append(keys, []byte{byte(at >> 8), byte(at)})
		}
	}
	return keys
}

// sampledKeys returns the keys that divide a sample into equal shares.
func sampledKeys(sample []string, regions int) (keys [][]byte) {
	sorted := slices.Sorted(slices.Values(sample))
	for i := 1; i < regions; i++ {
		key := []byte(sorted[i*len(sorted)/regions])
		if sorted[0] != string(key) && (len(keys) == 0 || !bytes.Equal(keys[len(keys)-1], key)) {
			keys = append(keys, key)
		}
	}
	return keys
}

// addressed reports whether the rows of a table, or of one nested in it, have the address of a user
// as their first key column, which the schema's population says.
func addressed(s *schemas.Schema, root *schemas.Table) bool {
	first := root.Partition[0]
	if first.Type.Kind != schemas.Text {
		return false
	}
	address := func(t schemas.Term) bool { return t.Quantity == "address" }
	return slices.ContainsFunc(s.Tables, func(t *schemas.Table) bool {
		return t.Root() == root && slices.ContainsFunc(t.Rows, func(r *schemas.Rows) bool {
			return slices.ContainsFunc(r.Sizes, func(c schemas.ColumnSize) bool {
				return c.Column.Name == first.Name && slices.ContainsFunc(c.Bytes, address)
			})
		})
	})
}
