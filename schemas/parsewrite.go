package schemas

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// writeColumns reads the columns that a write touches. A put or put-if writes
// all of them unless it says which.
func (r *patternReader) writeColumns() {
	role, all := Plain, r.Table.Columns
	if r.Static {
		role, all = Static, r.Table.Static
	}
	switch n := r.at("columns"); {
	case r.has("columns") && n.Kind == yaml.ScalarNode && n.Value == "*":
		r.refuse(n, `"*" is for reads; %s lists its columns`, a(r.Kind))
		return
	case r.has("columns"):
		var ok bool
		if r.Columns, ok = r.columnsOf("columns"); !ok {
			return
		}
	case r.Kind == Put || r.Kind == PutIf:
		r.Columns = all
	}
	if len(r.Columns) == 0 && r.Kind != Put && r.Kind != PutIf {
		r.refuse(r.at("columns"), "%s needs columns: the ones it changes", a(r.Kind))
	}
	for _, c := range r.Columns {
		switch {
		case c.Role == Static && r.Kind == PutIf:
			// next to the columns of a row
		case c.Role != role:
			r.unfit("columns", c, "%s writes %s columns", a(r.Kind), [...]string{Plain: "plain", Static: "static"}[role])
		case r.Kind == Add && c.Type.Kind != Counter && c.Type.Kind != Bigint:
			r.unfit("columns", c, "an increment needs counter or bigint columns")
		case (r.Kind == Append || r.Kind == Remove) && c.Type.Kind != List && !(c.Type.Collection() && r.Imported != nil):
			r.unfit("columns", c, "%s needs list columns", a(r.Kind))
		case (r.Kind == Put || r.Kind == PutIf) && c.Type.Kind == Counter:
			r.refuse(r.atColumn("columns", c), "counter %s cannot be put; expected an increment", c.Name)
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
	switch named := Scope(slices.Index(scopeNames[:], name)); {
	case name == "":
	case named == ScopePartition && r.Scope == ScopeRow && len(r.Table.Clustering) == 0:
		r.Scope = ScopePartition // the row is its whole partition
	case named != r.Scope:
		r.refuse(r.at("scope"), "scope %s does not fit by (%s), which makes it a delete of a %s", name, names(r.By), r.Scope)
	}
}

// condition reads what must hold for a put-if or a delete.
func (r *patternReader) condition() {
	n := r.at("if")
	if r.Kind == Delete && r.has("if") {
		if r.Present = n.Value == "present"; !r.Present || r.Scope != ScopeRow {
			r.refuse(n, "a delete may have if: present, and then by is the whole primary key (%s)", names(r.Table.Key()))
		}
	}
	if r.Kind != PutIf {
		return
	}
	if !r.has("if") {
		r.Fail(n, "%s has no condition; expected if: absent, if: present or if: [column, …]", r.where)
		return
	}
	if n.Kind == yaml.ScalarNode {
		r.Absent, r.Present = n.Value == "absent", n.Value == "present"
		if r.Absent || r.Present {
			return
		}
	}
	var ok bool
	if r.If, ok = r.columnsOf("if"); !ok {
		return
	}
	if len(r.If) == 0 {
		r.refuse(n, "if is empty; expected absent, present or columns to compare")
	}
	for _, c := range r.If {
		if c.Role != Plain && c.Role != Static || c.Type.Collection() || c.Type.Kind == Counter {
			r.unfit("if", c, "if compares plain and static columns that are no collections or counters")
		}
	}
}

// SpansStatic reports whether a put-if writes or compares static columns in addition to those of its row.
func (p *Pattern) SpansStatic() bool {
	return p.Kind == PutIf && slices.ContainsFunc(slices.Concat(p.Columns, p.If),
		func(c *Column) bool { return c.Role == Static })
}

// batch reads the parts of a batch and checks whether they can have its atomicity.
func (r *patternReader) batch(all []*patternReader) {
	n := r.at("batch")
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		r.Fail(n, "batch of %s must be a list of patterns, found %s", r.where, strict.Found(n))
		return
	}
	before := len(r.Errs)
	whole := true // all parts could be read
	for _, part := range n.Content {
		whole = r.part(part, all) && whole
	}
	if name := r.word("atomic", "atomicity", atomicNames[:]); name != "" {
		r.Atomic = Atomicity(slices.Index(atomicNames[:], name))
	}
	if r.Atomic == AtomicNone {
		for _, part := range r.Parts {
			if part.Pattern.Present {
				r.refuse(r.key("batch"), "its part %s has a condition, which needs an atomic batch", part.Pattern.Name)
			}
		}
	}
	if r.Parallel, r.ParallelBy = r.number("parallel"); r.has("parallel") && r.Atomic != AtomicNone {
		r.refuse(r.key("parallel"), "parallel needs atomic: none; an atomic batch is one call")
	}
	if whole && len(r.Errs) == before {
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
		switch {
		case p.Table.Root() != root:
			r.refuse(parts[i], "atomic %s needs parts under one root table; %s writes under %s, %s under %s",
				r.Atomic, first.Name, root.Name, p.Name, p.Table.Root().Name)
		case r.Atomic == AtomicRow && len(p.By) < len(root.Key()):
			r.refuse(parts[i], "atomic row needs parts that bind the whole primary key of %s (%s); %s binds %s",
				root.Name, names(root.Key()), p.Name, names(p.By))
		}
	}
}

// part reads one member of a batch: a pattern's name, or {run: name, each: word}.
func (r *patternReader) part(n *yaml.Node, all []*patternReader) bool {
	run, each := n, ""
	if n.Kind == yaml.MappingNode {
		f := r.parser.section(n, "a part of "+r.where, "run", "each")
		if !f.has("run") {
			r.Fail(n, `a part of %s has no key "run"; expected {run: PATTERN, each: WORD}`, r.where)
			return false
		}
		run, each = f.at("run"), f.text("each")
	}
	name, ok := r.Text(run, "a part of "+r.where)
	if !ok {
		return false
	}
	part := pick(r.parser, run, "pattern", name, "in "+r.where, all)
	switch {
	case part == nil || !part.ok:
		return false
	case part.Kind.Reads() || part.Kind == Batch || part.Kind == PutIf:
		return r.refuse(run, "%s is %s; a part must be a put, increment, append, remove-element or delete", name, a(part.Kind))
	case part.ReturnsNew:
		return r.refuse(run, "%s returns values; a part of a batch cannot", name)
	}
	r.Parts = append(r.Parts, Part{Pattern: part.Pattern, Each: each})
	return true
}

// fallback reads which pattern runs in place of this one.
func (r *patternReader) fallback(all []*patternReader) {
	name, n := r.text("fallback"), r.at("fallback")
	if name == "" {
		return
	}
	fb := pick(r.parser, n, "pattern", name, "in fallback of "+r.where, all)
	if fb == nil {
		return
	}
	switch {
	case fb.has("fallback"):
		r.refuse(n, "its fallback %s has a fallback itself; expected a pattern without one", name)
	case r.ok && fb.ok:
		if why := differs(r.Pattern, fb.Pattern); why != "" {
			r.refuse(n, "%s cannot be its fallback: %s", name, why)
		}
	}
	r.Fallback = fb.Pattern
}

// differs says why a caller of p could not call fb instead, or "".
func differs(p, fb *Pattern) string {
	samePart := func(a, b Part) bool { return a.Each == b.Each && argList(a.Pattern) == argList(b.Pattern) }
	switch {
	case p.Kind.Reads() != fb.Kind.Reads() || (p.Kind == Batch) != (fb.Kind == Batch):
		return a(p.Kind) + " and " + a(fb.Kind) + " are called in different ways"
	case p.Kind == Batch && !slices.EqualFunc(p.Parts, fb.Parts, samePart):
		return "its parts differ: in number, in each, or in arguments"
	case p.Kind.Reads() && typed(p.yields(fb)) != typed(fb.Columns):
		return "it yields (" + typed(fb.Columns) + ") instead of (" + typed(p.yields(fb)) + ")"
	case p.Kind.Reads() || p.Kind == fb.Kind:
		if want, got := argList(p), argList(fb); got != want && argList(afterByName(p)) != argList(afterByName(fb)) {
			return "its arguments are (" + got + ") instead of (" + want + ")"
		}
	}
	return ""
}

// yields returns the columns that a pattern must yield in its place: without those of tables around, if it
// does not read these.
func (p *Pattern) yields(fb *Pattern) []*Column {
	if p.Nested == fb.Nested {
		return p.Columns
	}
	return slices.DeleteFunc(slices.Clone(p.Columns), func(c *Column) bool { return p.Table.Column(c.Name) != c })
}

// afterByName returns the pattern with the columns of its after sorted by name.
// The fallback of a page may take them in another order: its caller takes the
// pattern that runs for their positions (drivers.Prepared.Arg).
func afterByName(p *Pattern) *Pattern {
	sorted := *p
	byName := func(a, b *Column) int { return strings.Compare(a.Name, b.Name) }
	sorted.After = slices.SortedFunc(slices.Values(p.After), byName)
	return &sorted
}
