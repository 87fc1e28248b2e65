package schemas

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// writeColumns reads the columns that a write touches. A put or put-if writes
// all of them unless it says which.
func (r *patternReader) writeColumns() {
	role, all := Plain, r.Table.Columns
	if r.Static {
		role, all = Static, r.Table.Static
	}
	e, given := r.fields["columns"]
	switch {
	case given && e.value.Kind == yaml.ScalarNode && e.value.Value == "*":
		r.fail(e.value, `%s: "*" is for reads; a %s lists its columns`, r.where, r.Kind)
		return
	case given:
		var ok bool
		if r.Columns, ok = r.columnsOf("columns"); !ok {
			return
		}
	case r.Kind == Put || r.Kind == PutIf:
		r.Columns = all
	}
	if len(r.Columns) == 0 && r.Kind != Put && r.Kind != PutIf {
		r.fail(r.at("columns"), "%s: a %s needs columns: the ones it changes", r.where, r.Kind)
	}
	for _, c := range r.Columns {
		switch {
		case c.Role != role:
			r.fail(r.at("columns"), "%s: a %s writes %s columns; %s is %s", r.where, r.Kind, [...]string{Plain: "plain", Static: "static"}[role], c.Name, describe(c))
		case r.Kind == Add && c.Type.Kind != Counter && c.Type.Kind != Bigint:
			r.fail(r.at("columns"), "%s: an add needs counter or bigint columns; %s is %s", r.where, c.Name, describe(c))
		case (r.Kind == Append || r.Kind == Remove) && !c.Type.Collection():
			r.fail(r.at("columns"), "%s: a %s needs set, list or map columns; %s is %s", r.where, r.Kind, c.Name, describe(c))
		case (r.Kind == Put || r.Kind == PutIf) && c.Type.Kind == Counter:
			r.fail(r.at("columns"), "%s: counter %s cannot be put; expected an add", r.where, c.Name)
		}
	}
}

// scope finds what a delete removes from what it binds.
func (r *patternReader) scope() {
	switch cols, _ := r.columnsOf("columns"); {
	case r.has("columns"):
		r.Scope, r.Columns = ScopeCell, cols
		if len(r.By) < len(r.order) {
			r.fail(r.at("by"), "%s: a delete of columns needs all of %s; not bound: %s", r.where, r.ordering(), names(r.order[len(r.By):]))
		}
		for _, c := range cols {
			if c.Role != Plain {
				r.fail(r.at("columns"), "%s: a delete of columns needs plain columns; %s is %s", r.where, c.Name, describe(c))
			}
		}
	case r.From != nil || r.To != nil:
		r.Scope = ScopeRange
	case len(r.By) == len(r.order):
		r.Scope = ScopeRow
	case len(r.By) == len(r.Table.Partition):
		r.Scope = ScopePartition
	default:
		r.Scope = ScopePrefix
	}
	e, ok := r.fields["scope"]
	if !ok {
		return
	}
	name, ok := r.text(e.value, "scope of "+r.where)
	if !ok {
		return
	}
	switch said := slices.Index(scopeNames[:], name); {
	case said < 0:
		r.unknown(e.value, "scope", name, "in "+r.where, scopeNames[:])
	case Scope(said) == ScopePartition && r.Scope == ScopeRow && len(r.Table.Clustering) == 0:
		r.Scope = ScopePartition // the row is its whole partition
	case Scope(said) != r.Scope:
		r.fail(e.value, "%s: scope %s does not fit by (%s), which makes it a delete of a %s", r.where, name, names(r.By), r.Scope)
	}
}

// condition reads what must hold for a put-if.
func (r *patternReader) condition() {
	if r.Kind != PutIf {
		return
	}
	e, ok := r.fields["if"]
	if !ok {
		r.fail(r.name, "%s has no condition; expected if: absent or if: [column, …]", r.where)
		return
	}
	if e.value.Kind == yaml.ScalarNode && e.value.Value == "absent" {
		r.Absent = true
		return
	}
	if r.If, ok = r.columnsOf("if"); !ok {
		return
	}
	if len(r.If) == 0 {
		r.fail(e.value, "%s: if is empty; expected absent or columns to compare", r.where)
	}
	for _, c := range r.If {
		if c.Role != Plain || c.Type.Collection() || c.Type.Kind == Counter {
			r.fail(e.value, "%s: if compares plain columns that are no collections or counters; %s is %s", r.where, c.Name, describe(c))
		}
	}
}

// returns reads what a write gives back.
func (r *patternReader) returns() {
	e, ok := r.fields["returns"]
	if !ok {
		return
	}
	name, ok := r.text(e.value, "returns of "+r.where)
	if !ok {
		return
	}
	switch name {
	case "old":
		r.Returns = ReturnsOld
	case "new":
		r.Returns = ReturnsNew
	default:
		r.unknown(e.value, "word", name, "in returns of "+r.where, []string{"old", "new"})
		return
	}
	if len(r.Columns) == 0 {
		r.fail(e.value, "%s: returns needs columns: the ones whose values come back", r.where)
	}
}

