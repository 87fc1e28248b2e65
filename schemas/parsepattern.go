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
	Delete: {"by", "if"},
	Batch:  {"parallel", "atomic"},
}

var commonKeys = []string{"description", "addition", "form", "fallback", "accept", "other", "at"}

// patternKeys are all keys that some pattern may have.
var patternKeys = func() []string {
	keys := slices.Concat(commonKeys, patternKindNames[:])
	for _, k := range slices.Concat(keysOf[:]...) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
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
	all   []*Column // that its keys may name
	ok    bool      // no fault so far
}

// patterns reads the patterns. Batches and fallbacks name others, so they are read
// after all others.
func (p *parser) patterns(entries []strict.Entry) {
	var readers []*patternReader
	for _, e := range entries {
		p.checkName(e.Key, e.Name, "pattern")
		before := len(p.Errs)
		r := &patternReader{Pattern: &Pattern{Name: e.Name}, section: p.section(e.Value, "pattern "+e.Name, patternKeys...)}
		strange := len(p.Errs) > before // an unknown key is perhaps the kind, misspelt
		if r.node = e.Key; !r.head(strange) {
			r.fields = nil
		} else if r.Kind != Batch && r.table() && r.keys() {
			r.values()
			r.rules()
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
	r.Accept, r.Other, r.Imported = r.accept(), r.other(), r.imported()
	r.Pos = r.place(r.Imported, r.node)
	kinds := 0
	for k, name := range patternKindNames {
		if r.has(name) {
			r.Kind = PatternKind(k)
			kinds++
		}
	}
	r.Check(kinds == 1 || kinds == 0 && strange, r.node, "%s must have exactly one of the keys %s, found %d",
		r.where, strings.Join(patternKindNames[:], ", "), kinds)
	if kinds != 1 {
		return false
	}
	allowed := slices.Concat(commonKeys, []string{r.Kind.String()}, keysOf[r.Kind])
	ofCQL := []PatternKind{Add, Append, Remove} // it adds to static collections and counters
	if r.Imported != nil && slices.Contains(ofCQL, r.Kind) {
		allowed = append(allowed, "static")
	}
	for name, e := range r.fields {
		if !r.rule(slices.Contains(allowed, name), e.Key, "%s has no key %q; it may have %s",
			a(r.Kind), name, strings.Join(keysOf[r.Kind], ", ")) {
			delete(r.fields, name)
		}
	}
	return true
}

// table finds the pattern's table and the order in which it is read.
func (r *patternReader) table() bool {
	kind := r.Kind.String()
	if r.Table = chosen(r.section, kind, "table", r.schema.Tables); r.Table == nil || r.broken[r.Table] {
		return false
	}
	r.order = r.Table.Key()
	if r.Static = r.flag("static"); r.Static {
		r.order = r.Table.Partition
	}
	r.bound = len(r.order)
	return r.rule(!r.Table.Header(), r.at(kind),
		"table %s is only a row header and stores nothing of its own; expected one of the tables nested in it", r.Table.Name) &&
		r.rule(!r.Static || len(r.Table.Static) > 0, r.key("static"), "table %s has no static columns", r.Table.Name) &&
		(!r.has("index") || r.index())
}

// index makes the pattern read through an index. Its order is then the index's
// columns, followed by the other columns of the primary key.
func (r *patternReader) index() bool {
	if !r.rule(len(r.Table.Indexes) > 0, r.at("index"), "table %s has no index", r.Table.Name) {
		return false
	}
	if r.Index = chosen(r.section, "index", "index", r.Table.Indexes); r.Index == nil {
		return false
	}
	r.order, r.bound = nil, len(r.Index.Columns)
	for _, c := range r.Table.sorted(r.Index) {
		r.order = append(r.order, c.Column)
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

// end reads one end of a range: "column", "column open" or "column closed".
func (r *patternReader) end(key string) *Bound {
	text := r.text(key)
	if text == "" {
		return nil
	}
	name, how, _ := strings.Cut(text, " ")
	if known := []string{"open", "closed"}; how != "" && !slices.Contains(known, how) {
		r.Unknown(r.at(key), "word", how, "in "+key+" of "+r.where, known)
	}
	return &Bound{Column: pick(r.parser, r.at(key), "column", name, "in "+r.where, r.all), Open: how == "open"}
}

// keys reads by, in, from, to and after, which bind columns of r.order. It reports whether they have no fault: later
// steps need the key, and would report the same fault again.
func (r *patternReader) keys() bool {
	before := len(r.Errs)
	r.all = r.Table.All()
	r.By, r.In = r.columns("by", r.all), chosen(r.section, "in", "column", r.all)
	switch {
	case len(r.Errs) > before:
		return false
	case r.has("by"), r.Kind == Delete:
	case r.Kind == Slice && (r.In == nil || r.Imported == nil): // else in is a list of partitions
	case r.In != nil: // by is then all columns before in
		r.By = r.order[:max(0, slices.Index(r.order, r.In))]
	case r.Kind != Scan:
		r.By = r.order
	}
	if r.In != nil && !r.rule(len(r.By) < r.bound && r.order[len(r.By)] == r.In, r.at("in"),
		"in (%s) must be the next column after by (%s) of %s", r.In.Name, names(r.By), r.ordering()) {
		return false
	}
	return r.rule(len(r.By) <= r.bound && slices.Equal(r.By, r.order[:len(r.By)]), r.at("by"),
		"by (%s) must be the first columns of %s", names(r.By), r.ordering()) && r.boundEnough() && r.ranges()
}

// boundEnough reports whether by and in bind what the kind needs.
func (r *patternReader) boundEnough() bool {
	least, bound := r.order, len(r.By)
	if r.In != nil && (r.Kind != Slice || r.Imported != nil) { // of an imported slice it can be a partition column
		bound++
	}
	switch {
	case r.Kind == Scan:
		least = nil
	case r.Index != nil:
		least = r.order[:1]
	case r.Kind == Slice || r.Kind == Delete:
		least = r.Table.Partition
	}
	return r.rule(bound >= len(least), r.at("by"), "by (%s) is too short; %s needs at least (%s)%s",
		names(r.By), a(r.Kind), names(least), when(r.Kind == Slice, ", or an index that begins with by"))
}

// ordering names the order that keys are bound in, for messages.
func (r *patternReader) ordering() string {
	what := "the primary key of " + r.Table.Name
	if r.Index != nil {
		what = "index " + r.Index.Name
	} else if r.Static {
		what = "the partition key of " + r.Table.Name
	}
	return what + " (" + names(r.order[:r.bound]) + ")"
}

// ranges reads from, to and after, which bind the columns after by.
func (r *patternReader) ranges() bool {
	before := len(r.Errs)
	r.From, r.To, r.After = r.end("from"), r.end("to"), r.columns("after", r.all)
	if len(r.Errs) > before {
		return false
	}
	next := map[string][]*Column{"after": r.After}
	for field, b := range map[string]*Bound{"from": r.From, "to": r.To} {
		if b != nil {
			next[field] = []*Column{b.Column}
		}
	}
	rest := r.order[len(r.By):]
	for field, cs := range next {
		r.rule(r.In == nil || !r.has(field), r.key(field),
			"in and %s exclude each other; both bind the column after by", field)
		r.rule(len(cs) <= len(rest) && slices.Equal(cs, rest[:len(cs)]), r.at(field),
			"%s (%s) must be the next columns after by (%s): %s", field, names(cs), names(r.By), names(rest))
	}
	return len(r.Errs) == before
}

// values reads the other keys of a pattern of one table, each by itself.
func (r *patternReader) values() {
	r.Reverse, r.Nested, r.Filter = r.flag("reverse"), r.flag("nested"), r.columns("filter", r.all)
	r.Element = chosen(r.section, "element", "column", r.all)
	r.all = r.nameable(r.Table)
	if !r.says("columns", "*") {
		r.Columns = r.columns("columns", r.all)
	}
	if r.Absent, r.Present = r.says("if", "absent"), r.says("if", "present"); r.Kind == PutIf && !r.Absent && !r.Present {
		r.If = r.columns("if", r.all)
	}
	r.Varies = slices.Compact(slices.Sorted(slices.Values(r.words("varies", "word", []string{"columns", "pages"}))))
	r.ReturnsNew = r.word("returns", "word", []string{"new"}) != ""
	r.limit()
}

// limit reads a number, or arg.
func (r *patternReader) limit() {
	n := r.at("limit")
	r.LimitArg = r.says("limit", "arg")
	if r.has("limit") && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		if !r.LimitArg {
			r.Unknown(n, "word", n.Value, "in limit of "+r.where+" (a number from 1 up, or arg)", []string{"arg"})
		}
		return
	}
	r.Limit = r.count("limit")
}

// says reports whether the value of a key is that word.
func (r *patternReader) says(key, word string) bool {
	n := r.at(key)
	return r.has(key) && n.Kind == yaml.ScalarNode && n.Value == word
}

// rules checks the other keys of a pattern of one table.
func (r *patternReader) rules() {
	for _, c := range r.Filter {
		r.fits(c.Role == Plain && !c.Type.Collection() || r.Imported != nil, "filter", c,
			"filter compares plain columns that are no collections")
	}
	bounded := r.Index != nil || r.In != nil || r.Filter != nil || r.From != nil || r.To != nil || r.After != nil
	r.rule(!r.Nested || r.Table.Parent != nil && !bounded && !r.Reverse, r.key("nested"),
		"nested needs a table that is nested in another, and excludes index, in, filter, from, to, after and reverse")
	r.Parallel, r.ParallelBy = r.number("parallel")
	r.rule(!r.has("parallel") || r.In != nil && r.In.Role == Partition, r.key("parallel"),
		"parallel needs in over a partition column (%s)", names(r.Table.Partition))
	if !r.has("columns") || r.says("columns", "*") {
		r.Columns = defaultColumns(r.Pattern)
	}
	switch {
	case r.Kind.Reads():
		r.readColumns()
	case r.Kind == Delete:
		r.scope()
	default:
		r.writeColumns()
	}
	r.condition()
}

// atColumn returns the node in which a key names a column, or else that of the key.
func (r *patternReader) atColumn(key string, c *Column) *yaml.Node {
	n := r.at(key)
	if i := slices.IndexFunc(n.Content, func(n *yaml.Node) bool { return n.Value == c.Name }); i >= 0 {
		return n.Content[i]
	}
	return n
}

// fits records that a key cannot have a column that it names, unless ok.
func (r *patternReader) fits(ok bool, key string, c *Column, format string, args ...any) {
	r.rule(ok, r.atColumn(key, c), "%s; %s is %s", fmt.Sprintf(format, args...), c.Name, describe(c))
}

// readColumns checks what a get, slice or scan yields: "*" unless it says so.
func (r *patternReader) readColumns() {
	if r.has("element") { // one value of a map
		for _, field := range []string{"columns", "in", "static"} {
			r.rule(!r.has(field), r.key(field), "element and %s exclude each other; element reads one value of one row", field)
		}
		if r.Element != nil {
			r.fits(r.Element.Type.Kind == Map, "element", r.Element, "element needs a map column")
		}
		return
	}
	r.rule(!r.has("columns") || r.some("columns"), r.at("columns"), "columns is empty; %s yields at least one", a(r.Kind))
	for _, c := range r.Columns {
		r.fits(!r.Static || c.Role == Partition || c.Role == Static, "columns", c,
			"with static %s yields partition and static columns", a(r.Kind))
	}
}

// writeColumns checks the columns that a write touches.
func (r *patternReader) writeColumns() {
	if !r.rule(!r.says("columns", "*"), r.at("columns"), `"*" is for reads; %s lists its columns`, a(r.Kind)) {
		return
	}
	role, put := Plain, r.Kind == Put || r.Kind == PutIf
	if r.Static {
		role = Static
	}
	r.rule(put || r.some("columns"), r.at("columns"), "%s needs columns: the ones it changes", a(r.Kind))
	for _, c := range r.Columns {
		switch {
		case c.Role == Static && r.Kind == PutIf:
			// next to the columns of a row
		case c.Role != role:
			r.fits(false, "columns", c, "%s writes %s columns", a(r.Kind), roleNames[role])
		case r.Kind == Add:
			r.fits(c.Type.Kind == Counter || c.Type.Kind == Bigint, "columns", c, "an increment needs counter or bigint columns")
		case put:
			r.rule(c.Type.Kind != Counter, r.atColumn("columns", c), "counter %s cannot be put; expected an increment", c.Name)
		default:
			r.fits(c.Type.Kind == List || c.Type.Collection() && r.Imported != nil, "columns", c,
				"%s needs list columns", a(r.Kind))
		}
	}
}

// scope sets what a delete removes, which follows from by.
func (r *patternReader) scope() {
	switch {
	case len(r.By) == len(r.order):
		r.Scope = ScopeRow
	case len(r.By) == len(r.Table.Partition):
		r.Scope = ScopePartition
	default:
		r.Scope = ScopePrefix
	}
}

// condition checks what must hold for a put-if or a delete.
func (r *patternReader) condition() {
	n := r.at("if")
	if r.Kind == Delete {
		r.rule(!r.has("if") || r.Present && r.Scope == ScopeRow, n,
			"a delete may have if: present, and then by is the whole primary key (%s)", names(r.Table.Key()))
	}
	if r.Kind != PutIf || r.Absent || r.Present ||
		!r.Check(r.has("if"), n, "%s has no condition; expected if: absent, if: present or if: [column, …]", r.where) {
		return
	}
	r.rule(r.some("if"), n, "if is empty; expected absent, present or columns to compare")
	for _, c := range r.If {
		r.fits((c.Role == Plain || c.Role == Static) && !c.Type.Collection() && c.Type.Kind != Counter, "if", c,
			"if compares plain and static columns that are no collections or counters")
	}
}

// batch reads the parts of a batch and checks whether they can have its atomicity.
func (r *patternReader) batch(all []*patternReader) {
	n := r.at("batch")
	if !r.Check(n.Kind == yaml.SequenceNode && len(n.Content) > 0, n, "batch of %s must be a list of patterns, found %s",
		r.where, strict.Found(n)) {
		return
	}
	before := len(r.Errs)
	for _, part := range n.Content {
		r.part(part, all)
	}
	if name := r.word("atomic", "atomicity", atomicNames[:]); name != "" {
		r.Atomic = Atomicity(slices.Index(atomicNames[:], name))
	}
	for _, part := range r.Parts {
		r.rule(r.Atomic != AtomicNone || !part.Pattern.Present, r.key("batch"),
			"its part %s has a condition, which needs an atomic batch", part.Pattern.Name)
	}
	r.Parallel, r.ParallelBy = r.number("parallel")
	r.rule(!r.has("parallel") || r.Atomic == AtomicNone, r.key("parallel"),
		"parallel needs atomic: none; an atomic batch is one call")
	if len(r.Errs) == before && len(r.Parts) == len(n.Content) {
		r.holds(n.Content)
	}
}

// holds checks that the parts touch no more than atomic covers.
func (r *patternReader) holds(parts []*yaml.Node) {
	if r.Atomic == AtomicNone || r.Atomic == AtomicAll {
		return
	}
	first := r.Parts[0].Pattern
	root := first.Table.Root()
	for i, part := range r.Parts {
		p := part.Pattern
		if r.rule(p.Table.Root() == root, parts[i], "atomic %s needs parts under one root table; %s writes under %s, %s under %s",
			r.Atomic, first.Name, root.Name, p.Name, p.Table.Root().Name) {
			r.rule(r.Atomic != AtomicRow || len(p.By) >= len(root.Key()), parts[i],
				"atomic row needs parts that bind the whole primary key of %s (%s); %s binds %s",
				root.Name, names(root.Key()), p.Name, names(p.By))
		}
	}
}

// part reads one member of a batch: a pattern's name, or {run: name, each: word}.
func (r *patternReader) part(n *yaml.Node, all []*patternReader) {
	f := r.short(n, "a part of "+r.where, "run", "each")
	if !r.Check(f.has("run"), n, `%s has no key "run"; expected {run: PATTERN, each: WORD}`, f.where) {
		return
	}
	run, each := f.at("run"), f.text("each")
	name, ok := r.Text(run, f.where)
	if !ok {
		return
	}
	part := pick(r.parser, run, "pattern", name, "in "+r.where, all)
	if part == nil || !part.ok {
		return
	}
	simple := !part.Kind.Reads() && part.Kind != Batch && part.Kind != PutIf
	if r.rule(simple, run, "%s is %s; a part must be a put, increment, append, remove-element or delete", name, a(part.Kind)) &&
		r.rule(!part.ReturnsNew, run, "%s returns values; a part of a batch cannot", name) {
		r.Parts = append(r.Parts, Part{Pattern: part.Pattern, Each: each})
	}
}

// fallback reads which pattern runs in place of this one.
func (r *patternReader) fallback(all []*patternReader) {
	fb, n := chosen(r.section, "fallback", "pattern", all), r.at("fallback")
	if fb == nil {
		return
	}
	if r.rule(!fb.has("fallback"), n, "its fallback %s has a fallback itself; expected a pattern without one", fb.Name) &&
		r.ok && fb.ok {
		why := differs(r.Pattern, fb.Pattern)
		r.rule(why == "", n, "%s cannot be its fallback: %s", fb.Name, why)
	}
	r.Fallback = fb.Pattern
}
