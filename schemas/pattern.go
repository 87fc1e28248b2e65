package schemas

import (
	"slices"
	"strings"
)

// PatternKind says what a pattern does to its table.
type PatternKind uint8

// The kinds of pattern.
const (
	// Get reads the row of one full primary key, or one row for each element
	// of a list (in). With static, it reads the static columns of a partition.
	Get PatternKind = iota
	// Slice reads rows of one partition in clustering order (or in the order
	// of an index): by names the whole partition key and may go on into the
	// clustering columns; from/to, after and in bound the next one.
	Slice
	// Scan reads all rows of a table in no promised order. With static it
	// reads the partition key and the static columns of every partition that
	// has any static value, one row a partition, whether it has rows or not.
	Scan
	// Put writes columns of one row and creates the row if it is absent. Other
	// columns of the row stay as they are; a null deletes the column's value.
	// A set, list or map given to a put replaces the stored one. With static
	// it writes static columns.
	Put
	// PutIf is a put that is applied only if its condition holds (If).
	PutIf
	// Add adds a signed delta to counter or bigint columns; an absent value
	// counts as 0. It creates the row if it is absent.
	Add
	// Append adds elements to the ends of lists without reading them. It
	// creates the row if it is absent. If imported it may also add to sets and maps.
	Append
	// Remove takes elements out of lists by value, all equal ones. An absent
	// element or row is no error. If imported it may also
	// take them out of sets and maps.
	Remove
	// Delete removes what Scope says. Deleting what is absent is no error.
	Delete
	// Batch runs its Parts together.
	Batch
)

var patternKindNames = [...]string{
	"get", "slice", "scan", "put", "put-if", "increment", "append", "remove-element", "delete", "batch",
}

// String returns the kind's key in the language.
func (k PatternKind) String() string { return patternKindNames[k] }

// a names a kind with its article, for messages.
func a(k PatternKind) string {
	if k == Add || k == Append {
		return "an " + k.String()
	}
	return "a " + k.String()
}

// Reads reports whether patterns of the kind yield rows.
func (k PatternKind) Reads() bool { return k <= Scan }

// Scope is what a delete removes.
type Scope uint8

// The scopes of a delete. Row is the default when by binds the full primary
// key. A row goes with its collections and index entries; rows of nested
// tables are rows of their own and stay.
const (
	ScopeRow       Scope = iota // one row
	ScopePrefix                 // every row below a proper prefix of the clustering key
	ScopePartition              // every row of one partition, static columns too
)

var scopeNames = [...]string{"row", "prefix", "partition"}

// String returns the scope's name in the language.
func (s Scope) String() string { return scopeNames[s] }

// Atomicity is what must be all or nothing.
type Atomicity uint8

// Atomicities, each stronger than the one before.
const (
	AtomicNone      Atomicity = iota // parts may be applied one by one
	AtomicRow                        // all parts touch one row of a root table and rows nested in it
	AtomicPartition                  // all parts touch one partition, in any table of it
	AtomicShard                      // all parts share the root table's partition key
	AtomicAll                        // any rows of any tables
)

var atomicNames = [...]string{"none", "row", "partition", "shard", "all"}

// String returns the atomicity's name in the language.
func (a Atomicity) String() string { return atomicNames[a] }

// Bound is one end of a range on a key column, by value: From is the lower and
// To the upper end whatever the column's direction.
type Bound struct {
	Column *Column
	Open   bool // the bound itself is not in the range ("from: id open")
}

// Part is one member of a batch.
type Part struct {
	Pattern *Pattern
	Each    string // what it is repeated over ("recipient"), or "": at most once
}

