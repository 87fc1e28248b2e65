package oraclenosql

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// markPrefix begins the comment of each table that mailbench created. A namespace is
// mailbench's if all of its tables have it.
const markPrefix = "mailbench "

// mark is the rest of such a comment. It holds what Oracle does not know of a table; all
// else is read from the server.
type mark struct {
	Namespace string `json:"namespace,omitempty"`
	Schema    string `json:"schema"`
	Table     string `json:"table"`            // its name in the schema
	Static    bool   `json:"static,omitempty"` // it has the static columns of that table
	// In is the table that it is nested in, or "".
	In string `json:"in,omitempty"`
	// Columns are the key, static and plain columns, by Oracle's name of each.
	Columns map[string]markColumn `json:"columns"`
	// Indexes are the columns of each index, those that descend with " desc".
	Indexes map[string]markIndex `json:"indexes,omitempty"`
}

// markColumn is a column in the schema's terms. Type is the schema's type.
type markColumn struct {
	Name string `json:"name,omitempty"` // if Oracle has another
	Type string `json:"type"`
	Desc bool   `json:"desc,omitempty"`
}

// markIndex is an index in the schema's terms.
type markIndex struct {
	Name string   `json:"name,omitempty"` // if Oracle has another
	Desc []string `json:"desc,omitempty"` // the columns that descend
}

func (t *table) mark(namespace, schema string) mark {
	m := mark{Namespace: namespace, Schema: schema, Table: t.of.Name, Columns: make(map[string]markColumn)}
	m.Static = t.isStatic()
	if t.of.Parent != nil {
		m.In = t.of.Parent.Name
	}
	for _, c := range slices.Concat(t.fullKey(), t.columns) {
		own := markColumn{Type: c.Type.String(), Desc: c.Desc}
		if id := identifier(c.Name); id != c.Name {
			own.Name = c.Name
		}
		m.Columns[identifier(c.Name)] = own
	}
	for _, x := range t.kept() {
		own := markIndex{}
		if id := identifier(x.Name); id != x.Name {
			own.Name = x.Name
		}
		for _, c := range x.Columns {
			if c.Desc {
				own.Desc = append(own.Desc, c.Column.Name)
			}
		}
		if own.Name != "" || len(own.Desc) > 0 {
			if m.Indexes == nil {
				m.Indexes = make(map[string]markIndex)
			}
			m.Indexes[identifier(x.Name)] = own
		}
	}
	return m
}

// isStatic reports whether the table has the static columns of the schema's table.
func (t *table) isStatic() bool { return len(t.of.Static) > 0 && t.parent == nil }

// kept returns the indexes that Oracle keeps of the table.
func (t *table) kept() []*schemas.Index {
	if t.isStatic() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.of.Indexes), func(x *schemas.Index) bool {
		return slices.ContainsFunc(x.Columns, func(c schemas.IndexColumn) bool { return !indexable(c.Column) })
	})
}

// comment returns the mark as a table's comment.
func (m mark) comment() string {
	var b strings.Builder
	b.WriteString(markPrefix)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // keeps map<text,bigint> readable
	if err := e.Encode(m); err != nil {
		panic(err) // strings and maps of them can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// readMark reads a table's comment; ok is false if mailbench did not write it, or somebody
// has changed it so that it makes no sense.
func readMark(comment string) (m mark, ok bool) {
	text, ok := strings.CutPrefix(comment, markPrefix)
	if !ok || json.Unmarshal([]byte(text), &m) != nil || m.Schema == "" || m.Table == "" || m.In == m.Table {
		return mark{}, false
	}
	return m, true
}
