package hbase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tsuna/gohbase/pb"
	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/schemas"
)

// apply creates the schema's tables that are missing, or with ReadOnly only compares them.
// Several clients may apply a schema at the same time: each table is created by one of them,
// and all of them compare the result.
func (a *admin) apply(ctx context.Context, sch *schemas.Schema) (*layout, error) {
	l, err := newLayout(a.prefix(sch.Name), sch)
	switch {
	case err != nil:
	case a.ReadOnly:
		err = a.attach(ctx, l)
	default:
		err = a.create(ctx, l)
	}
	return l, err
}

// attach compares the tables of a store that is open for reading only.
func (a *admin) attach(ctx context.Context, l *layout) error {
	there, err := a.find(ctx, l)
	if err == nil && len(there.tables)+len(there.others) == 0 {
		err = a.absent(ctx, l.schema.Name)
	}
	if err != nil {
		return err
	}
	if err := drivers.Readable(l.stored(), there.schema); err != nil {
		return err
	}
	// Rows of another layout cannot be read, though their columns are the same.
	return drivers.Conflict(slices.DeleteFunc(schemas.Diff(l.stored(), there.schema), func(d schemas.Difference) bool {
		return d.Kind != schemas.DifferentSetting || !slices.Contains(layoutSettings, d.Part)
	}))
}

// create creates the missing HBase tables and compares all of them.
func (a *admin) create(ctx context.Context, l *layout) error {
	missing, err := a.missing(ctx, l)
	if err != nil || len(missing) == 0 {
		return err
	}
	var g errgroup.Group
	for _, c := range missing {
		g.Go(func() error { return crash.Guard(func() error { return a.createTable(ctx, c) }) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if missing, err = a.missing(ctx, l); err == nil && len(missing) > 0 {
		err = fmt.Errorf("somebody else dropped table %s while it was being created", missing[0].table)
	}
	return err
}

// missing returns the commands that create the HBase tables that do not exist. It returns an error if an
// existing one differs in any way, or has no such family.
func (a *admin) missing(ctx context.Context, l *layout) (all []tableCommand, err error) {
	there, err := a.inspect(ctx, l.schema.Name)
	if err != nil {
		return nil, err
	}
	changes, err := drivers.Missing(l.stored(), there.schema)
	if err != nil {
		return nil, err
	}
	p := a.planner(l, there)
	for _, d := range changes {
		for _, c := range p.commands(d) {
			if c.create == nil { // the table exists without a family
				return nil, drivers.Conflict([]schemas.Difference{d})
			}
			if !slices.ContainsFunc(all, func(o tableCommand) bool { return o.table == c.table }) {
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// await waits until HBase knows a table.
func (a *admin) await(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	for {
		there, err := a.describe(ctx, name)
		if _, ok := there[name]; ok || err != nil {
			return err
		}
		if err := sleep(ctx, pollInterval); err != nil {
			return fmt.Errorf("table %s, which another client creates: %w", name, err)
		}
	}
}

// createTable runs a command that creates a table, or waits until another client has created it.
func (a *admin) createTable(ctx context.Context, c tableCommand) error {
	var answer pb.CreateTableResponse
	err := a.askMaster(ctx, "CreateTable", c.create, &answer)
	if err == nil {
		err = a.procedure(ctx, answer.GetProcId())
	}
	if isClass(err, "TableExistsException") {
		return a.await(ctx, c.table)
	}
	if err != nil {
		return fmt.Errorf("create table %s: %w", c.table, err)
	}
	return nil
}

// drop drops the tables of the store's namespace. It does not touch tables without mailbench's
// mark: one whose name says that it is of this namespace is ErrForeign, once all others are
// gone.
func (a *admin) drop(ctx context.Context) error {
	if a.ReadOnly {
		return drivers.ErrReadOnly
	}
	all, err := a.describe(ctx, drivers.Prefix)
	if err != nil {
		return err
	}
	var foreign error
	var g errgroup.Group
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		if err := d.foreign(); err != nil {
			if a.namespace != "" && strings.HasPrefix(name, drivers.Prefix+a.namespace+"_") {
				foreign = errors.Join(foreign, err)
			}
			continue
		}
		if d.Attributes[attrNamespace] != a.namespace || !strings.HasPrefix(name,
			prefixOf(a.namespace, d.Attributes[attrSchema])) {
			continue
		}
		g.Go(func() error {
			if err := crash.Guard(func() error { return a.dropTable(ctx, name) }); err != nil {
				return fmt.Errorf("drop table %s: %w", name, err)
			}
			return nil
		})
	}
	return errors.Join(g.Wait(), foreign)
}

// dropTable disables and deletes one table. That it is disabled or gone already,
// as an interrupted or another client's drop leaves it, is no error.
func (a *admin) dropTable(ctx context.Context, name string) error {
	err := a.disable(ctx, name)
	if isClass(err, "TableNotFoundException") {
		return nil
	}
	if err != nil && !isClass(err, "TableNotEnabledException") {
		return err
	}
	var deleted pb.DeleteTableResponse
	err = a.askMaster(ctx, "DeleteTable", &pb.DeleteTableRequest{TableName: tableName(name)}, &deleted)
	if err == nil {
		err = a.procedure(ctx, deleted.GetProcId())
	}
	if isClass(err, "TableNotFoundException") {
		return nil
	}
	return err
}

func (a *admin) disable(ctx context.Context, name string) error {
	var disabled pb.DisableTableResponse
	err := a.askMaster(ctx, "DisableTable", &pb.DisableTableRequest{TableName: tableName(name)}, &disabled)
	if err == nil {
		err = a.procedure(ctx, disabled.GetProcId())
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
func (r *root) splits(regions int, users []string) [][]byte {
	if r.salt == 0 && r.addressed && len(users) > 0 {
		return sampledKeys(users, regions)
	}
	if r.salt == 0 {
		return splitKeys(r.schema.Partition[0].Type.Kind, regions)
	}
	if regions == 1 {
		regions = r.salt
	}
	var keys [][]byte
	for i := 1; i < min(regions, r.salt); i++ {
		keys = append(keys, []byte{byte(r.salt * i / min(regions, r.salt))})
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
