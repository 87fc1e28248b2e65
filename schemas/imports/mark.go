package imports

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// mark is what mailbench writes into the comments of its own tables (package ddl of drivers/cassandra):
// what CQL cannot say of them.
type mark struct {
	Table string `json:"table"`
	In    []struct {
		Table string `json:"table"`
		Key   int    `json:"key"`
	} `json:"in"`
	Types   map[string]string   `json:"types"`
	Indexes map[string][]string `json:"indexes"`
}

const markPrefix = "mailbench "

// readMark reads a comment; ok is false if it is no mark.
func readMark(comment string) (m mark, ok bool) {
	text, ok := strings.CutPrefix(comment, markPrefix)
	return m, ok && json.Unmarshal([]byte(text), &m) == nil && m.Table != ""
}

// nest gives mailbench's own tables the names, types, indexes and parents that their marks say. If the
// language does not have the result, the tables stay as CQL has them.
func (im *importer) nest() {
	if len(im.marks) == 0 {
		return
	}
	flat := im.schema.Tables
	nested := nester{byName: make(map[string]*schemas.Table), marks: im.marks}
	own := make(map[*schemas.Table]*schemas.Table)
	for _, t := range flat {
		own[t] = nested.copy(t)
	}
	for _, t := range flat {
		nested.parents(own[t], im.marks[t])
	}
	if im.refused(nested.tables) != nil {
		return
	}
	im.schema.Tables = nested.tables
	for name, t := range im.tables {
		im.tables[name] = own[t]
	}
}

type nester struct {
	tables []*schemas.Table
	byName map[string]*schemas.Table
	marks  map[*schemas.Table]mark
}

// copy returns a table as its mark says, not yet in its parent.
func (n *nester) copy(t *schemas.Table) *schemas.Table {
	own, m := *t, n.marks[t]
	if m.Table != "" {
		own.Name = m.Table
	}
	copies := func(cs []*schemas.Column) (all []*schemas.Column) {
		for _, c := range cs {
			typed := *c
			if text, ok := m.Types[c.Name]; ok {
				typed.Type = schemas.TypeOf(text)
			}
			all = append(all, &typed)
		}
		return all
	}
	own.Partition, own.Clustering = copies(t.Partition), copies(t.Clustering)
	own.Static, own.Columns, own.Indexes = copies(t.Static), copies(t.Columns), nil
	for _, x := range t.Indexes {
		last := x.Columns[len(x.Columns)-1].Column.Name
		index := schemas.Index{Name: x.Name, Pos: x.Pos, Columns: []schemas.IndexColumn{{Column: own.Column(last)}}}
		for name, columns := range m.Indexes {
			if columns[len(columns)-1] != last {
				continue
			}
			index.Name, index.Columns = name, nil
			for _, c := range columns {
				if col := own.Column(c); col != nil {
					index.Columns = append(index.Columns, schemas.IndexColumn{Column: col})
				}
			}
		}
		own.Indexes = append(own.Indexes, &index)
	}
	n.byName[own.Name] = &own
	n.tables = append(n.tables, &own)
	return &own
}

// parents nests a table in those that its mark names, and makes the row headers among them.
func (n *nester) parents(t *schemas.Table, m mark) {
	for _, in := range m.In {
		parent := n.byName[in.Table]
		key := max(0, min(in.Key-len(t.Partition), len(t.Clustering)))
		if parent == nil {
			parent = &schemas.Table{
				Name: in.Table, Imported: t.Imported, Partition: t.Partition, Clustering: slices.Clone(t.Clustering[:key]),
			}
			n.byName[in.Table] = parent
			n.tables = append(n.tables, parent)
		}
		if t.Parent == nil && len(parent.Clustering) == key && len(parent.Partition) == len(t.Partition) {
			t.Parent, t.Inherited = parent, key
			t.Partition = parent.Partition
			t.Clustering = slices.Concat(parent.Clustering, t.Clustering[key:])
			parent.Children = append(parent.Children, t)
		}
		t = parent
	}
}
