package schemas

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// keysOf are the keys of each kind of pattern, in addition to the kind itself and
// commonKeys.
var keysOf = [...][]string{
	Get:    {"by", "in", "element", "columns", "static", "parallel"},
	Slice:  {"index", "by", "in", "filter", "from", "to", "after", "reverse", "nested", "limit", "columns", "varies"},
	Scan:   {"filter", "limit", "columns", "static"},
	Put:    {"by", "columns", "static"},
	PutIf:  {"by", "columns", "if"},
	Add:    {"by", "columns", "returns"},
	Append: {"by", "columns"},
	Remove: {"by", "columns"},
	Delete: {"by", "if", "scope"},
	Batch:  {"parallel", "atomic"},
}

var commonKeys = []string{"doc", "addition", "form", "fallback", "accept", "other", "at"}

// patternKeys are all keys that some pattern may have.
var patternKeys = func() []string {
	keys := slices.Concat(commonKeys, patternKindNames[:])
	for _, ks := range keysOf {
		for _, k := range ks {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}()

var partKeys = []string{"run", "each"}

// patternReader reads one pattern and checks whether its table can answer it.
type patternReader struct {
	*parser
	*Pattern
	where  string // "pattern NAME", for messages
	name   *yaml.Node
	fields map[string]strict.Entry
	// order holds the columns by which the table, or the index, is sorted. by may
	// name only the first ones, bound of them at most.
	order []*Column
	bound int
	ok    bool // no fault so far
}

// patterns reads the patterns. Batches and fallbacks name others, so they are read
// after all others.
func (p *parser) patterns(n *yaml.Node) {
	var readers []*patternReader
	for _, e := range p.Mapping(n, "patterns") {
		p.checkName(e.Key, e.Name, "pattern")
		r := &patternReader{
			parser:  p,
			Pattern: &Pattern{Name: e.Name, Pos: p.At(e.Key)},
			where:   "pattern " + e.Name,
			name:    e.Key,
		}
		before := len(p.Errs)
		if r.head(e.Value) && r.Kind != Batch {
			r.body()
		}
		r.ok = len(p.Errs) == before
		readers = append(readers, r)
		p.schema.Patterns = append(p.schema.Patterns, r.Pattern)
	}
	byName := make(map[string]*patternReader, len(readers))
	var names []string
	for _, r := range readers {
		byName[r.Name] = r
		names = append(names, r.Name)
	}
	for _, r := range readers {
		if r.Kind == Batch && r.fields != nil {
			before := len(p.Errs)
			r.batch(byName, names)
			r.ok = r.ok && len(p.Errs) == before
		}
	}
	for _, r := range readers {
		r.fallback(byName, names)
	}
}

// head reads what all patterns have: kind, table and documentation. It reports
// whether the rest can be read.
func (r *patternReader) head(n *yaml.Node) bool {
	before := len(r.Errs)
	f := r.parser.Fields(n, r.where, patternKeys)
	strange := len(r.Errs) > before // an unknown key is perhaps the kind, misspelt
	if n.Kind != yaml.MappingNode {
		return false
	}
	r.Doc = r.TextOf(f, "doc", r.where)
	r.Addition = r.TextOf(f, "addition", r.where)
	r.Form = r.Flag(f, "form", r.where)
	r.Accept = r.accept(f, r.where)
	r.Other = r.other(f, r.where)
	if r.Imported = r.from(f, r.where); r.Imported != nil {
		r.Pos = *r.Imported
	}
	kinds := 0
	for k, name := range patternKindNames {
		if _, ok := f[name]; ok {
			r.Kind = PatternKind(k)
			kinds++
		}
	}
	if kinds == 0 && strange {
		return false
	}
	if kinds != 1 {
		r.Fail(r.name, "%s must have exactly one of the keys %s, found %d",
			r.where, strings.Join(patternKindNames[:], ", "), kinds)
		return false
	}
	kind := r.Kind.String()
	allowed := slices.Concat(commonKeys, []string{kind}, keysOf[r.Kind])
	for name, e := range f {
		if !slices.Contains(allowed, name) {
			r.Fail(e.Key, "%s: %s has no key %q; it may have %s",
				r.where, a(r.Kind), name, strings.Join(keysOf[r.Kind], ", "))
			delete(f, name)
		}
	}
	r.fields = f
	if r.Kind == Batch {
		return true
	}
	return r.table(f[kind].Value)
}

// table finds the pattern's table and the order in which it is read.
func (r *patternReader) table(n *yaml.Node) bool {
	name, ok := r.Text(n, r.Kind.String()+" of "+r.where)
	if !ok {
		return false
	}
	if r.Table = r.schema.Table(name); r.Table == nil {
		var names []string
		for _, t := range r.schema.Tables {
			names = append(names, t.Name)
		}
		r.Unknown(n, "table", name, "in "+r.where, names)
		return false
	}
	if r.broken[r.Table] {
		return false
	}
	if r.Table.Header() {
		r.Fail(n, "%s: table %s is only a row header and stores nothing of its own; expected one of the tables nested in it",
			r.where, name)
		return false
	}
	r.order = r.Table.Key()
	r.bound = len(r.order)
	r.Static = r.Flag(r.fields, "static", r.where)
	if r.Static {
		if len(r.Table.Static) == 0 {
			r.Fail(r.fields["static"].Key, "%s: table %s has no static columns", r.where, name)
			return false
		}
		r.order, r.bound = r.Table.Partition, len(r.Table.Partition)
	}
	if x, ok := r.fields["index"]; ok {
		return r.index(x.Value)
	}
	return true
}

// index makes the pattern read through an index. Its order is then the index's
// columns, followed by the other columns of the primary key.
func (r *patternReader) index(n *yaml.Node) bool {
	name, ok := r.Text(n, "index of "+r.where)
	if !ok {
		return false
	}
	var names []string
	for _, x := range r.Table.Indexes {
		names = append(names, x.Name)
		if x.Name == name {
			r.Index = x
		}
	}
	if r.Index == nil {
		if len(names) == 0 {
			r.Fail(n, "%s: table %s has no index", r.where, r.Table.Name)
		} else {
			r.Unknown(n, "index", name, "in "+r.where, names)
		}
		return false
	}
	r.order = nil
	for _, c := range r.Index.Columns {
		r.order = append(r.order, c.Column)
	}
	r.bound = len(r.order)
	for _, c := range r.Table.Key() {
		if !slices.Contains(r.order, c) {
			r.order = append(r.order, c)
		}
	}
	return true
}

// column finds a column of t, which is the pattern's table, or of a table around it if the pattern reads those.
func (p *Pattern) column(t *Table, name string) *Column {
	c := t.Column(name)
	for t = t.Parent; c == nil && t != nil && p.Nested; t = t.Parent {
		c = t.Column(name)
	}
	return c
}

// column finds a column of the pattern's table.
func (r *patternReader) column(n *yaml.Node, name string) *Column {
	c := r.Pattern.column(r.Table, name)
	if c == nil {
		r.Unknown(n, "column", name, "in "+r.where, columnNames(r.Table))
	}
	return c
}

// columnsOf reads the field's list of different columns; ok is false if the
// field is absent or has faults.
func (r *patternReader) columnsOf(field string) (cs []*Column, ok bool) {
	e, ok := r.fields[field]
	if !ok {
		return nil, false
	}
	before := len(r.Errs)
	for _, n := range r.List(e.Value, field+" of "+r.where) {
		name, isText := r.Text(n, "a column in "+field+" of "+r.where)
		if !isText {
			continue
		}
		switch c := r.column(n, name); {
		case c == nil:
		case slices.Contains(cs, c):
			r.Fail(n, "duplicate column %q in %s of %s", name, field, r.where)
		default:
			cs = append(cs, c)
		}
	}
	return cs, len(r.Errs) == before
}

// has reports whether the pattern has the field.
func (r *patternReader) has(field string) bool {
	_, ok := r.fields[field]
	return ok
}

// at returns the node at which a message about the field points: the field's value,
// or the pattern's name if the field is absent.
func (r *patternReader) at(field string) *yaml.Node {
	if e, ok := r.fields[field]; ok {
		return e.Value
	}
	return r.name
}

// atColumn returns the node in which the field names the column, or else at(field).
func (r *patternReader) atColumn(field string, c *Column) *yaml.Node {
	if e, ok := r.fields[field]; ok {
		for _, n := range e.Value.Content {
			if n.Value == c.Name {
				return n
			}
		}
	}
	return r.at(field)
}

// a names a kind with its article, for messages.
func a(k PatternKind) string {
	if k == Add || k == Append {
		return "an " + k.String()
	}
	return "a " + k.String()
}

// names lists columns for messages.
func names(cs []*Column) string {
	if len(cs) == 0 {
		return "nothing"
	}
	return strings.Join(Names(cs), ", ")
}
