package ddl

import (
	"slices"

	"github.com/mailbench/mailbench/drivers/render"
	"github.com/mailbench/mailbench/schemas"
)

// mark is the mark of a table (render.Mark). It holds what CQL cannot say about a table;
// all else is read from system_schema.
type mark struct {
	Namespace string `json:"namespace,omitempty"`
	Schema    string `json:"schema"`
	Table     string `json:"table"` // its name in the schema
	// In are the tables that the table is nested in, innermost first.
	In []ancestor `json:"in,omitempty"`
	// Types are the types of the columns whose CQL type is another.
	Types map[string]string `json:"types,omitempty"`
	// Indexes are the columns of the indexes that look different in CQL. CQL names
	// only the last column of an index that begins with columns of the primary key.
	// Two indexes with the same last column are one in CQL.
	Indexes map[string][]string `json:"indexes,omitempty"`
	// Kind is the kind that the table's indexes are to have, if it is not legacy. It is
	// needed while the table has no index yet.
	Kind string `json:"kind,omitempty"`
}

// ancestor is a table that another is nested in. Key is the number of its primary
// key columns. A row header is an ancestor too, though it has no CQL table.
type ancestor struct {
	Table string `json:"table"`
	Key   int    `json:"key"`
}

func newMark(namespace, schema string, t *schemas.Table) mark {
	m := mark{Namespace: namespace, Schema: schema, Table: t.Name}
	if kind, err := indexKind(t); err == nil && kind != legacyIndex && len(t.Indexes) > 0 {
		m.Kind = kind
	}
	for p := t.Parent; p != nil; p = p.Parent {
		m.In = append(m.In, ancestor{p.Name, len(p.Partition) + len(p.Clustering)})
	}
	for _, cs := range [][]*schemas.Column{t.Partition, t.Clustering, t.Static, t.Columns} {
		for _, c := range cs {
			if schemas.TypeOfCQL(cqlType(c.Type)).String() != c.Type.String() {
				if m.Types == nil {
					m.Types = make(map[string]string)
				}
				m.Types[c.Name] = c.Type.String()
			}
		}
	}
	created := indexesOf(t)
	for _, x := range t.Indexes {
		told := len(x.Columns) == 1 && slices.Contains(created, IndexDefinition{x.Name, x.Columns[0].Column})
		if !t.OneColumn(x) || told {
			continue
		}
		if m.Indexes == nil {
			m.Indexes = make(map[string][]string)
		}
		for _, c := range x.Columns {
			m.Indexes[x.Name] = append(m.Indexes[x.Name], c.Column.Name)
		}
	}
	return m
}

// ReadMark reads a table's comment; ok is false if mailbench did not write it, or
// somebody has changed it so that it makes no sense.
func ReadMark(comment string) (m mark, ok bool) {
	if !render.ReadMark(comment, &m) || !m.sound() {
		return mark{}, false
	}
	return m, true
}

// sound reports whether the mark can be that of a table.
func (m mark) sound() bool {
	names := map[string]bool{"": true, m.Table: true}
	for _, in := range m.In {
		if names[in.Table] || in.Key < 1 {
			return false
		}
		names[in.Table] = true
	}
	for _, columns := range m.Indexes {
		if len(columns) == 0 {
			return false
		}
	}
	return m.Schema != "" && m.Table != ""
}
