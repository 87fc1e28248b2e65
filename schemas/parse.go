package schemas

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

var schemaKeys = []string{
	"schema", variantKey, "name", "description", "native", "types", "parameters", "other", "tables", "patterns",
	"variants may add", "workflow",
}

// parser holds what is known while one file is read.
type parser struct {
	strict.Decoder
	schema *Schema
	broken map[*Table]bool // tables with faults: patterns and joins of them are not checked
	types  []string        // the names of the types that the file defines
	lax    bool            // any name can be that of a type
	frozen bool            // inside frozen, tuple or vector, where elements of collections can be collections
	values map[string]int  // values of parameters, in place of their defaults
}

// Parse reads a schema file; file is its name in messages. The error, if there
// is one, is of type [Errors] and holds every fault that was found. The base of a
// variant is a schema that mailbench brings along.
func Parse(file string, src []byte) (*Schema, error) { return ParseWith(file, src, Bundled) }

// ParseWith is Parse of a file that may be a variant of other schemas: find returns
// the schema that "extends" names.
func ParseWith(file string, src []byte, find func(name string) (*Schema, error)) (*Schema, error) {
	return parse(strict.Decoder{File: file}, src, find, nil)
}

// ParseStored is Parse of a text that mailbench has stored: in results, or next to the tables of a schema. It may have
// words of an earlier version of the language.
func ParseStored(file string, src []byte) (*Schema, error) {
	return parse(strict.Decoder{File: file, Stored: true}, src, Bundled, nil)
}

// parse reads a schema file with these values of parameters.
func parse(
	d strict.Decoder, src []byte, find func(name string) (*Schema, error), values map[string]int,
) (*Schema, error) {
	p := &parser{
		Decoder: d,
		schema:  &Schema{File: d.File, Source: src},
		broken:  make(map[*Table]bool),
		values:  values,
	}
	if root := p.Document(src, "a schema (schema, name, tables, patterns)"); root != nil {
		if of := valueOf(root, variantKey); of != nil {
			p.variant(root, of, find)
		} else {
			p.parse(root)
		}
	}
	if err := p.Errs.Sorted(); err != nil {
		return nil, err
	}
	return p.schema, nil
}

func (p *parser) parse(root *yaml.Node) {
	if keys := strict.KeysOf(root); slices.Contains(keys, "phases") && !slices.Contains(keys, "schema") {
		p.Fail(root, "it is a workload; expected a schema (schema, name, tables, patterns)")
		return
	}
	f := p.section(root, "the schema", schemaKeys...)
	if root.Kind != yaml.MappingNode || f.has(variantKey) { // misspelt, so that it is no variant
		return
	}
	for _, need := range [][2]string{
		{"schema", `"schema: 1", the version of the language`},
		{"name", "the name of the schema"},
		{"tables", "the tables of the schema"},
	} {
		p.Check(f.has(need[0]), root, "no key %q; expected %s", need[0], need[1])
	}
	if n := f.at("schema"); f.has("schema") {
		p.Check(n.ShortTag() == "!!int" && n.Value == "1", n, "schema must be 1, the version of the language, found %s",
			strict.Found(n))
	}
	if n := f.at("name"); f.has("name") {
		if name, ok := p.Text(n, "the name of a schema"); ok && p.checkName(n, name, "schema") {
			p.schema.Name = name
		}
	}
	p.schema.Doc = f.text("description")
	if p.schema.Native = f.text("native"); p.schema.Native != "" {
		p.schema.engines = append(p.schema.engines, strict.Entry{Name: p.schema.Native, Key: f.at("native")})
	}
	p.schema.Other = f.other()
	p.userTypes(f.entries("types"))
	p.parameters(f.entries("parameters"))
	p.tables(f)
	p.patterns(f.entries("patterns"))
	p.schema.Additions = f.words("variants may add", "pattern", nil)
	p.workflow(f.entries("workflow"))
}

// maxName is how many characters of a name every engine takes (Cassandra: 48).
const maxName = 48

