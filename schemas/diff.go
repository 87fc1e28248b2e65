package schemas

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// DifferenceKind says in which way tables differ.
type DifferenceKind uint8

// The kinds of difference, the most harmful first.
const (
	MissingType     DifferenceKind = iota // a type that the engine has by name
	MissingTable                          // every pattern of the table fails
	DifferentFields                       // such a type with other fields
	MissingColumn                         // a static or plain column
	DifferentKey                          // other key columns, or nested in another table
	DifferentType                         // a column of another type
	DifferentRole                         // a static column in place of a plain one, or the reverse
	DifferentExpiry                       // rows expire after another time
	DifferentOrder                        // a clustering column has the other direction
	MissingIndex
	DifferentIndex   // an index over other columns
	DifferentSetting // an engine's setting, such as compaction
	ExtraColumn
	ExtraIndex
	ExtraTable
	ExtraType
)

// differences are the names of the kinds, their harms and their sentences: of Table is left out if there is none.
var differences = [...]struct {
	name     string
	harm     Harm
	sentence string
}{
	MissingType:      {"missing type", CallsFail, "type Part is missing"},
	MissingTable:     {"missing table", CallsFail, "table Table is missing"},
	DifferentFields:  {"different fields", CallsFail, "type Part has the fields (Have); it should have (Want)"},
	MissingColumn:    {"missing column", CallsFail, "table Table has no column Part; it should have Want"},
	DifferentKey:     {"different key", CallsFail, "the key of table Table is Have; it should be Want"},
	DifferentType:    {"different type", CallsFail, "column Part of table Table is Have; it should be Want"},
	DifferentRole:    {"different role", CallsFail, "column Part of table Table is Have; it should be Want"},
	DifferentExpiry:  {"different expiry", RowsWrong, "setting Part of table Table is Have; it should be Want"},
	DifferentOrder:   {"different order", RowsWrong, "column Part of table Table is Have; it should be Want"},
	MissingIndex:     {"missing index", ReadsFail, "table Table has no index Part; it should have one over (Want)"},
	DifferentIndex:   {"different index", ReadsFail, "index Part of table Table is over (Have); it should be over (Want)"},
	DifferentSetting: {"different setting", CostsMore, "setting Part of table Table is Have; it should be Want"},
	ExtraColumn:      {"extra column", OnlyThere, "table Table has a column Part (Have) and should not"},
	ExtraIndex:       {"extra index", OnlyThere, "table Table has an index Part over (Have) and should not"},
	ExtraTable:       {"extra table", OnlyThere, "table Table is there and should not be"},
	ExtraType:        {"extra type", OnlyThere, "type Part is there and should not be"},
}

// String returns the kind in two words.
func (k DifferenceKind) String() string { return differences[k].name }

