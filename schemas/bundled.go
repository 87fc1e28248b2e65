package schemas

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

//go:embed *.yaml
var bundled embed.FS

// BundledVariants returns the names of the variants of a schema that mailbench
// brings along, in alphabetical order; of "" the schemas that are no variant.
func BundledVariants(base string) []string {
	return slices.DeleteFunc(bundledFiles(), func(name string) bool { return BaseOf(name) != base })
}

// bundledFiles returns the names of the embedded files, without ".yaml".
func bundledFiles() []string {
	files, _ := fs.Glob(bundled, "*.yaml") // the pattern is well-formed
	return texts(files, func(file string) string { return strings.TrimSuffix(file, ".yaml") })
}

// Bundled returns the schema of that name that mailbench brings along. The
// file is named for its schema.
func Bundled(name string) (*Schema, error) {
	file := name + ".yaml"
	src, err := bundled.ReadFile(file)
	if err != nil {
		known := bundledFiles()
		if base := BaseOf(name); slices.Contains(known, base) {
			known = BundledVariants(base)
		}
		return nil, strict.Unknown("schema", name, known...)
	}
	return Parse(path.Join("schemas", file), src)
}

// CheckEngines reports engines that the file names and that are not known. Parse does not
// know which engines there are. The error is of type [Errors].
func (s *Schema) CheckEngines(known []string) error {
	faults := strict.Decoder{File: s.File}
	for _, e := range s.engines {
		if !slices.Contains(known, e.Name) {
			faults.Meant(e.Key, known, "unknown engine %q", e.Name)
		}
	}
	return faults.Errs.Sorted()
}

// Errors of a schema file, each with its place in the file.
type (
	Pos    = strict.Pos
	Error  = strict.Error
	Errors = strict.Errors
)

// variantKey makes a schema file a variant: it holds only what differs from the
// schema that it names.
const variantKey = "extends"

// BaseOf returns the name of a variant's base: "james" for "james@one-lwt". It
// returns "" if the name is not a variant's.
func BaseOf(name string) string {
	base, _, ok := strings.Cut(name, "@")
	if !ok {
		return ""
	}
	return base
}

// variant reads a variant: the file of its base with the changes of root. Each node
// keeps its place in the file that it is from.
func (p *parser) variant(root, of *yaml.Node, find func(name string) (*Schema, error)) {
	name, ok := p.Text(of, `"extends"`)
	if !ok {
		return
	}
	base, err := find(name)
	if err == nil && BaseOf(base.Name) != "" {
		err = fmt.Errorf("%s is a variant itself; expected the schema %s or another that is no variant", base.Name,
			BaseOf(base.Name))
	}
	if err != nil {
		p.Fail(of, "%v", err)
		return
	}
	under := new(strict.Decoder).Document(base.Source, "a schema")
	p.From(base.File, under)
	merged := p.overlay(under, root, "the schema")
	p.parse(merged)
	own := cmp.Or(valueOf(root, "name"), of) // without a name it has that of its base
	p.Check(BaseOf(own.Value) == base.Name, own, "a variant of %s must have a name %s@WORD, found %s",
		base.Name, base.Name, strict.Found(own))
	if len(p.Errs) == 0 {
		p.runsAs(base, of)
	}
	for _, e := range p.Errs {
		if e.Pos.File != "" {
			e.Msg += "; " + p.File + " has changed what it needs"
		}
	}
	if len(p.Errs) == 0 {
		comment := fmt.Sprintf("# %s: the schema %s with the changes of this variant.\n", p.schema.Name, base.Name)
		p.schema.Source = append([]byte(comment), encode(merged)...)
	}
}

// valueOf returns the value of a key of a mapping, or nil.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if i := slices.Index(strict.KeysOf(n), key); i >= 0 {
		return n.Content[2*i+1]
	}
	return nil
}

