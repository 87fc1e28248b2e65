package cassandra

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// markPrefix begins the comment of each table that mailbench has made. A
// keyspace is ours if all of its tables have it.
const markPrefix = "mailbench "

// mark is the rest of such a comment: what of a table CQL has no way to say.
// All else is read from the engine's own schema.
type mark struct {
	Namespace string `json:"namespace,omitempty"`
	Schema    string `json:"schema"`
	Table     string `json:"table"` // as the schema calls it
	// In is what the table is nested in, innermost first.
	In []ancestor `json:"in,omitempty"`
	// Types are the columns whose CQL type is not the schema's.
	Types map[string]string `json:"types,omitempty"`
	// Indexes are the columns of those indexes that CQL tells otherwise: that
	// begin with columns of the primary key (CQL names the last one only, and
	// finds the rows by all), or share the index of another.
	Indexes map[string][]string `json:"indexes,omitempty"`
}

// ancestor is a table that another is nested in, with the number of its
// primary key columns. It may be a row header, which is no table in CQL.
type ancestor struct {
	Table string `json:"table"`
	Key   int    `json:"key"`
}

func newMark(namespace, schema string, t *schemas.Table) mark {
	m := mark{Namespace: namespace, Schema: schema, Table: t.Name}
	for p := t.Parent; p != nil; p = p.Parent {
		m.In = append(m.In, ancestor{p.Name, len(p.Partition) + len(p.Clustering)})
	}
	for _, cs := range [][]*schemas.Column{t.Partition, t.Clustering, t.Static, t.Columns} {
		for _, c := range cs {
			if cqlType(c.Type) != spaced(c.Type) {
				if m.Types == nil {
					m.Types = make(map[string]string)
				}
				m.Types[c.Name] = c.Type.String()
			}
		}
	}
	created := indexesOf(t)
	for _, x := range t.Indexes {
		told := len(x.Columns) == 1 && slices.Contains(created, indexDefinition{x.Name, x.Columns[0].Column})
		if !keptIndex(t, x) || told {
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

// spaced writes a type as system_schema does: "map<text, int>".
func spaced(t schemas.Type) string { return strings.ReplaceAll(t.String(), ",", ", ") }

// comment returns the mark as a table's comment.
func (m mark) comment() string {
	var b strings.Builder
	b.WriteString(markPrefix)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // map<text,bigint> stays legible
	if err := e.Encode(m); err != nil {
		panic(err) // strings, numbers and maps of them can always be written
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// readMark reads a table's comment; ok is false if mailbench did not write it.
func readMark(comment string) (m mark, ok bool) {
	text, ok := strings.CutPrefix(comment, markPrefix)
	return m, ok && json.Unmarshal([]byte(text), &m) == nil && m.Schema != "" && m.Table != ""
}

// kept reports whether Cassandra keeps an index of the table: its own are of one
// plain column and find equal values, in no order of theirs. The columns before
// that one, if any, are the first of the primary key, with the whole partition
// key among them: they are bound beside it and cost nothing.
func keptIndex(t *schemas.Table, x *schemas.Index) bool {
	last := len(x.Columns) - 1
	if c := x.Columns[last]; c.Column.Role != schemas.Plain || c.Desc {
		return false
	}
	if last > 0 && last < len(t.Partition) || last > len(t.Partition)+len(t.Clustering) {
		return false
	}
	key := t.Key()
	for i, c := range x.Columns[:last] {
		if c.Column != key[i] {
			return false
		}
	}
	return true
}
