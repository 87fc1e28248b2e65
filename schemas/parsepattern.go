package schemas

import (
	"fmt"
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

var commonKeys = []string{"description", "addition", "form", "fallback", "accept", "other", "at"}

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
		before := len(p.Errs)
		r := &patternReader{
			Pattern: &Pattern{Name: e.Name, Pos: p.At(e.Key)}, section: p.section(e.Value, "pattern "+e.Name, patternKeys...),
		}
		strange := len(p.Errs) > before // an unknown key is perhaps the kind, misspelt
		if r.node = e.Key; !r.head(strange) {
			r.fields = nil
		} else if r.Kind != Batch && r.table() {
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

// head reads the kind and what all patterns have. It reports whether the rest can be read.
func (r *patternReader) head(strange bool) bool {
	r.Doc, r.Addition, r.Form = r.text("description"), r.text("addition"), r.flag("form")
	r.Accept, r.Other = r.accept(), r.other()
	if r.Imported = r.imported(); r.Imported != nil {
		r.Pos = *r.Imported
	}
	kinds := 0
	for k, name := range patternKindNames {
		if r.has(name) {
			r.Kind = PatternKind(k)
			kinds++
		}
	}
	if kinds != 1 {
		if kinds > 0 || !strange {
			r.Fail(r.node, "%s must have exactly one of the keys %s, found %d",
				r.where, strings.Join(patternKindNames[:], ", "), kinds)
		}
		return false
	}
	allowed := slices.Concat(commonKeys, []string{r.Kind.String()}, keysOf[r.Kind])
	ofCQL := []PatternKind{Add, Append, Remove} // it adds to static collections and counters
	if r.Imported != nil && slices.Contains(ofCQL, r.Kind) {
		allowed = append(allowed, "static")
	}
	for name, e := range r.fields {
		if !slices.Contains(allowed, name) {
			r.refuse(e.Key, "%s has no key %q; it may have %s", a(r.Kind), name, strings.Join(keysOf[r.Kind], ", "))
			delete(r.fields, name)
		}
	}
	return true
}

// table finds the pattern's table and the order in which it is read.
func (r *patternReader) table() bool {
	n, name := r.at(r.Kind.String()), r.text(r.Kind.String())
	if name == "" {
		return false
	}
	if r.Table = pick(r.parser, n, "table", name, "in "+r.where, r.schema.Tables); r.Table == nil || r.broken[r.Table] {
		return false
	}
	if r.Table.Header() {
		return r.refuse(n, "table %s is only a row header and stores nothing of its own; expected one of the tables nested in it",
			name)
	}
	r.order = r.Table.Key()
	r.bound = len(r.order)
	if r.Static = r.flag("static"); r.Static {
		if len(r.Table.Static) == 0 {
			return r.refuse(r.key("static"), "table %s has no static columns", name)
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
		return r.refuse(r.at("index"), "table %s has no index", r.Table.Name)
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
	for all = t.All(); p.Nested && t.Parent != nil; t = t.Parent {
		all = append(all, t.Parent.All()...)
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

// atColumn returns the node in which a key names a column, or else that of the key.
func (r *patternReader) atColumn(key string, c *Column) *yaml.Node {
	n := r.at(key)
	if i := slices.IndexFunc(n.Content, func(n *yaml.Node) bool { return n.Value == c.Name }); i >= 0 {
		return n.Content[i]
	}
	return n
}

// unfit records that a key cannot have a column that it names.
func (r *patternReader) unfit(key string, c *Column, format string, args ...any) {
	r.refuse(r.atColumn(key, c), "%s; %s is %s", fmt.Sprintf(format, args...), c.Name, describe(c))
}

// body reads a pattern of one table. It stops at a fault of the key, since later
// steps need the key and would report the same fault again.
func (r *patternReader) body() {
	if !r.keys() {
		return
	}
	r.Filter, _ = r.columnsOf("filter")
	for _, c := range r.Filter {
		if (c.Role != Plain || c.Type.Collection()) && r.Imported == nil {
			r.unfit("filter", c, "filter compares plain columns that are no collections")
		}
	}
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
	case r.Kind == Slice, r.Kind == Delete:
		r.Fail(r.node, "%s has no by; %s needs %s", r.where, a(r.Kind), r.needs())
		return false
	case r.Kind != Scan:
		r.By = r.order
	}
	if r.has("in") && !r.in() {
		return false
	}
	if len(r.By) > r.bound || !slices.Equal(r.By, r.order[:len(r.By)]) {
		return r.refuse(r.at("by"), "by (%s) must be the first columns of %s", names(r.By), r.ordering())
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
		return r.refuse(r.at("in"), "in (%s) must be the next column after by (%s) of %s",
			r.In.Name, names(r.By), r.ordering())
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
		least := len(r.Table.Partition)
		if r.Index != nil {
			least = 1
		}
		if r.Imported == nil { // else in can be a partition column
			bound = len(r.By)
		}
		if bound < least {
			return r.refuse(r.at("by"), "by (%s) is too short; a slice needs %s", names(r.By), r.needs())
		}
	case Delete:
		if len(r.By) < len(r.Table.Partition) {
			return r.refuse(r.at("by"), "by (%s) must bind the whole partition key (%s)", names(r.By), names(r.Table.Partition))
		}
	case Scan:
	default:
		if bound < len(r.order) {
			return r.refuse(r.at("by"), "%s needs all of %s; not bound: %s", a(r.Kind), r.ordering(), names(r.order[bound:]))
		}
	}
	return true
}

// needs says what a slice or a delete binds at least.
func (r *patternReader) needs() string {
	switch {
	case r.Kind == Delete:
		return "at least the partition key (" + names(r.Table.Partition) + ")"
	case r.Index != nil:
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
				r.refuse(r.key(field), "in and %s exclude each other; both bind the column after by", field)
			}
		}
	}
	rest := r.order[len(r.By):]
	for field, b := range map[string]*Bound{"from": r.From, "to": r.To} {
		if b != nil && (len(rest) == 0 || rest[0] != b.Column) {
			r.refuse(r.at(field), "%s (%s) must be the next column after by (%s) of %s",
				field, b.Column.Name, names(r.By), r.ordering())
		}
	}
	if len(r.After) > len(rest) || !slices.Equal(r.After, rest[:len(r.After)]) {
		r.refuse(r.at("after"), "after (%s) must be the next columns after by (%s): %s",
			names(r.After), names(r.By), names(rest))
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

// limits reads reverse, limit and parallel.
func (r *patternReader) limits() {
	r.Reverse = r.flag("reverse")
	bounded := r.Index != nil || r.In != nil || r.Filter != nil || r.From != nil || r.To != nil || r.After != nil
	if r.Nested = r.flag("nested"); r.Nested && (r.Table.Parent == nil || bounded || r.Reverse) {
		r.refuse(r.key("nested"), "nested needs a table that is nested in another, and excludes index, in, filter, "+
			"from, to, after and reverse")
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
		r.refuse(r.key("parallel"), "parallel needs in over a partition column (%s)", names(r.Table.Partition))
	}
}

// readColumns reads what a get, slice or scan yields: "*" unless it says so.
func (r *patternReader) readColumns() {
	if r.has("element") { // one value of a map
		for _, field := range []string{"columns", "in", "static"} {
			if r.has(field) {
				r.refuse(r.key(field), "element and %s exclude each other; element reads one value of one row", field)
			}
		}
		if r.Element = r.column("element"); r.Element != nil && r.Element.Type.Kind != Map {
			r.unfit("element", r.Element, "element needs a map column")
		}
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
		r.refuse(n, "columns is empty; %s yields at least one", a(r.Kind))
	}
	for _, c := range r.Columns {
		if r.Static && c.Role != Partition && c.Role != Static {
			r.unfit("columns", c, "with static %s yields partition and static columns", a(r.Kind))
		}
	}
}
