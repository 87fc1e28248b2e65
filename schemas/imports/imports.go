// Package imports makes a schema from CQL: from the tables of a keyspace, as
// DESCRIBE prints them, and the statements that read and write them.
//
// There is an access pattern for each distinct statement; literals become
// parameters, but for those of LIMIT. Text of a
// table or statement that the schema language does not have is carried in "other", and a statement that cannot
// be read at all in "other" of the schema: nothing is dropped. Tables and
// patterns keep their places in the CQL ("at" and "lines").
//
// The comments right above a statement can say more:
//
//	-- page: the newest first       the pattern's name, and its doc
//	-- accept queue: few messages   a finding of lint that is intended, with the reason
//	-- bucket: day                  of a table: what a column is for (also chunk and salt)
//
// The language is described in package schemas.
package imports

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// A Source is a CQL text with the name of its file.
type Source struct{ File, Text string }

// Result is an imported schema.
type Result struct {
	Schema     *schemas.Schema
	Text       []byte // the schema's file
	Statements int    // how many were read: several equal ones are one pattern
	Unread     []cql.Unread
	Passed     []cql.Unread //  what defines no table of the keyspace and is no access to one
	Read       []Statement  // the statements that were read, in their order
}

// Statement is a statement that was read, with its pattern.
type Statement struct {
	cql.Statement
	Pattern *schemas.Pattern
}

// Import reads tables and statements, both of any of the sources. Keyspace is the one to read; "" is
// the only one that they name.
func Import(keyspace string, sources ...Source) (*Result, error) {
	r, err := imported(keyspace, sources, false)
	if errors.Is(err, errMarks) {
		return imported(keyspace, sources, true)
	}
	return r, err
}

// errMarks: the language does not have the tables as their marks say, but as CQL has them.
var errMarks = errors.New("marks do not fit their tables")

func imported(keyspace string, sources []Source, unmarked bool) (*Result, error) {
	im := importer{
		res: new(Result), schema: &schemas.Schema{Native: "cassandra"}, keyspace: keyspace, unmarked: unmarked,
		tables: make(map[string]*schemas.Table), shapes: make(map[string]*schemas.Pattern), named: make(map[string]bool),
		marks: make(map[*schemas.Table]mark), numbers: make(map[string]int), pages: make(map[string][]*schemas.Pattern),
	}
	scripts, logs := make([]cql.Script, len(sources)), make([]bool, len(sources))
	for i, s := range sources {
		s.Text, logs[i] = fromLog(strings.ToValidUTF8(s.Text, "\uFFFD")) // the schema file is UTF-8
		scripts[i] = cql.Parse(s.File, s.Text)
		im.res.Unread = append(im.res.Unread, scripts[i].Unread...)
		im.res.Passed = append(im.res.Passed, scripts[i].Passed...)
	}
	catalog := new(cql.Catalog)
	for _, s := range scripts { // in their order, so that the last definition of each table counts
		for _, d := range s.Definitions {
			if err := catalog.Apply(d); err != nil {
				im.unread(d.Pos, d.Text, err.Error())
			}
		}
	}
	if err := im.chooseKeyspace(catalog, sources); err != nil {
		return nil, err
	}
	if err := im.create(catalog); err != nil {
		return nil, err
	} else if !im.nest() {
		return nil, errMarks
	}
	for i, s := range scripts {
		foreign := make(map[string]bool) // what a log has of other keyspaces is named once a keyspace
		im.defines = len(s.Definitions) > 0
		for _, st := range s.Statements {
			own := st.Kind == cql.Batch || im.own(st.Table)
			switch err := im.statement(st); {
			case st.Kind == cql.Batch && len(st.Parts) == 0:
				im.pass(st.Pos, st.Text, "a batch without statements does nothing")
			case own && err != nil:
				im.unread(st.Pos, st.Text, err.Error())
			case !own && !(logs[i] && foreign[st.Table.Keyspace]):
				foreign[st.Table.Keyspace] = true
				im.pass(st.Pos, st.Text, err.Error())
			case st.Kind == cql.Truncate && own:
				im.pass(st.Pos, st.Text, "TRUNCATE is no access pattern")
			}
		}
	}
	slices.SortStableFunc(im.res.Unread, func(a, b cql.Unread) int {
		at := func(u cql.Unread) int {
			return slices.IndexFunc(sources, func(s Source) bool { return s.File == u.Pos.Filename })
		}
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.Pos.Line, b.Pos.Line))
	})
	created := func(u cql.Unread) bool { return strings.HasPrefix(strings.ToUpper(u.Text), "CREATE") }
	if len(im.schema.Tables) == 0 && !slices.ContainsFunc(im.res.Unread, created) {
		return nil, errors.New("no CREATE TABLE; expected the output of DESCRIBE KEYSPACE")
	}
	return im.finish()
}

