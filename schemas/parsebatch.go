package schemas

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

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
	name, n := r.text("fallback"), r.at("fallback")
	if name == "" {
		return
	}
	fb := pick(r.parser, n, "pattern", name, "in fallback of "+r.where, all)
	if fb == nil {
		return
	}
	if r.rule(!fb.has("fallback"), n, "its fallback %s has a fallback itself; expected a pattern without one", name) &&
		r.ok && fb.ok {
		why := differs(r.Pattern, fb.Pattern)
		r.rule(why == "", n, "%s cannot be its fallback: %s", name, why)
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
