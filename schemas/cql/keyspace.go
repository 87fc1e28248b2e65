package cql

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
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
	case d.Create.Index != nil:
		x := d.Create.Index
		r.options(x.With)
		x.Name, x.Table, x.Using = r.in(x.Name), r.in(x.Table), Unquote(x.Using)
		for _, o := range x.With {
			if o.Name == "options" {
				x.Options = o.Value
			}
		}
	default:
		t := d.Create.Table
		t.Pos, t.Comments = d.Pos, d.Comments
		r.options(t.Options)
		r.create(t, d.Create.Kind)
	}
}

// create fills in the columns and the key of what a CREATE defines.
func (r *reading) create(t *Table, kind string) {
	keys := 0
	for _, e := range t.Elements {
		switch c := e.Column; {
		case e.Key != nil:
			keys++
			t.key(*e.Key)
		case t.Column(c.Name) != nil:
			r.fail(c.Pos, "a second column %s", c.Name)
		default:
			if t.Columns = append(t.Columns, *c); c.Primary {
				keys++
				t.Partition = []string{c.Name}
			}
		}
	}
	switch kind {
	case "keyspace", "schema":
		if t.Keyspace != "" || t.View != nil || t.Elements != nil {
			r.fail(t.Pos, "expected the name of a keyspace and its options")
		}
		return
	case "type":
		if t.Name = r.in(t.Name); keys > 0 || len(t.Columns) == 0 {
			r.fail(t.Pos, "expected the fields of a type")
		}
		return
	case "view":
		if t.View == nil {
			r.fail(t.Pos, `expected "as" and the SELECT of the view`)
			return
		}
		t.View.Base = r.in(t.View.Base)
		t.key(t.View.Key)
	default:
		if keys != 1 {
			r.fail(t.Pos, "a table without a primary key, or with a second primary key")
		}
		for _, name := range t.Key() {
			if t.Column(name) == nil {
				r.fail(t.Pos, "the key names the column %s, which the table does not have", name)
			}
		}
	}
	t.Name = r.in(t.Name)
	r.order(t)
}

