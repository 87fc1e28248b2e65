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

// body reads a pattern of one table. It stops at a fault of the key, since later
// steps need the key and would report the same fault again.
func (r *patternReader) body() {
	if !r.keys() {
		return
	}
	r.filter()
	r.limits()
	switch r.Kind {
	case Get, Slice, Scan:
		r.readColumns()
	case Delete:
		r.scope()
	default:
		r.writeColumns()
	}
	r.condition()
	r.ReturnsNew = r.word("returns", "word", []string{"new"}) != ""
}

// keys reads by, in, from, to and after, which bind columns of r.order. It reports
// whether they have no fault.
func (r *patternReader) keys() bool {
	by, ok := r.columnsOf("by")
	switch {
	case r.has("by") && !ok:
		return false
	case r.has("by"):
		r.By = by
	case r.Kind == Slice && r.Imported != nil && r.has("in"): // a list of partitions
	case r.Kind == Slice:
		r.Fail(r.node, "%s has no by; a slice needs %s", r.where, r.sliceNeeds())
		return false
	case r.Kind == Delete:
		r.Fail(r.node, "%s has no by; a delete needs at least the partition key (%s)",
			r.where, names(r.Table.Partition))
		return false
	case r.Kind != Scan:
		r.By = r.order
	}
	if r.has("in") && !r.in() {
		return false
	}
	if len(r.By) > r.bound || !slices.Equal(r.By, r.order[:len(r.By)]) {
		r.Fail(r.at("by"), "%s: by (%s) must be the first columns of %s", r.where, names(r.By), r.ordering())
		return false
	}
	return r.boundEnough() && r.ranges()
}

// in reads the key column bound to a list.
func (r *patternReader) in() bool {
	if r.In = r.column("in"); r.In == nil {
		return false
	}
	if !r.has("by") { // by is then all columns before in
		r.By = nil
		if i := slices.Index(r.order, r.In); i > 0 {
			r.By = r.order[:i]
		}
	}
	if len(r.By) >= r.bound || r.order[len(r.By)] != r.In {
		r.Fail(r.at("in"), "%s: in (%s) must be the next column after by (%s) of %s",
			r.where, r.In.Name, names(r.By), r.ordering())
		return false
	}
	return true
}

// boundEnough reports whether by and in bind what the kind needs.
func (r *patternReader) boundEnough() bool {
	bound := len(r.By)
	if r.In != nil {
		bound++
	}
	switch r.Kind {
	case Slice:
		if r.Imported != nil && bound >= r.sliceMin() { // in can be a partition column
			return true
		}
		if len(r.By) < r.sliceMin() {
			r.Fail(r.at("by"), "%s: by (%s) is too short; a slice needs %s", r.where, names(r.By), r.sliceNeeds())
			return false
		}
	case Delete:
		if len(r.By) < len(r.Table.Partition) {
			r.Fail(r.at("by"), "%s: by (%s) must bind the whole partition key (%s)",
				r.where, names(r.By), names(r.Table.Partition))
			return false
		}
	case Scan:
	default:
		if bound < len(r.order) {
			r.Fail(r.at("by"), "%s: %s needs all of %s; not bound: %s",
				r.where, a(r.Kind), r.ordering(), names(r.order[bound:]))
			return false
		}
	}
	return true
}

// sliceMin is how many columns a slice must bind: the partition key, or one
// column of an index.
func (r *patternReader) sliceMin() int {
	if r.Index != nil {
		return 1
	}
	return len(r.Table.Partition)
}

func (r *patternReader) sliceNeeds() string {
	if r.Index != nil {
		return "by to begin with " + r.order[0].Name + ", the first column of index " + r.Index.Name
	}
	return "at least the whole partition key (" + names(r.Table.Partition) + "), or an index that begins with by"
}

// ordering names the order that keys are bound in, for messages.
func (r *patternReader) ordering() string {
	switch {
	case r.Index != nil:
		return "index " + r.Index.Name + " (" + names(r.order[:r.bound]) + ")"
	case r.Static:
		return "the partition key of " + r.Table.Name + " (" + names(r.order) + ")"
	}
	return "the primary key of " + r.Table.Name + " (" + names(r.order) + ")"
}

