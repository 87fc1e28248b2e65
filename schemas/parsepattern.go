package schemas

import (
	"cmp"
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
	wrong []string  // keys that name columns with a fault; no rule expects more of them
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
	at := r.At(r.node)
	r.Pos = *cmp.Or(r.Imported, &at)
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
	n, name := r.at(r.Kind.String()), r.text(r.Kind.String())
	if name == "" {
		return false
	}
	if r.Table = pick(r.parser, n, "table", name, "in "+r.where, r.schema.Tables); r.Table == nil || r.broken[r.Table] {
		return false
	}
	r.order = r.Table.Key()
	if r.Static = r.flag("static"); r.Static {
		r.order = r.Table.Partition
	}
	r.bound = len(r.order)
	return r.rule(!r.Table.Header(), n,
		"table %s is only a row header and stores nothing of its own; expected one of the tables nested in it", name) &&
		r.rule(!r.Static || len(r.Table.Static) > 0, r.key("static"), "table %s has no static columns", name) &&
		(!r.has("index") || r.index())
}

// index makes the pattern read through an index. Its order is then the index's
// columns, followed by the other columns of the primary key.
func (r *patternReader) index() bool {
	name, n := r.text("index"), r.at("index")
	if name == "" || !r.rule(len(r.Table.Indexes) > 0, n, "table %s has no index", r.Table.Name) {
		return false
	}
	if r.Index = pick(r.parser, n, "index", name, "in "+r.where, r.Table.Indexes); r.Index == nil {
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

// column finds the column that a key names.
func (r *patternReader) column(key string) *Column {
	name := r.text(key)
	if name == "" {
		return nil
	}
	return pick(r.parser, r.at(key), "column", name, "in "+r.where, r.all)
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
	r.By, r.In = r.columns("by", r.all), r.column("in")
	switch {
	case len(r.Errs) > before:
		return false
	case r.has("by"):
	case r.Kind == Delete, r.Kind == Slice && (r.In == nil || r.Imported == nil): // else in is a list of partitions
		return r.Check(false, r.node, "%s has no by; %s needs %s", r.where, a(r.Kind), r.needs())
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
	bound, partition := len(r.By), len(r.Table.Partition)
	if r.In != nil && (r.Kind != Slice || r.Imported != nil) { // of an imported slice it can be a partition column
		bound++
	}
	switch {
	case r.Kind == Slice:
		enough := bound >= partition || r.Index != nil && bound > 0
		return r.rule(enough, r.at("by"), "by (%s) is too short; a slice needs %s", names(r.By), r.needs())
	case r.Kind == Delete:
		return r.rule(bound >= partition, r.at("by"), "by (%s) must bind the whole partition key (%s)",
			names(r.By), names(r.Table.Partition))
	}
	return r.rule(bound == len(r.order) || r.Kind == Scan, r.at("by"), "%s needs all of %s; not bound: %s",
		a(r.Kind), r.ordering(), names(r.order[bound:]))
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
	for _, field := range []string{"from", "to", "after"} {
		r.rule(r.In == nil || !r.has(field), r.key(field),
			"in and %s exclude each other; both bind the column after by", field)
	}
	rest := r.order[len(r.By):]
	for field, b := range map[string]*Bound{"from": r.From, "to": r.To} {
		if b != nil {
			r.rule(len(rest) > 0 && rest[0] == b.Column, r.at(field), "%s (%s) must be the next column after by (%s) of %s",
				field, b.Column.Name, names(r.By), r.ordering())
		}
	}
	r.rule(len(r.After) <= len(rest) && slices.Equal(r.After, rest[:len(r.After)]), r.at("after"),
		"after (%s) must be the next columns after by (%s): %s", names(r.After), names(r.By), names(rest))
	return len(r.Errs) == before
}

// values reads the other keys of a pattern of one table, each by itself.
func (r *patternReader) values() {
	r.Reverse, r.Filter, r.Element = r.flag("reverse"), r.columns("filter", r.all), r.column("element")
	r.Nested = r.flag("nested")
	r.all = r.nameable(r.Table)
	if !r.says("columns", "*") {
		r.Columns = r.noted("columns")
	}
	if r.Absent, r.Present = r.says("if", "absent"), r.says("if", "present"); r.Kind == PutIf && !r.Absent && !r.Present {
		r.If = r.noted("if")
	}
	r.Varies = slices.Compact(slices.Sorted(slices.Values(r.words("varies", "word", []string{"columns", "pages"}))))
	r.ReturnsNew = r.word("returns", "word", []string{"new"}) != ""
	r.limit()
}

// noted reads the columns of a key, and notes whether they have a fault.
func (r *patternReader) noted(key string) []*Column {
	before := len(r.Errs)
	cs := r.columns(key, r.all)
	if len(r.Errs) > before {
		r.wrong = append(r.wrong, key)
	}
	return cs
}

// some reports whether a key names columns, or has a fault already.
func (r *patternReader) some(cs []*Column, key string) bool {
	return len(cs) > 0 || slices.Contains(r.wrong, key)
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
	r.rule(r.some(r.Columns, "columns"), r.at("columns"), "columns is empty; %s yields at least one", a(r.Kind))
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
	r.rule(put || r.some(r.Columns, "columns"), r.at("columns"), "%s needs columns: the ones it changes", a(r.Kind))
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

// scope sets what a delete removes, which follows from by. A scope in the file must agree.
func (r *patternReader) scope() {
	switch {
	case len(r.By) == len(r.order):
		r.Scope = ScopeRow
	case len(r.By) == len(r.Table.Partition):
		r.Scope = ScopePartition
	default:
		r.Scope = ScopePrefix
	}
	name := r.word("scope", "scope", scopeNames[:])
	if name == ScopePartition.String() && len(r.Table.Clustering) == 0 {
		r.Scope = ScopePartition // the row is its whole partition
	}
	r.rule(name == "" || name == r.Scope.String(), r.at("scope"),
		"scope %s does not fit by (%s), which makes it a delete of a %s", name, names(r.By), r.Scope)
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
	r.rule(r.some(r.If, "if"), n, "if is empty; expected absent, present or columns to compare")
	for _, c := range r.If {
		r.fits((c.Role == Plain || c.Role == Static) && !c.Type.Collection() && c.Type.Kind != Counter, "if", c,
			"if compares plain and static columns that are no collections or counters")
	}
}

// SpansStatic reports whether a put-if writes or compares static columns in addition to those of its row.
func (p *Pattern) SpansStatic() bool {
	return p.Kind == PutIf && slices.ContainsFunc(slices.Concat(p.Columns, p.If),
		func(c *Column) bool { return c.Role == Static })
}
