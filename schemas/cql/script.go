package cql

import (
	"fmt"
	"slices"
	"strings"
)

// A Script is what a CQL text creates and asks, in its order.
type Script struct {
	Keyspaces  []Keyspace
	Tables     []Table
	Types      []UserType
	Indexes    []Index
	Statements []Statement
	Unread     []Unread

	use string // the keyspace of names that do not say it
}

// A Keyspace is a CREATE KEYSPACE.
type Keyspace struct {
	Name    string
	Line    int
	Options []Option
}

// A Name is that of a table, type or index; Keyspace is "" if the text does not say it.
type Name struct{ Keyspace, Name string }

// A Column is a column of a table or a field of a user-defined type.
type Column struct {
	Name   string
	Type   string // as CQL writes it, in one form: map<text, frozen<address>>
	Static bool
	Line   int
}

// A Table is a CREATE TABLE.
type Table struct {
	Name
	Line      int
	Columns   []Column
	Partition []string // the columns of the partition key
	Cluster   []Order  // the clustering columns, with their order
	Options   []Option
	Comments  []string // on the lines right above, without their dashes
}

// An Order is a clustering column with its order.
type Order struct {
	Column     string
	Descending bool
}

// An Option is one setting of a table; Value is CQL as the text has it.
type Option struct {
	Name, Value string
	Line        int
}

// A UserType is a CREATE TYPE.
type UserType struct {
	Name
	Line   int
	Fields []Column
}

// An Index is a CREATE INDEX. Target is the indexed column, or KEYS, VALUES,
// ENTRIES or FULL of one, in Part. Using is the class of a custom index or "".
type Index struct {
	Name
	Table        Name
	Line         int
	Target, Part string
	Using        string
	Options      string // CQL as the text has it, or ""
}

// An Unread statement is one that the package could not read whole.
type Unread struct {
	Line   int    // where the fault is
	Text   string // the statement
	Reason string
}

// Parse reads the statements of source. A statement is in the Script whole,
// or it is Unread. It ends at a semicolon, or where the next line begins another one.
func Parse(source string) Script {
	var s Script
	tokens, notes := lex(source)
	for len(tokens) > 0 {
		end := length(tokens)
		if end > 0 {
			p := &parser{source: source, tokens: tokens[:end], use: s.use}
			s.add(p, above(notes, tokens[0].line))
		}
		tokens = tokens[end:]
		if len(tokens) > 0 && tokens[0].is(";") {
			tokens = tokens[1:]
		}
	}
	return s
}

// above returns the comments on the lines right above a line.
func above(notes map[int]string, line int) []string {
	var all []string
	for line--; ; line-- {
		note, ok := notes[line]
		if !ok {
			slices.Reverse(all)
			return all
		}
		all = append(all, note)
	}
}

// length returns how many tokens the first statement has, without its semicolon.
func length(tokens []token) int {
	p := parser{tokens: tokens}
	batch := p.accept("begin", "batch") || p.accept("begin", "logged", "batch") ||
		p.accept("begin", "unlogged", "batch") || p.accept("begin", "counter", "batch")
	depth := 0
	for i, t := range tokens {
		switch {
		case batch:
			if i > 0 && t.is("batch") && tokens[i-1].is("apply") {
				return i + 1
			}
		case t.is(";"):
			return i
		case i > 0 && depth == 0 && t.line > tokens[i-1].line && begins(t) && !tokens[i-1].is("as"):
			return i
		case t.is("("), t.is("["), t.is("{"):
			depth++
		case t.is(")"), t.is("]"), t.is("}"):
			depth--
		}
	}
	return len(tokens)
}

// begins reports whether a statement can begin with a token.
func begins(t token) bool {
	return t.kind == word && slices.Contains([]string{
		"select", "insert", "update", "delete", "begin", "create", "alter", "drop", "truncate", "use",
	}, t.text)
}

func (s *Script) add(p *parser, comments []string) {
	before := *s
	line := p.tokens[0].line
	p.last = p.tokens[0]
	p.statement = p.source[p.tokens[0].at:p.tokens[len(p.tokens)-1].end]
	if st, ok := p.statementOf(); ok {
		st.Comments = comments
		s.Statements = append(s.Statements, st)
	} else {
		s.create(p, line, comments)
	}
	if p.reason == "" && len(p.tokens) > 0 {
		p.fail(fmt.Sprintf("expected the end of the statement, found %q", p.tokens[0].text))
	}
	if p.reason != "" {
		*s = before
		s.Unread = append(s.Unread, Unread{Line: p.fault, Text: p.statement, Reason: p.reason})
	}
}

// create reads what is no SELECT and no write.
func (s *Script) create(p *parser, line int, comments []string) {
	switch {
	case p.accept("create", "table"), p.accept("create", "columnfamily"):
		t := p.table(line)
		t.Comments = comments
		s.Tables = append(s.Tables, t)
	case p.accept("create", "type"):
		s.Types = append(s.Types, p.userType(line))
	case p.accept("create", "index"), p.accept("create", "custom", "index"):
		s.Indexes = append(s.Indexes, p.index(line))
	case p.accept("create", "keyspace"), p.accept("create", "schema"):
		s.Keyspaces = append(s.Keyspaces, p.createKeyspace(line))
	case p.accept("use"):
		s.use = p.ident()
	default:
		p.fail("not a CREATE KEYSPACE, TABLE, TYPE or INDEX, and no SELECT, INSERT, UPDATE, DELETE or BATCH")
	}
}

// join writes tokens of a type in one form.
func join(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		switch {
		case t.kind == quoted:
			b.WriteString(`"` + strings.ReplaceAll(t.text, `"`, `""`) + `"`)
		case t.kind == text:
			b.WriteString(`'` + strings.ReplaceAll(t.text, `'`, `''`) + `'`)
		case t.is(","):
			b.WriteString(", ")
		default:
			b.WriteString(t.text)
		}
	}
	return b.String()
}