var (
	nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)
	// variantForm is the name of a variant: its base, @ and a word.
	variantForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9_.-]*$`)
)

// checkName reports a name that cannot be given to a schema, table, column, index or pattern.
func (p *parser) checkName(n *yaml.Node, s, what string) bool {
	form := nameForm
	if what == "schema" && strings.Contains(s, "@") {
		form = variantForm
	}
	return p.Check(form.MatchString(s) && len(s) <= maxName, n,
		"%s name %q must be a letter, then letters, digits, _ . or -, %d characters at most", what, s, maxName)
}

// workflow reads which access pattern uses what another one yields.
func (p *parser) workflow(entries []strict.Entry) {
	for _, e := range entries {
		s := Step{Pattern: p.read(e.Key, e.Name, "in workflow")}
		for _, next := range p.List(e.Value, "workflow of "+e.Name) {
			name, ok := p.Text(next, "a pattern in workflow of "+e.Name)
			if !ok {
				continue
			}
			q := p.read(next, name, "in workflow of "+e.Name)
			if q != nil && s.Pattern != nil &&
				p.Check(!slices.Contains(s.Next, q), next, "duplicate pattern %q in workflow of %s", name, e.Name) &&
				p.Check(!p.schema.leads(q, s.Pattern), next,
					"workflow: %s leads back to %s; expected no cycle through %s", name, e.Name, e.Name) {
				s.Next = append(s.Next, q)
			}
		}
		if s.Pattern != nil {
			p.schema.Workflow = append(p.schema.Workflow, s)
		}
	}
}

// read finds a pattern that yields rows.
func (p *parser) read(n *yaml.Node, name, where string) *Pattern {
	q := pick(p, n, "pattern", name, where, p.schema.Patterns)
	if q == nil || !p.Check(q.Kind.Reads(), n,
		"%s is %s, which yields no rows; a workflow has patterns of the kinds get, slice and scan", name, a(q.Kind)) {
		return nil
	}
	return q
}

// leads reports whether the workflow goes from one pattern to the other, or both
// are the same.
func (s *Schema) leads(from, to *Pattern) bool {
	reached := []*Pattern{from}
	for i := 0; i < len(reached); i++ {
		for _, step := range s.Workflow {
			for _, q := range step.Next {
				if step.Pattern == reached[i] && !slices.Contains(reached, q) {
					reached = append(reached, q)
				}
			}
		}
	}
	return slices.Contains(reached, to)
}

// section is a mapping of the file whose keys are words of the language. For a key that is not
// there its methods return nothing.
type section struct {
	*parser
	where  string     // what it is, for messages
	node   *yaml.Node // the place of messages about what is not there
	fields map[string]strict.Entry
}

func (p *parser) section(n *yaml.Node, where string, keys ...string) section {
	return section{p, where, n, p.Fields(n, where, keys)}
}

// short is a section that may be written as the value of its first key alone.
func (p *parser) short(n *yaml.Node, where string, keys ...string) section {
	if n.Kind == yaml.MappingNode {
		return p.section(n, where, keys...)
	}
	return section{p, where, n, map[string]strict.Entry{keys[0]: {Name: keys[0], Key: n, Value: n}}}
}

func (s *section) has(key string) bool {
	_, ok := s.fields[key]
	return ok
}

// some reports whether a key is there and no empty list. Its elements may have a fault.
func (s *section) some(key string) bool {
	return s.has(key) && (s.at(key).Kind != yaml.SequenceNode || len(s.at(key).Content) > 0)
}

// at returns the node at which a message about a key points: its value, or that of the section.
func (s *section) at(key string) *yaml.Node {
	if e, ok := s.fields[key]; ok {
		return e.Value
	}
	return s.node
}

// key is the node of the key itself.
func (s *section) key(key string) *yaml.Node { return s.fields[key].Key }

// rule records a fault of the section at n unless it keeps the rule: ok, which it returns.
func (s *section) rule(ok bool, n *yaml.Node, format string, args ...any) bool {
	if !ok {
		s.Fail(n, "%s: %s", s.where, fmt.Sprintf(format, args...))
	}
	return ok
}

func (s *section) text(key string) (text string) {
	if s.has(key) {
		text, _ = s.Text(s.at(key), key+" of "+s.where)
	}
	return text
}

func (s *section) flag(key string) bool {
	n := s.at(key)
	return s.has(key) && s.Check(n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool", n,
		"%s of %s must be true or false, found %s", key, s.where, strict.Found(n)) && strings.EqualFold(n.Value, "true")
}

func (s *section) count(key string) int {
	if !s.has(key) {
		return 0
	}
	return s.Count(s.at(key), key+" of "+s.where)
}

// number reads a number from 1 up, or the name of a parameter, which it returns too.
func (s *section) number(key string) (int, *Parameter) {
	n, what := s.at(key), key+" of "+s.where
	if !s.has(key) || len(s.schema.Parameters) == 0 || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return s.count(key), nil
	}
	if q := s.schema.Parameter(n.Value); q != nil {
		return q.Value, q
	}
	s.Unknown(n, "parameter", n.Value, "in "+what, Names(s.schema.Parameters))
	return 0, nil
}

// list reads texts, with their nodes.
func (s *section) list(key, what string, yield func(n *yaml.Node, text string)) {
	if !s.has(key) {
		return
	}
	for _, n := range s.List(s.at(key), key+" of "+s.where) {
		if text, ok := s.Text(n, what+" in "+key+" of "+s.where); ok {
			yield(n, text)
		}
	}
}

// words reads some of the words known; nil: any text.
func (s *section) words(key, what string, known []string) (all []string) {
	s.list(key, what, func(n *yaml.Node, word string) {
		if known != nil && !slices.Contains(known, word) {
			s.Unknown(n, what, word, "in "+key+" of "+s.where, known)
			return
		}
		all = append(all, word)
	})
	return all
}

// word reads one of the words known, or "".
func (s *section) word(key, what string, known []string) string {
	word := s.text(key)
	if word == "" || slices.Contains(known, word) {
		return word
	}
	s.Unknown(s.at(key), what, word, "in "+key+" of "+s.where, known)
	return ""
}

// entries are those of a mapping below the section.
func (s *section) entries(key string) []strict.Entry {
	if !s.has(key) {
		return nil
	}
	return s.Mapping(s.at(key), key+" of "+s.where)
}

// columns reads different ones of some columns.
func (s *section) columns(key string, all []*Column) (cs []*Column) {
	s.list(key, "a column", func(n *yaml.Node, name string) {
		c := pick(s.parser, n, "column", name, "in "+key+" of "+s.where, all)
		if c != nil && s.Check(!slices.Contains(cs, c), n, "duplicate column %q in %s of %s", name, key, s.where) {
			cs = append(cs, c)
		}
	})
	return cs
}

// accept reads the lint rules whose findings a table or pattern accepts, with the reasons.
func (s *section) accept() (accepted []Acceptance) {
	for _, rule := range s.entries("accept") {
		reason, _ := s.Text(rule.Value, "the reason for "+rule.Name+" in accept of "+s.where)
		accepted = append(accepted, Acceptance{rule.Name, reason, s.At(rule.Key)})
	}
	return accepted
}

// other reads what a schema, table or pattern carries through.
func (s *section) other() []Setting {
	return s.settings(s.entries("other"), "other of "+s.where)
}

// settings reads words with a text each.
func (p *parser) settings(entries []strict.Entry, where string) (all []Setting) {
	for _, e := range entries {
		if p.Check(e.Value.Kind == yaml.ScalarNode && e.Value.ShortTag() != "!!null", e.Value,
			"%s in %s must be one value, found %s", e.Name, where, strict.Found(e.Value)) {
			all = append(all, Setting{e.Name, e.Value.Value})
		}
	}
	return all
}

// imported reads where something was before schema import, or nil.
func (s *section) imported() *Pos {
	text := s.text("at")
	if text == "" {
		return nil
	}
	at, ok := placeOf(text)
	if !s.Check(ok, s.at("at"), "at of %s must be FILE:LINE, found %s", s.where, strict.Found(s.at("at"))) {
		return nil
	}
	return &at
}

// place is where something was before schema import, or the place of its node.
func (p *parser) place(imported *Pos, n *yaml.Node) Pos {
	if imported != nil {
		return *imported
	}
	return p.At(n)
}

// chosen returns the one that the text of a key names, or nil.
func chosen[T Named](s section, key, what string, all []T) (none T) {
	name := s.text(key)
	if name == "" {
		return none
	}
	return pick(s.parser, s.at(key), what, name, "in "+key+" of "+s.where, all)
}

// pick returns the one that the text of a node names. If none has the name it records a fault and returns nil.
func pick[T Named](p *parser, n *yaml.Node, what, name, where string, all []T) (none T) {
	one := find(all, name)
	if one == none {
		p.Unknown(n, what, name, where, Names(all))
	}
	return one
}
