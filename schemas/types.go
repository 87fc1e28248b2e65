package schemas

import (
	"cmp"
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
	if t.Foreign != "" {
		return t.Foreign
	}
	var b strings.Builder
	b.WriteString(t.Kind.String())
	if t.Collection() {
		b.WriteByte('<')
		if t.Key != nil {
			b.WriteString(t.Key.String())
			b.WriteByte(',')
		}
		b.WriteString(t.Elem.String())
		b.WriteByte('>')
	}
	return b.String()
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

// Role says what part a column plays in its table.
type Role uint8

// The roles of a column.
const (
	Plain Role = iota
	Partition
	Clustering
	Static
)

// Column is one column of one table. A nested table's inherited key columns
// are its parent's Column values, shared by pointer.
type Column struct {
	Name     string
	Type     Type
	Role     Role
	Desc     bool   // clustering only: descending order
	Addition string // why mailbench adds it to its document, or ""
	Pos      Pos
}

// Index is a local secondary index, with its columns in sort order.
// An index that does not begin with the table's partition columns is local to
// each node, and a read through it must query every node.
type Index struct {
	Name     string
	Columns  []IndexColumn
	Addition string
	Pos      Pos
}

// IndexColumn is one column of an index with its direction.
type IndexColumn struct {
	Column *Column
	Desc   bool
}

// OverKeys reports whether all columns of the index are primary-key columns,
// so that an entry never changes once its row is written.
func (x *Index) OverKeys() bool {
	return !slices.ContainsFunc(x.Columns, func(c IndexColumn) bool {
		return c.Column.Role == Plain || c.Column.Role == Static
	})
}

// Has reports whether a column is one of those of the index.
func (x *Index) Has(c *Column) bool {
	return slices.ContainsFunc(x.Columns, func(ic IndexColumn) bool { return ic.Column == c })
}

// OneColumn reports whether an index of the table can be one over a single plain column,
// which finds equal values and has no order, as Cassandra's does. It may have more columns
// before that one, if they are the first of the primary key and include the whole partition
// key: a read binds them too.
func (t *Table) OneColumn(x *Index) bool {
	last, key := len(x.Columns)-1, t.Key()
	if c := x.Columns[last]; c.Column.Role != Plain || c.Desc {
		return false
	}
	for i, c := range x.Columns[:last] {
		if i >= len(key) || c.Column != key[i] {
			return false
		}
	}
	return last == 0 || last >= len(t.Partition)
}

// Table is one table. Partition and Clustering hold the whole primary key,
// inherited columns first.
type Table struct {
	Name       string
	Schema     string // the schema's name
	Doc        string
	Addition   string
	Parent     *Table // nil for a root table
	Children   []*Table
	Partition  []*Column
	Clustering []*Column
	Inherited  int       // how many of Clustering come from Parent
	Static     []*Column // root tables only
	Columns    []*Column // plain columns, in file order
	Indexes    []*Index
	Refers     []*Relation                  // the rows to which its rows refer
	Counts     []*Relation                  // its columns that hold a number or sum of other rows
	Hints      map[string]map[string]string // engine name → setting → value
	Accept     []Acceptance                 // in file order
	Other      []Setting                    // carried through, judged by nothing
	Rows       []*Rows                      // the kinds of row that mail leaves in it
	Purposes   map[Purpose][]*Column        // what the file says of key columns; lint guesses at what is absent
	Imported   *Pos                         // where it was before schema import, or nil
	Pos        Pos                          // Imported, if there is one
}

// Acceptance says why a finding of a lint rule at a table or pattern is intended.
// Parse does not know the rules; package lint checks their names.
type Acceptance struct {
	Rule   string
	Reason string
	Pos    Pos
}

// Key returns the primary key: partition columns, then clustering columns.
func (t *Table) Key() []*Column {
	return append(append(make([]*Column, 0, len(t.Partition)+len(t.Clustering)), t.Partition...), t.Clustering...)
}

// Root returns the outermost table that t is nested in, or t itself.
func (t *Table) Root() *Table {
	for t.Parent != nil {
		t = t.Parent
	}
	return t
}

// Header reports whether the table stores nothing of its own: it has no
// columns and others are nested in it.
func (t *Table) Header() bool {
	return len(t.Columns) == 0 && len(t.Static) == 0 && len(t.Children) > 0
}

// Column returns the column of that name (key, static or plain), or nil.
func (t *Table) Column(name string) *Column {
	for _, cs := range [][]*Column{t.Partition, t.Clustering, t.Static, t.Columns} {
		if c := find(cs, name); c != nil {
			return c
		}
	}
	return nil
}

// All returns the columns of the table: key, static, plain.
func (t *Table) All() []*Column { return slices.Concat(t.Key(), t.Static, t.Columns) }

// Index returns the index of that name, or nil.
func (t *Table) Index(name string) *Index { return find(t.Indexes, name) }

// Step is one access pattern of a workflow with those that take arguments from its rows.
type Step struct {
	Pattern *Pattern
	Next    []*Pattern
}

// A Setting is a word with a text that the language carries through and does not judge:
// what schema import found and the language cannot say.
type Setting struct{ Name, Text string }

// A UserType is a type that a schema's file defines for CQL's user-defined types.
type UserType struct {
	Name   string
	Fields []*Column
}

// Schema is a parsed schema file. Parents come first among Tables, which
// are otherwise in file order. Patterns and Workflow are in file order.
type Schema struct {
	Name     string // a variant is called BASE@WORD
	Doc      string
	Native   string // the engine that the source document was written for
	File     string // where it was read from, for messages
	Source   []byte // the file's text, for a variant the text of the whole schema; its digest is part of a result
	Types    []*UserType
	Tables   []*Table
	Patterns []*Pattern
	// Parameters are the numbers that the user of its model may choose.
	Parameters []*Parameter
	// Additions are patterns that a variant may add, which the model then runs.
	Additions []string
	Workflow  []Step    // how a mail client goes from one read to the next; no step leads back
	Other     []Setting // carried through, judged by nothing

	engines []engineName // engines that the file names, in file order
}

// Table returns the table of that name, or nil.
func (s *Schema) Table(name string) *Table { return find(s.Tables, name) }

// Pattern returns the pattern of that name, or nil.
func (s *Schema) Pattern(name string) *Pattern { return find(s.Patterns, name) }

// Purpose is what a key column is for in addition to its value.
type Purpose string

// The purposes of key columns.
const (
	// Bucket: a partition column whose next value begins a new partition: a day, or a
	// number that rises when a partition is full.
	Bucket Purpose = "bucket"
	// Chunk: the number of a piece of one value.
	Chunk Purpose = "chunk"
	// Salt: a partition column with few values, which spreads neighboring rows: a hash
	// modulo N. It ends no partition.
	Salt Purpose = "salt"
)

// Purposes are all purposes.
var Purposes = []Purpose{Bucket, Chunk, Salt}

// purposes reads bucket, chunk and salt of a table. An empty list says that no column
// is for that.
func (r *tableReader) purposes(t *Table, f section) {
	for _, p := range Purposes {
		key := string(p)
		if !f.has(key) {
			continue
		}
		if t.Purposes == nil {
			t.Purposes = make(map[Purpose][]*Column)
		}
		t.Purposes[p] = []*Column{}
		may := t.Partition
		if p == Chunk {
			may = t.Key()
		}
		f.list(key, "a column", func(n *yaml.Node, name string) {
			switch c := pick(r.parser, n, "column", name, "in "+key+" of "+f.where, t.All()); {
			case c == nil:
			case !slices.Contains(may, c):
				r.Fail(n, "column %s cannot be %s of %s; expected one of (%s)", name, key, f.where, names(may))
			default:
				t.Purposes[p] = append(t.Purposes[p], c)
			}
		})
	}
}

// texts returns a text for each of all.
func texts[T any](all []T, text func(T) string) []string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = text(one)
	}
	return words
}

// typed writes columns as "name type, …".
func typed(cs []*Column) string {
	return strings.Join(texts(cs, func(c *Column) string { return c.Name + " " + c.Type.String() }), ", ")
}

// keyWords writes key columns as the language does: "name type desc".
func keyWords(cs []*Column) []string {
	return texts(cs, func(c *Column) string { return c.Name + " " + c.Type.String() + when(c.Desc, " desc") })
}

// indexWords writes an index's columns as the language does: "name desc".
func indexWords(x *Index) []string {
	return texts(x.Columns, func(c IndexColumn) string { return c.Column.Name + when(c.Desc, " desc") })
}

// names lists columns for messages.
func names(cs []*Column) string { return cmp.Or(strings.Join(Names(cs), ", "), "nothing") }

// describe says what a column is, for messages.
func describe(c *Column) string {
	role := [...]string{"plain", "partition", "clustering", "static"}[c.Role]
	return "a " + role + " column of type " + c.Type.String()
}

func direction(desc bool) string {
	if desc {
		return "descending"
	}
	return "ascending"
}
