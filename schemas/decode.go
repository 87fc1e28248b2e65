package schemas

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// decoder reads YAML nodes strictly and gathers every fault it meets.
type decoder struct {
	file string
	errs Errors
}

// entry is one key of a mapping with its value.
type entry struct {
	name       string
	key, value *yaml.Node
}

// fail notes a fault at n.
func (d *decoder) fail(n *yaml.Node, format string, args ...any) {
	d.errs = append(d.errs, &Error{File: d.file, Pos: pos(n), Msg: fmt.Sprintf(format, args...)})
}

// unknown notes a word that is none of the known ones: what says what kind of
// word it is and where it stands ("column", "in pattern page").
func (d *decoder) unknown(n *yaml.Node, what, word, where string, known []string) {
	d.fail(n, "unknown %s %q %s", what, word, where)
	e := d.errs[len(d.errs)-1]
	if e.Near = Nearest(word, known); e.Near == "" && len(known) > 0 {
		e.Msg += "; expected one of " + strings.Join(known, ", ")
	}
}

// document returns the root node of the file's one document, or nil.
func (d *decoder) document(src []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		d.fail(&yaml.Node{Line: 1, Column: 1}, "the file is empty; expected a schema (schema, name, tables, patterns)")
		return nil
	case err != nil:
		d.syntax(err)
		return nil
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case err == nil:
		d.fail(&second, "a second YAML document; expected one a file")
	case !errors.Is(err, io.EOF):
		d.syntax(err)
	}
	return doc.Content[0]
}

var (
	yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)
	// fromZero are the errors in which yaml.v3 counts lines from 0: those of
	// its parser, but not those of its scanner (see fail in its decode.go).
	fromZero = regexp.MustCompile(`^did not find expected (<|node content|'-' indicator|key|',' or)`)
)

// syntax notes an error of the YAML reader, which names a line but no column.
func (d *decoder) syntax(err error) {
	at, msg := &yaml.Node{Line: 1, Column: 1}, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		at.Line, _ = strconv.Atoi(m[1])
		msg = err.Error()[len(m[0]):]
		if fromZero.MatchString(msg) {
			at.Line++
		}
	}
	d.fail(at, "not YAML: %s", msg)
}

// mapping returns the entries of a mapping in file order, without duplicates.
func (d *decoder) mapping(n *yaml.Node, what string) []entry {
	if n.Kind != yaml.MappingNode {
		d.fail(n, "%s must be a mapping (key: value), found %s", what, found(n))
		return nil
	}
	var entries []entry
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" {
			d.fail(k, "a key of %s must be a name, found %s", what, found(k))
			continue
		}
		if line, ok := lines[k.Value]; ok {
			d.fail(k, "duplicate key %q in %s; it stands in line %d already", k.Value, what, line)
			continue
		}
		lines[k.Value] = k.Line
		entries = append(entries, entry{k.Value, k, v})
	}
	return entries
}

// fields returns the entries of a mapping whose keys are words of the language.
func (d *decoder) fields(n *yaml.Node, what string, known []string) map[string]entry {
	fields := make(map[string]entry)
	for _, e := range d.mapping(n, what) {
		if !slices.Contains(known, e.name) {
			d.unknown(e.key, "key", e.name, "in "+what, known)
			continue
		}
		fields[e.name] = e
	}
	return fields
}

// text returns the text of a scalar; what names it in the message.
func (d *decoder) text(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || n.Value == "" {
		d.fail(n, "%s must be text, found %s", what, found(n))
		return "", false
	}
	return n.Value, true
}

// textOf is the text of the field of that name, or "" if there is none.
func (d *decoder) textOf(fields map[string]entry, name, where string) string {
	e, ok := fields[name]
	if !ok {
		return ""
	}
	s, _ := d.text(e.value, name+" of "+where)
	return s
}

// list returns the nodes of a list; a single scalar stands for a list of one.
func (d *decoder) list(n *yaml.Node, what string) []*yaml.Node {
	switch {
	case n.Kind == yaml.SequenceNode:
		return n.Content
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		return []*yaml.Node{n}
	}
	d.fail(n, "%s must be a name or a list of names, found %s", what, found(n))
	return nil
}

// flag returns the field's true or false; absent is false.
func (d *decoder) flag(fields map[string]entry, name, where string) bool {
	e, ok := fields[name]
	if !ok {
		return false
	}
	if e.value.Kind != yaml.ScalarNode || e.value.ShortTag() != "!!bool" {
		d.fail(e.value, "%s of %s must be true or false, found %s", name, where, found(e.value))
		return false
	}
	return strings.EqualFold(e.value.Value, "true")
}

// count returns a number from 1 up, or 0 after noting what is wrong.
func (d *decoder) count(n *yaml.Node, what string) int {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
		if i, err := strconv.Atoi(n.Value); err == nil && i > 0 {
			return i
		}
	}
	d.fail(n, "%s must be a number from 1 up, found %s", what, found(n))
	return 0
}

// found says what a node is, for messages.
func found(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "a YAML alias, which the language does not have"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!bool":
		return "the truth value " + n.Value
	}
	return strconv.Quote(n.Value)
}

func pos(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }
