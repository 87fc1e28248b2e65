package cql

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

// Using is TTL or TIMESTAMP of a write.
type Using struct {
	Name  string // "ttl" or "timestamp"
	Value Term
}