// batch reads the parts of a batch and judges whether they can be as atomic as
// it says.
func (r *patternReader) batch(byName map[string]*patternReader, known []string) {
	e := r.fields["batch"]
	if e.value.Kind != yaml.SequenceNode || len(e.value.Content) == 0 {
		r.fail(e.value, "batch of %s must be a list of patterns, found %s", r.where, found(e.value))
		return
	}
	before := len(r.errs)
	whole := true // all parts could be read
	for _, n := range e.value.Content {
		whole = r.part(n, byName, known) && whole
	}
	r.atomic()
	if p, ok := r.fields["parallel"]; ok {
		r.Parallel = r.count(p.value, "parallel of "+r.where)
		if r.Atomic != AtomicNone {
			r.fail(p.key, "%s: parallel needs atomic: none; what is atomic is one call", r.where)
		}
	}
	if !whole || len(r.errs) > before || r.Atomic == AtomicNone || r.Atomic == AtomicAll {
		return
	}
	first := r.Parts[0].Pattern
	for i, part := range r.Parts {
		p := part.Pattern
		switch {
		case p.Table.Root() != first.Table.Root():
			r.fail(e.value.Content[i], "%s: atomic %s needs parts under one root table; %s writes %s, %s writes %s",
				r.where, r.Atomic, first.Name, first.Table.Root().Name, p.Name, p.Table.Root().Name)
		case r.Atomic == AtomicRow && (p.Table != first.Table || p.Static != first.Static || p.Kind == Delete && p.Scope > ScopeCell):
			r.fail(e.value.Content[i], "%s: atomic row needs parts that touch one row of one table; %s does not", r.where, p.Name)
		}
	}
}

// part reads one member of a batch: a pattern's name, or {run: name, each: word}.
func (r *patternReader) part(n *yaml.Node, byName map[string]*patternReader, known []string) bool {
	run, each := n, ""
	if n.Kind == yaml.MappingNode {
		f := r.parser.fields(n, "a part of "+r.where, partKeys)
		if run = f["run"].value; run == nil {
			r.fail(n, `a part of %s has no key "run"; expected {run: PATTERN, each: WORD}`, r.where)
			return false
		}
		each = r.textOf(f, "each", "a part of "+r.where)
	}
	name, ok := r.text(run, "a part of "+r.where)
	if !ok {
		return false
	}
	part := byName[name]
	switch {
	case part == nil:
		r.unknown(run, "pattern", name, "in "+r.where, known)
	case !part.ok:
		return false
	case part.Kind.Reads() || part.Kind == Batch || part.Kind == PutIf:
		r.fail(run, "%s: %s is a %s; a part must be a put, add, append, remove or delete", r.where, name, part.Kind)
	case part.Returns != ReturnsNothing:
		r.fail(run, "%s: %s returns values; a part of a batch cannot", r.where, name)
	default:
		r.Parts = append(r.Parts, Part{Pattern: part.Pattern, Each: each})
		return true
	}
	return false
}

// atomic reads how much of a batch is all or nothing.
func (r *patternReader) atomic() {
	e, ok := r.fields["atomic"]
	if !ok {
		return
	}
	name, ok := r.text(e.value, "atomic of "+r.where)
	if !ok {
		return
	}
	i := slices.Index(atomicNames[:], name)
	if i < 0 {
		r.unknown(e.value, "atomicity", name, "in "+r.where, atomicNames[:])
		return
	}
	r.Atomic = Atomicity(i)
}

// fallbacks reads what runs in the pattern's place, engine by engine.
func (r *patternReader) fallbacks(byName map[string]*patternReader, known []string) {
	e, ok := r.fields["fallback"]
	if !ok {
		return
	}
	r.Fallback = make(map[string]*Pattern)
	for _, f := range r.mapping(e.value, "fallback of "+r.where) {
		r.engine(f.key, f.name, "in fallback of "+r.where)
		name, ok := r.text(f.value, "fallback of "+r.where)
		if !ok {
			continue
		}
		fb := byName[name]
		switch {
		case fb == nil:
			r.unknown(f.value, "pattern", name, "in fallback of "+r.where, known)
			continue
		case fb.has("fallback"):
			r.fail(f.value, "%s: its fallback %s has a fallback itself; expected one that runs as it is", r.where, name)
		case r.ok && fb.ok:
			if why := differs(r.Pattern, fb.Pattern); why != "" {
				r.fail(f.value, "%s: %s cannot stand in for it: %s", r.where, name, why)
			}
		}
		r.Fallback[f.name] = fb.Pattern
	}
}

// differs says why a caller of p could not call fb in its place, or "".
func differs(p, fb *Pattern) string {
	switch {
	case p.Kind.Reads() != fb.Kind.Reads() || (p.Kind == Batch) != (fb.Kind == Batch) || (p.Kind == Count) != (fb.Kind == Count):
		return "a " + p.Kind.String() + " and a " + fb.Kind.String() + " are called in different ways"
	case p.Kind == Batch && !slices.EqualFunc(p.Parts, fb.Parts, samePart):
		return "its parts are not repeated over the same, or take other arguments"
	case p.Kind.Reads() && !slices.EqualFunc(p.Columns, fb.Columns, sameColumn):
		return "it yields (" + names(fb.Columns) + ") instead of (" + names(p.Columns) + ")"
	case p.Kind.Reads() || p.Kind == fb.Kind:
		if a, b := argList(p), argList(fb); a != b {
			return "it takes (" + b + ") instead of (" + a + ")"
		}
	}
	return ""
}

func samePart(a, b Part) bool {
	return a.Each == b.Each && argList(a.Pattern) == argList(b.Pattern)
}

func sameColumn(a, b *Column) bool {
	return a.Name == b.Name && a.Type.String() == b.Type.String()
}

// argList writes a pattern's arguments as "name type, …".
func argList(p *Pattern) string {
	var words []string
	for _, a := range p.Args() {
		words = append(words, a.Name+" "+a.Type.String())
	}
	return strings.Join(words, ", ")
}
