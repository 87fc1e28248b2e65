package schemas

import (
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

var tableKeys = []string{
	"description", "addition", "parent", "partition", "clustering", "columns", "static", "indexes", "references", "counts",
	"hints", "rows", "accept", "bucket", "chunk", "salt", "other", "at", "lines",
}

// tables reads the tables, parents before what is nested in them.
func (p *parser) tables(f section) {
	t := tableReader{parser: p, entries: f.entries("tables"), read: make(map[string]*Table)}
	if n := f.at("tables"); f.has("tables") && n.Kind == yaml.MappingNode {
		p.Check(len(t.entries) > 0, n, "tables is empty; expected at least one table")
	}
	t.names = texts(t.entries, func(e strict.Entry) string { return e.Name })
	for _, e := range t.entries {
		t.table(e)
	}
	for _, read := range t.later {
		read()
	}
}

// tableReader reads tables in an order in which parents come first.
type tableReader struct {
	*parser
	entries []strict.Entry
	names   []string          // of the entries
	read    map[string]*Table // nil while the table is being read
	later   []func()          // read references and counts, which name other tables
}

func (r *tableReader) table(e strict.Entry) *Table {
	if t, ok := r.read[e.Name]; ok {
		return t
	}
	r.read[e.Name] = nil
	before := len(r.Errs)
	r.checkName(e.Key, e.Name, "table")
	f := r.section(e.Value, "table "+e.Name, tableKeys...)
	t := &Table{
		Name: e.Name, Schema: r.schema.Name, Doc: f.text("description"), Addition: f.text("addition"), Imported: f.imported(),
	}
	t.Pos = r.place(t.Imported, e.Key)
	switch {
	case f.has("parent"):
		r.nest(t, f)
	case f.has("partition"):
		t.Partition = r.keyColumns(t, f, Partition)
		r.Check(f.some("partition"), f.at("partition"),
			"partition of %s is empty; expected [name type, …]", f.where)
	default:
		r.Check(e.Value.Kind != yaml.MappingNode, e.Key,
			"%s has no primary key; expected partition: [name type, …] or parent: TABLE", f.where)
	}
	t.Clustering = append(t.Clustering, r.keyColumns(t, f, Clustering)...)
	t.Static = r.columns(t, f, "static", Static)
	t.Columns = r.columns(t, f, "columns", Plain)
	r.Check(!f.has("static") || t.Parent == nil && len(t.Clustering) > 0, f.key("static"),
		"%s cannot have static columns; expected them in a table that is not nested and has clustering columns", f.where)
	r.checkCounters(t)
	r.purposes(t, f)
	r.indexes(t, f)
	r.hints(t, f)
	t.Accept, t.Other = f.accept(), f.other()
	r.lines(t, f)
	if f.has("rows") && len(r.Errs) == before {
		r.rows(t, f)
	}
	r.later = append(r.later, func() {
		t.Refers = r.relations(t, f, "references", "reference", "to", referenceKeys)
		t.Counts = r.relations(t, f, "counts", "count", "of", countKeys)
	})
	r.broken[t] = len(r.Errs) > before || r.broken[t.Parent]
	r.read[e.Name] = t
	r.schema.Tables = append(r.schema.Tables, t)
	return t
}

// nest gives t the whole primary key of the table it is in.
func (r *tableReader) nest(t *Table, f section) {
	name := f.text("parent")
	if name == "" {
		return
	}
	r.Check(!f.has("partition"), f.key("partition"),
		"%s is nested and inherits its partition columns from %s; expected clustering columns only", f.where, name)
	at := slices.Index(r.names, name)
	if at < 0 {
		r.Unknown(f.at("parent"), "table", name, "in "+f.where, r.names)
		return
	}
	parent := r.table(r.entries[at])
	if !r.Check(parent != nil, f.at("parent"), "%s is nested in itself, through %s", f.where, name) {
		return
	}
	r.Check(f.some("clustering"), f.key("parent"),
		"%s is nested in %s and adds no key of its own; expected clustering: [name type, …]", f.where, name)
	t.Parent = parent
	t.Partition = parent.Partition
	t.Clustering = slices.Clone(parent.Clustering)
	t.Inherited = len(t.Clustering)
	parent.Children = append(parent.Children, t)
}

// keyForm is a key column: its name, its type, and desc.
var keyForm = regexp.MustCompile(`^\s*(\S+)\s+(\S+?)(\s+desc)?\s*$`)

// keyColumns reads "name type" or, for clustering columns, "name type desc".
func (r *tableReader) keyColumns(t *Table, f section, role Role) (cs []*Column) {
	f.list(roleNames[role], "a column", func(n *yaml.Node, text string) {
		m := keyForm.FindStringSubmatch(strings.ReplaceAll(text, ", ", ",")) // a type may have spaces after its commas
		if !r.Check(m != nil && (m[3] == "" || role == Clustering), n, `%q in %s of %s: expected "name type", or of a clustering column "name type desc"`,
			text, roleNames[role], f.where) {
			return
		}
		c := &Column{Name: m[1], Role: role, Desc: m[3] != "", Pos: r.place(t.Imported, n)}
		where := "of column " + c.Name + " in " + f.where
		c.Type, _ = r.typ(n, m[2], where)
		r.Check(!c.Type.Collection() && c.Type.Kind != Counter, n,
			"type %s %s: key columns cannot be collections or counters", c.Type, where)
		cs = r.with(t, cs, n, c)
	})
	return cs
}

// columns reads the mapping of plain or static columns.
func (r *tableReader) columns(t *Table, f section, key string, role Role) (cs []*Column) {
	for _, e := range f.entries(key) {
		c := &Column{Name: e.Name, Role: role, Pos: r.place(t.Imported, e.Key)}
		one := r.short(e.Value, "column "+c.Name+" of "+f.where, "type", "addition")
		c.Addition = one.text("addition")
		if r.Check(one.has("type"), e.Value, `%s has no type; expected {type: T, addition: reason}`, one.where) {
			c.Type = r.typeAt(one.at("type"), "of column "+c.Name+" in "+f.where)
		}
		cs = r.with(t, cs, e.Key, c)
	}
	return cs
}

// with adds a column to those read so far, unless they or the table have one of its name.
func (r *tableReader) with(t *Table, cs []*Column, n *yaml.Node, c *Column) []*Column {
	r.checkName(n, c.Name, "column")
	if there := find(slices.Concat(cs, t.All()), c.Name); there != nil {
		r.Fail(n, "duplicate column %q in table %s; line %d has it already", c.Name, t.Name, there.Pos.Line)
		return cs
	}
	return append(cs, c)
}

// checkCounters reports a counter next to other columns. Cassandra refuses it: a table
// with counters holds nothing else but its key.
func (r *tableReader) checkCounters(t *Table) {
	var counter, other *Column
	for _, c := range slices.Concat(t.Static, t.Columns) {
		if c.Type.Kind == Counter {
			counter = c
		} else if c.Type != (Type{}) { // else the type was a fault already
			other = c
		}
	}
	if counter != nil && other != nil {
		r.FailAt(counter.Pos, "counter %s in table %s is next to column %s; a table with counters contains only counters and "+
			"its key", counter.Name, t.Name, other.Name)
	}
}

// indexes reads "name: [column, column desc]" or "name: {columns: […], addition: reason}".
func (r *tableReader) indexes(t *Table, f section) {
	for _, e := range f.entries("indexes") {
		x := &Index{Name: e.Name, Pos: r.place(t.Imported, e.Key)}
		r.checkName(e.Key, e.Name, "index")
		one := r.short(e.Value, "index "+e.Name+" of "+f.where, "columns", "addition")
		x.Addition = one.text("addition")
		if !r.Check(one.some("columns"), e.Key, "%s has no columns; expected [column, column desc, …]", one.where) {
			continue
		}
		one.list("columns", "a column", func(n *yaml.Node, text string) { r.indexed(t, x, n, text, one.where) })
		t.Indexes = append(t.Indexes, x)
	}
}

// indexed adds a column to an index: "column" or "column desc".
func (r *tableReader) indexed(t *Table, x *Index, n *yaml.Node, text, where string) {
	name, desc := strings.CutSuffix(text, " desc")
	c := pick(r.parser, n, "column", name, "in "+where, t.All())
	if c == nil {
		return
	}
	can := !c.Type.Collection() && c.Type.Kind != Counter && c.Role != Static
	if r.Check(can || t.Imported != nil, n,
		"column %s in %s: static columns, collections and counters cannot be indexed", name, where) &&
		r.Check(!x.Has(c), n, "duplicate column %q in %s", name, where) {
		x.Columns = append(x.Columns, IndexColumn{c, desc})
	}
}

// hints reads engine → setting → value. The engine's driver checks the settings.
func (r *tableReader) hints(t *Table, f section) {
	where := "hints of " + f.where
	for _, e := range f.entries("hints") {
		r.schema.engines = append(r.schema.engines, e)
		settings := make(map[string]string)
		for _, s := range r.settings(r.Mapping(e.Value, e.Name+" in "+where), where) {
			settings[s.Name] = s.Text
		}
		if t.Hints == nil {
			t.Hints = make(map[string]map[string]string)
		}
		t.Hints[e.Name] = settings
	}
}

// userTypes reads "NAME: {field: type, …}". A type may name those before it.
func (p *parser) userTypes(entries []strict.Entry) {
	for _, e := range entries {
		p.checkName(e.Key, e.Name, "type")
		u := &UserType{Name: e.Name}
		p.Check(e.Name != Null.String() && !slices.Contains(typeNames(nil), e.Name), e.Key,
			"type %s exists already; expected another name", e.Name)
		for _, f := range p.Mapping(e.Value, "type "+e.Name) {
			p.checkName(f.Key, f.Name, "field")
			of := p.typeAt(f.Value, "of field "+f.Name+" in type "+e.Name)
			u.Fields = append(u.Fields, &Column{Name: f.Name, Type: of, Pos: p.At(f.Key)})
		}
		p.types = append(p.types, e.Name)
		p.schema.Types = append(p.schema.Types, u)
	}
}

// purposes reads bucket, chunk and salt of a table. An empty list says that no column
// is for that.
func (r *tableReader) purposes(t *Table, f section) {
	for of, may := range map[Purpose][]*Column{Bucket: t.Partition, Chunk: t.Key(), Salt: t.Partition} {
		if !f.has(string(of)) {
			continue
		}
		if t.Purposes == nil {
			t.Purposes = make(map[Purpose][]*Column)
		}
		t.Purposes[of] = f.columns(string(of), may)
	}
}

// lines moves the columns and indexes of an imported table to their lines in the file of at, mostly that of the table.
func (p *parser) lines(t *Table, f section) {
	if !p.Check(!f.has("lines") || t.Imported != nil, f.key("lines"),
		"lines of %s needs at, the file that they are of", f.where) {
		return
	}
	for _, s := range f.entries("lines") {
		pos := Pos{Line: p.Count(s.Value, s.Name+" in lines of "+f.where), Column: 1, File: t.Imported.File}
		if x := t.Index(s.Name); x != nil && t.Column(s.Name) == nil {
			x.Pos = pos
		} else if c := pick(p, s.Key, "column", s.Name, "in lines of "+f.where, t.All()); c != nil {
			c.Pos = pos
		}
	}
}
