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

// Harm returns the harm of differences of the kind. The comparison of an engine may replace it.
func (k DifferenceKind) Harm() Harm { return differences[k].harm }

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
	of := " of table " + d.Table
	if d.Table == "" {
		of = ""
	}
	return strings.NewReplacer(" of table Table", of, "Table", d.Table, "Part", d.Part,
		"Have", cmp.Or(d.Have, "not set"), "Want", cmp.Or(d.Want, "not set")).Replace(differences[d.Kind].sentence)
}

// Diff returns how the tables of have differ from those of want, the most
// harmful differences first. It ignores the order of tables, columns and
// indexes, documentation, additions and patterns, and settings that want does
// not name. A row header stores nothing: Diff compares the tables nested in it.
func Diff(want, have *Schema) []Difference {
	var d differ
	for _, w := range want.Tables {
		h := have.Table(w.Name)
		switch {
		case h != nil && !(h.Header() && len(w.Columns)+len(w.Static) > 0):
			d.table(w, h)
		case !w.Header():
			d.add(MissingTable, w.Name, "", strings.Join(Names(w.All()), ", "), "")
		}
	}
	for _, h := range have.Tables {
		if want.Table(h.Name) == nil && !h.Header() {
			d.add(ExtraTable, h.Name, "", "", strings.Join(Names(h.All()), ", "))
		}
	}
	d.parts("", typeParts(want), typeParts(have), MissingType, DifferentFields, ExtraType)
	slices.SortStableFunc(d.found, func(a, b Difference) int { return cmp.Compare(a.Kind, b.Kind) })
	return d.found
}

type differ struct{ found []Difference }

func (d *differ) add(k DifferenceKind, table, part, want, have string) {
	d.found = append(d.found, Difference{k, table, part, want, have})
}