// MarshalText implements encoding.TextMarshaler.
func (k DifferenceKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Harm is the worst consequence of a difference.
type Harm uint8

// Harms, the worst first.
const (
	CallsFail Harm = iota // calls on the table fail
	RowsWrong             // rows are lost, or come back in another order
	ReadsFail             // reads through an index fail or are slow
	CostsMore             // disk, memory or time, and how long deleted rows are kept
	OnlyThere             // it takes space, and an index slows every write
	// NotInDocument: mailbench adds it to the source design that the schema is of. A store as the
	// document has it does not have it, and nothing is to be fixed.
	NotInDocument
)

var harmWords = [...]string{
	"calls fail", "rows are lost or wrong", "reads fail or are slow", "other costs", "not in the schema",
	"not in the source design",
}

// String returns the harm in a few words.
func (h Harm) String() string { return harmWords[h] }

// MarshalText implements encoding.TextMarshaler.
func (h Harm) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// ExpirySetting is the name, in every engine's hints, of the time in seconds after
// which rows expire; "0" is never.
const ExpirySetting = "ttl"

// Difference is one way in which tables are not as they should be.
type Difference struct {
	Kind  DifferenceKind `json:"kind"`
	Table string         `json:"table,omitempty"` // "" is all of them, such as a keyspace
	// Part is the column, the index, the type or, for a setting, "engine.setting"; "" if the
	// whole table differs.
	Part string `json:"part,omitempty"`
	// Want and Have are what should be there and what is, in the words of the
	// language; "" is nothing.
	Want string `json:"want"`
	Have string `json:"have"`
}

// String returns the difference as a sentence. A setting may be there or not.
func (d Difference) String() string {
	of := when(d.Table != "", " of table "+d.Table)
	return strings.NewReplacer(" of table Table", of, "Table", d.Table, "Part", d.Part,
		"Have", cmp.Or(d.Have, "not set"), "Want", cmp.Or(d.Want, "not set")).Replace(differences[d.Kind].sentence)
}

// Harm returns the harm of the difference. The comparison of an engine may replace it.
func (d Difference) Harm() Harm {
	switch {
	case d.Kind == DifferentFields && strings.HasPrefix(d.Have, d.Want+", "): // it has more of them
		return OnlyThere
	case d.Kind == DifferentSetting && d.Table == "": // of all tables: their replicas, their log
		return RowsWrong
	}
	return differences[d.Kind].harm
}

// Diff returns how the tables of have differ from those of want, the most
// harmful differences first. It ignores the order of tables, columns and
// indexes, documentation, additions and patterns, and settings that want does
// not name. A row header stores nothing: Diff compares the tables nested in it.
func Diff(want, have *Schema) (all []Difference) {
	for _, w := range want.Tables {
		switch h := have.Table(w.Name); {
		case h != nil && !(h.Header() && len(w.Columns)+len(w.Static) > 0):
			all = append(all, diffTable(w, h)...)
		case !w.Header():
			all = append(all, Difference{MissingTable, w.Name, "", strings.Join(Names(w.All()), ", "), ""})
		}
	}
	for _, h := range have.Tables {
		if want.Table(h.Name) == nil && !h.Header() {
			all = append(all, Difference{ExtraTable, h.Name, "", "", strings.Join(Names(h.All()), ", ")})
		}
	}
	fields := func(u *UserType) string { return typed(u.Fields) }
	all = append(all, diffTexts("", want.Types, have.Types, fields, MissingType, DifferentFields, ExtraType)...)
	slices.SortStableFunc(all, func(a, b Difference) int { return cmp.Compare(a.Kind, b.Kind) })
	return all
}

// diffTexts compares what has a name and a text: the types of a schema, or the indexes of a table.
func diffTexts[T Named](
	table string, want, have []T, text func(T) string, missing, different, extra DifferenceKind,
) (all []Difference) {
	var none T
	for _, w := range want {
		if h := find(have, w.named()); h == none {
			all = append(all, Difference{missing, table, w.named(), text(w), ""})
		} else if text(h) != text(w) {
			all = append(all, Difference{different, table, w.named(), text(w), text(h)})
		}
	}
	for _, h := range have {
		if find(want, h.named()) == none {
			all = append(all, Difference{extra, table, h.named(), "", text(h)})
		}
	}
	return all
}

// diffTable compares two tables of one name. Key columns that both have from the table that they are nested in are
// compared there.
func diffTable(want, have *Table) (all []Difference) {
	add := func(k DifferenceKind, part, w, h string) { all = append(all, Difference{k, want.Name, part, w, h}) }
	in, from := want.outer()
	other, shared := have.outer()
	if in != other || shared != from {
		from = 0
	}
	key := want.Key()[from:]
	same := slices.Equal(Names(key), Names(have.Key()[from:]))
	if in != other || !same || from == 0 && len(want.Partition) != len(have.Partition) {
		add(DifferentKey, "", keyText(want, from), keyText(have, from))
	}
	if !same {
		key = nil
	}
	for i, c := range slices.Concat(key, want.Static, want.Columns) {
		h := have.Column(c.Name)
		switch {
		case h == nil:
			add(MissingColumn, c.Name, describe(c), "")
		case h.Role != c.Role && (h.Role == Static || h.Role == Plain):
			add(DifferentRole, c.Name, describe(c), describe(h))
		case h.Type.String() != c.Type.String():
			add(DifferentType, c.Name, c.Type.String(), h.Type.String())
		}
		if i < len(key) && h.Desc != c.Desc {
			add(DifferentOrder, c.Name, direction(c.Desc), direction(h.Desc))
		}
	}
	for _, c := range slices.Concat(have.Static, have.Columns) {
		if want.Column(c.Name) == nil {
			add(ExtraColumn, c.Name, "", describe(c))
		}
	}
	columns := func(x *Index) string { return strings.Join(indexWords(x), ", ") }
	all = append(all,
		diffTexts(want.Name, want.Indexes, have.Indexes, columns, MissingIndex, DifferentIndex, ExtraIndex)...)
	for _, engine := range slices.Sorted(maps.Keys(want.Hints)) {
		all = append(all, DiffSettings(want.Name, engine, want.Hints[engine], have.Hints[engine])...)
	}
	return all
}

// DiffSettings compares the settings that want names, of a table or, if table is "", of all of them. In differences
// their names begin with those of the engine, or of one of its settings that is a map.
func DiffSettings(table, of string, want, have map[string]string) (all []Difference) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		kind := DifferentSetting
		if name == ExpirySetting {
			kind = DifferentExpiry
		}
		if want[name] != have[name] {
			all = append(all, Difference{kind, table, of + "." + name, want[name], have[name]})
		}
	}
	return all
}

