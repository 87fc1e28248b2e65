package cql

import (
	"fmt"
	"slices"
	"strings"
)

// define fills in what the grammar does not: keyspaces of names, keys, and texts of options.
func (r *reading) define(d *Definition) {
	switch {
	case d.Drop != nil:
		d.Drop.Name = r.in(d.Drop.Name)
	case d.Alter != nil:
		d.Alter.Name = r.in(d.Alter.Name)
		r.options(d.Alter.Options)
	case d.Create.Keyspace != nil:
		r.options(d.Create.Keyspace.Options)
	case d.Create.Type != nil:
		d.Create.Type.Name = r.in(d.Create.Type.Name)
	case d.Create.Index != nil:
		x := d.Create.Index
		r.options(x.With)
		x.Name, x.Table, x.Using = r.in(x.Name), r.in(x.Table), Unquote(x.Using)
		for _, o := range x.With {
			if o.Name == "options" {
				x.Options = o.Value
			}
		}
	case d.Create.View != nil:
		t := d.Create.View
		t.Pos, t.Name, t.Comments = d.Pos, r.in(t.Name), d.Comments
		if r.options(t.Options); t.View == nil {
			r.fail(t.Pos, `expected "as" and the SELECT of the view`)
			return
		}
		t.View.Base = r.in(t.View.Base)
		t.Partition = t.View.Key.Partition
		for _, name := range t.View.Key.Cluster {
			t.Cluster = append(t.Cluster, Order{Column: name})
		}
		r.order(t)
	default:
		r.table(d.Create.Table)
		d.Create.Table.Pos, d.Create.Table.Comments = d.Pos, d.Comments
	}
}

func (r *reading) options(all []Option) {
	for i := range all {
		switch o := &all[i]; {
		case o.Expr != nil:
			o.Value = r.text(o.Expr.Pos, o.Expr.EndPos)
		case o.Compact:
			o.Name = "compact storage"
		}
	}
}

func (r *reading) table(t *Table) {
	t.Name = r.in(t.Name)
	r.options(t.Options)
	keys := 0
	for _, e := range t.Elements {
		if c := e.Column; c != nil && t.Column(c.Name) != nil {
			r.fail(c.Pos, "a second column %s", c.Name)
		} else if c != nil {
			t.Columns = append(t.Columns, *c)
		}
		switch {
		case e.Key != nil:
			keys++
			t.Partition = e.Key.Partition
			for _, name := range e.Key.Cluster {
				t.Cluster = append(t.Cluster, Order{Column: name})
			}
		case e.Column.Primary:
			keys++
			t.Partition = []string{e.Column.Name}
		}
	}
	if keys != 1 {
		r.fail(t.Pos, "a table without a primary key, or with a second primary key")
	}
	for _, name := range t.Key() {
		if t.Column(name) == nil {
			r.fail(t.Pos, "the key names the column %s, which the table does not have", name)
		}
	}
	r.order(t)
}

// order reads CLUSTERING ORDER BY.
func (r *reading) order(t *Table) {
	for _, o := range t.Options {
		for i, by := range o.Order {
			if i >= len(t.Cluster) || t.Cluster[i].Column != by.Column {
				r.fail(o.Pos, "CLUSTERING ORDER BY names %s, which is not clustering column %d", by.Column, i+1)
				return
			}
			t.Cluster[i].Descending = by.Descending
		}
	}
	t.Options = slices.DeleteFunc(t.Options, func(o Option) bool { return o.Order != nil || o.Dropped != nil })
}

// Key returns the names of the columns of the primary key.
func (t *Table) Key() []string {
	key := slices.Clone(t.Partition)
	for _, o := range t.Cluster {
		key = append(key, o.Column)
	}
	return key
}

// Column returns the column of a name, or nil.
func (t *Table) Column(name string) *Column { return column(t.Columns, name) }

