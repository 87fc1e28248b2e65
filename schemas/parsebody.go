package schemas

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

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