// overlay returns base with the changes of patch: mappings are merged key by key, ~
// removes a key, and all else replaces what base has.
func (p *parser) overlay(base, patch *yaml.Node, where string) *yaml.Node {
	if base.Kind != yaml.MappingNode || patch.Kind != yaml.MappingNode {
		return patch
	}
	merged := *base
	merged.Content = slices.Clone(base.Content)
	p.Origins[&merged] = p.Origins[base]
	known := strict.KeysOf(base)
	for _, e := range p.Mapping(patch, where) {
		at := 2 * slices.Index(known, e.Name)
		removed := e.Value.ShortTag() == "!!null"
		switch {
		case e.Name == variantKey:
		case at < 0 && removed:
			p.Unknown(e.Key, "key", e.Name, "in "+where+" of the base, which ~ would remove", known)
		case at < 0 && (where == "tables" || where == "patterns") &&
			strict.Nearest(e.Name, known) != "" && !p.whole(e.Value, where):
			p.Unknown(e.Key, strings.TrimSuffix(where, "s"), e.Name, "in "+where+" of the base", known)
		case at < 0:
			merged.Content = append(merged.Content, e.Key, e.Value)
		case removed:
			known = slices.Delete(known, at/2, at/2+1)
			merged.Content = slices.Delete(merged.Content, at, at+2)
		default:
			key := *e.Key
			key.HeadComment = merged.Content[at].HeadComment
			merged.Content[at] = &key
			merged.Content[at+1] = p.overlay(merged.Content[at+1], e.Value, e.Name)
		}
	}
	return &merged
}

// whole reports whether a table has a primary key, or a pattern a kind, and so needs
// no base.
func (p *parser) whole(n *yaml.Node, where string) bool {
	needs := patternKindNames[:]
	if where == "tables" {
		needs = []string{"partition", "parent"}
	}
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return slices.Contains(needs, c.Value) })
}

// runsAs checks that a model written for base can run the variant: the patterns
// have the same names, arguments and columns, and lists come in the same order.
func (p *parser) runsAs(base *Schema, of *yaml.Node) {
	for _, was := range base.Patterns {
		now := p.schema.Pattern(was.Name)
		if now == nil {
			if !base.inside(was) {
				p.FailAt(p.At(of), "pattern %s is gone, but the model of %s runs it", was.Name, base.Name)
			}
			continue
		}
		may := *was // with the changes that it allows a variant, if this one has them
		if slices.Contains(may.Varies, "columns") && len(now.Columns) > 0 && len(now.Columns) < len(may.Columns) {
			may.Columns = may.Columns[:len(now.Columns)]
		}
		if slices.Contains(may.Varies, "pages") && !now.lists() {
			may.After, may.Limit, may.LimitArg = nil, 0, false
		}
		why := differs(&may, now)
		if why == "" && may.lists() {
			order := may.directions() // an index whose columns are all bound promises none
			if (may.Index == nil || len(order) > 0) && !slices.Equal(order, now.directions()) {
				why = "its rows come in another order; reverse: " + fmt.Sprint(!now.Reverse) + " keeps it"
			}
		}
		if why != "" {
			p.FailAt(now.Pos, "pattern %s: the model of %s cannot run it in this way: %s", now.Name, base.Name, why)
		}
	}
	for _, now := range p.schema.Patterns {
		if base.Pattern(now.Name) == nil && !p.schema.inside(now) && !slices.Contains(base.Additions, now.Name) {
			p.FailAt(now.Pos, "no model runs pattern %s: %s has none of that name, and it is no fallback or part of a batch",
				now.Name, base.Name)
		}
	}
}

// inside reports whether other patterns name the pattern: as their fallback, or as a
// part of a batch.
func (s *Schema) inside(p *Pattern) bool {
	return slices.ContainsFunc(s.Patterns, func(q *Pattern) bool {
		return q.Fallback == p || slices.ContainsFunc(q.Parts, func(part Part) bool { return part.Pattern == p })
	})
}

// lists reports whether the order of the pattern's rows decides which rows a caller
// gets, or gets first.
func (p *Pattern) lists() bool {
	return p.Kind == Slice && (p.LimitArg || p.Limit > 0 || len(p.After) > 0)
}

