// Package schemas is mailbench's schema language: the tables of a mailbox data model
// (nested and wide-column), and its access patterns, the only reads and writes that its
// code may run. README.md in this folder has every key of a schema file.
//
// [Parse] reads a file, with every fault at its place. [Format] writes a schema as its
// canonical text, which Parse reads back. [Canonical] reduces a schema to its part that an
// engine stores, in one order. Drivers return the tables that an engine has in the same form.
// [Diff] compares two such forms and names every [Difference], the most harmful first.
package schemas

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/strict"
)

// Role says what part a column plays in its table.
type Role uint8

// The roles of a column.
const (
	Plain Role = iota
	Partition
	Clustering
	Static
)

// Column is one column of one table. The inherited key columns of a nested table in a parsed schema
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
	before := texts(x.Columns[:last], func(c IndexColumn) string { return c.Column.Name })
	return last == 0 || last >= len(t.Partition) && last <= len(key) && slices.Equal(before, Names(key[:last]))
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

// OwnKey returns the key columns that the table does not inherit.
func (t *Table) OwnKey() []*Column {
	if t.Parent == nil {
		return t.Key()
	}
	return t.Clustering[t.Inherited:]
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
func (t *Table) Column(name string) *Column { return find(t.All(), name) }

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

// ViewOf is the setting of an imported materialized view; its text is the table that the view is of.
const ViewOf = "materialized view of"

// View returns the table that an imported table is a materialized view of, or "".
func (t *Table) View() string { return Carried(t.Other, ViewOf) }

// Carried returns a clause or setting that is carried through, or "".
func Carried(all []Setting, name string) string { return find(all, name).Text }

// placeForm is where something was before schema import: FILE:LINE, with a number if several were there.
var placeForm = regexp.MustCompile(`^(.+):(\d+)(?: \(\d+\))?$`)

func placeOf(text string) (pos Pos, ok bool) {
	m := placeForm.FindStringSubmatch(text)
	if m == nil {
		return pos, false
	}
	line, err := strconv.Atoi(m[2])
	return Pos{File: m[1], Line: line, Column: 1}, err == nil && line > 0
}

// AddUnread notes a statement that could not be imported, with its place. The reason is the first line of
// the text.
func (s *Schema) AddUnread(pos Pos, reason, text string) {
	name := fmt.Sprintf("%s:%d", pos.File, pos.Line)
	n := 1
	for _, o := range s.Other {
		if o.Name == name || strings.HasPrefix(o.Name, name+" (") {
			n++
		}
	}
	if n > 1 {
		name = fmt.Sprintf("%s (%d)", name, n)
	}
	s.Other = append(s.Other, Setting{Name: name, Text: reason + "\n" + strings.Join(strings.Fields(text), " ")})
}

// Unread returns the place of a statement that could not be imported; ok is false for any other setting.
func (s Setting) Unread() (pos Pos, ok bool) { return placeOf(s.Name) }

// Aside reports whether a clause of an imported pattern only says more of its statement: "fixed" are the
// literals that name its partition, "update" says that it is an UPDATE, "seed" that it is an INSERT of literals in a
// file of tables, and "allow filtering: false" that it does not have the clause that its filter needs. The call is the
// same without.
func (s Setting) Aside() bool {
	return s.Name == "fixed" || s.Name == "update" || s.Name == "seed" || s == Setting{"allow filtering", "false"}
}

// Seed reports whether a pattern is no access of an application: it writes one row, which is in a file of tables.
func (p *Pattern) Seed() bool { return Carried(p.Other, "seed") != "" }

var indexClauses = regexp.MustCompile(`(?s)^(?:(\w+)\([^)]*\) ?)?(?:USING '([^']*)' ?)?(WITH OPTIONS = .*)?$`)

// IndexClauses returns the clauses of CQL that an imported index carries: keys, values, entries or full of its column,
// its class, and the options of that. Each is "" if the statement does not have it.
func (t *Table) IndexClauses(x *Index) (part, class, options string) {
	if m := indexClauses.FindStringSubmatch(Carried(t.Other, "index "+x.Name)); m != nil {
		part, class, options = m[1], m[2], m[3]
	}
	return part, class, options
}

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

	engines []strict.Entry // engines that the file names in native and hints; CheckEngines knows which there are
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

// Named is a part of a schema that has a name.
type Named interface {
	comparable
	named() string
}

func (t *Table) named() string     { return t.Name }
func (c *Column) named() string    { return c.Name }
func (x *Index) named() string     { return x.Name }
func (p *Pattern) named() string   { return p.Name }
func (q *Parameter) named() string { return q.Name }
func (u *UserType) named() string  { return u.Name }
func (s Setting) named() string    { return s.Name }

// find returns the one that has a name, or nil.
func find[T Named](all []T, name string) (none T) {
	for _, one := range all {
		if one.named() == name {
			return one
		}
	}
	return none
}

// Names are the names of all.
func Names[T Named](all []T) []string { return texts(all, T.named) }

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

var roleNames = [...]string{"plain", "partition", "clustering", "static"}

// describe says what a column is, for messages.
func describe(c *Column) string {
	return "a " + roleNames[c.Role] + " column of type " + c.Type.String()
}

func direction(desc bool) string {
	if desc {
		return "descending"
	}
	return "ascending"
}

// when returns the text if it is to be written.
func when(on bool, text string) string {
	if on {
		return text
	}
	return ""
}