func (t *Table) key(k key) {
	t.Partition = k.Partition
	for _, name := range k.Cluster {
		t.Cluster = append(t.Cluster, Order{Column: name})
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

// order reads CLUSTERING ORDER BY.
func (r *reading) order(t *Table) {
	for _, o := range t.Options {
		for i, by := range o.Order {
			if i >= len(t.Cluster) || t.Cluster[i].Column != by.Column || by.Near != nil {
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
func (t *Table) Column(name string) *Column {
	if i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name }); i >= 0 {
		return &t.Columns[i]
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

// Quote returns a name in double quotes. Without them CQL would refuse keywords, such as the columns "from", "to" and
// "key", and ignore capitals, such as those of JAMES_MESSAGES.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Literal returns a text as a string of CQL.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

var pair = regexp.MustCompile(`^\s*'([^'\s=]+)'\s*:\s*(?:'([^'=]*)'|([^'\s=,]+))\s*(?:,|$)`)

// Map reads a map such as {'class': 'A', 'b': 4}. ok is false if the text is none, or has = in it.
func Map(text string) (fields map[string]string, ok bool) {
	inner, begins := strings.CutPrefix(strings.TrimSpace(text), "{")
	inner, ends := strings.CutSuffix(inner, "}")
	fields, ok = make(map[string]string), begins && ends
	for inner = strings.TrimSpace(inner); ok && inner != ""; {
		m := pair.FindStringSubmatch(inner)
		if ok = m != nil; ok {
			fields[m[1]], inner = m[2]+m[3], inner[len(m[0]):]
		}
	}
	return fields, ok
}

// Words writes a map as a schema's hints do: A b=4, the class first.
func Words(fields map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name == "class" {
			words = slices.Insert(words, 0, fields[name])
		} else {
			words = append(words, name+"="+fields[name])
		}
	}
	return strings.Join(words, " ")
}

// A Catalog is what definitions leave: the last one of each name counts. A keyspace has options only, a type
// columns only.
type Catalog struct {
	Keyspaces, Types []*Table
	Tables           []*Table // and materialized views
	Indexes          []*Index
}

// same reports whether two names are of one thing. A name without a keyspace is of any.
func (n Name) same(m Name) bool {
	return n.Name == m.Name && (n.Keyspace == m.Keyspace || n.Keyspace == "" || m.Keyspace == "")
}

// of returns the list of what a keyword of CQL names.
func (c *Catalog) of(kind string) *[]*Table {
	switch kind {
	case "keyspace", "schema":
		return &c.Keyspaces
	case "type":
		return &c.Types
	}
	return &c.Tables
}

func find(all []*Table, n Name) *Table {
	if i := slices.IndexFunc(all, func(t *Table) bool { return t.Name.same(n) }); i >= 0 {
		return all[i]
	}
	return nil
}

// Apply applies a definition. The error says why Cassandra would refuse it.
func (c *Catalog) Apply(d Definition) error {
	var there, absent bool
	switch {
	case d.Drop != nil:
		return c.drop(d.Drop)
	case d.Alter != nil:
		return c.alter(d.Alter)
	case d.Create.Index != nil:
		x := d.Create.Index
		named := func(i *Index) bool { return x.Name.Name != "" && i.Name.same(x.Name) }
		if there, absent = slices.ContainsFunc(c.Indexes, named), x.IfNotExists; there {
			break
		}
		if t := find(c.Tables, x.Table); t == nil {
			return fmt.Errorf("there is no table %s", x.Table.Name)
		} else if t.Column(x.Target) == nil {
			return fmt.Errorf("table %s has no column %s", t.Name.Name, x.Target)
		}
		c.Indexes = append(c.Indexes, x)
	default:
		t, list := d.Create.Table, c.of(d.Create.Kind)
		if there, absent = find(*list, t.Name) != nil, t.IfNotExists; there {
			break
		}
		if t.View != nil {
			if err := c.view(t); err != nil {
				return err
			}
		}
		*list = append(*list, t)
	}
	if there && !absent {
		return errors.New("it exists already: drop it first, or use IF NOT EXISTS")
	}
	return nil
}

// view gives a materialized view the columns that it has of its base.
func (c *Catalog) view(t *Table) error {
	base := find(c.Tables, t.View.Base)
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
	return nil
}

func (c *Catalog) drop(d *Drop) error {
	there := true
	switch list := c.of(d.Kind); {
	case list == &c.Keyspaces: // it need not be in the text
		in := func(t *Table) bool { return t.Keyspace == d.Name.Name }
		c.Keyspaces = slices.DeleteFunc(c.Keyspaces, func(k *Table) bool { return k.Name.same(d.Name) })
		c.Types, c.Tables = slices.DeleteFunc(c.Types, in), slices.DeleteFunc(c.Tables, in)
		c.Indexes = slices.DeleteFunc(c.Indexes, func(x *Index) bool { return x.Table.Keyspace == d.Name.Name })
	case d.Kind == "index":
		indexes := len(c.Indexes)
		c.Indexes = slices.DeleteFunc(c.Indexes, func(x *Index) bool { return x.name().same(d.Name) })
		there = len(c.Indexes) < indexes
	default:
		t := find(*list, d.Name)
		if there = t != nil; !there {
			break
		}
		if users := c.users(t, d.Kind); len(users) > 0 {
			return fmt.Errorf("%s %s is used by %s; drop that first", d.Kind, t.Name.Name, users[0].Name.Name)
		}
		*list = slices.DeleteFunc(*list, func(o *Table) bool { return o == t })
		c.Indexes = slices.DeleteFunc(c.Indexes, func(x *Index) bool { return d.Kind != "type" && x.Table.same(t.Name) })
	}
	if !there && !d.IfExists {
		return fmt.Errorf("there is no %s %s", d.Kind, d.Name.Name)
	}
	return nil
}

// users returns the views of a table, or what has columns of a type.
func (c *Catalog) users(t *Table, kind string) []*Table {
	var names func(Type) bool
	names = func(of Type) bool { return of.Name == t.Name.Name || slices.ContainsFunc(of.Args, names) }
	return slices.DeleteFunc(slices.Concat(c.Types, c.Tables), func(o *Table) bool {
		if kind == "type" {
			return !slices.ContainsFunc(o.Columns, func(col Column) bool { return names(col.Type) })
		}
		return o.View == nil || !o.View.Base.same(t.Name)
	})
}

// The kinds of indexes of Cassandra itself.
const LegacyIndex, SAI = "legacy", "sai"

// IndexKind returns the kind of an index by its class; of another one than Cassandra's own it is the class.
func IndexKind(class string) string {
	switch name := class[strings.LastIndexByte(class, '.')+1:]; {
	case name == "", name == "legacy_local_table":
		return LegacyIndex
	case strings.EqualFold(name, SAI), name == "StorageAttachedIndex":
		return SAI
	}
	return class
}

// name is the name that Cassandra gives an index without one.
func (x *Index) name() Name {
	if x.Name.Name != "" {
		return x.Name
	}
	return Name{x.Table.Keyspace, x.Table.Name + "_" + x.Target + "_idx"}
}

func (c *Catalog) alter(a *Alter) error {
	t := find(*c.of(a.Kind), a.Name)
	switch {
	case t == nil && (a.IfExists || c.of(a.Kind) == &c.Keyspaces): // a keyspace need not be in the text
		return nil
	case t == nil:
		return fmt.Errorf("ALTER: there is no %s %s", a.Kind, a.Name.Name)
	}
	named := a.Drop
	for _, n := range a.Rename {
		named = append(named, n.From)
	}
	if a.Retype != nil {
		named = append(named, a.Retype.Column)
	}
	for _, name := range named {
		if t.Column(name) == nil && !a.DropIf && !a.RenameIf && !a.RetypeIf {
			return fmt.Errorf("ALTER: %s %s has no column %s", a.Kind, a.Name.Name, name)
		}
	}
	if err := c.refuses(t, a); err != nil {
		return err
	}
	for _, o := range a.Options {
		t.Options = append(slices.DeleteFunc(t.Options, func(p Option) bool { return p.Name == o.Name }), o)
	}
	t.Options = slices.DeleteFunc(t.Options, func(o Option) bool { return a.Compact && o.Compact })
	all := []*Table{t}
	if a.Kind != "type" {
		all = append(all, c.users(t, a.Kind)...)
	}
	for _, added := range a.Add {
		if there := t.Column(added.Name) != nil; there && a.AddIf {
			continue
		} else if there {
			return fmt.Errorf("ALTER: %s %s has a column %s already", a.Kind, a.Name.Name, added.Name)
		}
		for _, o := range all {
			if o == t || o.View.Columns == nil { // a view of all columns gets it, too
				o.Columns = append(o.Columns, added)
			}
		}
	}
	t.Columns = slices.DeleteFunc(t.Columns, func(col Column) bool { return slices.Contains(a.Drop, col.Name) })
	for _, n := range a.Rename {
		for _, o := range all {
			o.rename(n.From, n.To)
		}
	}
	if a.Retype != nil && a.Retype.Type != nil && t.Column(a.Retype.Column) != nil {
		t.Column(a.Retype.Column).Type = *a.Retype.Type
	}
	return nil
}

// refuses says why Cassandra does not drop or rename the columns of a table.
func (c *Catalog) refuses(t *Table, a *Alter) error {
	if a.Kind == "type" {
		return nil
	}
	of, views := t.Name.Name, c.users(t, a.Kind)
	for _, name := range a.Drop {
		on := slices.IndexFunc(c.Indexes, func(x *Index) bool { return x.Table.same(t.Name) && x.Target == name })
		switch {
		case slices.Contains(t.Key(), name):
			return fmt.Errorf("ALTER: column %s of table %s is in the primary key: Cassandra does not drop it", name, of)
		case on >= 0 && t.Column(name) != nil:
			return fmt.Errorf("ALTER: index %s is on column %s of table %s; drop it first", c.Indexes[on].name().Name, name, of)
		case len(views) > 0:
			return fmt.Errorf("ALTER: view %s is of table %s; drop it first", views[0].Name.Name, of)
		}
	}
	for _, n := range a.Rename {
		if t.Column(n.From) != nil && !slices.Contains(t.Key(), n.From) {
			return fmt.Errorf("ALTER: column %s of table %s is not in the primary key: Cassandra does not rename it", n.From, of)
		}
	}
	return nil
}

// rename gives a column its new name, if it is there.
func (t *Table) rename(from, to string) {
	set := func(name *string) {
		if *name == from {
			*name = to
		}
	}
	each(t.Columns, func(c *Column) { set(&c.Name) })
	each(t.Partition, set)
	each(t.Cluster, func(o *Order) { set(&o.Column) })
}
