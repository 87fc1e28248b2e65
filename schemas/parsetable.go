package schemas

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

var (
	tableKeys = []string{
		"doc", "addition", "in", "partition", "clustering", "columns", "static", "indexes", "refers", "counts",
		"hints", "rows", "accept", "bucket", "chunk", "salt", "other", "at", "lines",
	}
	columnKeys = []string{"type", "addition"}
	indexKeys  = []string{"columns", "addition"}
)

// tables reads the tables, parents before what is nested in them.
func (p *parser) tables(n *yaml.Node) {
	entries := p.Mapping(n, "tables")
	if n.Kind == yaml.MappingNode && len(entries) == 0 {
		p.Fail(n, "tables is empty; expected at least one table")
	}
	t := tableReader{parser: p, entries: make(map[string]strict.Entry), read: make(map[string]*Table)}
	for _, e := range entries {
		t.names = append(t.names, e.Name)
		t.entries[e.Name] = e
	}
	for _, e := range entries {
		t.table(e)
	}
	for _, read := range t.later {
		read()
	}
}

// tableReader reads tables in an order in which parents come first.
type tableReader struct {
	*parser
	names   []string
	entries map[string]strict.Entry
	read    map[string]*Table // nil while the table is being read
	later   []func()          // read references and counts, which name other tables
}

func (r *tableReader) table(e strict.Entry) *Table {
	if t, ok := r.read[e.Name]; ok {
		return t
	}
	r.read[e.Name] = nil
	before := len(r.Errs)
	t := &Table{Name: e.Name, Pos: r.At(e.Key)}
	where := "table " + e.Name
	r.checkName(e.Key, e.Name, "table")
	f := r.Fields(e.Value, where, tableKeys)
	t.Doc = r.TextOf(f, "doc", where)
	t.Addition = r.TextOf(f, "addition", where)
	if t.Imported = r.from(f, where); t.Imported != nil {
		t.Pos = *t.Imported
	}
	if in, ok := f["in"]; ok {
		r.nest(t, in, f)
	} else if part, ok := f["partition"]; ok {
		t.Partition = r.keyColumns(t, part.Value, Partition)
		if len(t.Partition) == 0 && len(r.Errs) == before {
			r.Fail(part.Value, "partition of %s is empty; expected [name type, …]", where)
		}
	} else if e.Value.Kind == yaml.MappingNode {
		r.Fail(e.Key, "%s has no primary key; expected partition: [name type, …] or in: TABLE", where)
	}
	if cl, ok := f["clustering"]; ok {
		t.Clustering = append(t.Clustering, r.keyColumns(t, cl.Value, Clustering)...)
	}
	if st, ok := f["static"]; ok {
		t.Static = r.columns(t, st.Value, Static)
		switch {
		case t.Parent != nil:
			r.Fail(st.Key, "%s is nested and cannot have static columns; they belong to the root table %s",
				where, t.Root().Name)
		case len(t.Clustering) == 0:
			r.Fail(st.Key,
				"%s has no clustering columns, so that a partition is one row; expected plain columns instead of static ones",
				where)
		}
	}
	if cs, ok := f["columns"]; ok {
		t.Columns = r.columns(t, cs.Value, Plain)
	}
	r.checkCounters(t)
	r.purposes(t, f)
	if x, ok := f["indexes"]; ok {
		r.indexes(t, x.Value)
	}
	if refers, ok := f["refers"]; ok {
		r.later = append(r.later, func() { r.references(t, refers.Value) })
	}
	if counts, ok := f["counts"]; ok {
		r.later = append(r.later, func() { r.counts(t, counts.Value) })
	}
	if h, ok := f["hints"]; ok {
		r.hints(t, h.Value)
	}
	t.Accept = r.accept(f, where)
	t.Other = r.other(f, where)
	r.lines(t, f)
	if rows, ok := f["rows"]; ok && len(r.Errs) == before {
		r.rows(t, rows.Value)
	}
	r.broken[t] = len(r.Errs) > before || r.broken[t.Parent]
	r.read[e.Name] = t
	r.schema.Tables = append(r.schema.Tables, t)
	return t
}

