package ddl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// LiveType is a type that a keyspace defines, with the names and CQL types of its fields.
type LiveType struct {
	Name          string
	Fields, Types []string
}

// typeDrifts compares the types that a keyspace defines.
func (m *comparison) typeDrifts() (all []drivers.Drift) {
	add := func(k schemas.DifferenceKind, h drivers.Harm, name, want, have string, mend ...string) {
		all = append(all, drivers.Drift{
			Difference: schemas.Difference{Kind: k, Part: name, Want: want, Have: have}, Harm: h, Mend: mend,
		})
	}
	for i, u := range m.types {
		at := slices.IndexFunc(m.there.Types, func(t LiveType) bool { return t.Name == u.Name })
		if at < 0 {
			add(schemas.MissingType, drivers.CallsFail, u.Name, fieldWords(wanted(u)), "", m.createTypes()[i]+";")
			continue
		}
		want, have := wanted(u), m.there.Types[at].fields()
		if slices.Equal(want, have) {
			continue
		}
		harm, mend := m.mendType(u, want, have)
		add(schemas.DifferentFields, harm, u.Name, fieldWords(want), fieldWords(have), mend...)
	}
	for _, t := range m.there.Types {
		if !slices.ContainsFunc(m.types, func(u *schemas.UserType) bool { return u.Name == t.Name }) {
			add(schemas.ExtraType, drivers.OnlyThere, t.Name, "", fieldWords(t.fields()),
				"-- if nothing else needs it: DROP TYPE "+m.Qualified(t.Name)+";")
		}
	}
	return all
}

// field is a field of a type, with its type in the words of the schema language.
type field struct{ name, typ string }

func wanted(u *schemas.UserType) (all []field) {
	for _, c := range u.Fields {
		all = append(all, field{c.Name, plainType(cqlType(c.Type))})
	}
	return all
}

func (t *LiveType) fields() (all []field) {
	for i, name := range t.Fields {
		all = append(all, field{name, plainType(t.Types[i])})
	}
	return all
}

var frozenTuple = regexp.MustCompile(`frozen<(tuple<(?:[^<>]|<[^<>]*>)*>)>`)

// plainType writes a CQL type as the language does. Every tuple is frozen, and system_schema says so.
func plainType(text string) string {
	text = schemas.TypeOfCQL(strings.ReplaceAll(text, `"`, "")).String()
	return frozenTuple.ReplaceAllString(text, "$1")
}

func fieldWords(all []field) string {
	var words []string
	for _, f := range all {
		words = append(words, f.name+" "+f.typ)
	}
	return strings.Join(words, ", ")
}

// mendType says how harmful it is that a type has other fields, and what mends it. A field can be
// added at the end. Nothing drops a field or changes its type.
func (m *comparison) mendType(u *schemas.UserType, want, have []field) (drivers.Harm, []string) {
	name := m.Qualified(u.Name)
	switch n := min(len(want), len(have)); {
	case !slices.Equal(want[:n], have[:n]):
		return drivers.CallsFail, []string{
			"-- the fields of a type cannot be dropped, moved or given another type: make a new type, and copy the columns that have it",
		}
	case len(have) > n:
		return drivers.OnlyThere, []string{"-- a field cannot be dropped from a type; it may stay"}
	default:
		var mend []string
		for i := n; i < len(want); i++ {
			c := u.Fields[i]
			mend = append(mend, fmt.Sprintf("ALTER TYPE %s ADD %s %s;", name, Quote(c.Name), cqlType(c.Type)))
		}
		return drivers.CallsFail, mend
	}
}
