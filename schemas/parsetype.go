package schemas

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mailbench/mailbench/schemas/strict"
)

// cqlTypes are types of CQL that no other engine has, with the kind that rules take them
// for. CQL's timestamp counts milliseconds, timestamp of the language microseconds.
var cqlTypes = map[string]Kind{
	"ascii": Text, "smallint": Int, "tinyint": Int, "varint": Bigint, "time": Bigint,
	"date": Timestamp, "timestamp_ms": Timestamp,
	"double": Null, "float": Null, "decimal": Null, "inet": Null, "duration": Null,
}

// typeForms are the types over other types, and how they are written. Those of CQL have the Kind Null.
var typeForms = map[string]string{
	"set": "set<ELEMENT>", "list": "list<ELEMENT>", "map": "map<KEY,VALUE>",
	"frozen": "frozen<TYPE>", "tuple": "tuple<TYPE,TYPE,…>", "vector": "vector<TYPE,DIMENSIONS>",
}

var typeForm = regexp.MustCompile(`^(\w+)(?:<(.*)>)?$`)

// mostLevels is how many types may be inside one another.
const mostLevels = 10

// typ returns the type that text names.
func (p *parser) typ(n *yaml.Node, text, where string) (none Type, ok bool) {
	m := typeForm.FindStringSubmatch(text)
	if m == nil {
		hint := ""
		if strings.Contains(text, "<") {
			hint = `; inside {…} a type with a comma needs quotes: "map<text,int>"`
		}
		p.Fail(n, "unknown type %q %s%s", text, where, hint)
		return none, false
	}
	name := m[1]
	args, levels := splitTypes(m[2])
	if levels > mostLevels {
		p.Fail(n, "the type %s has %d levels of <…>; expected at most %d", where, levels, mostLevels)
		return none, false
	}
	form, nested := typeForms[name]
	wrong := !nested && strings.Contains(text, "<") ||
		nested && (args == nil || name != "tuple" && len(args) != 1+strings.Count(form, ","))
	t := Type{Kind: Kind(max(0, slices.Index(kindNames[:], name)))}
	if kind, foreign := cqlTypes[name]; foreign || slices.Contains(p.types, name) || p.lax && t.Kind == Null && !nested {
		t = Type{Kind: kind, Foreign: name}
	}
	switch {
	case t.Kind == Null && t.Foreign == "" && !nested:
		p.Unknown(n, "type", name, where, typeNames(p.types))
		return none, false
	case wrong:
		p.Fail(n, "type %q %s: expected %s", text, where, cmp.Or(form, name+" alone"))
		return none, false
	case nested && t.Kind == Null:
		return p.cqlOver(n, name, args, where)
	}
	var elems []*Type
	for _, arg := range args {
		e, ok := p.typ(n, strings.TrimSpace(arg), where)
		if !ok {
			return none, false
		}
		if (e.Collection() && !p.frozen) || e.Kind == Counter {
			p.Fail(n, "type %q %s: a %s cannot be an element of a collection", text, where, e.Kind)
			return none, false
		}
		elems = append(elems, &e)
	}
	if nested {
		t.Elem = elems[len(elems)-1]
	}
	if t.Kind == Map {
		t.Key = elems[0]
	}
	return t, true
}

// cqlOver returns a type of CQL over others.
func (p *parser) cqlOver(n *yaml.Node, name string, args []string, where string) (none Type, ok bool) {
	defer func(before bool) { p.frozen = before }(p.frozen)
	p.frozen = true
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = strings.TrimSpace(arg)
		if _, err := strconv.ParseUint(words[i], 10, 16); err == nil && name == "vector" && i == 1 {
			continue
		}
		t, ok := p.typ(n, words[i], where)
		if !ok {
			return none, false
		}
		words[i] = t.String()
	}
	return Type{Foreign: name + "<" + strings.Join(words, ",") + ">"}, true
}

// CQLBytes returns the bytes of a value of a type that only CQL has, or 0 if they vary.
func CQLBytes(t Type) int {
	switch t.Foreign {
	case "tinyint":
		return 1
	case "smallint":
		return 2
	case "float", "date":
		return 4
	case "double", "time", "timestamp_ms":
		return 8
	}
	var n int
	if _, err := fmt.Sscanf(t.Foreign, "vector<float,%d>", &n); err == nil {
		return 4 * n
	}
	return 0
}

// typeNames are the names of all types, with those that a schema defines before CQL's.
func typeNames(own []string) []string {
	cql := slices.AppendSeq([]string{"frozen", "tuple", "vector"}, maps.Keys(cqlTypes))
	slices.Sort(cql)
	return slices.Concat(kindNames[1:], own, cql)
}

// splitTypes splits "text,frozen<map<a,b>>" at the commas outside of brackets. It also returns how many types are inside
// one another.
func splitTypes(text string) (parts []string, levels int) {
	if text == "" {
		return nil, 0
	}
	depth, begin := 1, 0
	for i, r := range text {
		switch {
		case r == '<':
			depth++
		case r == '>':
			depth--
		case r == ',' && depth == 1:
			parts = append(parts, text[begin:i])
			begin = i + 1
		}
		levels = max(levels, depth)
	}
	return append(parts, text[begin:]), levels
}

// typeAt reads a type, which is Null if it has a fault.
func (p *parser) typeAt(n *yaml.Node, where string) (t Type) {
	if text, ok := p.Text(n, "the type "+where); ok {
		t, _ = p.typ(n, text, where)
	}
	return t
}

// userTypes reads "NAME: {field: type, …}". A type may name those before it.
func (p *parser) userTypes(entries []strict.Entry) {
	for _, e := range entries {
		p.checkName(e.Key, e.Name, "type")
		u := &UserType{Name: e.Name, Pos: p.At(e.Key)}
		if slices.Contains(typeNames(nil), e.Name) || e.Name == Null.String() {
			p.Fail(e.Key, "type %s exists already; expected another name", e.Name)
		}
		for _, f := range p.Mapping(e.Value, "type "+e.Name) {
			p.checkName(f.Key, f.Name, "field")
			of := p.typeAt(f.Value, "of field "+f.Name+" in type "+e.Name)
			u.Fields = append(u.Fields, &Column{Name: f.Name, Type: of, Pos: p.At(f.Key)})
		}
		p.types = append(p.types, e.Name)
		p.schema.Types = append(p.schema.Types, u)
	}
}

// TypeOf returns the type that text names, such as map<text,int>. If the
// language has no such type, it is [Null] and keeps the text: an engine may
// hold a column that no schema file can have.
func TypeOf(text string) Type { return typeOf(text, Type{Foreign: text}) }

// TypeOfCQL is TypeOf of a type as CQL writes it: its timestamp is timestamp_ms, its varchar text.
func TypeOfCQL(text string) Type {
	return typeOf(cqlWords.ReplaceAllStringFunc(text, func(word string) string {
		switch word {
		case "timestamp":
			return "timestamp_ms"
		case "varchar":
			return "text"
		}
		return word
	}), Type{Foreign: text})
}

var cqlWords = regexp.MustCompile(`\w+`)

func typeOf(text string, otherwise Type) Type {
	p := &parser{lax: true}
	if t, ok := p.typ(&yaml.Node{}, text, ""); ok {
		return t
	}
	return otherwise
}
