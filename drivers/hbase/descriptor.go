package hbase

import (
	"fmt"
	"strings"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
)

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
