package schemas

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Kind is the kind of a column type. The zero Kind is Null: no type, and in a
// value the absence of one.
type Kind uint8

// The kinds of the language. Set, List, Map and Counter cannot be key columns.
const (
	Null Kind = iota
	Text
	Blob
	Int
	Bigint
	Boolean
	UUID
	TimeUUID
	Timestamp
	Counter
	Set
	List
	Map
)

var kindNames = [...]string{
	"null", "text", "blob", "int", "bigint", "boolean", "uuid", "timeuuid",
	"timestamp", "counter", "set", "list", "map",
}

// String returns the kind's name in the language.
func (k Kind) String() string { return kindNames[k] }

// Type is a column's type. Elem is the element type of a set or list and the
// value type of a map; Key is the key type of a map. Foreign is a type that only one
// engine has: one of CQL's own, or one that Inspect found and no schema file can have.
// Its Kind is that which rules take it for ([Kind] of date is Timestamp), Null for none.
type Type struct {
	Kind    Kind
	Key     *Type
	Elem    *Type
	Foreign string
}

// Collection reports whether values of the type are sets, lists or maps.
func (t Type) Collection() bool { return t.Kind >= Set }

// String returns the type as the language writes it, such as map<text,int>.
func (t Type) String() string {
	switch {
	case t.Foreign != "":
		return t.Foreign
	case t.Kind == Map:
		return "map<" + t.Key.String() + "," + t.Elem.String() + ">"
	case t.Collection():
		return t.Kind.String() + "<" + t.Elem.String() + ">"
	}
	return t.Kind.String()
}

// fixedBytes are the bytes of values of the types whose values all have the same size.
var fixedBytes = map[string]int{
	"boolean": 1, "int": 4, "bigint": 8, "timestamp": 8, "counter": 8, "uuid": 16, "timeuuid": 16,
	"tinyint": 1, "smallint": 2, "float": 4, "date": 4, "double": 8, "time": 8, "timestamp_ms": 8, // of CQL
}

// Bytes returns the bytes of a value of the type, or 0 if they vary.
func (t Type) Bytes() int {
	if dimensions, ok := strings.CutPrefix(t.Foreign, "vector<float,"); ok {
		n, _ := strconv.Atoi(strings.TrimSuffix(dimensions, ">"))
		return 4 * n
	}
	return fixedBytes[t.String()]
}

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

// alwaysFrozen are the types that are frozen whether they say so or not, as is each type within a frozen one.
var alwaysFrozen = regexp.MustCompile(`^(tuple|vector)<`)

// mostLevels is how many types may be inside one another.
const mostLevels = 10

// typ returns the type that text names.
func (p *parser) typ(n *yaml.Node, text, where string) (none Type, ok bool) {
	m := typeForm.FindStringSubmatch(text)
	if !p.Check(m != nil, n, "unknown type %q %s%s", text, where, when(strings.Contains(text, "<"),
		`; inside {…} a type with a comma needs quotes: "map<text,int>"`)) {
		return none, false
	}
	name := m[1]
	args, levels := splitTypes(m[2])
	if !p.Check(levels <= mostLevels, n, "the type %s has %d levels of <…>; expected at most %d",
		where, levels, mostLevels) {
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
	}
	over := nested && t.Kind == Null // a type of CQL, whose elements can be collections
	elems, ok := p.elements(n, text, args, over, where)
	switch {
	case !ok:
		return none, false
	case name == "frozen" && (p.frozen || alwaysFrozen.MatchString(elems[0].Foreign)):
		return *elems[0], true
	case over:
		t.Foreign = name + "<" + strings.Join(texts(elems, (*Type).String), ",") + ">"
	case t.Kind == Map:
		t.Key, t.Elem = elems[0], elems[1]
	case nested:
		t.Elem = elems[0]
	}
	return t, true
}

// elements returns the types over which text names a type. Those of a type of CQL can be collections.
func (p *parser) elements(n *yaml.Node, text string, args []string, cql bool, where string) (all []*Type, ok bool) {
	defer func(before bool) { p.frozen = before }(p.frozen)
	p.frozen = p.frozen || cql
	for i, arg := range args {
		arg = strings.TrimSpace(arg)
		if _, err := strconv.ParseUint(arg, 10, 16); err == nil && strings.HasPrefix(text, "vector<") && i == 1 {
			all = append(all, &Type{Foreign: arg})
			continue
		}
		e, ok := p.typ(n, arg, where)
		if !ok || !p.Check(cql || (!e.Collection() || p.frozen) && e.Kind != Counter, n,
			"type %q %s: a %s cannot be an element of a collection", text, where, e.Kind) {
			return nil, false
		}
		all = append(all, &e)
	}
	return all, true
}

// typeNames are the names of all types, with those that a schema defines before CQL's.
func typeNames(own []string) []string {
	cql := slices.AppendSeq([]string{"frozen", "tuple", "vector"}, maps.Keys(cqlTypes))
	slices.Sort(cql)
	return slices.Concat(kindNames[1:], own, cql)
}

// splitTypes splits "text,frozen<map<a,b>>" at the commas outside of brackets. It also returns how many types are
// inside one another.
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

// TypeOf returns the type that text names, such as map<text,int>. If the
// language has no such type, it is [Null] and keeps the text: an engine may
// hold a column that no schema file can have.
func TypeOf(text string) Type {
	p := &parser{lax: true}
	if t, ok := p.typ(&yaml.Node{}, text, ""); ok {
		return t
	}
	return Type{Foreign: text}
}

// TypeOfCQL is TypeOf of a type as CQL writes it: its timestamp is timestamp_ms, its varchar text, and the name of a
// user-defined type may be in quotes.
func TypeOfCQL(text string) Type {
	text = cqlTimestamp.ReplaceAllString(strings.ReplaceAll(text, `"`, ""), "timestamp_ms")
	return TypeOf(cqlVarchar.ReplaceAllString(text, "text"))
}

var (
	cqlTimestamp = regexp.MustCompile(`\btimestamp\b`)
	cqlVarchar   = regexp.MustCompile(`\bvarchar\b`)
	ownPackage   = regexp.MustCompile(`^org\.apache\.cassandra\.(db\.compaction|io\.compress|locator)\.`)
)

// ClassOfCQL returns a class as the hints for Cassandra name it: without its package if it is Cassandra's own.
func ClassOfCQL(class string) string { return ownPackage.ReplaceAllString(class, "") }

// CassandraOnly names the first thing in a schema that no engine but Cassandra has, or "".
func (s *Schema) CassandraOnly() string {
	for _, t := range s.Tables {
		for _, c := range t.All() {
			if c.Type.cassandraOnly() {
				return "column " + c.Name + " of table " + t.Name + " is " + c.Type.String() + " of CQL"
			}
		}
	}
	for _, p := range s.Patterns {
		if why := p.CassandraOnly(); why != "" {
			return "pattern " + p.Name + " " + why
		}
	}
	return ""
}

func (t Type) cassandraOnly() bool {
	return t.Foreign != "" || t.Key != nil && t.Key.cassandraOnly() || t.Elem != nil && t.Elem.cassandraOnly()
}
