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
	root.text("doc", s.Doc)
	root.text("native", s.Native)
	root.other(s.Other)
	if len(s.Types) > 0 {
		types := newBlock()
		for _, u := range s.Types {
			fields := newBlock()
			for _, c := range u.Fields {
				fields.add(c.Name, textNode(c.Type.String()))
			}
			types.add(u.Name, fields.node())
		}
		root.add("types", types.node())
	}
	root.parameters(s.Parameters)
	tables := newBlock()
	for _, t := range s.Tables {
		tables.add(t.Name, formatTable(t))
	}
	root.add("tables", tables.node())
	patterns := newBlock()
	for _, p := range s.Patterns {
		patterns.add(p.Name, formatPattern(p))
	}
	if len(s.Patterns) > 0 {
		root.add("patterns", patterns.node())
	}
	if len(s.Additions) > 0 {
		root.add("variants may add", textList(s.Additions))
	}
	workflow := newBlock()
	for _, step := range s.Workflow {
		workflow.add(step.Pattern.Name, patternList(step.Next))
	}
	if len(s.Workflow) > 0 {
		root.add("workflow", workflow.node())
	}
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := e.Encode(root.node()); err != nil {
		panic(err) // every node is a map, a list or text that YAML can hold
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

// names adds a list of column names, unless it is empty.
func (b *block) names(key string, cs []*Column) {
	if len(cs) > 0 {
		b.add(key, textList(Names(cs)))
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

func patternList(ps []*Pattern) *yaml.Node {
	words := make([]string, len(ps))
	for i, p := range ps {
		words[i] = p.Name
	}
	return textList(words)
}

func formatTable(t *Table) *yaml.Node {
	b := newBlock()
	b.text("doc", t.Doc)
	b.text("addition", t.Addition)
	if t.Parent != nil {
		b.text("in", t.Parent.Name)
	} else {
		b.add("partition", textList(keyWords(t.Partition)))
	}
	if own := t.Clustering[t.Inherited:]; len(own) > 0 {
		b.add("clustering", textList(keyWords(own)))
	}
	for _, p := range Purposes {
		if cs, ok := t.Purposes[p]; ok {
			b.add(p.String(), textList(Names(cs)))
		}
	}
	b.columns("columns", t.Columns)
	b.columns("static", t.Static)
	if len(t.Indexes) > 0 {
		indexes := newBlock()
		for _, x := range t.Indexes {
			indexes.add(x.Name, added("columns", textList(indexWords(x)), x.Addition))
		}
		b.add("indexes", indexes.node())
	}
	b.relations(t)
	if len(t.Hints) > 0 {
		hints := newBlock()
		for _, engine := range slices.Sorted(maps.Keys(t.Hints)) {
			settings := newBlock()
			for _, name := range slices.Sorted(maps.Keys(t.Hints[engine])) {
				settings.add(name, textNode(t.Hints[engine][name]))
			}
			hints.add(engine, settings.node())
		}
		b.add("hints", hints.node())
	}
	b.accept(t.Accept)
	if len(t.Rows) > 0 {
		b.add("rows", formatRows(t))
	}
	b.other(t.Other)
	b.at(t.Imported)
	b.lines(t)
	return b.node()
}

// columns adds the mapping of plain or static columns, unless it is empty.
func (b *block) columns(key string, cs []*Column) {
	if len(cs) == 0 {
		return
	}
	columns := newBlock()
	for _, c := range cs {
		columns.add(c.Name, added("type", textNode(c.Type.String()), c.Addition))
	}
	b.add(key, columns.node())
}

// accept adds the findings that are accepted, unless there are none.
func (b *block) accept(accepted []Acceptance) {
	if len(accepted) == 0 {
		return
	}
	reasons := newBlock()
	for _, a := range accepted {
		reasons.add(a.Rule, textNode(a.Reason))
	}
	b.add("accept", reasons.node())
}

// added returns the value alone, or {key: value, addition: reason}.
func added(key string, value *yaml.Node, reason string) *yaml.Node {
	if reason == "" {
		return value
	}
	b := newBlock()
	b.Style = yaml.FlowStyle
	b.add(key, value)
	b.text("addition", reason)
	return b.node()
}

// keyWords writes key columns as the language does: "name type desc".
func keyWords(cs []*Column) []string {
	words := make([]string, len(cs))
	for i, c := range cs {
		words[i] = c.Name + " " + c.Type.String()
		if c.Desc {
			words[i] += " desc"
		}
	}
	return words
}

// indexWords writes an index's columns as the language does: "name desc".
func indexWords(x *Index) []string {
	words := make([]string, len(x.Columns))
	for i, c := range x.Columns {
		words[i] = c.Column.Name
		if c.Desc {
			words[i] += " desc"
		}
	}
	return words
}

// formatPattern writes a pattern without what follows from its kind and table.
func formatPattern(p *Pattern) *yaml.Node {
	b := newBlock()
	b.text("doc", p.Doc)
	b.text("addition", p.Addition)
	b.flag("form", p.Form)
	if p.Kind == Batch {
		b.batch(p)
	} else {
		b.body(p)
	}
	if p.Fallback != nil {
		b.text("fallback", p.Fallback.Name)
	}
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
	text, err := yaml.Marshal(formatPattern(&bare))
	if err != nil {
		panic(err) // every node is a map, a list or text that YAML can hold
	}
	return string(text)
}

func (b *block) batch(p *Pattern) {
	parts := &yaml.Node{Kind: yaml.SequenceNode}
	for _, part := range p.Parts {
		run := textNode(part.Pattern.Name)
		if part.Each != "" {
			each := newBlock()
			each.Style = yaml.FlowStyle
			each.text("run", part.Pattern.Name)
			each.text("each", part.Each)
			run = each.node()
		}
		parts.Content = append(parts.Content, run)
	}
	b.add("batch", parts)
	if p.Atomic != AtomicNone {
		b.text("atomic", p.Atomic.String())
	}
	b.number("parallel", p.Parallel, p.ParallelBy)
}

func (b *block) body(p *Pattern) {
	b.text(p.Kind.String(), p.Table.Name)
	b.flag("static", p.Static)
	if p.Index != nil {
		b.text("index", p.Index.Name)
	}
	switch p.Kind {
	case Slice, Delete: // other kinds bind the whole key, or all of it before in
		b.names("by", p.By)
	}
	if p.In != nil {
		b.text("in", p.In.Name)
	}
	if p.Element != nil {
		b.text("element", p.Element.Name)
	}
	b.names("filter", p.Filter)
	b.bound("from", p.From)
	b.bound("to", p.To)
	b.names("after", p.After)
	b.flag("reverse", p.Reverse)
	b.flag("nested", p.Nested)
	b.count("limit", p.Limit)
	if p.LimitArg {
		b.text("limit", "arg")
	}
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
	if len(varies) > 0 {
		b.add("varies", textList(varies))
	}
	if p.Absent {
		b.text("if", "absent")
	}
	if p.Present {
		b.text("if", "present")
	}
	b.names("if", p.If)
	if p.Kind == Delete && p.Scope == ScopePartition && len(p.Table.Clustering) == 0 {
		b.text("scope", "partition") // without it Parse takes the scope to be row
	}
	if p.ReturnsNew {
		b.text("returns", "new")
	}
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

// relations adds a table's references and counts, unless there are none.
func (b *block) relations(t *Table) {
	if len(t.Refers) > 0 {
		all := newBlock()
		for _, r := range t.Refers {
			one := newBlock()
			one.text("doc", r.Doc)
			one.join("to", &r.Join)
			one.flag("leftover", r.Leftover)
			all.add(r.Name, one.node())
		}
		b.add("refers", all.node())
	}
	if len(t.Counts) > 0 {
		all := newBlock()
		for _, c := range t.Counts {
			one := newBlock()
			one.text("doc", c.Doc)
			one.text("column", c.Column.Name)
			one.join("of", &c.Join)
			if c.Sum != nil {
				one.text("sum", c.Sum.Name)
			}
			all.add(c.Name, one.node())
		}
		b.add("counts", all.node())
	}
}

func (b *block) join(key string, j *Join) {
	b.text(key, j.To.Name)
	if len(j.By) > 0 {
		b.add("by", textList(j.By))
		return
	}
	b.add("from", matchList(j.From))
	b.add("at", matchList(j.At))
}

func matchList(ms []Match) *yaml.Node {
	b := newBlock()
	b.Style = yaml.FlowStyle
	for i := range ms {
		b.add(ms[i].Column.Name, textNode(ms[i].Template.Text))
	}
	return b.node()
}

// formatRows writes the kinds of row of a table, one a line.
func formatRows(t *Table) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, r := range t.Rows {
		b := newBlock()
		b.Style = yaml.FlowStyle
		b.text("each", r.Each)
		if r.Times != 1 {
			b.count("times", r.Times)
		}
		b.flag("shared", r.Shared)
		b.flag("static", r.Static)
		own := r.Each
		if r.Of != "" {
			own = pieceQuantity
			p := newBlock()
			p.Style = yaml.FlowStyle
			p.text("of", r.Of)
			p.number("bytes", r.Piece, r.PieceBy)
			if r.Outside != nil {
				p.text("outside", r.Outside.Name)
				p.number("above", r.Above, r.AboveBy)
			}
			b.add("pieces", p.node())
		}
		if r.Growth != nil {
			formatGrowth(b, r)
		} else if r.Partition != own {
			b.text("partition", r.Partition)
		}
		b.number("most", r.Most, r.MostBy)
		if len(r.Sizes) > 0 {
			sizes := newBlock()
			sizes.Style = yaml.FlowStyle
			for _, s := range r.Sizes {
				sizes.add(s.Column.Name, formatSize(s))
			}
			b.add("sizes", sizes.node())
		}
		if len(r.Ends) > 0 {
			b.add("ends", textList(r.Ends))
		}
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
	b := newBlock()
	b.Style = yaml.FlowStyle
	b.add("cells", sumNode(s.Cells))
	b.add("bytes", sumNode(s.Bytes))
	return b.node()
}

// sumNode writes a sum without quotes, also where it is a number alone.
func sumNode(s Sum) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s.String()} }