// nest gives t the whole primary key of the table it is in.
func (r *tableReader) nest(t *Table, in strict.Entry, f map[string]strict.Entry) {
	name, ok := r.Text(in.Value, "in of table "+t.Name)
	if !ok {
		return
	}
	if part, ok := f["partition"]; ok {
		r.Fail(part.Key, "table %s is nested and inherits its partition columns from %s; expected clustering columns only",
			t.Name, name)
	}
	pe, ok := r.entries[name]
	if !ok {
		r.Unknown(in.Value, "table", name, "in table "+t.Name, r.names)
		return
	}
	parent := r.table(pe)
	if parent == nil {
		r.Fail(in.Value, "table %s is nested in itself, through %s", t.Name, name)
		return
	}
	if cl, ok := f["clustering"]; !ok || (cl.Value.Kind == yaml.SequenceNode && len(cl.Value.Content) == 0) {
		r.Fail(in.Key, "table %s is nested in %s and adds no key of its own; expected clustering: [name type, …]",
			t.Name, name)
	}
	t.Parent = parent
	t.Partition = parent.Partition
	t.Clustering = slices.Clone(parent.Clustering)
	t.Inherited = len(t.Clustering)
	parent.Children = append(parent.Children, t)
}

// keyColumns reads "name type" or, for clustering columns, "name type desc".
func (r *tableReader) keyColumns(t *Table, n *yaml.Node, role Role) []*Column {
	what, form := "partition of table "+t.Name, `"name type"`
	if role == Clustering {
		what, form = "clustering of table "+t.Name, `"name type" or "name type desc"`
	}
	var cs []*Column
	for _, item := range r.List(n, what) {
		text, ok := r.Text(item, "a column in "+what)
		if !ok {
			continue
		}
		words := typedWords(text)
		c := &Column{Role: role, Pos: r.At(item)}
		if role == Clustering && len(words) == 3 && words[2] == "desc" {
			c.Desc, words = true, words[:2]
		}
		if len(words) != 2 {
			r.Fail(item, "%q in %s: expected %s", text, what, form)
			continue
		}
		c.Name = words[0]
		r.checkName(item, c.Name, "column")
		where := "of column " + c.Name + " in table " + t.Name
		if c.Type, ok = r.typ(item, words[1], where); ok && (c.Type.Collection() || c.Type.Kind == Counter) {
			r.Fail(item, "type %s %s: key columns cannot be collections or counters", c.Type, where)
		}
		if r.fresh(t, cs, item, c.Name) {
			cs = append(cs, c)
		}
	}
	return cs
}

// typedWords splits "name type desc"; a type may have spaces after its commas.
func typedWords(text string) []string {
	return strings.Fields(strings.ReplaceAll(text, ", ", ","))
}

// columns reads the mapping of plain or static columns.
func (r *tableReader) columns(t *Table, n *yaml.Node, role Role) []*Column {
	what := "columns of table " + t.Name
	if role == Static {
		what = "static of table " + t.Name
	}
	var cs []*Column
	for _, e := range r.Mapping(n, what) {
		c := &Column{Name: e.Name, Role: role, Pos: r.At(e.Key)}
		r.checkName(e.Key, e.Name, "column")
		where := "of column " + c.Name + " in table " + t.Name
		typeNode := e.Value
		if e.Value.Kind == yaml.MappingNode {
			f := r.Fields(e.Value, "column "+c.Name+" of table "+t.Name, columnKeys)
			c.Addition = r.TextOf(f, "addition", "column "+c.Name)
			typeNode = f["type"].Value
			if typeNode == nil {
				r.Fail(e.Value, `column %s of table %s has no type; expected {type: T, addition: reason}`,
					c.Name, t.Name)
			}
		}
		if typeNode != nil {
			if text, ok := r.Text(typeNode, "the type "+where); ok {
				c.Type, _ = r.typ(typeNode, text, where)
			}
		}
		if r.fresh(t, cs, e.Key, c.Name) {
			cs = append(cs, c)
		}
	}
	return cs
}