// Pattern is one access pattern: all that a driver needs to prepare a call.
//
// The arguments of a call are positional, in this order, as [Pattern.Args]
// returns them:
//
//	By (one each), In (a list), Element (one map key), Filter (one each),
//	From, To, After (one each), Limit (bigint, if LimitArg),
//	Columns (one each, for writes only), If (one each).
//
// A null From or To is no bound; a null After (all of it) starts at the first row.
type Pattern struct {
	Name string
	Doc  string
	Kind PatternKind

	Table *Table // nil for a batch
	Index *Index // the index a slice goes through, or nil

	By      []*Column // bound by equality: a prefix of the primary key or of the index
	In      *Column   // the next key column after By, bound to a list; rows come in list order
	Element *Column   // get: the map column of which one element's value is read (Columns is empty)
	// Filter are plain columns compared after reading: the engine reads what it drops. Of an
	// imported pattern they can be any columns.
	Filter   []*Column
	From, To *Bound    // range on the next key column after By
	After    []*Column // paging: the next key columns after By; rows strictly after them in reading order
	Reverse  bool      // read against the clustering order
	Nested   bool      // slice: also the rows of the tables around, each by itself if it has no such row
	Limit    int       // at most so many rows in all; 0 is no limit
	LimitArg bool      // the limit is an argument ("limit: arg")

	// Columns are, for a read, the values of a row in order (key, static and
	// plain columns); for a put, add, append or remove, the columns it
	// touches. "*" means the key, static and plain columns, in
	// that order and as the table lists them; with static, for the partition
	// key and the static columns.
	Columns []*Column
	If      []*Column // put-if: columns whose present values must equal the arguments (null: absent)
	Absent  bool      // put-if: the row must be absent ("if: absent")
	Present bool      // put-if and delete: the row must be there ("if: present")

	Scope Scope
	// ReturnsNew: an add gives back the values of Columns after it ("returns: new").
	ReturnsNew bool
	Static     bool       // get/put of a partition's static columns: By is the partition key; scan of all partitions'
	Parallel   int        // at most so many calls at once (get with in over partitions, batch with atomic none)
	ParallelBy *Parameter // the parameter that Parallel comes from, or nil
	Atomic     Atomicity
	Parts      []Part

	// Varies says what a variant may change, since the model copes with it: it may leave out the last columns
	// (columns); it may read all rows in any order, without after and limit (pages).
	Varies []string

	// Fallback runs in place of this pattern on an engine that cannot run it,
	// or is nil; the report then says "emulated".
	Fallback *Pattern
	Addition string // why mailbench adds it to its document, or ""
	// Form: the addition is the form of a value. The source design has the request itself.
	Form     bool
	Accept   []Acceptance // in file order
	Other    []Setting    // clauses that are carried through, judged by nothing
	Imported *Pos         // where it was before schema import, or nil
	Pos      Pos          // Imported, if there is one
}

// Arg describes one positional argument of a pattern.
type Arg struct {
	Name string
	Type Type // a List, Set or Map for In and for collections
}

// ArgLayout says at which position each group of a call's arguments begins, in
// the order of Args. In, Element, From, To and Limit are single arguments, and -1
// if the pattern has none. The other groups may be empty.
type ArgLayout struct {
	In, Element, Filter, From, To, After, Limit, Columns, If int
}

// Args returns the arguments of a call in order. A batch has none: each of its
// parts brings its own.
func (p *Pattern) Args() []Arg {
	args, _ := p.arguments()
	return args
}

// argList writes a pattern's arguments as "name type, …".
func argList(p *Pattern) string {
	return strings.Join(texts(p.Args(), func(a Arg) string { return a.Name + " " + a.Type.String() }), ", ")
}

// ArgLayout returns the positions of a call's arguments.
func (p *Pattern) ArgLayout() ArgLayout {
	_, layout := p.arguments()
	return layout
}

func (p *Pattern) arguments() (args []Arg, l ArgLayout) {
	group := func(cs ...*Column) (at int) {
		at = len(args)
		for _, c := range cs {
			args = append(args, Arg{c.Name, c.Type})
		}
		return at
	}
	end := func(b *Bound) int {
		if b == nil {
			return -1
		}
		return group(b.Column)
	}
	group(p.By...)
	l.In, l.Element, l.Limit = -1, -1, -1
	if p.In != nil {
		l.In = group(&Column{Name: p.In.Name, Type: Type{Kind: List, Elem: &p.In.Type}})
	}
	if p.Element != nil {
		l.Element = group(&Column{Name: p.Element.Name, Type: *p.Element.Type.Key})
	}
	l.Filter, l.From, l.To, l.After = group(p.Filter...), end(p.From), end(p.To), group(p.After...)
	if p.LimitArg {
		l.Limit = group(&Column{Name: "limit", Type: Type{Kind: Bigint}})
	}
	l.Columns = len(args)
	if !p.Kind.Reads() {
		group(p.Columns...)
	}
	l.If = group(p.If...)
	return args, l
}