// directions returns the key columns in which the rows of a slice are sorted, each
// with its direction. Columns that the slice binds are the same in all rows.
func (p *Pattern) directions() []string {
	order := p.Table.sorted(nil)
	if p.Index != nil {
		order = p.Index.Columns
	}
	var words []string
	for _, o := range order[min(len(p.By), len(order)):] {
		words = append(words, o.Column.Name+" "+direction(o.Desc != p.Reverse))
	}
	if len(p.After) > 1 { // a model reads their positions (drivers.Prepared.Arg)
		slices.Sort(words)
	}
	return words
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

// Without returns another parse of the schema without the tables and plain or static
// columns that are missing, and names what went with them: references, counts and
// patterns. It ignores other kinds of difference.
func (s *Schema) Without(missing []Difference) (own *Schema, skipped []string, err error) {
	own, err = parse(strict.Decoder{File: s.File, Stored: true}, s.Source, Bundled, s.Values())
	if err != nil {
		return nil, nil, fmt.Errorf("read schema %s again: %w", s.Name, err)
	}
	r := remover{gone: make(map[*Column]bool)}
	for _, d := range missing {
		t := own.Table(d.Table)
		switch {
		case t == nil:
		case d.Kind == MissingTable: // and the tables nested in it, which have its key
			for _, c := range t.OwnKey() {
				r.gone[c] = true
			}
			r.skip("table %s", d.Table)
		case d.Kind == MissingColumn:
			r.gone[t.Column(d.Part)] = true
			r.skip("column %s of table %s", d.Part, d.Table)
		}
	}
	own.Tables = slices.DeleteFunc(own.Tables, r.lost)
	for _, t := range own.Tables {
		t.Children = slices.DeleteFunc(t.Children, r.lost)
		// Patterns share these lists.
		t.Static = slices.DeleteFunc(slices.Clone(t.Static), r.without)
		t.Columns = slices.DeleteFunc(slices.Clone(t.Columns), r.without)
		t.Indexes = slices.DeleteFunc(t.Indexes, func(x *Index) bool {
			return slices.ContainsFunc(x.Columns, func(ic IndexColumn) bool { return r.gone[ic.Column] })
		})
		for _, rows := range t.Rows {
			rows.Sizes = slices.DeleteFunc(rows.Sizes, func(size ColumnSize) bool { return r.gone[size.Column] })
		}
		t.Refers = r.relations(t.Refers, "reference", t)
		t.Counts = r.relations(t.Counts, "count", t)
	}
	r.patterns(own)
	return own, r.skipped, nil
}

// remover takes tables and columns out of a schema, with all that needs them.
type remover struct {
	gone    map[*Column]bool
	skipped []string
}

func (r *remover) without(c *Column) bool { return r.gone[c] }

// lost reports whether a table is gone: it has lost its key.
func (r *remover) lost(t *Table) bool { return t != nil && slices.ContainsFunc(t.Key(), r.without) }

func (r *remover) skip(format string, args ...any) {
	r.skipped = append(r.skipped, fmt.Sprintf(format, args...))
}

// relations removes the relations that need what is gone.
func (r *remover) relations(all []*Relation, what string, of *Table) []*Relation {
	return slices.DeleteFunc(all, func(x *Relation) bool {
		matches := slices.Concat(x.From, x.At)
		needs := r.lost(x.To) || r.gone[x.Column] || r.gone[x.Sum] ||
			slices.ContainsFunc(matches, func(m Match) bool { return r.gone[m.Column] })
		if needs {
			r.skip("%s %s of table %s", what, x.Name, of.Name)
		}
		return needs
	})
}

// patterns removes the patterns that need what is gone: their callers expect all columns.
func (r *remover) patterns(s *Schema) {
	removed := make(map[*Pattern]bool)
	lost := func(p *Pattern) bool { return removed[p] }
	for range 2 { // a batch may come before its parts
		for _, p := range s.Patterns {
			needs := r.lost(p.Table) || r.gone[p.Element] ||
				slices.ContainsFunc(slices.Concat(p.Columns, p.Filter, p.If), r.without)
			removed[p] = needs || slices.ContainsFunc(p.Parts, func(part Part) bool { return lost(part.Pattern) })
		}
	}
	for _, p := range s.Patterns {
		if removed[p] {
			r.skip("pattern %s", p.Name)
		}
		if removed[p.Fallback] {
			p.Fallback = nil
		}
	}
	s.Patterns = slices.DeleteFunc(s.Patterns, lost)
	s.Workflow = slices.DeleteFunc(s.Workflow, func(step Step) bool { return removed[step.Pattern] })
	for i := range s.Workflow {
		s.Workflow[i].Next = slices.DeleteFunc(s.Workflow[i].Next, lost)
	}
}