// fresh reports whether a column name is new. It records a fault if the table, or the
// columns read so far, have it already.
func (r *tableReader) fresh(t *Table, sofar []*Column, n *yaml.Node, name string) bool {
	c := t.Column(name)
	if i := slices.IndexFunc(sofar, func(c *Column) bool { return c.Name == name }); i >= 0 {
		c = sofar[i]
	}
	if c != nil {
		r.Fail(n, "duplicate column %q in table %s; line %d has it already", name, t.Name, c.Pos.Line)
	}
	return c == nil
}

// checkCounters reports a counter next to other columns. Cassandra refuses it: a table
// with counters holds nothing else but its key.
func (r *tableReader) checkCounters(t *Table) {
	var counter, other *Column
	for _, c := range slices.Concat(t.Static, t.Columns) {
		switch c.Type.Kind {
		case Counter:
			counter = c
		default:
			if c.Type != (Type{}) { // else the type was a fault already
				other = c
			}
		}
	}
	if counter != nil && other != nil {
		r.Errs = append(r.Errs, &Error{
			File: r.File, Pos: counter.Pos,
			Msg: "counter " + counter.Name + " in table " + t.Name +
				" is next to column " + other.Name + "; a table with counters contains only counters and its key",
		})
	}
}

// indexes reads "name: [column, column desc]" or "name: {columns: […], addition: reason}".
func (r *tableReader) indexes(t *Table, n *yaml.Node) {
	for _, e := range r.Mapping(n, "indexes of table "+t.Name) {
		where := "index " + e.Name + " of table " + t.Name
		x := &Index{Name: e.Name, Pos: r.At(e.Key)}
		r.checkName(e.Key, e.Name, "index")
		list := e.Value
		if e.Value.Kind == yaml.MappingNode {
			f := r.Fields(e.Value, where, indexKeys)
			x.Addition = r.TextOf(f, "addition", where)
			list = f["columns"].Value
		}
		if list == nil || (list.Kind == yaml.SequenceNode && len(list.Content) == 0) {
			r.Fail(e.Key, "%s has no columns; expected [column, column desc, …]", where)
			continue
		}
		for _, item := range r.List(list, where) {
			text, ok := r.Text(item, "a column of "+where)
			if !ok {
				continue
			}
			name, desc := strings.CutSuffix(text, " desc")
			c := t.Column(name)
			switch {
			case c == nil:
				r.Unknown(item, "column", name, "in "+where, columnNames(t))
			case (c.Type.Collection() || c.Type.Kind == Counter || c.Role == Static) && t.Imported == nil:
				r.Fail(item, "column %s in %s: static columns, collections and counters cannot be indexed", name, where)
			case slices.ContainsFunc(x.Columns, func(ic IndexColumn) bool { return ic.Column == c }):
				r.Fail(item, "duplicate column %q in %s", name, where)
			default:
				x.Columns = append(x.Columns, IndexColumn{c, desc})
			}
		}
		t.Indexes = append(t.Indexes, x)
	}
}

// hints reads engine → setting → value. The engine's driver checks the settings.
func (r *tableReader) hints(t *Table, n *yaml.Node) {
	t.Hints = make(map[string]map[string]string)
	where := "hints of table " + t.Name
	for _, e := range r.Mapping(n, where) {
		r.engine(e.Key, e.Name, "in "+where)
		settings := make(map[string]string)
		for _, s := range r.Mapping(e.Value, e.Name+" in "+where) {
			if s.Value.Kind != yaml.ScalarNode || s.Value.ShortTag() == "!!null" {
				r.Fail(s.Value, "%s in %s must be one value, found %s", s.Name, where, strict.Found(s.Value))
				continue
			}
			settings[s.Name] = s.Value.Value
		}
		t.Hints[e.Name] = settings
	}
}

// columnNames lists a table's columns: key, static, plain.
func columnNames(t *Table) []string { return Names(slices.Concat(t.Key(), t.Static, t.Columns)) }

// Names are the columns' names.
func Names(cs []*Column) []string {
	words := make([]string, len(cs))
	for i, c := range cs {
		words[i] = c.Name
	}
	return words
}
