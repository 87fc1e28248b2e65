package hbase

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tsuna/gohbase/pb"
	"golang.org/x/sync/errgroup"

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
