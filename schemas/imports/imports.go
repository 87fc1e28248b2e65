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
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/words"
)

// A Source is a CQL text with the name of its file.
type Source struct{ File, Text string }

// Result is an imported schema.
type Result struct {
	Schema *schemas.Schema
	Text   []byte // the schema's file
	Unread []cql.Unread
	Passed []cql.Unread // what defines no table of the keyspace and is no access to one
	Read   []Statement  // the statements that were read, in their order: several equal ones are one pattern
}

// Statement is a statement that was read, with its pattern.
type Statement struct {
	cql.Statement
	Pattern *schemas.Pattern
}

// Import reads tables and statements, both of any of the sources. Keyspace is the one to read; "" is
// the only one that they name.
func Import(keyspace string, sources ...Source) (*Result, error) {
	im := importer{
		res: new(Result), schema: &schemas.Schema{Native: "cassandra"}, keyspace: keyspace,
		shapes: make(map[string]*schemas.Pattern), named: make(map[string]bool),
		pages: make(map[string]*schemas.Pattern),
	}
	scripts := make([]cql.Script, len(sources))
	for i, s := range sources {
		text := strings.ToValidUTF8(s.Text, "\uFFFD") // the schema file is UTF-8
		scripts[i] = cql.Parse(s.File, fromLog(text))
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
	im.create(catalog)
	for _, s := range scripts {
		im.defines = len(s.Definitions) > 0
		for _, st := range s.Statements {
			im.statement(st)
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
	shapes   map[string]*schemas.Pattern
	named    map[string]bool             // by the names of all patterns: whether the sources say it
	pages    map[string]*schemas.Pattern // limited slices by their first pages
	defines  bool                        // the file of the statement has tables
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

func (im *importer) pass(st cql.Statement, reason string) {
	im.res.Passed = append(im.res.Passed, cql.Unread{Pos: st.Pos, Text: st.Text, Reason: reason})
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
	s, err := schemas.Parse(im.schema.Name+".yaml", schemas.Format(im.schema))
	if err != nil {
		return nil, fmt.Errorf("the imported schema is not one; this is a defect of mailbench: %w", err)
	}
	for i, read := range im.res.Read {
		im.res.Read[i].Pattern = s.Pattern(read.Pattern.Name)
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

// digits are the numbers in names of migrations: V10 comes after V9.
var digits = regexp.MustCompile(`[0-9]+`)

// migrations returns the files that a name means, in the order in which they are applied: those of a
// folder or pattern by their numbers, without what would take them back (NAME.down.cql).
func migrations(name string) (files []string, err error) {
	pattern := name
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		pattern = filepath.Join(name, "*.cql")
	} else if err == nil || !strings.ContainsAny(name, "*?[") {
		return []string{name}, nil
	}
	if files, err = filepath.Glob(pattern); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".down.cql") })
	if len(files) == 0 {
		return nil, fmt.Errorf("no file %s", pattern)
	}
	padded := func(s string) string {
		return digits.ReplaceAllStringFunc(s, func(n string) string { return fmt.Sprintf("%020s", n) })
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(padded(a), padded(b)) })
	return files, nil
}

// Read reads files of CQL of up to so many bytes: files, or folders and patterns of migrations.
func Read(most int64, names ...string) (all []Source, err error) {
	for _, name := range names {
		files, err := migrations(name)
		if err != nil {
			return nil, fmt.Errorf("read CQL: %w", err)
		}
		for _, file := range files {
			text, err := plainfile.Read(file, most)
			if at := bytes.IndexByte(text, 0); at >= 0 {
				err = fmt.Errorf("%s is no text: it has a zero at byte %d; expected CQL, or a log as text", file, at)
			}
			if err != nil {
				return nil, fmt.Errorf("read CQL: %w", err)
			}
			all = append(all, Source{File: file, Text: string(text)})
		}
	}
	return all, nil
}

// WriteUnread names the statements that could not be read.
func (r *Result) WriteUnread(w io.Writer) {
	for _, u := range r.Unread {
		fmt.Fprintf(w, "%s:%d: not read: %s\n", u.Pos.Filename, u.Pos.Line, u.Reason)
	}
}

// WritePassed names what defines no table of the keyspace and is no access to one, for each reason once a file.
func (r *Result) WritePassed(w io.Writer) {
	type reason struct{ file, text string }
	left := make(map[reason]int)
	for _, u := range r.Passed {
		left[reason{u.Pos.Filename, u.Reason}]++
	}
	for _, u := range r.Passed {
		why, more := reason{u.Pos.Filename, u.Reason}, ""
		if left[why] > 1 {
			more = fmt.Sprintf(" (and %d more)", left[why]-1)
		}
		if left[why] > 0 {
			fmt.Fprintf(w, "%s:%d: not checked: %s%s\n", u.Pos.Filename, u.Pos.Line, u.Reason, more)
		}
		left[why] = 0
	}
}

// Summary says what was imported.
func (r *Result) Summary() string {
	carried := len(r.Schema.Other) - len(r.Unread)
	for _, t := range r.Schema.Tables {
		carried += len(t.Other)
	}
	for _, p := range r.Schema.Patterns {
		for _, clause := range p.Other {
			if !clause.Aside() { // which rules read
				carried++
			}
		}
	}
	return fmt.Sprintf("%s: %s, %s from %s; %s kept as text, not checked (other)", r.Schema.Name,
		words.Plural(len(r.Schema.Tables), "table"), words.Plural(len(r.Schema.Patterns), "pattern"),
		words.Plural(len(r.Read), "statement"), words.Plural(carried, "setting"))
}

// Logs of Cassandra that have statements among other lines. fromLog leaves each statement on its lines
// and makes all other lines empty, so that findings point at the log.
//
// A full query log as "fqltool dump" prints it:
//
//	Type: single-query
//	Query start time: 1700000000000
//	…
//	Query: SELECT id FROM messages WHERE box = ?
//	Values:
//	00000000 62 6f 78 …
//
// An audit log, also as log4j and "auditlogviewer" write it:
//
//	user:a|host:…|timestamp:1700000000000|type:SELECT|category:QUERY|ks:shop|scope:messages|operation:SELECT …
var (
	dumped  = regexp.MustCompile(`(?m)^Type: (single-query|batch)\r?\nQuery start time: `)
	audited = regexp.MustCompile(`(?m)user:.*\|timestamp:\d+\|type:\w+\|category:(\w+)` +
		`(?:\|batch:([^|]*))?(?:\|ks:([^|]*))?(?:\|scope:[^|]*)?\|operation:(.*)$`)
	others = regexp.MustCompile(`(?i)^\s*(create|alter|drop|truncate|grant|revoke|list|use|describe)\s`) // none of an application's
	// another begins what is no line of the statement above it: its values, an entry, a line of auditlogviewer, or
	// another line of Cassandra's own log.
	another = regexp.MustCompile(`user:.*\|timestamp:\d+\|type:\w+\|category:\w+|^(Type|LogMessage): |^Values:\s*$|` +
		`^(TRACE|DEBUG|INFO|WARN|ERROR) +(\[|\d{4}-)`)
)

// logged is a statement in a log.
type logged struct {
	line   int
	text   string
	before string // what begins it, or its batch: USE, BEGIN BATCH
	from   int    // the line of that
	batch  string // of which batch it is a part, or ""
}

// fromLog returns the statements of a log as CQL, equal ones once, or text that is no log as it is.
func fromLog(text string) string {
	if !dumped.MatchString(text) && !audited.MatchString(text) {
		return text
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	out, seen := make([]string, len(lines)), make(map[string]bool)
	for all, n := entries(lines), 0; len(all) > 0; all = all[n:] {
		first := all[0]
		for n = 1; n < len(all) && first.batch != "" && all[n].batch == first.batch; n++ {
		}
		whole := first.before
		for _, st := range all[:n] {
			whole += st.text
		}
		if seen[whole] {
			continue
		}
		seen[whole] = true
		end := 0
		for _, st := range all[:n] {
			end = st.line + copy(out[st.line:], strings.Split(st.text, "\n")) - 1
		}
		if out[first.from] = first.before + out[first.from]; first.batch != "" {
			out[end] += " APPLY BATCH;"
		}
	}
	return strings.Join(out, "\n")
}

// entries returns what reads, writes or is prepared. A batch of an audit log that a driver sent is an entry that says
// so, and one for each part.
func entries(lines []string) (all []logged) {
	var batch logged // of a dump
	for i := 0; i < len(lines); i++ {
		text, dumped := strings.CutPrefix(lines[i], "Query: ")
		kind, begins := strings.CutPrefix(lines[i], "Batch type: ")
		m := audited.FindStringSubmatch(lines[i])
		st, accesses := batch, false
		switch {
		case dumped && batch.batch == "":
			st.from, accesses = i, !others.MatchString(text)
		case dumped:
			accesses = true
		case m != nil:
			text = m[4]
			st = logged{from: i, batch: m[2]}
			accesses = slices.Contains([]string{"QUERY", "DML", "PREPARE"}, m[1]) && !strings.HasPrefix(text, "BatchId:[")
			if m[3] != "" {
				st.before = "USE " + cql.Quote(m[3]) + "; "
			}
			if m[2] != "" {
				st.before += "BEGIN BATCH "
			}
		case begins:
			batch = logged{before: "BEGIN " + strings.TrimSpace(kind) + " BATCH", from: i, batch: strconv.Itoa(i)}
		case strings.HasPrefix(lines[i], "Type: "):
			batch = logged{}
		}
		if !accesses {
			continue
		}
		for st.line = i; i+1 < len(lines) && !another.MatchString(lines[i+1]); i++ {
			text += "\n" + lines[i+1]
		}
		st.text = strings.TrimRight(text, "; \r\n") + ";"
		all = append(all, st)
	}
	return all
}
