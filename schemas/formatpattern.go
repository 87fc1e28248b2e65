package schemas

import (
	"slices"

	"gopkg.in/yaml.v3"
)

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
