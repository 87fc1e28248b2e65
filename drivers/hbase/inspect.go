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

// Attributes of a table's descriptor that mailbench sets. HBase knows neither
// types nor nesting, nor which of its bytes are a key: the last one tells.
const (
	attrMark      = "mailbench" // the mark: which version of these attributes
	attrNamespace = "mailbench.namespace"
	attrSchema    = "mailbench.schema"
	attrTables    = "mailbench.tables" // as a schema file would have them

	markVersion = "1"
)

// TableDescription is a table's descriptor as HBase has it.
type TableDescription struct {
	Name       string
	Attributes map[string]string
	Families   map[string]map[string]string // name → setting → value, all that HBase tells
}

// foreign reports a table that mailbench did not make.
func (d TableDescription) foreign() error {
	if d.Attributes[attrMark] != markVersion {
		return fmt.Errorf("table %s: %w", d.Name, drivers.ErrForeign)
	}
	return nil
}

// attributes are what a table is marked with.
func (s *Store) attributes(l *layout, r *root) map[string]string {
	return map[string]string{
		attrMark: markVersion, attrNamespace: s.namespace, attrSchema: l.schema.Name,
		attrTables: writeTables(l, r),
	}
}

// Describe returns the descriptors of the tables of this store's namespace, in
// the order of their names, and of no others.
func (s *Store) Describe(ctx context.Context) ([]TableDescription, error) {
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

// describe returns the descriptors of all tables whose names begin with prefix.
func (s *Store) describe(ctx context.Context, prefix string) (map[string]TableDescription, error) {
	var answer pb.GetTableDescriptorsResponse
	request := &pb.GetTableDescriptorsRequest{Regex: proto.String(regexp.QuoteMeta(prefix) + ".*"), Namespace: proto.String(hbaseNamespace)}
	if err := s.askMaster(ctx, "GetTableDescriptors", request, &answer); err != nil {
		return nil, err
	}
	all := make(map[string]TableDescription)
	for _, t := range answer.GetTableSchema() {
		d := TableDescription{
			Name: string(t.GetTableName().GetQualifier()), Attributes: settingsOf(t.GetAttributes(), t.GetConfiguration()),
			Families: make(map[string]map[string]string),
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

// Inspect implements drivers.Store. Tables whose family is gone are left out,
// and so are indexes: HBase keeps none.
func (s *Store) Inspect(ctx context.Context, name string) (*schemas.Schema, error) {
	sch, err := s.inspect(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("inspect schema %s: %w", name, err)
	}
	return sch, nil
}

func (s *Store) inspect(ctx context.Context, name string) (*schemas.Schema, error) {
	prefix := prefixOf(s.namespace, name)
	there, err := s.describe(ctx, prefix)
	if err != nil {
		return nil, err
	}
	var source strings.Builder
	fmt.Fprintf(&source, "schema: 1\nname: %s\ntables:\n", name)
	for _, table := range slices.Sorted(maps.Keys(there)) {
		d := there[table]
		if err := d.foreign(); err != nil {
			return nil, err
		}
		source.WriteString(d.Attributes[attrTables])
	}
	if len(there) == 0 {
		return nil, fmt.Errorf("HBase has no table that begins with %s", prefix)
	}
	sch, err := schemas.Parse("HBase at "+s.contact[0], []byte(source.String()))
	if err != nil {
		return nil, err
	}
	l, err := newLayout(prefix, sch)
	if err != nil {
		return nil, err
	}
	sch.Tables = slices.DeleteFunc(sch.Tables, func(t *schemas.Table) bool {
		tb := l.tables[t]
		return tb != nil && there[string(tb.hbase)].Families[tb.family] == nil
	})
	return sch, nil
}

// writeTables writes a root table and what is nested in it as a schema file
// would have them: keys, columns and hints.
func writeTables(l *layout, r *root) string {
	var b strings.Builder
	for _, t := range l.schema.Tables {
		if t.Root() != r.schema {
			continue
		}
		fmt.Fprintf(&b, "  %s:\n", t.Name)
		if t.Parent == nil {
			fmt.Fprintf(&b, "    partition: [%s]\n", keyList(t.Partition))
		} else {
			fmt.Fprintf(&b, "    in: %s\n", t.Parent.Name)
		}
		if own := t.Clustering[t.Inherited:]; len(own) > 0 {
			fmt.Fprintf(&b, "    clustering: [%s]\n", keyList(own))
		}
		writeColumns(&b, "columns", t.Columns)
		writeColumns(&b, "static", t.Static)
		if h := t.Hints["hbase"]; len(h) > 0 {
			b.WriteString("    hints:\n      hbase:\n")
			for _, name := range slices.Sorted(maps.Keys(h)) {
				fmt.Fprintf(&b, "        %s: %q\n", name, h[name])
			}
		}
	}
	return b.String()
}

func keyList(cs []*schemas.Column) string {
	var words []string
	for _, c := range cs {
		word := c.Name + " " + c.Type.String()
		if c.Desc {
			word += " desc"
		}
		words = append(words, fmt.Sprintf("%q", word))
	}
	return strings.Join(words, ", ")
}

func writeColumns(b *strings.Builder, key string, cs []*schemas.Column) {
	if len(cs) == 0 {
		return
	}
	fmt.Fprintf(b, "    %s:\n", key)
	for _, c := range slices.SortedFunc(slices.Values(cs), func(a, b *schemas.Column) int { return strings.Compare(a.Name, b.Name) }) {
		fmt.Fprintf(b, "      %s: %q\n", c.Name, c.Type.String())
	}
}
