package schemas

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Format returns the canonical text of a schema: one key a line in a fixed order,
// lists of names in brackets, and nothing that the language adds by itself. Tables,
// columns and patterns keep their order, since it is part of what they mean; hints
// are sorted.
//
// Parse of the text gives an equal schema with other places, and Format of
// that gives the same text. Comments are lost.
func Format(s *Schema) []byte {
	root := newBlock()
	root.add("schema", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "1"})
	root.text("name", s.Name)
	root.text("description", s.Doc)
	root.text("native", s.Native)
	root.other(s.Other)
	mapping(root, "types", s.Types, func(u *UserType) (string, *yaml.Node) {
		fields := newBlock()
		for _, c := range u.Fields {
			fields.text(c.Name, c.Type.String())
		}
		return u.Name, fields.node()
	})
	mapping(root, "parameters", s.Parameters, formatParameter)
	tables := newBlock()
	for _, t := range s.Tables {
		tables.add(t.Name, formatTable(t))
	}
	root.add("tables", tables.node())
	mapping(root, "patterns", s.Patterns, func(p *Pattern) (string, *yaml.Node) { return p.Name, formatPattern(p) })
	root.texts("variants may add", s.Additions)
	mapping(root, "workflow", s.Workflow, func(step Step) (string, *yaml.Node) {
		return step.Pattern.Name, textList(Names(step.Next))
	})
	return encode(root.node())
}

// encode writes nodes that YAML can hold.
func encode(n *yaml.Node) []byte {
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		panic(err) // every node is a map, a list or text, or was read from YAML
	}
	return text.Bytes()
}

// SameOn reports whether two schemas differ at most in names and in hints for other engines.
func SameOn(engine string, a, b *Schema) bool {
	of := func(s *Schema) string {
		same := *s
		same.Name, same.Doc, same.Native, same.Additions, same.Tables = "", "", "", nil, slices.Clone(s.Tables)
		for i, t := range s.Tables {
			own := *t
			own.Hints = map[string]map[string]string{}
			if hints := t.Hints[engine]; len(hints) > 0 {
				own.Hints[engine] = hints
			}
			same.Tables[i] = &own
		}
		return string(Format(&same))
	}
	return of(a) == of(b)
}

// block is a YAML mapping under construction.
type block yaml.Node

func newBlock() *block { return &block{Kind: yaml.MappingNode} }

// newFlow is a block that is written on one line.
func newFlow() *block { return &block{Kind: yaml.MappingNode, Style: yaml.FlowStyle} }

func (b *block) node() *yaml.Node { return (*yaml.Node)(b) }

func (b *block) add(key string, value *yaml.Node) {
	b.Content = append(b.Content, textNode(key), value)
}

// text adds a key, unless its text is empty.
func (b *block) text(key, text string) {
	if text != "" {
		b.add(key, textNode(text))
	}
}

// word adds a key if it is on.
func (b *block) word(key, text string, on bool) {
	if on {
		b.text(key, text)
	}
}

// name adds the name of a part of the schema, unless there is none.
func name[T Named](b *block, key string, one T) {
	var none T
	if one != none {
		b.text(key, one.named())
	}
}

// texts adds a list, unless it is empty.
func (b *block) texts(key string, words []string) {
	if len(words) > 0 {
		b.add(key, textList(words))
	}
}

// mapping adds what entry returns for each of all, unless there is none.
func mapping[T any](b *block, key string, all []T, entry func(T) (string, *yaml.Node)) {
	section := newBlock()
	for _, one := range all {
		section.add(entry(one))
	}
	if len(all) > 0 {
		b.add(key, section.node())
	}
}

// flag adds a key that is true, or nothing.
func (b *block) flag(key string, on bool) {
	if on {
		b.add(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	}
}

// count adds a number, unless it is 0.
func (b *block) count(key string, n int) {
	if n != 0 {
		b.add(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(n)})
	}
}

