package ddl

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Stored returns the tables, indexes and options that Cassandra keeps of a schema, in canonical form.
func Stored(sch *schemas.Schema) (*schemas.Schema, error) {
	own := schemas.Canonical(sch)
	for _, t := range own.Tables {
		options, err := options(t)
		if err != nil {
			return nil, err
		}
		kind, err := indexKind(t)
		if err != nil {
			return nil, err
		}
		said := sch.Table(t.Name)
		t.Indexes = slices.DeleteFunc(t.Indexes, func(x *schemas.Index) bool {
			return !t.OneColumn(x) && (said.Imported == nil || len(x.Columns) > 1)
		})
		kinds := map[string]bool{kind: true}
		if said.Imported != nil {
			kinds = asCQL(said, t.Indexes, kind)
		}
		t.Hints = nil
		if t.Header() {
			continue
		}
		settings := map[string]string{schemas.ExpirySetting: "0"}
		if len(t.Indexes) > 0 {
			settings[indexesHint] = strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
		}
		more, err := carried(said) // Canonical leaves out what it says under "other"
		if err != nil {
			return nil, err
		}
		for _, o := range append(options, more...) {
			if o.name == expiryOption {
				o.name = schemas.ExpirySetting
			}
			addSettings(settings, o.name, o.number, o.fields)
		}
		t.Hints = map[string]map[string]string{EngineName: settings}
	}
	return own, nil
}

// asCQL gives the indexes of an imported table the targets that CQL has, such as full(tags), and returns their
// kinds. What schema import carries of an index is "TARGET USING 'CLASS'"; without it the kind is that of the hint.
func asCQL(t *schemas.Table, indexes []*schemas.Index, kind string) map[string]bool {
	kinds := make(map[string]bool)
	for _, x := range indexes {
		own := kind
		if c := x.Columns[0].Column; len(x.Columns) == 1 && c.Type.Collection() && c.Type.Foreign == "" {
			x.Columns[0].Column = &schemas.Column{Name: "values(" + c.Name + ")"}
		}
		for _, s := range t.Other {
			if s.Name != "index "+x.Name {
				continue
			}
			target, using, _ := strings.Cut(s.Text, "USING ")
			if target = strings.TrimSpace(target); strings.HasSuffix(target, ")") {
				x.Columns = []schemas.IndexColumn{{Column: &schemas.Column{Name: target}}}
			}
			if class, _, found := strings.Cut(strings.TrimPrefix(using, "'"), "'"); found {
				own = IndexKindOf(customIndex, class)
			}
		}
		kinds[own] = true
	}
	return kinds
}

// addSettings adds an option: a number, or the fields of a map.
func addSettings(settings map[string]string, name, number string, fields map[string]string) {
	if fields == nil {
		settings[name] = number
	}
	for k, v := range fields {
		if k == "class" {
			v = v[strings.LastIndexByte(v, '.')+1:] // the engine names classes in full
		}
		settings[name+"."+k] = v
	}
}

// carriedOption is an option of a CQL table that is no hint. A schema says it under "other".
type carriedOption struct {
	name  string
	usual string // what Cassandra 4.0 to 5.0 gives a table that does not set it (TableParams)
	text  bool   // CQL writes it in quotes
	valid *regexp.Regexp
}

var carriedOptions = []carriedOption{
	{"additional_write_policy", "99p", true, regexp.MustCompile(`.`)},
	{"cdc", "false", false, regexp.MustCompile(`^(true|false)$`)},
	{"memtable_flush_period_in_ms", "0", false, regexp.MustCompile(`^[0-9]{1,9}$`)},
	{"read_repair", "BLOCKING", true, regexp.MustCompile(`^(BLOCKING|NONE)$`)},
	{"speculative_retry", "99p", true, regexp.MustCompile(`.`)},
}

// CarriedOptions are the options that Compare knows and that are no hints.
func CarriedOptions() (names []string) {
	for _, o := range carriedOptions {
		names = append(names, o.name)
	}
	return names
}

func carriedOf(name string) *carriedOption {
	at := slices.IndexFunc(carriedOptions, func(o carriedOption) bool { return o.name == name })
	if at < 0 {
		return nil
	}
	return &carriedOptions[at]
}

// cql returns a value as CQL writes it.
func (o *carriedOption) cql(value string) string {
	if o.text {
		return Literal(value)
	}
	return value
}

var trailingZeros = regexp.MustCompile(`([0-9])\.0+([^0-9]|$)`)

// plain returns a value in one form: Cassandra takes '99PERCENTILE', '99.0p' and '99p' for the same.
func (o *carriedOption) plain(value string) string {
	switch value = unquote(value); o.name {
	case "read_repair":
		return strings.ToUpper(value)
	case "speculative_retry", "additional_write_policy":
		value = strings.ReplaceAll(strings.ToLower(value), " ", "")
		value = strings.ReplaceAll(value, "percentile", "p")
		return trailingZeros.ReplaceAllString(value, "$1$2")
	}
	return strings.ToLower(value)
}

// unquote returns the text of a CQL literal.
func unquote(text string) string {
	if text = strings.TrimSpace(text); len(text) > 1 && text[0] == '\'' && text[len(text)-1] == '\'' {
		return strings.ReplaceAll(text[1:len(text)-1], "''", "'")
	}
	return text
}

// carried returns the options that a table says under "other" and that Cassandra is compared with.
func carried(t *schemas.Table) (all []option, err error) {
	for _, s := range t.Other {
		o := carriedOf(s.Name)
		if o == nil {
			continue
		}
		value := o.plain(s.Text)
		if !o.valid.MatchString(value) {
			return nil, fmt.Errorf("table %s: %s under other is %s, which Cassandra does not have; its default is %s",
				t.Name, s.Name, s.Text, o.usual)
		}
		all = append(all, option{name: s.Name, number: value})
	}
	return all, nil
}

// replicationOf returns the class and the replicas that a schema says under "other", or nil.
func replicationOf(other []schemas.Setting) (map[string]string, error) {
	for _, s := range other {
		if s.Name != "replication" {
			continue
		}
		fields := make(map[string]string)
		for _, m := range mapEntry.FindAllStringSubmatch(s.Text, -1) {
			fields[m[1]] = m[2]
		}
		class := fields["class"]
		if class == "" {
			return nil, fmt.Errorf("replication under other is %s; expected the map of CREATE KEYSPACE, such as "+
				"{'class': 'NetworkTopologyStrategy', 'dc1': 3}", s.Text)
		}
		fields["class"] = class[strings.LastIndexByte(class, '.')+1:]
		return fields, nil
	}
	return nil, nil
}

var mapEntry = regexp.MustCompile(`'([^']+)'\s*:\s*'?([^',}\s]+)'?`)

// durable says whether a schema wants a commit log, which is so unless "other" says not.
func durable(other []schemas.Setting) bool {
	return !slices.ContainsFunc(other, func(s schemas.Setting) bool {
		on, err := strconv.ParseBool(s.Text)
		return s.Name == "durable_writes" && err == nil && !on
	})
}

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
			add(schemas.MissingType, drivers.CallsFail, u.Name, fieldWords(wanted(u)), "", m.createTypes()[i])
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
			mend = append(mend, fmt.Sprintf("ALTER TYPE %s ADD %s %s", name, Quote(c.Name), cqlType(c.Type)))
		}
		return drivers.CallsFail, mend
	}
}
