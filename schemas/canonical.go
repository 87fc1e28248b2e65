package schemas

import (
	"maps"
	"slices"
	"strings"
)

// Canonical returns a copy of a schema's tables in the form in which stores
// return theirs. Tables are sorted by name, parents first; static columns, plain
// columns and indexes are sorted by name. The copy has no more than an engine stores:
// names, keys, columns, indexes and hints. The caller owns the copy.
func Canonical(s *Schema) *Schema {
	c := &Schema{Name: s.Name, File: s.File}
	copies := make(map[*Table]*Table)
	var add func(t *Table) *Table
	add = func(t *Table) *Table {
		own, done := copies[t]
		if done || t == nil {
			return own
		}
		own = copyTable(t, add(t.Parent))
		copies[t] = own
		c.Tables = append(c.Tables, own)
		return own
	}
	for _, t := range sortedBy(s.Tables, func(t *Table) string { return t.Name }) {
		add(t)
	}
	return c
}

func copyTable(t, parent *Table) *Table {
	own := &Table{Name: t.Name, Schema: t.Schema, Parent: parent, Hints: maps.Clone(t.Hints)}
	for engine, settings := range own.Hints {
		own.Hints[engine] = maps.Clone(settings)
	}
	if parent == nil {
		parent = &Table{}
	} else {
		parent.Children = append(parent.Children, own)
	}
	own.Partition = copyKey(t.Partition, parent.Partition)
	own.Clustering = copyKey(t.Clustering, parent.Clustering)
	own.Inherited = min(len(parent.Clustering), len(own.Clustering))
	byName := func(c *Column) string { return c.Name }
	own.Static = copyKey(sortedBy(t.Static, byName), nil)
	own.Columns = copyKey(sortedBy(t.Columns, byName), nil)
	for _, x := range sortedBy(t.Indexes, func(x *Index) string { return x.Name }) {
		index := &Index{Name: x.Name}
		for _, c := range x.Columns {
			column := own.Column(c.Column.Name)
			if column == nil { // an index made by hand, over what the language cannot index
				column = &Column{Name: c.Column.Name}
			}
			index.Columns = append(index.Columns, IndexColumn{column, c.Desc})
		}
		own.Indexes = append(own.Indexes, index)
	}
	return own
}

// copyKey copies columns. The first ones, if they equal the parent's, are shared
// with it and not copied.
func copyKey(cs, parents []*Column) []*Column {
	var own []*Column
	for i, c := range cs {
		copied := &Column{Name: c.Name, Type: c.Type, Role: c.Role, Desc: c.Desc}
		if i < len(parents) && keyWords(parents[i : i+1])[0] == keyWords(cs[i : i+1])[0] {
			copied = parents[i]
		}
		own = append(own, copied)
	}
	return own
}

func sortedBy[T any](all []T, name func(T) string) []T {
	return slices.SortedFunc(slices.Values(all), func(a, b T) int { return strings.Compare(name(a), name(b)) })
}