func column(all []Column, name string) *Column {
	if i := slices.IndexFunc(all, func(c Column) bool { return c.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// String writes a type in one form, without the keyspace of a user-defined one.
func (t Type) String() string {
	if len(t.Args) == 0 {
		return t.Name
	}
	var args []string
	for _, a := range t.Args {
		args = append(args, a.String())
	}
	return t.Name + "<" + strings.Join(args, ", ") + ">"
}

// Unquote returns the text of a string of CQL.
func Unquote(text string) string {
	switch {
	case len(text) > 1 && text[0] == '\'':
		return strings.ReplaceAll(text[1:len(text)-1], "''", "'")
	case len(text) > 3 && strings.HasPrefix(text, "$$"):
		return text[2 : len(text)-2]
	}
	return text
}

// A Catalog is what definitions leave: the last one of each table counts.
type Catalog struct {
	Keyspaces []*Keyspace
	Types     []*UserType
	Tables    []*Table // and materialized views
	Indexes   []*Index
}

// same reports whether two names are of one thing. A name without a keyspace is of any.
func (n Name) same(m Name) bool {
	return n.Name == m.Name && (n.Keyspace == m.Keyspace || n.Keyspace == "" || m.Keyspace == "")
}

func find[T any](all []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

// Table returns a table or view, or nil.
func (c *Catalog) Table(n Name) *Table {
	return find(c.Tables, func(t *Table) bool { return t.Name.same(n) })
}

func (c *Catalog) userType(n Name) *UserType {
	return find(c.Types, func(t *UserType) bool { return t.Name.same(n) })
}

func (c *Catalog) keyspace(name string) *Keyspace {
	return find(c.Keyspaces, func(k *Keyspace) bool { return k.Name == name })
}

// Apply applies a definition. The error says why Cassandra would refuse it.
func (c *Catalog) Apply(d Definition) error {
	switch {
	case d.Drop != nil:
		return c.drop(d.Drop)
	case d.Alter != nil:
		return c.alter(d.Alter)
	}
	var there, absent bool
	switch n := d.Create; {
	case n.Keyspace != nil:
		there, absent = c.keyspace(n.Keyspace.Name) != nil, n.Keyspace.IfNotExists
		if !there {
			c.Keyspaces = append(c.Keyspaces, n.Keyspace)
		}
	case n.Type != nil:
		there, absent = c.userType(n.Type.Name) != nil, n.Type.IfNotExists
		if !there {
			c.Types = append(c.Types, n.Type)
		}
	case n.Index != nil:
		x := n.Index
		there = x.Name.Name != "" && find(c.Indexes, func(i *Index) bool { return i.Name.same(x.Name) }) != nil
		if absent = x.IfNotExists; there {
			break
		}
		t := c.Table(x.Table)
		if t == nil {
			return fmt.Errorf("there is no table %s", x.Table.Name)
		}
		if t.Column(x.Target) == nil {
			return fmt.Errorf("table %s has no column %s", t.Name.Name, x.Target)
		}
		c.Indexes = append(c.Indexes, x)
	case n.View != nil:
		if there, absent = c.Table(n.View.Name) != nil, n.View.IfNotExists; !there {
			return c.view(n.View)
		}
	default:
		if there, absent = c.Table(n.Table.Name) != nil, n.Table.IfNotExists; !there {
			c.Tables = append(c.Tables, n.Table)
		}
	}
	if there && !absent {
		return fmt.Errorf("it is there already: what is created again must be dropped before, or have IF NOT EXISTS")
	}
	return nil
}

// view adds a materialized view, with the columns that it has of its base.
func (c *Catalog) view(t *Table) error {
	base := c.Table(t.View.Base)
	if base == nil {
		return fmt.Errorf("there is no table %s", t.View.Base.Name)
	}
	names := append(t.Key(), t.View.Columns...)
	for _, name := range names {
		if base.Column(name) == nil {
			return fmt.Errorf("table %s has no column %s", base.Name.Name, name)
		}
	}
	for _, col := range base.Columns {
		if t.View.Columns == nil && !col.Static || slices.Contains(names, col.Name) {
			col.Primary, col.Pos = false, t.Pos
			t.Columns = append(t.Columns, col)
		}
	}
	c.Tables = append(c.Tables, t)
	return nil
}

func (c *Catalog) drop(d *Drop) error {
	var n int
	delete := func(is func(Name) bool) {
		n += len(c.Tables) + len(c.Types)
		c.Tables = slices.DeleteFunc(c.Tables, func(t *Table) bool { return is(t.Name) || t.View != nil && is(t.View.Base) })
		c.Indexes = slices.DeleteFunc(c.Indexes, func(x *Index) bool { return is(x.Table) })
		n -= len(c.Tables) + len(c.Types)
	}
	switch d.Kind {
	case "type":
		n = len(c.Types)
		c.Types = slices.DeleteFunc(c.Types, func(u *UserType) bool { return u.Name.same(d.Name) })
		n -= len(c.Types)
	case "index":
		n = len(c.Indexes)
		c.Indexes = slices.DeleteFunc(c.Indexes, func(x *Index) bool { return x.name().same(d.Name) })
		n -= len(c.Indexes)
	case "keyspace", "schema":
		delete(func(n Name) bool { return n.Keyspace == d.Name.Name })
		c.Types = slices.DeleteFunc(c.Types, func(u *UserType) bool { return u.Keyspace == d.Name.Name })
		c.Keyspaces = slices.DeleteFunc(c.Keyspaces, func(k *Keyspace) bool { return k.Name == d.Name.Name })
		n = 1 // a keyspace need not be in the text
	default:
		delete(d.Name.same)
	}
	if n == 0 && !d.IfExists {
		return fmt.Errorf("there is no %s %s", d.Kind, d.Name.Name)
	}
	return nil
}

// name is the name that Cassandra gives an index without one.
func (x *Index) name() Name {
	if x.Name.Name != "" {
		return x.Name
	}
	return Name{x.Table.Keyspace, x.Table.Name + "_" + x.Target + "_idx"}
}

func (c *Catalog) alter(a *Alter) error {
	var columns *[]Column
	var options *[]Option
	t := c.Table(a.Name)
	switch a.Kind {
	case "keyspace", "schema":
		if k := c.keyspace(a.Name.Name); k != nil {
			options = &k.Options
		} else {
			return nil // a keyspace need not be in the text
		}
	case "type":
		if u := c.userType(a.Name); u != nil {
			columns, options = &u.Fields, new([]Option)
		}
	default:
		if t != nil {
			columns, options = &t.Columns, &t.Options
		}
	}
	switch {
	case options == nil && a.IfExists:
		return nil
	case options == nil:
		return fmt.Errorf("ALTER: there is no %s %s", a.Kind, a.Name.Name)
	}
	for _, o := range a.Options {
		*options = append(slices.DeleteFunc(*options, func(p Option) bool { return p.Name == o.Name }), o)
	}
	if a.Compact {
		*options = slices.DeleteFunc(*options, func(o Option) bool { return o.Compact })
	}
	lacks := func(name string) error {
		return fmt.Errorf("ALTER: %s %s has no column %s", a.Kind, a.Name.Name, name)
	}
	for _, added := range a.Add {
		if column(*columns, added.Name) != nil {
			return fmt.Errorf("ALTER: %s %s has a column %s already", a.Kind, a.Name.Name, added.Name)
		}
		*columns = append(*columns, added)
		for _, v := range c.Tables { // a view of all columns gets it, too
			if t != nil && v.View != nil && v.View.Columns == nil && v.View.Base.same(t.Name) {
				v.Columns = append(v.Columns, added)
			}
		}
	}
	for _, name := range a.Drop {
		if column(*columns, name) == nil {
			return lacks(name)
		}
		*columns = slices.DeleteFunc(*columns, func(col Column) bool { return col.Name == name })
		c.Indexes = slices.DeleteFunc(c.Indexes, func(x *Index) bool { return x.Table.same(a.Name) && x.Target == name })
	}
	for _, n := range a.Rename {
		col := column(*columns, n.From)
		if col == nil {
			return lacks(n.From)
		}
		col.Name = n.To
		if t != nil {
			t.renamed(n.From, n.To)
		}
	}
	if a.Retype != nil {
		col := column(*columns, a.Retype.Column)
		if col == nil {
			return lacks(a.Retype.Column)
		}
		if a.Retype.Type != nil {
			col.Type = *a.Retype.Type
		}
	}
	return nil
}

// renamed gives a key column its new name.
func (t *Table) renamed(from, to string) {
	for i := range t.Partition {
		if t.Partition[i] == from {
			t.Partition[i] = to
		}
	}
	for i := range t.Cluster {
		if t.Cluster[i].Column == from {
			t.Cluster[i].Column = to
		}
	}
}
