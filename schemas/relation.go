package schemas

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Template is a text with places for variables: "{account}:{label int}". A name
// in braces matches any text; with a type after it, only text in the form of the
// type. {} matches text that does not matter. All else matches itself.
type Template struct {
	Text  string // the template as it was written
	Parts []TemplatePart
	Tail  string // the text after the last variable
}

// TemplatePart is a variable with the text before it.
type TemplatePart struct {
	Before string
	Name   string // "" of {}
	Type   Kind   // Int, Bigint, UUID or TimeUUID; Null for any text
}

var (
	numberForm = regexp.MustCompile(`^-?[0-9]{1,19}$`)
	uuidForm   = regexp.MustCompile(`^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
	// variableForms are the forms of texts of the types that a variable may have. Of a number it limits only the digits.
	variableForms = [Map + 1]*regexp.Regexp{Int: numberForm, Bigint: numberForm, UUID: uuidForm, TimeUUID: uuidForm}
)

// partForm is the text before a variable, its name and its type.
var partForm = regexp.MustCompile(`^([^{}]*)\{\s*(?:([A-Za-z][A-Za-z0-9_.-]*)(?:\s+(int|bigint|uuid|timeuuid))?)?\s*\}`)

// parseTemplate reads a template. The error is without a place.
func parseTemplate(text string) (Template, error) {
	t := Template{Text: text, Tail: text}
	for strings.ContainsAny(t.Tail, "{}") {
		m := partForm.FindStringSubmatch(t.Tail)
		switch {
		case m == nil:
			return t, fmt.Errorf("%q; expected {name}, {name type} or {}, where a type is int, bigint, uuid or timeuuid", t.Tail)
		case len(t.Parts) > 0 && m[1] == "":
			return t, errors.New("two variables with no text between them; expected text that shows where one ends")
		case m[2] != "" && slices.Contains(t.Names(), m[2]):
			return t, fmt.Errorf("{%s} twice", m[2])
		}
		kind := Kind(slices.Index(kindNames[:], cmp.Or(m[3], Null.String())))
		t.Parts, t.Tail = append(t.Parts, TemplatePart{Before: m[1], Name: m[2], Type: kind}), t.Tail[len(m[0]):]
	}
	return t, nil
}

// Names returns the names of the variables, in order.
func (t *Template) Names() []string {
	var names []string
	for _, p := range t.Parts {
		if p.Name != "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// Match appends to found the text of each named variable, in order, if the whole
// of b matches the template. The texts share the memory of b. If b can be read in
// several ways, the last variable is as short as possible, then the one before it, and
// so on. Match tries no other way, even if the types of variables rule that one out.
func (t *Template) Match(b []byte, found [][]byte) ([][]byte, bool) {
	b, ok := bytes.CutSuffix(b, []byte(t.Tail))
	from := len(found)
	for i, p := range slices.Backward(t.Parts) {
		at := bytes.LastIndex(b, []byte(p.Before))
		if i == 0 { // nothing may be before it
			at = bytes.Index(b, []byte(p.Before))
		}
		if !ok || at < 0 {
			return found[:from], false
		}
		text, form := b[at+len(p.Before):], variableForms[p.Type]
		if form != nil && !form.Match(text) {
			return found[:from], false
		}
		if p.Name != "" {
			found = append(found, text)
		}
		b = b[:at]
	}
	if !ok || len(b) > 0 {
		return found[:from], false
	}
	slices.Reverse(found[from:])
	return found, true
}

// Relation says which rows of the table To belong to a row of the table that declares it: those whose variables
// have equal texts. A value is compared as text: a number in decimal, a boolean as true or false, an identifier in
// its usual form of 36 characters, a text or blob as it is.
//
// A reference, which has no Column, says that every row which takes part has a row of To. A count says that Column
// is how many rows of To belong to the row, or the sum of one of their columns.
type Relation struct {
	Name string
	Doc  string
	To   *Table
	// From and At say where the variables are in a row of the table that declares
	// the relation, and in a row of To. Both have the same variables, at least one.
	// A row takes part only if all its columns match their templates.
	From, At []Match
	// Leftover: a row without its row of To is no fault; an interrupted operation or
	// a delete left it over.
	Leftover bool
	// Column has the number of a count: a bigint, int or counter, the value
	// of a map of them for the key that From names, or a text or blob with a decimal number. A
	// null is not compared. If the row itself is absent, a counter counts as 0 and other
	// numbers are not compared.
	Column *Column
	// Sum is the column of To to add up: the sizes in bytes of texts or blobs,
	// or numbers; of a map the value for the key that At names. Nil: each row counts 1.
	Sum *Column

	Source *yaml.Node // what the file says, for Format
}

// Match is a column that must match a template. A null never does. Of a set or list
// each element is tried, of a map each key; other values are compared as one text.
type Match struct {
	Column   *Column
	Template Template
}

// Variables are the names of the relation's variables in alphabetical order.
func (r *Relation) Variables() []string { return variables(r.From) }

func variables(ms []Match) []string {
	var names []string
	for i := range ms {
		names = append(names, ms[i].Template.Names()...)
	}
	slices.Sort(names)
	return names
}

var (
	referenceKeys = []string{"description", "to", "by", "from", "at", "orphan_ok"}
	countKeys     = []string{"description", "column", "of", "by", "from", "at", "sum"}
)

// relations reads references, "NAME: {to: TABLE, …}", or counts, "NAME: {column: COLUMN, of: TABLE, …}". It runs
// after all tables are read.
func (r *tableReader) relations(t *Table, of section, key, what, to string, keys []string) (all []*Relation) {
	for _, e := range of.entries(key) {
		r.checkName(e.Key, e.Name, what)
		f := r.section(e.Value, what+" "+e.Name+" of table "+t.Name, keys...)
		x := &Relation{Name: e.Name, Doc: f.text("description"), Leftover: f.flag("orphan_ok"), Source: e.Value}
		if r.join(t, x, to, f) && (what == "reference" || r.counted(t, x, f)) {
			all = append(all, x)
		}
	}
	return all
}

// counted reads the columns of a count. It reports whether there is one with the number.
func (r *tableReader) counted(t *Table, c *Relation, f section) bool {
	if !r.Check(f.has("column"), f.node, "%s has no column; expected column: the one with the number", f.where) {
		return false
	}
	number := func(t Type) bool { return sums(t) && (t.Kind != Map || t.Elem.Kind == Int || t.Elem.Kind == Bigint) }
	c.Column = r.summed(t, f, "column", c.From, number, "a number, a map of numbers, or a text or blob that contains one")
	if f.has("sum") {
		c.Sum = r.summed(c.To, f, "sum", c.At, sums, "a text, a blob, a number, or a map of them")
	}
	return true
}

// summed reads the column of a table that a key names, whose type must be fit. If it is a map, a template of its table
// says which key is meant.
func (r *tableReader) summed(
	t *Table, f section, key string, templates []Match, fit func(Type) bool, expected string,
) *Column {
	c := r.columnOf(t, f.at(key), f.where)
	if c != nil && r.Check(fit(c.Type), f.at(key),
		"column %s of %s is %s; expected %s", c.Name, f.where, c.Type, expected) {
		r.Check(c.Type.Kind != Map || slices.ContainsFunc(templates, func(m Match) bool { return m.Column == c }), f.node,
			"column %s of %s is a map; expected a template {%s: …} to select its keys", c.Name, f.where, c.Name)
	}
	return c
}

// sums reports whether a column of the type can be added up.
func sums(t Type) bool {
	if t.Kind == Map {
		return !t.Elem.Collection() && sums(*t.Elem)
	}
	return slices.Contains([]Kind{Text, Blob, Int, Bigint, Counter}, t.Kind)
}

// join reads the other table and which rows belong together. It reports whether
// there was no fault.
func (r *tableReader) join(t *Table, j *Relation, to string, f section) bool {
	before := len(r.Errs)
	name := f.text(to)
	if name == "" {
		r.Check(f.has(to) || f.node.Kind != yaml.MappingNode, f.node, "%s names no table; expected %s: TABLE", f.where, to)
		return false
	}
	if j.To = r.read[name]; j.To == nil {
		r.Unknown(f.at(to), "table", name, "in "+f.where, r.names)
		return false
	}
	if r.broken[t] || r.broken[j.To] {
		return false
	}
	switch by, from, at := f.has("by"), f.has("from"), f.has("at"); {
	case by && !from && !at:
		f.list("by", "a column", func(n *yaml.Node, name string) { r.sameNames(t, j, n, name, f.where) })
	case !by && from && at:
		j.From = r.matches(t, f.at("from"), "from of "+f.where)
		j.At = r.matches(j.To, f.at("at"), "at of "+f.where)
		if len(r.Errs) == before {
			r.sameVariables(f, "from", j.From, j.At)
			r.sameVariables(f, "at", j.At, j.From)
		}
	default:
		r.Fail(f.node, "%s has no columns that match; expected by: [column, …], or both from and at", f.where)
	}
	return len(r.Errs) == before && r.Check(len(j.Variables()) > 0, f.node,
		"%s has no variable; expected at least one, such as {id}, in both from and at", f.where)
}

// sameNames reads a column that has the same name in both tables.
func (r *tableReader) sameNames(t *Table, j *Relation, n *yaml.Node, name, where string) {
	c, other := r.columnOf(t, n, where), r.columnOf(j.To, n, where)
	same := Template{Text: "{" + name + "}", Parts: []TemplatePart{{Name: name}}}
	if r.Check(!slices.Contains(variables(j.From), name), n, "duplicate column %q in by of %s", name, where) {
		j.From, j.At = append(j.From, Match{c, same}), append(j.At, Match{other, same})
	}
}

// matches reads "column: template".
func (r *tableReader) matches(t *Table, n *yaml.Node, where string) (ms []Match) {
	for _, e := range r.Mapping(n, where) {
		m := Match{Column: r.columnOf(t, e.Key, where)}
		isText := e.Value.Kind == yaml.ScalarNode && e.Value.ShortTag() == "!!str"
		if !r.Check(isText, e.Value, "%s in %s must be text such as \"{%s}\", found %s",
			e.Name, where, e.Name, strict.Found(e.Value)) || m.Column == nil {
			continue
		}
		var err error
		m.Template, err = parseTemplate(e.Value.Value)
		if !r.Check(err == nil, e.Value, "%s in %s has %v", e.Name, where, err) {
			continue
		}
		for _, name := range m.Template.Names() {
			r.Check(!slices.Contains(variables(ms), name), e.Value, "{%s} is twice in %s", name, where)
		}
		ms = append(ms, m)
	}
	return ms
}

// sameVariables reports variables of one side that the other lacks.
func (r *tableReader) sameVariables(f section, side string, own, others []Match) {
	known := variables(others)
	for _, name := range variables(own) {
		if !slices.Contains(known, name) {
			r.Unknown(f.key(side), "variable", name, "in "+side+" of "+f.where, known)
		}
	}
}

// columnOf returns the column of a table that a node names, or nil.
func (r *tableReader) columnOf(t *Table, n *yaml.Node, where string) *Column {
	name, ok := r.Text(n, "a column in "+where)
	if !ok {
		return nil
	}
	return pick(r.parser, n, "column", name, "of table "+t.Name+" in "+where, t.All())
}