// ranges reads from, to and after, which bind the columns after by.
func (r *patternReader) ranges() bool {
	before := len(r.Errs)
	r.From, r.To = r.end("from"), r.end("to")
	r.After, _ = r.columnsOf("after")
	if len(r.Errs) > before {
		return false
	}
	if r.In != nil {
		for _, field := range []string{"from", "to", "after"} {
			if r.has(field) {
				r.Fail(r.key(field), "%s: in and %s exclude each other; both bind the column after by",
					r.where, field)
			}
		}
	}
	rest := r.order[len(r.By):]
	for _, b := range []*Bound{r.From, r.To} {
		if b != nil && (len(rest) == 0 || rest[0] != b.Column) {
			field := "from"
			if b == r.To {
				field = "to"
			}
			r.Fail(r.at(field), "%s: %s (%s) must be the next column after by (%s) of %s",
				r.where, field, b.Column.Name, names(r.By), r.ordering())
		}
	}
	if len(r.After) > len(rest) || !slices.Equal(r.After, rest[:len(r.After)]) {
		r.Fail(r.at("after"), "%s: after (%s) must be the next columns after by (%s): %s",
			r.where, names(r.After), names(r.By), names(rest))
	}
	return len(r.Errs) == before
}

// end reads one end of a range: "column", "column open" or "column closed".
func (r *patternReader) end(key string) *Bound {
	text := r.text(key)
	if text == "" {
		return nil
	}
	name, how, _ := strings.Cut(text, " ")
	c := pick(r.parser, r.at(key), "column", name, "in "+r.where, r.nameable(r.Table))
	if how != "" && how != "open" && how != "closed" {
		r.Unknown(r.at(key), "word", how, "in "+key+" of "+r.where, []string{"open", "closed"})
	}
	if c == nil {
		return nil
	}
	return &Bound{Column: c, Open: how == "open"}
}

// filter reads the columns that are compared after reading. Of an imported pattern they can be any.
func (r *patternReader) filter() {
	r.Filter, _ = r.columnsOf("filter")
	for _, c := range r.Filter {
		if (c.Role != Plain || c.Type.Collection()) && r.Imported == nil {
			r.Fail(r.atColumn("filter", c), "%s: filter compares plain columns that are no collections; %s is %s",
				r.where, c.Name, describe(c))
		}
	}
}

// limits reads reverse, limit and parallel.
func (r *patternReader) limits() {
	r.Reverse = r.flag("reverse")
	bounded := r.Index != nil || r.In != nil || r.Filter != nil || r.From != nil || r.To != nil || r.After != nil
	if r.Nested = r.flag("nested"); r.Nested && (r.Table.Parent == nil || bounded || r.Reverse) {
		r.Fail(r.key("nested"), "%s: nested needs a table that is nested in another, and excludes index, in, filter, "+
			"from, to, after and reverse", r.where)
	}
	switch n := r.at("limit"); {
	case r.has("limit") && n.Kind == yaml.ScalarNode && n.Value == "arg":
		r.LimitArg = true
	case r.has("limit") && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		r.Unknown(n, "word", n.Value, "in limit of "+r.where+" (a number from 1 up, or arg)", []string{"arg"})
	default:
		r.Limit = r.count("limit")
	}
	varies := r.words("varies", "word", []string{"columns", "pages"})
	r.FewerColumns, r.NoPages = slices.Contains(varies, "columns"), slices.Contains(varies, "pages")
	r.Parallel, r.ParallelBy = r.number("parallel")
	if r.has("parallel") && r.Kind == Get && (r.In == nil || r.In.Role != Partition) {
		r.Fail(r.key("parallel"), "%s: parallel needs in over a partition column (%s)", r.where, names(r.Table.Partition))
	}
}

// readColumns reads what a get, slice or scan yields: "*" unless it says so.
func (r *patternReader) readColumns() {
	if r.has("element") {
		r.element()
		return
	}
	n := r.at("columns")
	if !r.has("columns") || n.Kind == yaml.ScalarNode && n.Value == "*" {
		r.Columns = allColumns(r.Table, r.Static)
		return
	}
	var ok bool
	if r.Columns, ok = r.columnsOf("columns"); !ok {
		return
	}
	if len(r.Columns) == 0 {
		r.Fail(n, "%s: columns is empty; %s yields at least one", r.where, a(r.Kind))
	}
	for _, c := range r.Columns {
		if r.Static && c.Role != Partition && c.Role != Static {
			r.Fail(r.atColumn("columns", c), "%s: with static %s yields partition and static columns; %s is %s",
				r.where, a(r.Kind), c.Name, describe(c))
		}
	}
}

// element reads the map column of which one element is read.
func (r *patternReader) element() {
	for _, field := range []string{"columns", "in", "static"} {
		if r.has(field) {
			r.Fail(r.key(field), "%s: element and %s exclude each other; element reads one value of one row", r.where, field)
		}
	}
	if r.Element = r.column("element"); r.Element != nil && r.Element.Type.Kind != Map {
		r.Fail(r.at("element"), "%s: element needs a map column; %s is %s", r.where, r.Element.Name, describe(r.Element))
	}
}

// describe says what a column is, for messages.
func describe(c *Column) string {
	role := [...]string{"plain", "partition", "clustering", "static"}[c.Role]
	return "a " + role + " column of type " + c.Type.String()
}