// textNode returns a scalar, in quotes where YAML needs them. Text of several
// lines is quoted, too: YAML's blocks do not keep all of its spaces.
func textNode(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if text == "<<" || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func textList(words []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, w := range words {
		n.Content = append(n.Content, textNode(w))
	}
	return n
}

func formatTable(t *Table) *yaml.Node {
	b := newBlock()
	b.text("description", t.Doc)
	b.text("addition", t.Addition)
	if t.Parent != nil {
		b.text("parent", t.Parent.Name)
	} else {
		b.add("partition", textList(keyWords(t.Partition)))
	}
	b.texts("clustering", keyWords(t.Clustering[t.Inherited:]))
	for _, p := range Purposes {
		if cs, ok := t.Purposes[p]; ok {
			b.add(p.String(), textList(Names(cs)))
		}
	}
	mapping(b, "columns", t.Columns, formatColumn)
	mapping(b, "static", t.Static, formatColumn)
	mapping(b, "indexes", t.Indexes, func(x *Index) (string, *yaml.Node) {
		return x.Name, added("columns", textList(indexWords(x)), x.Addition)
	})
	mapping(b, "references", t.Refers, relation)
	mapping(b, "counts", t.Counts, relation)
	mapping(b, "hints", slices.Sorted(maps.Keys(t.Hints)), func(engine string) (string, *yaml.Node) {
		settings := newBlock()
		for _, name := range slices.Sorted(maps.Keys(t.Hints[engine])) {
			settings.add(name, textNode(t.Hints[engine][name]))
		}
		return engine, settings.node()
	})
	b.accept(t.Accept)
	if len(t.Rows) > 0 {
		b.add("rows", formatRows(t))
	}
	b.other(t.Other)
	b.at(t.Imported)
	b.lines(t)
	return b.node()
}

func formatColumn(c *Column) (string, *yaml.Node) {
	return c.Name, added("type", textNode(c.Type.String()), c.Addition)
}

// accept adds the findings that are accepted.
func (b *block) accept(accepted []Acceptance) {
	mapping(b, "accept", accepted, func(a Acceptance) (string, *yaml.Node) { return a.Rule, textNode(a.Reason) })
}

// added returns the value alone, or {key: value, addition: reason}.
func added(key string, value *yaml.Node, reason string) *yaml.Node {
	if reason == "" {
		return value
	}
	b := newFlow()
	b.add(key, value)
	b.text("addition", reason)
	return b.node()
}

// formatPattern writes a pattern without what follows from its kind and table.
func formatPattern(p *Pattern) *yaml.Node {
	b := newBlock()
	b.text("description", p.Doc)
	b.text("addition", p.Addition)
	b.flag("form", p.Form)
	if p.Kind == Batch {
		parts := &yaml.Node{Kind: yaml.SequenceNode}
		for _, part := range p.Parts {
			run := textNode(part.Pattern.Name)
			if part.Each != "" {
				each := newFlow()
				each.text("run", part.Pattern.Name)
				each.text("each", part.Each)
				run = each.node()
			}
			parts.Content = append(parts.Content, run)
		}
		b.add("batch", parts)
		b.word("atomic", p.Atomic.String(), p.Atomic != AtomicNone)
		b.number("parallel", p.Parallel, p.ParallelBy)
	} else {
		b.body(p)
	}
	name(b, "fallback", p.Fallback)
	b.accept(p.Accept)
	b.other(p.Other)
	b.at(p.Imported)
	return b.node()
}

// Shape is the pattern's text without its name and what explains it: equal calls have equal shapes.
func (p *Pattern) Shape() string {
	bare := *p
	bare.Doc, bare.Addition, bare.Form, bare.Accept, bare.Imported = "", "", false, nil, nil
	bare.Other = slices.DeleteFunc(slices.Clone(p.Other), Setting.Aside)
	return string(encode(formatPattern(&bare)))
}

func (b *block) body(p *Pattern) {
	b.text(p.Kind.String(), p.Table.Name)
	b.flag("static", p.Static)
	name(b, "index", p.Index)
	switch p.Kind {
	case Slice, Delete: // other kinds bind the whole key, or all of it before in
		b.texts("by", Names(p.By))
	}
	name(b, "in", p.In)
	name(b, "element", p.Element)
	b.texts("filter", Names(p.Filter))
	b.bound("from", p.From)
	b.bound("to", p.To)
	b.texts("after", Names(p.After))
	b.flag("reverse", p.Reverse)
	b.flag("nested", p.Nested)
	b.count("limit", p.Limit)
	b.word("limit", "arg", p.LimitArg)
	if !slices.Equal(p.Columns, defaultColumns(p)) {
		b.add("columns", textList(Names(p.Columns)))
	}
	var varies []string
	if p.FewerColumns {
		varies = append(varies, "columns")
	}
	if p.NoPages {
		varies = append(varies, "pages")
	}
	b.texts("varies", varies)
	b.word("if", "absent", p.Absent)
	b.word("if", "present", p.Present)
	b.texts("if", Names(p.If))
	// Without its scope, Parse takes such a delete to be of a row.
	b.word("scope", "partition", p.Kind == Delete && p.Scope == ScopePartition && len(p.Table.Clustering) == 0)
	b.word("returns", "new", p.ReturnsNew)
	b.number("parallel", p.Parallel, p.ParallelBy)
}

func (b *block) bound(key string, end *Bound) {
	switch {
	case end == nil:
	case end.Open:
		b.text(key, end.Column.Name+" open")
	default:
		b.text(key, end.Column.Name)
	}
}

// defaultColumns are the columns of a pattern that names none.
func defaultColumns(p *Pattern) []*Column {
	switch {
	case p.Element != nil:
		return nil
	case p.Kind == Get || p.Kind == Slice || p.Kind == Scan:
		return allColumns(p.Table, p.Static)
	case (p.Kind == Put || p.Kind == PutIf) && p.Static:
		return p.Table.Static
	case p.Kind == Put || p.Kind == PutIf:
		return p.Table.Columns
	}
	return nil
}

// relation writes a reference, or a count.
func relation(r *Relation) (string, *yaml.Node) {
	b := newBlock()
	b.text("description", r.Doc)
	name(b, "column", r.Column)
	if r.Column != nil {
		b.text("of", r.To.Name)
	} else {
		b.text("to", r.To.Name)
	}
	if b.texts("by", r.By); len(r.By) == 0 {
		b.add("from", matchList(r.From))
		b.add("at", matchList(r.At))
	}
	b.flag("orphan_ok", r.Leftover)
	name(b, "sum", r.Sum)
	return r.Name, b.node()
}

func matchList(ms []Match) *yaml.Node {
	b := newFlow()
	for i := range ms {
		b.add(ms[i].Column.Name, textNode(ms[i].Template.Text))
	}
	return b.node()
}

// formatRows writes the kinds of row of a table, one a line.
func formatRows(t *Table) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, r := range t.Rows {
		b := newFlow()
		b.text("each", r.Each)
		if r.Times != 1 {
			b.count("times", r.Times)
		}
		b.flag("shared", r.Shared)
		b.flag("static", r.Static)
		own := r.Each
		if r.Of != "" {
			own = pieceQuantity
			p := newFlow()
			p.text("of", r.Of)
			p.number("bytes", r.Piece, r.PieceBy)
			name(p, "outside", r.Outside)
			p.number("above", r.Above, r.AboveBy)
			b.add("pieces", p.node())
		}
		if r.Growth != nil {
			formatGrowth(b, r)
		} else if r.Partition != own {
			b.text("partition", r.Partition)
		}
		b.number("max", r.Most, r.MostBy)
		if len(r.Sizes) > 0 {
			sizes := newFlow()
			for _, s := range r.Sizes {
				sizes.add(s.Column.Name, formatSize(s))
			}
			b.add("sizes", sizes.node())
		}
		b.texts("ends", r.Ends)
		list.Content = append(list.Content, b.node())
	}
	return list
}

func formatSize(s ColumnSize) *yaml.Node {
	switch {
	case s.None:
		return textNode("none")
	case s.Cells == nil:
		return sumNode(s.Bytes)
	}
	b := newFlow()
	b.add("cells", sumNode(s.Cells))
	b.add("bytes", sumNode(s.Bytes))
	return b.node()
}

// sumNode writes a sum without quotes, also where it is a number alone.
func sumNode(s Sum) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s.String()} }
