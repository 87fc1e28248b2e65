package schemas

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// section is a mapping of the file whose keys are words of the language. For a key that is not
// there its methods return nothing.
type section struct {
	p      *parser
	where  string     // what it is, for messages
	node   *yaml.Node // the place of messages about what is not there
	fields map[string]strict.Entry
}

func (p *parser) section(n *yaml.Node, where string, keys ...string) section {
	return section{p, where, n, p.Fields(n, where, keys)}
}

func (s *section) has(key string) bool {
	_, ok := s.fields[key]
	return ok
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

func (s *section) text(key string) string { return s.p.TextOf(s.fields, key, s.where) }

func (s *section) flag(key string) bool { return s.p.Flag(s.fields, key, s.where) }

func (s *section) count(key string) int {
	if !s.has(key) {
		return 0
	}
	return s.p.Count(s.at(key), key+" of "+s.where)
}

// number reads a number from 1 up, or the name of a parameter, which it returns too.
func (s *section) number(key string) (int, *Parameter) {
	n, what := s.at(key), key+" of "+s.where
	if !s.has(key) || len(s.p.schema.Parameters) == 0 || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return s.count(key), nil
	}
	if q := s.p.schema.Parameter(n.Value); q != nil {
		return q.Value, q
	}
	s.p.Unknown(n, "parameter", n.Value, "in "+what, namesOf(s.p.schema.Parameters))
	return 0, nil
}

// list reads texts, with their nodes.
func (s *section) list(key, what string, yield func(n *yaml.Node, text string)) {
	if !s.has(key) {
		return
	}
	for _, n := range s.p.List(s.at(key), key+" of "+s.where) {
		if text, ok := s.p.Text(n, what+" in "+key+" of "+s.where); ok {
			yield(n, text)
		}
	}
}

// words reads some of the words known; nil: any text.
func (s *section) words(key, what string, known []string) (all []string) {
	s.list(key, what, func(n *yaml.Node, word string) {
		if known != nil && !slices.Contains(known, word) {
			s.p.Unknown(n, what, word, "in "+key+" of "+s.where, known)
			return
		}
		all = append(all, word)
	})
	return all
}

// word reads one of the words known, or "".
func (s *section) word(key, what string, known []string) string {
	word, where := s.text(key), "in "+key+" of "+s.where
	if word == "" || slices.Contains(known, word) {
		return word
	}
	if strings.HasPrefix(what, key) { // it says which key
		where = "in " + s.where
	}
	s.p.Unknown(s.at(key), what, word, where, known)
	return ""
}

// entries are those of a mapping below the section.
func (s *section) entries(key string) []strict.Entry {
	if !s.has(key) {
		return nil
	}
	where := key + " of " + s.where
	if s.where == "the schema" {
		where = key
	}
	return s.p.Mapping(s.at(key), where)
}

// columns reads different ones of some columns.
func (s *section) columns(key string, all []*Column) (cs []*Column) {
	s.list(key, "a column", func(n *yaml.Node, name string) {
		switch c := pick(s.p, n, "column", name, "in "+s.where, all); {
		case c == nil:
		case slices.Contains(cs, c):
			s.p.Fail(n, "duplicate column %q in %s of %s", name, key, s.where)
		default:
			cs = append(cs, c)
		}
	})
	return cs
}

// accept reads the lint rules whose findings a table or pattern accepts, with the reasons.
func (s *section) accept() (accepted []Acceptance) {
	for _, rule := range s.entries("accept") {
		reason, _ := s.p.Text(rule.Value, "the reason for "+rule.Name+" in accept of "+s.where)
		accepted = append(accepted, Acceptance{rule.Name, reason, s.p.At(rule.Key)})
	}
	return accepted
}

// other reads what a schema, table or pattern carries through.
func (s *section) other() []Setting {
	return s.p.settings(s.entries("other"), "other of "+s.where)
}

// settings reads words with a text each.
func (p *parser) settings(entries []strict.Entry, where string) (all []Setting) {
	for _, e := range entries {
		if e.Value.Kind != yaml.ScalarNode || e.Value.ShortTag() == "!!null" {
			p.Fail(e.Value, "%s in %s must be one value, found %s", e.Name, where, strict.Found(e.Value))
			continue
		}
		all = append(all, Setting{e.Name, e.Value.Value})
	}
	return all
}

// imported reads where something was before schema import, or nil.
func (s *section) imported() *Pos {
	text := s.text("at")
	if text == "" {
		return nil
	}
	i := strings.LastIndexByte(text, ':')
	line, err := strconv.Atoi(text[i+1:])
	if i < 1 || err != nil || line < 1 {
		s.p.Fail(s.at("at"), "at of %s must be FILE:LINE, found %s", s.where, strict.Found(s.at("at")))
		return nil
	}
	return &Pos{Line: line, Column: 1, File: text[:i]}
}

// named has a name.
type named interface {
	comparable
	named() string
}

func (t *Table) named() string     { return t.Name }
func (c *Column) named() string    { return c.Name }
func (x *Index) named() string     { return x.Name }
func (p *Pattern) named() string   { return p.Name }
func (q *Parameter) named() string { return q.Name }

// find returns the one that has a name, or nil.
func find[T named](all []T, name string) (none T) {
	for _, one := range all {
		if one.named() == name {
			return one
		}
	}
	return none
}

// namesOf are the names of all.
func namesOf[T named](all []T) []string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.named()
	}
	return names
}

// pick returns the one that the text of a node names. If none has the name it records a fault and returns nil.
func pick[T named](p *parser, n *yaml.Node, what, name, where string, all []T) (none T) {
	one := find(all, name)
	if one == none {
		p.Unknown(n, what, name, where, namesOf(all))
	}
	return one
}