// Added reports whether what a difference says is missing is an addition: a table,
// column or index that the schema's document does not have.
func (s *Schema) Added(d Difference) bool {
	t := s.Table(d.Table)
	if t == nil || d.Kind != MissingTable && d.Kind != MissingColumn && d.Kind != MissingIndex {
		return false
	}
	for at := t; at != nil; at = at.Parent {
		if at.Addition != "" {
			return true
		}
	}
	added := func(c *Column) bool { return c != nil && c.Addition != "" }
	x := t.Index(d.Part)
	return d.Kind == MissingColumn && added(t.Column(d.Part)) || d.Kind == MissingIndex && x != nil &&
		(x.Addition != "" || slices.ContainsFunc(x.Columns, func(c IndexColumn) bool { return added(c.Column) }))
}

// outer returns the name of the table that a table is nested in, and with how many columns of that table's key its own
// key begins. There are none if somebody made the table by hand.
func (t *Table) outer() (name string, shared int) {
	if t.Parent == nil {
		return "", 0
	}
	name, shared = t.Parent.Name, len(t.Parent.Key())
	if len(t.Key()) < shared || !slices.Equal(keyWords(t.Key()[:shared]), keyWords(t.Parent.Key())) {
		shared = 0
	}
	return name, shared
}

// keyText writes a table's key from a column on.
func keyText(t *Table, from int) string {
	var parts []string
	if t.Parent != nil {
		parts = append(parts, "in "+t.Parent.Name)
	}
	if from == 0 {
		parts = append(parts, "partition ["+strings.Join(keyWords(t.Partition), ", ")+"]")
	}
	if cs := t.Key()[max(from, len(t.Partition)):]; len(cs) > 0 {
		parts = append(parts, "clustering ["+strings.Join(keyWords(cs), ", ")+"]")
	}
	return strings.Join(parts, ", ")
}

// Canonical returns a copy of a schema's tables in the form in which stores
// return theirs. Tables are sorted by name, parents first; static columns, plain
// columns and indexes are sorted by name. The copy has no more than an engine stores:
// names, keys, columns, indexes and hints. The caller owns the copy.
func Canonical(s *Schema) *Schema {
	c := &Schema{Name: s.Name, File: s.File}
	copies := map[*Table]*Table{nil: nil}
	var add func(t *Table) *Table
	add = func(t *Table) *Table {
		if own, done := copies[t]; done {
			return own
		}
		own := &Table{Name: t.Name, Schema: t.Schema, Parent: add(t.Parent), Hints: maps.Clone(t.Hints)}
		for engine, settings := range own.Hints {
			own.Hints[engine] = maps.Clone(settings)
		}
		parent := cmp.Or(own.Parent, new(Table))
		parent.Children = append(parent.Children, own)
		own.Partition, own.Clustering = copied(t.Partition), copied(t.Clustering)
		own.Inherited = min(len(parent.Clustering), len(own.Clustering))
		own.Static, own.Columns = copied(byName(t.Static)), copied(byName(t.Columns))
		for _, x := range byName(t.Indexes) {
			index := &Index{Name: x.Name}
			for _, c := range x.Columns {
				// An index made by hand may be over what the language cannot index.
				column := cmp.Or(own.Column(c.Column.Name), &Column{Name: c.Column.Name})
				index.Columns = append(index.Columns, IndexColumn{column, c.Desc})
			}
			own.Indexes = append(own.Indexes, index)
		}
		copies[t] = own
		c.Tables = append(c.Tables, own)
		return own
	}
	for _, t := range byName(s.Tables) {
		add(t)
	}
	return c
}

func copied(cs []*Column) (own []*Column) {
	for _, c := range cs {
		own = append(own, &Column{Name: c.Name, Type: c.Type, Role: c.Role, Desc: c.Desc})
	}
	return own
}

func byName[T Named](all []T) []T {
	return slices.SortedFunc(slices.Values(all), func(a, b T) int { return strings.Compare(a.named(), b.named()) })
}