// parts compares what has a name and a text: the types of a schema, or the indexes of a table.
func (d *differ) parts(table string, want, have [][2]string, missing, different, extra DifferenceKind) {
	there := make(map[string]string)
	for _, h := range have {
		there[h[0]] = h[1]
	}
	for _, w := range want {
		h, ok := there[w[0]]
		if delete(there, w[0]); !ok {
			d.add(missing, table, w[0], w[1], "")
		} else if h != w[1] {
			d.add(different, table, w[0], w[1], h)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		d.add(extra, table, name, "", there[name])
	}
}

func typeParts(s *Schema) (all [][2]string) {
	for _, u := range s.Types {
		all = append(all, [2]string{u.Name, typed(u.Fields)})
	}
	return all
}

func indexParts(t *Table) (all [][2]string) {
	for _, x := range t.Indexes {
		all = append(all, [2]string{x.Name, strings.Join(indexWords(x), ", ")})
	}
	return all
}

func (d *differ) table(want, have *Table) {
	d.key(want, have)
	for _, c := range slices.Concat(want.Static, want.Columns) {
		switch h := have.Column(c.Name); {
		case h == nil:
			d.add(MissingColumn, want.Name, c.Name, describe(c), "")
		case h.Role != c.Role && (h.Role == Static || h.Role == Plain):
			d.add(DifferentRole, want.Name, c.Name, describe(c), describe(h))
		case h.Type.String() != c.Type.String():
			d.add(DifferentType, want.Name, c.Name, c.Type.String(), h.Type.String())
		}
	}
	for _, c := range slices.Concat(have.Static, have.Columns) {
		if want.Column(c.Name) == nil {
			d.add(ExtraColumn, want.Name, c.Name, "", describe(c))
		}
	}
	d.parts(want.Name, indexParts(want), indexParts(have), MissingIndex, DifferentIndex, ExtraIndex)
	for _, engine := range slices.Sorted(maps.Keys(want.Hints)) {
		for _, name := range slices.Sorted(maps.Keys(want.Hints[engine])) {
			kind := DifferentSetting
			if name == ExpirySetting {
				kind = DifferentExpiry
			}
			if w, h := want.Hints[engine][name], have.Hints[engine][name]; w != h {
				d.add(kind, want.Name, engine+"."+name, w, h)
			}
		}
	}
}

// key compares primary keys, without the columns that both tables inherit: those
// are compared in the parent.
func (d *differ) key(want, have *Table) {
	from, nested := 0, parentOf(want) == parentOf(have)
	if nested && sharesKey(want) && sharesKey(have) && len(want.Parent.Key()) == len(have.Parent.Key()) {
		from = len(want.Parent.Key())
	}
	w, h := want.Key()[from:], have.Key()[from:]
	if !nested || names(w) != names(h) || from == 0 && len(want.Partition) != len(have.Partition) {
		d.add(DifferentKey, want.Name, "", keyText(want, from), keyText(have, from))
	}
	if names(w) != names(h) {
		return
	}
	for i := range w {
		if w[i].Type.String() != h[i].Type.String() {
			d.add(DifferentType, want.Name, w[i].Name, w[i].Type.String(), h[i].Type.String())
		}
		if w[i].Desc != h[i].Desc {
			d.add(DifferentOrder, want.Name, w[i].Name, direction(w[i].Desc), direction(h[i].Desc))
		}
	}
}

func parentOf(t *Table) string {
	if t.Parent == nil {
		return ""
	}
	return t.Parent.Name
}

// sharesKey reports whether a table begins its key with the columns of the
// table that it is nested in. A table that somebody made by hand may not.
func sharesKey(t *Table) bool {
	if t.Parent == nil {
		return false
	}
	n := len(t.Parent.Key())
	return len(t.Key()) >= n && slices.Equal(t.Key()[:n], t.Parent.Key())
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

func direction(desc bool) string {
	if desc {
		return "descending"
	}
	return "ascending"
}

// Canonical returns a copy of a schema's tables in the form in which stores
// return theirs. Tables are sorted by name, parents first; static columns, plain
// columns and indexes are sorted by name. The copy has no more than an engine stores:
// names, keys, columns, indexes and hints. The caller owns the copy.
func Canonical(s *Schema) *Schema {
	c := &Schema{Name: s.Name, File: s.File}
	copies := make(map[*Table]*Table)
	var add func(t *Table) *Table
	add = func(t *Table) *Table {
		own, done := copies[t]
		if done || t == nil {
			return own
		}
		own = copyTable(t, add(t.Parent))
		copies[t] = own
		c.Tables = append(c.Tables, own)
		return own
	}
	for _, t := range sortedBy(s.Tables, func(t *Table) string { return t.Name }) {
		add(t)
	}
	return c
}

func copyTable(t, parent *Table) *Table {
	own := &Table{Name: t.Name, Schema: t.Schema, Parent: parent, Hints: maps.Clone(t.Hints)}
	for engine, settings := range own.Hints {
		own.Hints[engine] = maps.Clone(settings)
	}
	if parent == nil {
		parent = &Table{}
	} else {
		parent.Children = append(parent.Children, own)
	}
	own.Partition = copyKey(t.Partition, parent.Partition)
	own.Clustering = copyKey(t.Clustering, parent.Clustering)
	own.Inherited = min(len(parent.Clustering), len(own.Clustering))
	byName := func(c *Column) string { return c.Name }
	own.Static = copyKey(sortedBy(t.Static, byName), nil)
	own.Columns = copyKey(sortedBy(t.Columns, byName), nil)
	for _, x := range sortedBy(t.Indexes, func(x *Index) string { return x.Name }) {
		index := &Index{Name: x.Name}
		for _, c := range x.Columns {
			column := own.Column(c.Column.Name)
			if column == nil { // an index made by hand, over what the language cannot index
				column = &Column{Name: c.Column.Name}
			}
			index.Columns = append(index.Columns, IndexColumn{column, c.Desc})
		}
		own.Indexes = append(own.Indexes, index)
	}
	return own
}

// copyKey copies columns. The first ones, if they equal the parent's, are shared
// with it and not copied.
func copyKey(cs, parents []*Column) []*Column {
	var own []*Column
	for i, c := range cs {
		copied := &Column{Name: c.Name, Type: c.Type, Role: c.Role, Desc: c.Desc}
		if i < len(parents) && keyWords(parents[i : i+1])[0] == keyWords(cs[i : i+1])[0] {
			copied = parents[i]
		}
		own = append(own, copied)
	}
	return own
}

func sortedBy[T any](all []T, name func(T) string) []T {
	return slices.SortedFunc(slices.Values(all), func(a, b T) int { return strings.Compare(name(a), name(b)) })
}
