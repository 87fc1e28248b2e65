package imports

import (
	"encoding/json"
	"maps"
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

// nest puts mailbench's own tables into the parents that their marks name, and creates the row headers among these. It
// reports whether the language has the result.
func (im *importer) nest() bool {
	if len(im.marks) == 0 {
		return true
	}
	for _, t := range im.schema.Tables { // without the headers that follow
		m := im.marks[t]
		for _, in := range m.In {
			parent := im.schema.Table(in.Table)
			key := max(0, min(in.Key-len(t.Partition), len(t.Clustering)))
			if parent == nil {
				parent = &schemas.Table{
					Name: in.Table, Imported: t.Imported, Partition: t.Partition, Clustering: slices.Clone(t.Clustering[:key]),
				}
				im.schema.Tables = append(im.schema.Tables, parent)
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
	return im.refused(im.schema.Tables) == nil
}

// indexes returns the indexes that a mark has for one of CQL, which has only their last column.
func (m mark) indexes(t *schemas.Table, x *schemas.Index) (all []*schemas.Index) {
	for _, name := range slices.Sorted(maps.Keys(m.Indexes)) {
		own := &schemas.Index{Name: name, Pos: x.Pos}
		for _, c := range m.Indexes[name] {
			if col := t.Column(c); col != nil {
				own.Columns = append(own.Columns, schemas.IndexColumn{Column: col})
			}
		}
		if n := len(own.Columns); n > 0 && own.Columns[n-1] == x.Columns[len(x.Columns)-1] {
			all = append(all, own)
		}
	}
	return all
}
