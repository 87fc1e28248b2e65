package schemas

import (
	"fmt"
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

// cqlNested are types of CQL over other types.
var cqlNested = []string{"frozen", "tuple", "vector"}

var typeForm = regexp.MustCompile(`^(\w+)(?:<(.*)>)?$`)

// mostLevels is how many types may be inside one another.
const mostLevels = 10

// levels returns how many types are inside one another in text.
func levels(text string) (most int) {
	depth := 0
	for _, r := range text {
		switch r {
		case '<':
			depth++
			most = max(most, depth)
		case '>':
			depth--
		}
	}
	return most
}

// typ returns the type that text names.
func (p *parser) typ(n *yaml.Node, text, where string) (Type, bool) {
	if l := levels(text); l > mostLevels {
		p.Fail(n, "the type %s has %d levels of <…>; expected at most %d", where, l, mostLevels)
		return Type{}, false
	}
	m := typeForm.FindStringSubmatch(text)
	if m == nil {
		hint := ""
		if strings.Contains(text, "<") {
			hint = `; inside {…} a type with a comma needs quotes: "map<text,int>"`
		}
		p.Fail(n, "unknown type %q %s%s", text, where, hint)
		return Type{}, false
	}
	kind := Kind(max(0, slices.Index(kindNames[:], m[1])))
	if kind == Null {
		return p.foreign(n, m[1], m[2], text, where)
	}
	t := Type{Kind: kind}
	inner := splitTypes(m[2])
	want := map[Kind]int{Set: 1, List: 1, Map: 2}[kind]
	if len(inner) != want || (want == 0 && strings.Contains(text, "<")) {
		p.Fail(n, "type %q %s: expected %s", text, where, typeShape(kind))
		return Type{}, false
	}
	elems := make([]*Type, want)
	for i, s := range inner {
		e, ok := p.typ(n, strings.TrimSpace(s), where)
		if !ok {
			return Type{}, false
		}
		if (e.Collection() && !p.frozen) || e.Kind == Counter {
			p.Fail(n, "type %q %s: a %s cannot be an element of a collection", text, where, e.Kind)
			return Type{}, false
		}
		elems[i] = &e
	}
	switch kind {
	case Map:
		t.Key, t.Elem = elems[0], elems[1]
	case Set, List:
		t.Elem = elems[0]
	}
	return t, true
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

// foreign returns a type that only CQL has.
func (p *parser) foreign(n *yaml.Node, name, within, text, where string) (Type, bool) {
	kind, simple := cqlTypes[name]
	if slices.Contains(cqlNested, name) && within != "" {
		inner := splitTypes(within)
		defer func(before bool) { p.frozen = before }(p.frozen)
		p.frozen = true
		words := make([]string, len(inner))
		for i, s := range inner {
			s = strings.TrimSpace(s)
			if _, err := strconv.ParseUint(s, 10, 16); err == nil && name == "vector" && i == 1 {
				words[i] = s
				continue
			}
			t, ok := p.typ(n, s, where)
			if !ok {
				return Type{}, false
			}
			words[i] = t.String()
		}
		if want := map[string]int{"frozen": 1, "vector": 2}[name]; want == 0 || want == len(inner) {
			return Type{Foreign: name + "<" + strings.Join(words, ",") + ">"}, true
		}
	}
	switch {
	case (simple || slices.Contains(p.types, name) || p.lax) && within == "" && !strings.Contains(text, "<"):
		return Type{Kind: kind, Foreign: name}, true
	case simple || slices.Contains(cqlNested, name):
		p.Fail(n, "type %q %s: expected %s", text, where, foreignShape(name))
	default:
		p.Unknown(n, "type", name, where, slices.Concat(kindNames[1:], p.types, cqlNames()))
	}
	return Type{}, false
}

// cqlNames are the names of CQL's types, sorted.
func cqlNames() []string {
	all := slices.Clone(cqlNested)
	for name := range cqlTypes {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// splitTypes splits "text,frozen<map<a,b>>" at the commas outside of brackets.
func splitTypes(text string) (parts []string) {
	if text == "" {
		return nil
	}
	depth, begin := 0, 0
	for i, r := range text {
		switch {
		case r == '<':
			depth++
		case r == '>':
			depth--
		case r == ',' && depth == 0:
			parts = append(parts, text[begin:i])
			begin = i + 1
		}
	}
	return append(parts, text[begin:])
}

// typeShape says how a type of the kind is written.
func typeShape(k Kind) string {
	switch k {
	case Map:
		return "map<KEY,VALUE>"
	case Set, List:
		return k.String() + "<ELEMENT>"
	}
	return k.String() + " alone"
}

func foreignShape(name string) string {
	switch name {
	case "frozen":
		return "frozen<TYPE>"
	case "tuple":
		return "tuple<TYPE,TYPE,…>"
	case "vector":
		return "vector<TYPE,DIMENSIONS>"
	}
	return name + " alone"
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
		_, cql := cqlTypes[e.Name]
		if cql || slices.Contains(cqlNested, e.Name) || slices.Contains(kindNames[:], e.Name) {
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