// Conditional reports whether a write is applied only if a condition holds. An atomic batch with such
// parts is applied only if all of their conditions hold.
func (p *Pattern) Conditional() bool {
	return p.Kind == PutIf || p.Present ||
		slices.ContainsFunc(p.Parts, func(part Part) bool { return part.Pattern.Conditional() })
}

// SpansStatic reports whether a put-if writes or compares static columns in addition to those of its row.
func (p *Pattern) SpansStatic() bool {
	return p.Kind == PutIf && slices.ContainsFunc(slices.Concat(p.Columns, p.If),
		func(c *Column) bool { return c.Role == Static })
}

// CassandraOnly says why no engine but Cassandra could run a pattern, whatever the types, or "".
func (p *Pattern) CassandraOnly() string {
	clause := slices.IndexFunc(p.Other, func(s Setting) bool { return !s.Aside() })
	switch {
	case p.Imported == nil:
		return ""
	case clause >= 0:
		return "has clauses of CQL: " + p.Other[clause].Name + " " + p.Other[clause].Text
	case p.Present:
		return "writes only if the row is there"
	case p.Kind == Slice && p.In != nil && p.In.Role == Partition:
		return "reads several partitions"
	case p.Static && !p.Kind.Reads() && p.Kind != Put:
		return "adds to static columns, or removes from them"
	}
	for _, c := range p.Filter {
		if c.Role != Plain || c.Type.Collection() {
			return "filters by " + c.Name + ", " + describe(c)
		}
	}
	for _, c := range p.Columns {
		if (p.Kind == Append || p.Kind == Remove) && c.Type.Kind != List {
			return "changes elements of " + c.Name + ", " + describe(c)
		}
	}
	return ""
}

// Order returns the columns by which the rows of a slice are sorted: those of its index and then those of the primary
// key, without columns that the slice binds. It returns none for other patterns, and for a slice of nested tables,
// whose rows come in the order of their keys.
func (p *Pattern) Order() (order []IndexColumn) {
	if p.Kind != Slice || p.Nested {
		return nil
	}
	return slices.DeleteFunc(p.Table.sorted(p.Index), func(c IndexColumn) bool {
		return slices.Contains(p.By, c.Column) || c.Column == p.In
	})
}

// sorted returns the columns by which a table is sorted, or its rows in an index that is not nil: the columns of the
// index, then the others of the primary key.
func (t *Table) sorted(x *Index) (order []IndexColumn) {
	if x != nil {
		order = slices.Clone(x.Columns)
	}
	for _, k := range t.Key() {
		if !slices.ContainsFunc(order, func(c IndexColumn) bool { return c.Column == k }) {
			order = append(order, IndexColumn{Column: k, Desc: k.Desc})
		}
	}
	return order
}

// ScanOf returns a pattern that reads all rows of a table that is no header
// (key, static and plain columns), for tools that read everything: golden
// dumps and audits. Its name cannot be that of a declared pattern.
func ScanOf(t *Table) *Pattern {
	return &Pattern{Name: "scan:" + t.Name, Doc: "every row", Kind: Scan, Table: t, Columns: allColumns(t, false)}
}

// StaticScanOf returns a pattern that reads the static columns of every
// partition of a table that has some (partition key and static columns, one
// row a partition): a partition may hold static values and no row.
func StaticScanOf(t *Table) *Pattern {
	return &Pattern{
		Name: "static-scan:" + t.Name, Doc: "the static columns of every partition",
		Kind: Scan, Table: t, Static: true, Columns: allColumns(t, true),
	}
}

// allColumns returns the columns that "*" names.
func allColumns(t *Table, static bool) []*Column {
	if static {
		return slices.Concat(t.Partition, t.Static)
	}
	return t.All()
}
