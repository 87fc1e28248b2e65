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

// patternReader reads one pattern and checks whether its table can answer it.
type patternReader struct {
	*parser
	*Pattern
	section // its node is the name of the pattern
	// order holds the columns by which the table, or the index, is sorted. by may
	// name only the first ones, bound of them at most.
	order []*Column
	bound int
	ok    bool // no fault so far
}

// patterns reads the patterns. Batches and fallbacks name others, so they are read
// after all others.
func (p *parser) patterns(entries []strict.Entry) {
	var readers []*patternReader
	for _, e := range entries {
		p.checkName(e.Key, e.Name, "pattern")
		r := &patternReader{parser: p, Pattern: &Pattern{Name: e.Name, Pos: p.At(e.Key)}}
		before := len(p.Errs)
		if r.head(e) && r.Kind != Batch {
			r.body()
		}
		r.ok = len(p.Errs) == before
		readers = append(readers, r)
		p.schema.Patterns = append(p.schema.Patterns, r.Pattern)
	}
	for _, r := range readers {
		if before := len(p.Errs); r.has("batch") && r.Kind == Batch {
			r.batch(readers)
			r.ok = r.ok && len(p.Errs) == before
		}
	}
	for _, r := range readers {
		r.fallback(readers)
	}
}

// head reads what all patterns have: kind, table and documentation. It reports
// whether the rest can be read.
func (r *patternReader) head(e strict.Entry) bool {
	before := len(r.Errs)
	f := r.parser.section(e.Value, "pattern "+e.Name, patternKeys...)
	strange := len(r.Errs) > before // an unknown key is perhaps the kind, misspelt
	r.section = section{r.parser, f.where, e.Key, nil}
	if e.Value.Kind != yaml.MappingNode {
		return false
	}
	r.Doc, r.Addition, r.Form = f.text("doc"), f.text("addition"), f.flag("form")
	r.Accept, r.Other = f.accept(), f.other()
	if r.Imported = f.imported(); r.Imported != nil {
		r.Pos = *r.Imported
	}
	kinds := 0
	for k, name := range patternKindNames {
		if f.has(name) {
			r.Kind = PatternKind(k)
			kinds++
		}
	}
	if kinds == 0 && strange {
		return false
	}
	if kinds != 1 {
		r.Fail(r.node, "%s must have exactly one of the keys %s, found %d",
			r.where, strings.Join(patternKindNames[:], ", "), kinds)
		return false
	}
	kind := r.Kind.String()
	allowed := slices.Concat(commonKeys, []string{kind}, keysOf[r.Kind])
	for name, e := range f.fields {
		if !slices.Contains(allowed, name) {
			r.Fail(e.Key, "%s: %s has no key %q; it may have %s",
				r.where, a(r.Kind), name, strings.Join(keysOf[r.Kind], ", "))
			delete(f.fields, name)
		}
	}
	r.fields = f.fields
	return r.Kind == Batch || r.table(r.at(kind))
}

// table finds the pattern's table and the order in which it is read.
func (r *patternReader) table(n *yaml.Node) bool {
	name, ok := r.Text(n, r.Kind.String()+" of "+r.where)
	if !ok {
		return false
	}
	if r.Table = pick(r.parser, n, "table", name, "in "+r.where, r.schema.Tables); r.Table == nil || r.broken[r.Table] {
		return false
	}
	if r.Table.Header() {
		r.Fail(n, "%s: table %s is only a row header and stores nothing of its own; expected one of the tables nested in it",
			r.where, name)
		return false
	}
	r.order = r.Table.Key()
	r.bound = len(r.order)
	if r.Static = r.flag("static"); r.Static {
		if len(r.Table.Static) == 0 {
			r.Fail(r.key("static"), "%s: table %s has no static columns", r.where, name)
			return false
		}
		r.order, r.bound = r.Table.Partition, len(r.Table.Partition)
	}
	return !r.has("index") || r.index()
}

// index makes the pattern read through an index. Its order is then the index's
// columns, followed by the other columns of the primary key.
func (r *patternReader) index() bool {
	name := r.text("index")
	switch {
	case name == "":
		return false
	case len(r.Table.Indexes) == 0:
		r.Fail(r.at("index"), "%s: table %s has no index", r.where, r.Table.Name)
		return false
	}
	r.Index = pick(r.parser, r.at("index"), "index", name, "in "+r.where, r.Table.Indexes)
	if r.Index == nil {
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

// nameable returns the columns that a pattern on the table can name: the table's, and those of the tables around it if
// the pattern reads these.
func (p *Pattern) nameable(t *Table) (all []*Column) {
	for all = t.all(); p.Nested && t.Parent != nil; t = t.Parent {
		all = append(all, t.Parent.all()...)
	}
	return all
}

// column finds a column that a key names.
func (r *patternReader) column(key string) *Column {
	name := r.text(key)
	if name == "" {
		return nil
	}
	return pick(r.parser, r.at(key), "column", name, "in "+r.where, r.nameable(r.Table))
}

// columnsOf reads the columns of a key; ok is false if it is absent or has faults.
func (r *patternReader) columnsOf(key string) (cs []*Column, ok bool) {
	before := len(r.Errs)
	cs = r.columns(key, r.nameable(r.Table))
	return cs, r.has(key) && len(r.Errs) == before
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
