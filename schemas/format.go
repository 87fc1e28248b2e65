package schemas

import (
	"bytes"
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Format returns the canonical text of a schema: one key a line in a fixed order,
// lists of names in brackets, and nothing that the language adds by itself. Tables,
// columns and patterns keep their order, since it is part of what they mean; hints
// are sorted. Rows and relations are as the file has them, each on one line.
//
// Parse of the text gives an equal schema with other places, and Format of
// that gives the same text. Comments are lost.
func Format(s *Schema) []byte {
	return encode(mapping(
		"schema", 1, "name", s.Name, "description", s.Doc, "native", s.Native, "other", s.Other,
		"types", entries(s.Types, func(u *UserType) (string, *yaml.Node) {
			fields := entries(u.Fields, func(c *Column) (string, *yaml.Node) { return c.Name, textNode(c.Type.String()) })
			return u.Name, cmp.Or(fields, mapping())
		}),
		"parameters", entries(s.Parameters, func(q *Parameter) (string, *yaml.Node) { return q.Name, inLine(q.Source) }),
		"tables", cmp.Or(entries(s.Tables, formatTable), mapping()),
		"patterns", entries(s.Patterns, func(p *Pattern) (string, *yaml.Node) { return p.Name, formatPattern(p) }),
		"variants may add", s.Additions,
		"workflow", entries(s.Workflow, func(step Step) (string, *yaml.Node) {
			return step.Pattern.Name, textList(Names(step.Next))
		}),
	))
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

// mapping is a YAML mapping of keys with their values, one a line. It leaves out a key whose value is zero or an empty
// list. A list that is written down although it is empty is a node.
func mapping(pairs ...any) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(pairs); i += 2 {
		value := reflect.ValueOf(pairs[i+1])
		if !value.IsZero() && (value.Kind() != reflect.Slice || value.Len() > 0) {
			m.Content = append(m.Content, textNode(pairs[i].(string)), nodeOf(pairs[i+1]))
		}
	}
	return m
}

// flow is a mapping on one line, or nil if it is empty.
func flow(pairs ...any) *yaml.Node {
	m := mapping(pairs...)
	if m.Style = yaml.FlowStyle; len(m.Content) > 0 {
		return m
	}
	return nil
}

// inLine is a node of a file on one line.
func inLine(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		return textNode(n.Value)
	}
	own := &yaml.Node{Kind: n.Kind, Style: yaml.FlowStyle, Tag: n.Tag, Value: n.Value}
	for _, below := range n.Content {
		own.Content = append(own.Content, inLine(below))
	}
	return own
}

// entries is a mapping with an entry for each of all, or nil if there are none.
func entries[T any](all []T, entry func(T) (string, *yaml.Node)) *yaml.Node {
	if len(all) == 0 {
		return nil
	}
	m := mapping()
	for _, one := range all {
		key, value := entry(one)
		m.Content = append(m.Content, textNode(key), value)
	}
	return m
}

// nodeOf writes a value of a mapping. That of a part of the schema is its name.
func nodeOf(value any) *yaml.Node {
	switch v := value.(type) {
	case *yaml.Node:
		return v
	case string:
		return textNode(v)
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
	case int:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}
	case []string:
		return textList(v)
	case []*Column:
		return textList(Names(v))
	case []Setting: // what is carried through
		return entries(v, func(s Setting) (string, *yaml.Node) { return s.Name, textNode(s.Text) })
	case []Acceptance:
		return entries(v, func(a Acceptance) (string, *yaml.Node) { return a.Rule, textNode(a.Reason) })
	case []*Relation:
		return entries(v, func(r *Relation) (string, *yaml.Node) { return r.Name, inLine(r.Source) })
	case []*Rows:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, r := range v {
			list.Content = append(list.Content, inLine(r.Source))
		}
		return list
	case *Bound:
		return textNode(v.Column.Name + when(v.Open, " open"))
	case *Pos: // before schema import
		return textNode(v.File + ":" + strconv.Itoa(v.Line))
	}
	return textNode(value.(interface{ named() string }).named())
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