type importer struct {
	res      *Result
	schema   *schemas.Schema
	keyspace string
	tables   map[string]*schemas.Table // by their names in CQL
	shapes   map[string]*schemas.Pattern
	named    map[string]bool               // by the names of all patterns: whether the sources say it
	numbers  map[string]int                // how many patterns got a name that begins with another
	pages    map[string][]*schemas.Pattern // limited slices by their first pages
	marks    map[*schemas.Table]mark
	unmarked bool // the marks do not count
	defines  bool // the file of the statement has tables
}

// chooseKeyspace finds the only keyspace that has tables. The schema has its name, or that of the first file.
func (im *importer) chooseKeyspace(c *cql.Catalog, sources []Source) error {
	var names []string
	for _, t := range c.Tables {
		if k := t.Keyspace; k != "" && !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	switch {
	case im.keyspace == "" && len(names) > 1:
		return fmt.Errorf("there are tables of %d keyspaces (%s); name one with --keyspace", len(names), strings.Join(names, ", "))
	case im.keyspace == "" && len(names) == 1:
		im.keyspace = names[0]
	case im.keyspace != "" && len(names) > 0 && !slices.Contains(names, im.keyspace):
		return fmt.Errorf("there are no tables of keyspace %s, but of %s", im.keyspace, strings.Join(names, ", "))
	}
	name := im.keyspace
	if name == "" && len(sources) > 0 {
		base := filepath.Base(sources[0].File)
		name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	name = strings.TrimLeft(notName.ReplaceAllString(name, "_"), "_.-0123456789")
	im.schema.Name = cmp.Or(strings.TrimRight(name[:min(len(name), maxName)], "_.-"), "imported")
	return nil
}

var notName = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// own reports whether a name is of the keyspace that is imported.
func (im *importer) own(n cql.Name) bool {
	return n.Keyspace == "" || im.keyspace == "" || n.Keyspace == im.keyspace
}

func at(pos lexer.Position) *schemas.Pos {
	return &schemas.Pos{File: filepath.ToSlash(pos.Filename), Line: pos.Line, Column: 1}
}

func (im *importer) unread(pos lexer.Position, text, reason string) {
	im.res.Unread = append(im.res.Unread, cql.Unread{Pos: pos, Text: text, Reason: reason})
}

func (im *importer) pass(pos lexer.Position, text, reason string) {
	im.res.Passed = append(im.res.Passed, cql.Unread{Pos: pos, Text: text, Reason: reason})
}

// finish adds what could not be read to the schema, and reads the schema's text.
func (im *importer) finish() (*Result, error) {
	for _, u := range im.res.Unread {
		im.schema.AddUnread(*at(u.Pos), u.Reason, u.Text)
	}
	written := make(map[*schemas.Table]bool) // by more than rows of the file: else these are the only example of a write
	for _, p := range im.schema.Patterns {
		if (p.Kind == schemas.Put || p.Kind == schemas.PutIf) && !p.Seed() {
			written[p.Table] = true
		}
	}
	for _, p := range im.schema.Patterns {
		p.Other = slices.DeleteFunc(p.Other, func(s schemas.Setting) bool { return s.Name == "seed" && !written[p.Table] })
	}
	if im.res.Schema = im.schema; len(im.schema.Tables) == 0 { // no schema file, but lint names what could not be read
		return im.res, nil
	}
	im.res.Text = schemas.Format(im.schema)
	s, err := schemas.Parse(im.schema.Name+".yaml", im.res.Text)
	if err != nil {
		return nil, fmt.Errorf("the imported schema is not one; this is a defect of mailbench: %w", err)
	}
	patterns := make(map[string]*schemas.Pattern)
	for _, p := range s.Patterns {
		patterns[p.Name] = p
	}
	for i, read := range im.res.Read {
		im.res.Read[i].Pattern = patterns[read.Pattern.Name]
	}
	im.res.Schema, im.res.Text = s, schemas.Format(s)
	return im.res, nil
}

// refused says why the language cannot have tables, or patterns with theirs, or nil.
func (im *importer) refused(tables []*schemas.Table, patterns ...*schemas.Pattern) error {
	s := &schemas.Schema{Name: "a", Native: im.schema.Native, Types: im.schema.Types, Patterns: patterns}
	for _, p := range patterns {
		tables = append(tables, p.Table)
	}
	for _, t := range tables {
		for ; t != nil && !slices.Contains(s.Tables, t); t = t.Parent {
			s.Tables = append(s.Tables, t)
		}
	}
	_, err := schemas.Parse("", schemas.Format(s))
	var faults schemas.Errors
	if errors.As(err, &faults) {
		text, _, _ := strings.Cut(faults[0].Text(), "; expected one of text, blob, ") // all types
		return errors.New(text)
	}
	return err
}

// notes are what the comments above a statement say.
type notes struct {
	name, doc string
	accept    []schemas.Acceptance
	purposes  map[schemas.Purpose][]string
	rows      []string // YAML, as in the list rows of a table
	many      bool     // "batch: many": a batch has as many of its statements as a list has elements
}

var (
	acceptNote = regexp.MustCompile(`^accept (?:([a-z-]+): *(.*)|[a-z]+(?:-[a-z]+)+|queue)$`)
	nameNote   = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_.-]*):(?: +(.*))?$`)
	sqlcNote   = regexp.MustCompile(`^name: *([A-Za-z][A-Za-z0-9_.-]*)\b *(:\w+)? *$`) // as sqlc names queries
)

// readNotes reads the comments above a statement, or above a table: those say more.
func (im *importer) readNotes(pos lexer.Position, comments []string, table bool) (n notes) {
	var doc []string
	n.purposes = make(map[schemas.Purpose][]string)
	for _, c := range comments {
		accept, sqlc := acceptNote.FindStringSubmatch(c), sqlcNote.FindStringSubmatch(c)
		named := nameNote.FindStringSubmatch(c)
		switch {
		case accept != nil && accept[2] == "":
			im.unread(pos, "-- "+c, "it has no reason; expected -- accept RULE: REASON")
		case accept != nil:
			n.accept = append(n.accept, schemas.Acceptance{Rule: accept[1], Reason: accept[2]})
		case c == "batch: many":
			n.many = true
		case sqlc != nil && n.name == "":
			n.name = sqlc[1]
		case table && named != nil && slices.Contains(schemas.Purposes, schemas.Purpose(named[1])): // [] says that none is
			columns := strings.NewReplacer("[", "", "]", "", ",", " ").Replace(named[2])
			n.purposes[schemas.Purpose(named[1])] = strings.Fields(columns)
		case table && named != nil && named[1] == "rows":
			n.rows = append(n.rows, named[2])
		case named != nil && n.name == "" && len(doc) == 0:
			if n.name = named[1]; named[2] != "" {
				doc = append(doc, named[2])
			}
		case c != "":
			doc = append(doc, c)
		}
	}
	if len(n.name) > maxName-4 { // the doc keeps all of it
		doc = append([]string{n.name + ":"}, doc...)
		n.name = strings.TrimRight(n.name[:maxName-4], "_.-")
	}
	n.doc = strings.Join(doc, " ")
	return n
}

// nameOf makes a name for a pattern that has none.
func nameOf(p *schemas.Pattern) string {
	words, columns := []string{verbs.Replace(p.Kind.String())}, []*schemas.Column(nil)
	for _, part := range p.Parts {
		words = append(words, part.Pattern.Table.Name)
	}
	if p.Table != nil {
		words = append(words, p.Table.Name)
	}
	switch {
	case p.Kind == schemas.Get || p.Kind == schemas.Slice:
		words, columns = []string{p.Table.Name, "by"}, slices.Clone(p.By)
		if p.In != nil {
			columns = append(columns, p.In)
		}
		columns = append(columns, p.Filter...)
	case p.Kind == schemas.Scan:
		columns = p.Filter
	case p.Kind == schemas.Put && len(p.Columns) < len(p.Table.Columns) && len(p.Columns) <= 2:
		columns = p.Columns
	case p.Absent:
		words[0] = "create"
	case p.Kind == schemas.Delete && p.Scope != schemas.ScopeRow:
		words, columns = append(words, "by"), p.By
	}
	return strings.Join(append(words, schemas.Names(columns)...), "_")
}

// verbs are kinds of patterns as names of patterns have them.
var verbs = strings.NewReplacer("increment", "add", "remove-element", "remove", "put-if", "change", "scan", "all")

// free returns the name, or one like it that no pattern has.
func (im *importer) free(name string) string {
	name = strings.TrimRight(name[:min(len(name), maxName-4)], "_.-")
	tried := name
	for _, taken := im.named[tried]; taken; _, taken = im.named[tried] {
		im.numbers[name]++
		tried = fmt.Sprintf("%s_%d", name, im.numbers[name]+1)
	}
	return tried
}
