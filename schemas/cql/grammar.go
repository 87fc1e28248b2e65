// Package cql reads the tables of a keyspace from CQL text, as DESCRIBE
// prints it or as migrations create, alter and drop them, and the statements that
// read and write them. Of mailbench's own schema language it knows only how hints write a map.
//
// Nothing is dropped in silence: a statement that the package cannot read
// whole is in [Script.Unread] with its place and the reason.
package cql

import (
	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// words divides CQL into tokens. The last rule is what no token begins with, or a quote or comment that
// nothing closes.
var words = lexer.MustSimple([]lexer.SimpleRule{
	{Name: "Space", Pattern: `[\s\p{Z}\x{feff}]+`},
	{Name: "Comment", Pattern: `(?:--|//)[^\n]*|/\*(?s:.*?)\*/`},
	{Name: "String", Pattern: `'(?:[^']|'')*'|\$\$(?s:.*?)\$\$`},
	{Name: "Quoted", Pattern: `"(?:[^"]|"")*"`},
	{Name: "Number", Pattern: `[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b|[0-9](?:[eE][+-][0-9]|[\w.])*|` +
		`(?i:p(?:[0-9]+[ymdw])*(?:[0-9][ymdw]|t(?:[0-9]+[hms])+))\b`}, // the latter are durations
	{Name: "Reserved", Pattern: `(?i:add|allow|alter|and|apply|asc|authorize|batch|begin|by|columnfamily|create|delete|desc|` +
		`describe|drop|entries|execute|from|full|grant|if|in|index|infinity|insert|into|is|keyspace|limit|materialized|` +
		`modify|nan|norecursive|not|null|of|on|or|order|primary|rename|revoke|schema|select|set|table|to|token|truncate|` +
		`unlogged|update|use|using|view|where|with)\b`}, // no names without quotes: ReservedKeywords of Cassandra 5.0
	{Name: "Ident", Pattern: `[A-Za-z_]\w*`},
	{Name: "Sign", Pattern: `<=|>=|!=|\+=|-=|[(){}\[\]<>,;.:=?*+\-/%]`},
	{Name: "Bad", Pattern: `(?s:['"].*|/\*.*|\$\$.*|.)`},
})

var (
	spaceToken, commentToken = words.Symbols()["Space"], words.Symbols()["Comment"]
	identToken, quotedToken  = words.Symbols()["Ident"], words.Symbols()["Quoted"]
	reservedToken, signToken = words.Symbols()["Reserved"], words.Symbols()["Sign"]
	badToken                 = words.Symbols()["Bad"]
)

// grammar reads one statement. An error within the first tokens of a part that may be absent is known
// only at the end; after more than these tokens nothing else can be meant.
var grammar = participle.MustBuild[anything](participle.Lexer(words), participle.UseLookahead(4))

type (
	anything struct {
		Definition *Definition `parser:"  @@"`
		Use        string      `parser:"| 'use' @(Ident|Quoted)"`
		Batch      *batch      `parser:"| @@"`
		Statement  *Statement  `parser:"| @@"`
	}
	batch struct {
		Kind  string      `parser:"'begin' @( 'unlogged' | 'logged' | 'counter' )? 'batch'"`
		Using []Using     `parser:"( 'using' @@ ( 'and' @@ )* )?"`
		Parts []Statement `parser:"( @@ ';'? )* 'apply' 'batch'"`
	}

	// A Statement reads or writes rows. Which fields it has follows from its kind.
	Statement struct {
		Pos      lexer.Position
		EndPos   lexer.Position
		JSON     bool          `parser:"( ( 'select' ( (?! 'json' (','|'from'|'as'|'('|'['|'.')) @'json' )?"` // or an INSERT
		Distinct bool          `parser:"( (?! 'distinct' (','|'from'|'as'|'('|'['|'.')) @'distinct' )?"`
		Select   []Expr        `parser:"( '*' | @@ ( 'as' (Ident|Quoted) )? ( ',' @@ ( 'as' (Ident|Quoted) )? )* )"` // nil is *
		Deletes  bool          `parser:"| @'delete'"`
		Delete   []Expr        `parser:"( @@ ( ',' @@ )* )? ) 'from'"` // columns and elements; nil is whole rows
		Kind     StatementKind `parser:"| @'insert' 'into' | @'update' | @'truncate' 'table'? )"`
		On       named         `parser:"@@"`
		Columns  []string      `parser:"( ( 'json' | '(' @(Ident|Quoted) ( ',' @(Ident|Quoted) )* ')' 'values' )"` // nil with JSON
		Values   []Expr        `parser:"( '(' @@ ( ',' @@ )* ')' | @@ ( 'default' ( 'unset' | 'null' ) )? ) )?"`
		// The clauses are in the order of all statements; clauses says which kinds have them.
		IfNotExists    bool         `parser:"( @'if' 'not' 'exists' )?"`
		Using          []Using      `parser:"( 'using' @@ ( 'and' @@ )* )?"`
		Set            []Assignment `parser:"( 'set' @@ ( ',' @@ )* )?"`
		Where          []Relation   `parser:"( 'where' @@ ( 'and' @@ )* )?"`
		IfExists       bool         `parser:"( 'if' ( @'exists'"`
		If             []Relation   `parser:"| @@ ( 'and' @@ )* ) )?"`
		Groups         []Expr       `parser:"( 'group' 'by' @@ ( ',' @@ )* )?"`
		OrderBy        []Order      `parser:"( 'order' 'by' @@ ( ',' @@ )* )?"`
		PerPartition   *Expr        `parser:"( 'per' 'partition' 'limit' @@ )?"`
		Limit          *Expr        `parser:"( 'limit' @@ )?"`
		AllowFiltering bool         `parser:"( @'allow' 'filtering' )? ( 'bypass' 'cache' )? ( 'using' 'timeout' (Number|'?') )?"` // the latter are ScyllaDB's

		Table    Name        // not of a batch
		Text     string      // as the source has it
		Comments []string    // the comments on the lines right above, without their dashes
		GroupBy  []string    // as the text has them
		Batch    string      // BATCH: "logged", "unlogged" or "counter"
		Parts    []Statement // BATCH
	}
	// An Assignment sets a column. Add and Remove: column = column + value, or - value.
	// Prepend: value + column. Within: an element or field of the column.
	Assignment struct {
		Pos      lexer.Position
		EndPos   lexer.Position
		Target   value  `parser:"@@"`
		Operator string `parser:"@( '=' | '+=' | '-=' )"`
		Value    Expr   `parser:"@@"`

		Column                       string
		Add, Remove, Prepend, Within bool
		Text                         string
	}
	// Using is TTL or TIMESTAMP of a write. TIMEOUT is ScyllaDB's and changes no row.
	Using struct {
		Name  string `parser:"@( 'ttl' | 'timestamp' | 'timeout' )"`
		Value Expr   `parser:"@@"`
	}

	named struct {
		Pos   lexer.Position
		Table Name `parser:"@@"`
	}
	// A Relation compares columns with values: in WHERE, or in IF.
	Relation struct {
		Pos     lexer.Position
		EndPos  lexer.Position
		Token   bool     `parser:"( @'token'?"`                                                      // token(a, b)
		Tuple   bool     `parser:"( @'('"`                                                           // (a, b)
		Columns []string `parser:"@(Ident|Quoted) ( ',' @(Ident|Quoted) )* ')' ) | @(Ident|Quoted)"` // several: a tuple, or what Token is of
		Element *Expr    `parser:"( '[' @@ ']'"`
		Field   string   `parser:"| '.' @(Ident|Quoted) )? )"`
		Between []Expr   `parser:"( 'between' @@ 'and' @@"`
		NotNull bool     `parser:"| 'is' @'not' 'null'"`
		// Op is =, <, >, <=, >=, !=, in, contains, contains key, like, between or "is not null".
		Op    string `parser:"| @( '=' | '<=' | '>=' | '!=' | '<' | '>' | 'like' | 'in' | 'contains' 'key'? )"`
		Value *Expr  `parser:"@@ )"`

		Within bool   // an element or field of the column: m['a'], address.city
		Terms  []Expr // of a list in brackets all; of a tuple its values, or one marker
		Text   string
	}

	// An Expr is a value, a selector of a SELECT, what a DELETE removes of a row, or a sum of values. Where only
	// a value is valid, no column may be in it.
	Expr struct {
		Pos      lexer.Position
		EndPos   lexer.Position
		First    value   `parser:"@@"`
		Operator string  `parser:"( @( '+' | '-' | '*' | '/' | '%' )"` // all of them
		Rest     []value `parser:"@@ )*"`

		Text    string   // as the source has it
		Marker  bool     // ? or :name
		Bound   bool     // a marker is in it
		Column  string   // if it is one column, or one element or field of it; else ""
		Within  bool     // an element or field of the column
		Columns []string // all columns that it names, in functions too
	}
	value struct {
		Pos     lexer.Position
		Cast    *Type   `parser:"( (?= '(' (Ident|Quoted) (')'|'<')) (?! '(' ('true'|'false')) '(' @@ ')' )? ( '-' | '+' )*"`
		Marker  bool    `parser:"( @( '?' | ':' (Ident|Quoted) )"`
		Literal string  `parser:"| @( String | Number | 'null' | 'nan' | 'infinity' | 'true' | 'false' )"`
		Tuple   *list   `parser:"| '(' @@ ')'"`
		List    *list   `parser:"| '[' @@ ']'"`
		Entries []entry `parser:"| '{' ( @@ ( ',' @@ )* )? '}'"`
		Call    *list   `parser:"| ('token'|Ident|Quoted) ( '.' (Ident|Quoted) )? '(' @@ ')'"`
		Column  string  `parser:"| @(Ident|Quoted)"`
		Path    []step  `parser:"@@* )"`
	}
	step struct { // a field, an element or a range of elements
		Field string `parser:"  '.' @(Ident|Quoted)"`
		From  *Expr  `parser:"| '[' @@?"`
		To    *Expr  `parser:"( '.' '.' @@? )? ']'"`
	}
	list struct {
		Of []Expr `parser:"( '*' | @@ ( 'as' (Ident|Quoted) )? ( ',' @@ )* )?"`
	}
	entry struct { // of a set, a map or a user-defined type
		Key   *Expr `parser:"@@"`
		Value *Expr `parser:"( ':' @@ )?"`
	}
)

// Definitions.
type (
	// A Definition creates, changes or drops something.
	Definition struct {
		Pos      lexer.Position
		Create   *Create `parser:"  'create' @@"`
		Alter    *Alter  `parser:"| 'alter' @@"`
		Drop     *Drop   `parser:"| 'drop' @@"`
		Text     string
		Comments []string // on the lines right above, without their dashes
	}

	// Create has a Table or an Index. Kind says what the Table is: keyspace, type, table or view.
	Create struct {
		Kind  string `parser:"( @( 'keyspace' | 'schema' | 'table' | 'columnfamily' | 'type' ) | 'materialized' @'view' )"`
		Table *Table `parser:"@@"`
		Index *Index `parser:"| 'custom'? 'index' @@"`
	}

	// Alter has one change. Kind is table, type, keyspace or view. AddIf and the like: only of columns that are
	// not there yet, or that are there.
	Alter struct {
		Kind     string   `parser:"( @( 'table' | 'columnfamily' | 'type' | 'keyspace' | 'schema' ) | 'materialized' @'view' )"`
		IfExists bool     `parser:"( @'if' 'exists' )?"`
		Name     Name     `parser:"@@"`
		AddIf    bool     `parser:"( 'add' ( @'if' 'not' 'exists' )?"`
		Add      []Column `parser:"  ( '(' @@ ( ',' @@ )* ')' | @@ ( ',' @@ )* )"`
		Compact  bool     `parser:"| 'drop' @'compact' 'storage'"`
		DropIf   bool     `parser:"| 'drop' ( @'if' 'exists' )?"`
		Drop     []string `parser:"  ( '(' @(Ident|Quoted) ( ',' @(Ident|Quoted) )* ')' | @(Ident|Quoted) ( ',' @(Ident|Quoted) )* ) ( 'using' 'timestamp' Number )?"`
		RenameIf bool     `parser:"| 'rename' ( @'if' 'exists' )?"`
		Rename   []rename `parser:"  @@ ( 'and' @@ )*"`
		RetypeIf bool     `parser:"| 'alter' ( @'if' 'exists' )?"`
		Retype   *retype  `parser:"  @@"`
		Options  []Option `parser:"| 'with' @@ ( 'and' @@ )* )"`
	}
	rename struct {
		From string `parser:"@(Ident|Quoted) 'to'"`
		To   string `parser:"@(Ident|Quoted)"`
	}
	retype struct {
		Column string `parser:"@(Ident|Quoted)"`
		Type   *Type  `parser:"( 'type' @@"`
		Mask   *value `parser:"| 'masked' 'with' @@ | 'drop' 'masked' )"`
	}

	// Drop drops what Kind says: table, type, keyspace, index or view.
	Drop struct {
		Kind     string `parser:"( @( 'table' | 'columnfamily' | 'type' | 'keyspace' | 'schema' | 'index' ) | 'materialized' @'view' )"`
		IfExists bool   `parser:"( @'if' 'exists' )?"`
		Name     Name   `parser:"@@"`
	}

	// A Name is that of a table, type or index; Keyspace is "" if the text does not say it.
	Name struct {
		Keyspace string `parser:"( @(Ident|Quoted) '.' )?"`
		Name     string `parser:"@(Ident|Quoted)"`
	}

	// A Table is a CREATE TABLE, or a CREATE MATERIALIZED VIEW: then View says of what. A CREATE KEYSPACE is one
	// without columns, and a CREATE TYPE one without a key.
	Table struct {
		Pos         lexer.Position
		IfNotExists bool `parser:"( @'if' 'not' 'exists' )?"`
		Name
		View     *View     `parser:"( 'as' @@"`
		Elements []element `parser:"| '(' @@ ( ',' @@ )* ','? ')' )?"`
		Options  []Option  `parser:"( 'with' @@ ( 'and' @@ )* )?"`

		Columns   []Column
		Partition []string // the columns of the partition key
		Cluster   []Order  // the clustering columns, with their order
		Comments  []string // on the lines right above, without their dashes
	}
	element struct {
		Key    *key    `parser:"  'primary' 'key' @@"`
		Column *Column `parser:"| @@"`
	}
	key struct { // (a, b) or ((a, b), c)
		Partition []string `parser:"'(' ( '(' @(Ident|Quoted) ( ',' @(Ident|Quoted) )* ')' | @(Ident|Quoted) )"`
		Cluster   []string `parser:"( ',' @(Ident|Quoted) )* ')'"`
	}

	// A View is what a materialized view selects.
	View struct {
		Columns []string   `parser:"'select' ( '*' | @(Ident|Quoted) ( ',' @(Ident|Quoted) )* )"`
		Base    Name       `parser:"'from' @@"`
		Where   []Relation `parser:"( 'where' @@ ( 'and' @@ )* )?"`
		Key     key        `parser:"'primary' 'key' @@"`
	}

	// A Column is a column of a table or a field of a user-defined type.
	Column struct {
		Pos     lexer.Position
		Name    string `parser:"@(Ident|Quoted)"`
		Type    Type   `parser:"@@"`
		Static  bool   `parser:"@'static'?"`
		Mask    *value `parser:"( 'masked' 'with' @@ )?"`
		Primary bool   `parser:"( @'primary' 'key' )?"`
	}

	// A Type is one of Cassandra's, or a user-defined one, which is of the table's keyspace.
	Type struct {
		Name string `parser:"( (Ident|Quoted) '.' )? @( Ident | 'set' | Quoted | String | Number )"`
		Args []Type `parser:"( '<' @@ ( ',' @@ )* '>' )?"`
	}

	// An Order is a clustering column with its order, or a column of ORDER BY.
	Order struct {
		Column     string `parser:"@(Ident|Quoted)"`
		Near       *Expr  `parser:"( 'ann' 'of' @@"` // the vector whose neighbors come first
		Descending bool   `parser:"| @'desc' | 'asc' )?"`
	}

	// An Option is one setting of a table; Value is CQL as the text has it.
	Option struct {
		Pos     lexer.Position
		Order   []Order `parser:"  'clustering' 'order' 'by' '(' @@ ( ',' @@ )* ')'"`
		Compact bool    `parser:"| @'compact' 'storage'"`
		Dropped *Column `parser:"| 'dropped' 'column' 'record' @@ ( 'using' 'timestamp' Number )?"`
		Name    string  `parser:"| @(Ident|Quoted)"`
		Expr    *Expr   `parser:"'=' @@"`
		Value   string
	}

	// An Index is a CREATE INDEX. Target is the indexed column, or KEYS, VALUES, ENTRIES or FULL of one, in
	// Part. Using is the class of a custom index or "".
	Index struct {
		Pos         lexer.Position
		IfNotExists bool     `parser:"( @'if' 'not' 'exists' )?"`
		Name        Name     `parser:"@@? 'on'"`
		Table       Name     `parser:"@@"`
		Local       []string `parser:"'(' ( '(' @(Ident|Quoted) ( ',' @(Ident|Quoted) )* ')' ',' )?"` // of ScyllaDB: the partition key
		Part        string   `parser:"( @( 'keys' | 'values' | 'entries' | 'full' ) '('"`
		Target      string   `parser:"@(Ident|Quoted) ')' | @(Ident|Quoted) ) ')'"`
		Using       string   `parser:"( 'using' @(String|Ident) )?"`
		With        []Option `parser:"( 'with' @@ ( 'and' @@ )* )?"`
		Options     string   // CQL as the text has it, or ""
	}
)

// StatementKind says what a statement does.
type StatementKind string

// The kinds of statement.
const (
	Select   StatementKind = "select"
	Insert   StatementKind = "insert"
	Update   StatementKind = "update"
	Delete   StatementKind = "delete"
	Batch    StatementKind = "batch"
	Truncate StatementKind = "truncate"
)