func formatTable(t *Table) (string, *yaml.Node) {
	var partition *yaml.Node
	if t.Parent == nil {
		partition = textList(keyWords(t.Partition))
	}
	purpose := func(p Purpose) (list *yaml.Node) {
		if cs, ok := t.Purposes[p]; ok {
			list = textList(Names(cs))
		}
		return list
	}
	return t.Name, mapping(
		"description", t.Doc, "addition", t.Addition, "parent", t.Parent, "partition", partition,
		"clustering", keyWords(t.Clustering[t.Inherited:]),
		"bucket", purpose(Bucket), "chunk", purpose(Chunk), "salt", purpose(Salt),
		"columns", entries(t.Columns, formatColumn), "static", entries(t.Static, formatColumn),
		"indexes", entries(t.Indexes, func(x *Index) (string, *yaml.Node) {
			return x.Name, short("columns", textList(indexWords(x)), "addition", x.Addition)
		}),
		"references", t.Refers, "counts", t.Counts,
		"hints", entries(slices.Sorted(maps.Keys(t.Hints)), func(engine string) (string, *yaml.Node) {
			settings := t.Hints[engine]
			return engine, cmp.Or(entries(slices.Sorted(maps.Keys(settings)), func(name string) (string, *yaml.Node) {
				return name, textNode(settings[name])
			}), mapping())
		}),
		"accept", t.Accept, "rows", t.Rows, "other", t.Other, "at", t.Imported, "lines", formatLines(t),
	)
}

// formatLines are the lines of columns and indexes that are not that of their imported table, or nil.
func formatLines(t *Table) *yaml.Node {
	var lines []any
	add := func(name string, pos Pos) {
		if t.Imported != nil && pos.File == t.Imported.File && pos.Line != t.Imported.Line {
			lines = append(lines, name, pos.Line)
		}
	}
	for _, c := range slices.Concat(t.OwnKey(), t.Static, t.Columns) {
		add(c.Name, c.Pos)
	}
	for _, x := range t.Indexes {
		if t.Column(x.Name) == nil {
			add(x.Name, x.Pos)
		}
	}
	return flow(lines...)
}

func formatColumn(c *Column) (string, *yaml.Node) {
	return c.Name, short("type", textNode(c.Type.String()), "addition", c.Addition)
}

// short returns the value of a key alone, or on one line with another key that has a text.
func short(key string, value *yaml.Node, other, text string) *yaml.Node {
	if text == "" {
		return value
	}
	return flow(key, value, other, text)
}

// formatPattern writes a pattern without what follows from its kind and table.
func formatPattern(p *Pattern) *yaml.Node {
	var of any = p.Table
	if p.Kind == Batch {
		parts := &yaml.Node{Kind: yaml.SequenceNode}
		for _, part := range p.Parts {
			parts.Content = append(parts.Content, short("run", textNode(part.Pattern.Name), "each", part.Each))
		}
		of = parts
	}
	var by []*Column
	if p.Kind == Slice || p.Kind == Delete { // other kinds bind the whole key, or all of it before in
		by = p.By
	}
	var parallel any = p.Parallel
	if p.ParallelBy != nil {
		parallel = p.ParallelBy
	}
	var columns *yaml.Node
	if !slices.Equal(p.Columns, defaultColumns(p)) {
		columns = textList(Names(p.Columns))
	}
	return mapping(
		"description", p.Doc, "addition", p.Addition, "form", p.Form, p.Kind.String(), of,
		"static", p.Static, "index", p.Index, "by", by, "in", p.In, "element", p.Element, "filter", p.Filter,
		"from", p.From, "to", p.To, "after", p.After, "reverse", p.Reverse, "nested", p.Nested,
		"limit", p.Limit, "limit", when(p.LimitArg, "arg"), "columns", columns, "varies", p.Varies,
		"if", when(p.Absent, "absent"), "if", when(p.Present, "present"), "if", p.If,
		"returns", when(p.ReturnsNew, "new"), "atomic", when(p.Atomic != AtomicNone, p.Atomic.String()),
		"parallel", parallel,
		"fallback", p.Fallback, "accept", p.Accept, "other", p.Other, "at", p.Imported,
	)
}

// Shape is the pattern's text without its name and what explains it: equal calls have equal shapes.
func (p *Pattern) Shape() string {
	bare := *p
	bare.Doc, bare.Addition, bare.Form, bare.Accept, bare.Imported = "", "", false, nil, nil
	bare.Other = slices.DeleteFunc(slices.Clone(p.Other), Setting.Aside)
	return string(encode(formatPattern(&bare)))
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
