package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas"
)

// Inspect implements drivers.Store. What is there is written in the schema
// language, and read as any schema is. An index that Cassandra cannot keep is
// not there; neither are patterns.
func (s *Store) Inspect(ctx context.Context, name string) (*schemas.Schema, error) {
	if err := s.enter(); err != nil {
		return nil, fmt.Errorf("inspect schema %s: %w", name, err)
	}
	defer s.leave()
	sch, err := s.inspect(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("inspect schema %s: %w", name, err)
	}
	return sch, nil
}

func (s *Store) inspect(ctx context.Context, name string) (*schemas.Schema, error) {
	keyspace, err := Keyspace(s.namespace, name)
	if err != nil {
		return nil, err
	}
	k, err := s.readKeyspace(ctx, keyspace)
	if err != nil {
		return nil, fmt.Errorf("read keyspace %s: %w", keyspace, err)
	}
	if k == nil || len(k.tables) == 0 {
		return nil, fmt.Errorf("there is no keyspace %s with tables", keyspace)
	}
	if err := k.ours(); err != nil {
		return nil, err
	}
	text, err := k.source(s.namespace, name)
	if err != nil {
		return nil, err
	}
	return schemas.Parse("keyspace "+keyspace, text)
}

// tableSource is a table in the schema language.
type tableSource struct {
	In         string                       `yaml:"in,omitempty"`
	Partition  []string                     `yaml:"partition,omitempty"`
	Clustering []string                     `yaml:"clustering,omitempty"`
	Static     map[string]string            `yaml:"static,omitempty"`
	Columns    map[string]string            `yaml:"columns,omitempty"`
	Indexes    map[string][]string          `yaml:"indexes,omitempty"`
	Hints      map[string]map[string]string `yaml:"hints,omitempty"`
}

// source writes the keyspace in the schema language.
func (k *liveKeyspace) source(namespace, schema string) ([]byte, error) {
	tables := make(map[string]tableSource)
	for _, name := range slices.Sorted(maps.Keys(k.tables)) {
		t := k.tables[name]
		if t.mark.Schema != schema || t.mark.Namespace != namespace {
			return nil, fmt.Errorf("keyspace %s is of the schema %s in the namespace %q", k.name, t.mark.Schema, t.mark.Namespace)
		}
		tables[t.mark.Table] = t.source()
	}
	for _, t := range k.tables { // the row headers around them
		for i, in := range t.mark.In {
			if _, there := tables[in.Table]; !there {
				tables[in.Table] = t.header(i)
			}
		}
	}
	return yaml.Marshal(struct {
		Schema int                    `yaml:"schema"`
		Name   string                 `yaml:"name"`
		Native string                 `yaml:"native"`
		Tables map[string]tableSource `yaml:"tables"`
	}{1, schema, engineName, tables})
}

// typeOf returns a column's type in the schema language.
func (t *liveTable) typeOf(c liveColumn) string {
	if own := t.mark.Types[c.name]; own != "" {
		return own
	}
	return strings.ReplaceAll(c.typ, " ", "")
}

// key writes the columns of t's primary key from one position up to another.
func (t *liveTable) key(to *tableSource, from, end int) {
	partition := t.of("partition_key")
	for i, c := range append(partition, t.of("clustering")...) {
		word := c.name + " " + t.typeOf(c)
		if c.order == "desc" {
			word += " desc"
		}
		switch {
		case i < from || i >= end:
		case i < len(partition):
			to.Partition = append(to.Partition, word)
		default:
			to.Clustering = append(to.Clustering, word)
		}
	}
}

// source writes the table in the schema language.
func (t *liveTable) source() tableSource {
	s := tableSource{
		Static: make(map[string]string), Columns: make(map[string]string), Indexes: make(map[string][]string),
		Hints: map[string]map[string]string{engineName: t.hints()},
	}
	from := 0
	if len(t.mark.In) > 0 {
		s.In, from = t.mark.In[0].Table, t.mark.In[0].Key
	}
	t.key(&s, from, len(t.columns))
	for _, c := range t.of("static") {
		s.Static[c.name] = t.typeOf(c)
	}
	for _, c := range t.of("regular") {
		s.Columns[c.name] = t.typeOf(c)
	}
	indexed := make(map[string]bool)
	for name, column := range t.indexes {
		indexed[column] = true
		s.Indexes[name] = []string{column}
	}
	for name, columns := range t.mark.Indexes {
		if indexed[columns[len(columns)-1]] {
			delete(s.Indexes, cqlName(name))
			s.Indexes[name] = columns
		}
	}
	return s
}

// header writes the table that is the i-th around t: a row header, of which
// nothing is there but t's own key.
func (t *liveTable) header(i int) tableSource {
	var s tableSource
	from := 0
	if i+1 < len(t.mark.In) {
		s.In, from = t.mark.In[i+1].Table, t.mark.In[i+1].Key
	}
	t.key(&s, from, t.mark.In[i].Key)
	return s
}

// hints writes the table's options as hints.
func (t *liveTable) hints() map[string]string {
	hints := maps.Clone(t.numbers)
	for name, fields := range t.fields {
		var words []string
		for _, k := range slices.Sorted(maps.Keys(fields)) {
			if k != "class" {
				words = append(words, k+"="+fields[k])
			}
		}
		if class := fields["class"]; class != "" {
			words = slices.Insert(words, 0, class[strings.LastIndexByte(class, '.')+1:])
		}
		if name == "compression" && fields["enabled"] == "false" {
			words = []string{"none"}
		}
		hints[name] = strings.Join(words, " ")
	}
	return hints
}
