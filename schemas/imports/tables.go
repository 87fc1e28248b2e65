package imports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// maxName is how many characters a name of the language has at most.
const maxName = 48

// create adds the types, tables and indexes of the keyspace.
func (im *importer) create(c *cql.Catalog) {
	for _, k := range c.Keyspaces {
		if k.Name.Name == im.keyspace || im.keyspace == "" {
			for _, o := range k.Options {
				im.schema.Other = append(im.schema.Other, schemas.Setting{Name: o.Name, Text: o.Value})
			}
		}
	}
	for _, u := range c.Types {
		if im.own(u.Name) {
			im.userType(u)
		}
	}
	for _, t := range c.Tables {
		if im.own(t.Name) {
			im.table(t)
		}
	}
	for _, x := range c.Indexes {
		if im.own(x.Table) {
			if err := im.index(x); err != nil {
				im.unread(x.Pos, "CREATE INDEX "+x.Name.Name+" ON "+x.Table.Name+" ("+x.Target+")", err.Error())
			}
		}
	}
}

func typeOf(t cql.Type) schemas.Type { return schemas.TypeOfCQL(t.String()) }

func (im *importer) userType(u *cql.Table) {
	own := &schemas.UserType{Name: u.Name.Name}
	for _, f := range u.Columns {
		own.Fields = append(own.Fields, &schemas.Column{Name: f.Name, Type: typeOf(f.Type)})
	}
	im.schema.Types = append(im.schema.Types, own)
	column := &schemas.Column{Name: "a", Type: schemas.Type{Kind: schemas.Int}, Role: schemas.Partition}
	if err := im.refused([]*schemas.Table{{Name: "a", Partition: []*schemas.Column{column}}}); err != nil {
		im.schema.Types = im.schema.Types[:len(im.schema.Types)-1]
		im.unread(u.Pos, "CREATE TYPE "+u.Name.Name, err.Error())
	}
}

func (im *importer) table(ct *cql.Table) {
	t := &schemas.Table{Imported: at(ct.Pos)}
	m := options(t, ct.Options)
	if !im.unmarked && m.Table != "" {
		im.marks[t] = m
	} else {
		m = mark{}
	}
	t.Name = cmp.Or(m.Table, ct.Name.Name)
	column := func(name string, role schemas.Role, desc bool) *schemas.Column {
		c := ct.Column(name)
		col := &schemas.Column{Name: name, Type: typeOf(c.Type), Role: role, Desc: desc, Pos: *at(c.Pos)}
		if text, ok := m.Types[name]; ok {
			col.Type = schemas.TypeOf(text)
		}
		return col
	}
	for _, c := range ct.Columns {
		switch {
		case c.Static:
			t.Static = append(t.Static, column(c.Name, schemas.Static, false))
		case !slices.Contains(ct.Key(), c.Name):
			t.Columns = append(t.Columns, column(c.Name, schemas.Plain, false))
		}
	}
	for _, name := range ct.Partition {
		t.Partition = append(t.Partition, column(name, schemas.Partition, false))
	}
	for _, o := range ct.Cluster {
		t.Clustering = append(t.Clustering, column(o.Column, schemas.Clustering, o.Descending))
	}
	if ct.View != nil {
		t.Other = append(t.Other, schemas.Setting{Name: schemas.ViewOf, Text: ct.View.Base.Name})
	}
	n := im.readNotes(ct.Pos, ct.Comments, true)
	if n.name != "" && n.name != t.Name {
		n.doc = n.name + ": " + n.doc
	}
	t.Doc, t.Accept = cmp.Or(t.Doc, n.doc), n.accept
	t.Purposes = make(map[schemas.Purpose][]*schemas.Column)
	for _, purpose := range schemas.Purposes {
		if names, says := n.purposes[purpose]; says && len(names) == 0 {
			t.Purposes[purpose] = []*schemas.Column{}
		}
		for _, name := range n.purposes[purpose] {
			if c := t.Column(name); c != nil {
				t.Purposes[purpose] = append(t.Purposes[purpose], c)
			} else {
				im.unread(ct.Pos, "-- "+purpose.String()+": "+name,
					fmt.Sprintf("the comment above it has %s: %s, and table %s has no such column", purpose, name, t.Name))
			}
		}
	}
	if err := im.refused([]*schemas.Table{t}); err != nil {
		im.unread(ct.Pos, "CREATE TABLE "+t.Name, err.Error())
		return
	}
	for _, text := range n.rows {
		im.rows = append(im.rows, rows{t, text, *at(ct.Pos)})
	}
	im.tables[ct.Name.Name] = t
	im.schema.Tables = append(im.schema.Tables, t)
}

// index adds an index to its table.
func (im *importer) index(x *cql.Index) error {
	t := im.tables[x.Table.Name]
	if t == nil {
		return fmt.Errorf("there is no table %s", x.Table.Name)
	}
	c := t.Column(x.Target)
	if c == nil {
		return fmt.Errorf("table %s has no column %s", t.Name, x.Target)
	}
	own := &schemas.Index{
		Name:    cmp.Or(x.Name.Name, strings.Join([]string{t.Name, x.Target, "idx"}, "_")), // as Cassandra does
		Columns: []schemas.IndexColumn{{Column: c}}, Pos: *at(x.Pos),
	}
	if len(x.Local) > 0 { // of ScyllaDB: it finds rows within a partition only
		own.Columns = nil
		for _, key := range append(slices.Clone(t.Partition), c) {
			own.Columns = append(own.Columns, schemas.IndexColumn{Column: key})
		}
	}
	for n := 1; x.Name.Name == "" && t.Index(own.Name) != nil; n++ {
		own.Name = fmt.Sprintf("%s_%s_idx_%d", t.Name, x.Target, n)
	}
	before := t.Indexes
	if t.Indexes = append(before, im.marks[t].indexes(t, own)...); len(t.Indexes) == len(before) {
		t.Indexes = append(before, own)
	}
	if err := im.refused([]*schemas.Table{t}); err != nil {
		t.Indexes = before
		return err
	}
	var more []string
	if x.Part != "" && x.Part != "values" {
		more = append(more, x.Part+"("+x.Target+")")
	}
	switch class := x.Using[strings.LastIndexByte(x.Using, '.')+1:]; {
	case strings.EqualFold(class, "sai"), class == "StorageAttachedIndex":
		if len(t.Indexes) == 1 {
			hint(t, "indexes", "sai") // of the table, so of its other indexes that say nothing else
		} else if t.Hints["cassandra"]["indexes"] != "sai" {
			more = append(more, "USING 'sai'")
		}
	case class != "" && class != "legacy_local_table":
		more = append(more, "USING '"+x.Using+"'")
	case t.Hints["cassandra"]["indexes"] == "sai":
		more = append(more, "USING 'legacy_local_table'")
	}
	if x.Options != "" {
		more = append(more, "WITH OPTIONS = "+x.Options)
	}
	if len(more) > 0 {
		t.Other = append(t.Other, schemas.Setting{Name: "index " + own.Name, Text: strings.Join(more, " ")})
	}
	return nil
}

func hint(t *schemas.Table, name, value string) {
	if t.Hints == nil {
		t.Hints = map[string]map[string]string{"cassandra": {}}
	}
	t.Hints["cassandra"][name] = value
}
