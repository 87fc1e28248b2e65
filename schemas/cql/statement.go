package cql

import "strings"

// StatementKind says what a statement does.
type StatementKind int

// The kinds of statement.
const (
	Select StatementKind = iota
	Insert
	Update
	Delete
	Batch
)

// A Statement reads or writes rows. Which fields it has follows from its kind.
type Statement struct {
	Kind     StatementKind
	Table    Name // not of a batch
	Line     int
	Text     string   // as the source has it
	Comments []string // the comments on the lines right above, without their dashes

	Where []Relation // SELECT, UPDATE, DELETE

	Select         []Selector // SELECT; nil is *
	Distinct, JSON bool       // JSON: SELECT and INSERT
	GroupBy        []string   // as the text has them
	OrderBy        []Ordering
	PerPartition   *Term
	Limit          *Term
	AllowFiltering bool

	Columns []string // INSERT; nil with JSON
	Values  []Term
	Set     []Assignment // UPDATE
	Delete  []Selector   // DELETE: columns and elements; nil is whole rows
	Using   []Using      // INSERT, UPDATE, DELETE, BATCH

	IfExists, IfNotExists bool
	If                    []Relation

	tableAt    int  // SELECT: where in Text the name of its table begins
	tableNamed bool // the text names its keyspace

	Batch string      // BATCH: "logged", "unlogged" or "counter"
	Parts []Statement // BATCH
}

// A Term is a value.
type Term struct {
	Text   string // as the source has it
	Marker bool   // ? or :name
}

// A Relation compares columns with values: in WHERE, or in IF.
type Relation struct {
	Columns []string // several: a tuple, or what Token is of
	Token   bool     // token(a, b)
	Tuple   bool     // (a, b)
	Within  bool     // an element or field of the column: m['a'], address.city
	// Op is =, <, >, <=, >=, !=, in, contains, contains key, like, between or "is not null".
	Op    string
	Terms []Term // of a list in brackets all; of a tuple its values, or one marker
	Text  string
}

// A Selector is one expression of a SELECT, or what a DELETE removes of a row.
type Selector struct {
	Column  string   // if the selector is one column, or one element or field of it; else ""
	Within  bool     // an element or field of the column
	Columns []string // all columns that it names, in functions too
	Text    string
}

// An Ordering is a column of ORDER BY. ANN: by nearness to a vector.
type Ordering struct {
	Column          string
	Descending, ANN bool
}

// An Assignment sets a column. Add and Remove: column = column + value, or - value.
// Prepend: value + column. Within: an element or field of the column.
type Assignment struct {
	Column                       string
	Add, Remove, Prepend, Within bool
	Value                        Term
	Text                         string
}

// A Parameter is a bind marker of a SELECT. Op is that of its relation, of BETWEEN >= or <=, or limit.
type Parameter struct {
	Column string // "" if it stands for no value of one column
	Token  bool   // it stands for a token of the partition key
	Op     string
}

// Parameters returns the bind markers in WHERE and the LIMITs of a SELECT, in their order.
func (s *Statement) Parameters() (all []Parameter) {
	for _, r := range s.Where {
		for i, t := range r.Terms {
			if !t.Marker {
				continue
			}
			p := Parameter{Token: r.Token, Op: r.Op}
			switch {
			case r.Token || r.Within:
			case r.Tuple && len(r.Terms) == len(r.Columns) && r.Op != "in":
				p.Column = r.Columns[i]
			case !r.Tuple:
				p.Column = r.Columns[0]
			}
			if r.Op == "between" {
				p.Op = []string{">=", "<="}[i]
			}
			all = append(all, p)
		}
	}
	for _, limit := range []*Term{s.PerPartition, s.Limit} {
		if limit != nil && limit.Marker {
			all = append(all, Parameter{Op: "limit"})
		}
	}
	return all
}

// In returns the text of a SELECT with the name of its table in full, as if after USE keyspace.
func (s *Statement) In(keyspace string) string {
	if s.Kind != Select || s.tableNamed {
		return s.Text
	}
	return s.Text[:s.tableAt] + `"` + strings.ReplaceAll(keyspace, `"`, `""`) + `".` + s.Text[s.tableAt:]
}

// Using is TTL or TIMESTAMP of a write.
type Using struct {
	Name  string // "ttl" or "timestamp"
	Value Term
}
