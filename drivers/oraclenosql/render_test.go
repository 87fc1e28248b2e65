package oraclenosql

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

var update = flag.Bool("update", false, "write the golden file anew")

// TestRender pins the DDL of a schema with everything, and checks it and that of each
// bundled schema as the server would.
func TestRender(t *testing.T) {
	src, err := os.ReadFile("testdata/all.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, err := schemas.Parse("all.yaml", src)
	if err != nil {
		t.Fatal(err)
	}
	text := rendered(t, all)
	const golden = "testdata/all.sql"
	if *update {
		err = os.WriteFile(golden, []byte(text), 0o644)
	}
	want, rerr := os.ReadFile(golden)
	if err := errors.Join(err, rerr); err != nil {
		t.Fatal(err)
	}
	if string(want) != text {
		t.Errorf("the DDL differs from %s; -update writes it anew:\n%s", golden, text)
	}
	names := schemas.BundledVariants("")
	for _, name := range schemas.BundledVariants("") {
		names = append(names, schemas.BundledVariants(name)...)
	}
	for _, name := range names {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		rendered(t, s)
	}
}

func rendered(t *testing.T, s *schemas.Schema) string {
	t.Helper()
	server := newServer()
	defer func() { sameTables(t, s, server) }()
	text, err := Engine().Render(s, drivers.Options{Namespace: "run"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.run(text); err != nil {
		t.Errorf("schema %s: %v, in\n%s", s.Name, err, text)
	}
	return text
}

var comments = regexp.MustCompile(`COMMENT '[^']*' `)

// sameTables checks that the statements of the missing tables create what Render does, with marks.
func sameTables(t *testing.T, s *schemas.Schema, rendered *server) {
	t.Helper()
	l, err := newLayout(s, "run", "")
	if err != nil {
		t.Fatal(err)
	}
	p := new(Store).placeOf(l, nil)
	statements, _, err := p.Create(schemas.Diff(p.Want, p.Have))
	if err != nil {
		t.Fatal(err)
	}
	applied := newServer()
	text := strings.Join(statements, ";\n") + ";"
	if err := applied.run(comments.ReplaceAllString(text, "")); err != nil {
		t.Errorf("schema %s: %v, in\n%s", s.Name, err, text)
	}
	if n := len(comments.FindAllString(text, -1)); n != len(l.all) || !maps.EqualFunc(applied.tables, rendered.tables,
		func(a, b *created) bool { return slices.Equal(a.key, b.key) && maps.Equal(a.types, b.types) }) {
		t.Errorf("schema %s: %d marks of %d tables; apply creates\n%s", s.Name, n, len(l.all), text)
	}
}

// TestOtherIndex: an index over other columns is created again, with no change of its table.
func TestOtherIndex(t *testing.T) {
	s, err := schemas.Parse("x.yaml", []byte("schema: 1\nname: x\ntables: "+
		"{a: {partition: [p text], columns: {v: int, w: int}, indexes: {by-v: [v, w]}}}"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLayout(s, "", "n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"DROP INDEX by_v ON n:a", "CREATE INDEX IF NOT EXISTS by_v ON n:a (v, w)"}
	other := schemas.Difference{Kind: schemas.DifferentIndex, Table: "a", Part: "by-v", Want: "v, w", Have: "w"}
	if got := l.statements(other); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if other.Have = "v, w desc"; !strings.HasPrefix(l.statements(other)[0], "# no statement") {
		t.Errorf("of another direction: %q", l.statements(other))
	}
}

// TestRefused: a schema that Oracle would not accept is an error.
func TestRefused(t *testing.T) {
	for tables, want := range map[string]string{
		"{a: {partition: [p text]}, A: {partition: [p text]}}":                                                                          "tables a and A would both be A",
		"{a: {partition: [p text], clustering: [k int]}, b.c: {parent: a, clustering: [j int]}, d.c: {parent: a, clustering: [j int]}}": "both be a.c",
	} {
		s, err := schemas.Parse("x.yaml", []byte("schema: 1\nname: x\ntables: "+tables))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Engine().Render(s, drivers.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", tables, err, want)
		}
	}
}

// server checks statements as the server does: by its grammar (KVQL.g4) and by
// TableImpl.validate.
type server struct {
	tokens     []string
	namespaces []string
	tables     map[string]*created // by namespace:path
}

type created struct {
	key   []string // inherited columns first
	types map[string]string
}

func newServer() *server { return &server{tables: make(map[string]*created)} }

// run runs statements until one is refused.
func (s *server) run(text string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v, before %.60q", r, strings.Join(s.tokens, " "))
		}
	}()
	s.tokens = tokens(text)
	for len(s.tokens) > 0 {
		s.take("CREATE")
		switch kind := s.name(); kind {
		case "NAMESPACE":
			s.take("IF", "NOT", "EXISTS")
			s.namespaces = append(s.namespaces, s.name())
		case "TABLE":
			s.take("IF", "NOT", "EXISTS")
			s.table()
		case "INDEX":
			s.take("IF", "NOT", "EXISTS")
			s.name()
			s.take("ON")
			t := s.tables[s.tableName()]
			for _, c := range s.list() {
				if typ := t.types[c]; typ == "" || strings.HasPrefix(typ, "BINARY") || strings.HasPrefix(typ, "MAP") || strings.HasPrefix(typ, "ARRAY") {
					panic(fmt.Sprintf("an index over %s, which is %q", c, typ))
				}
			}
		default:
			panic("create " + kind)
		}
		s.take(";")
	}
	return nil
}

// tokens splits a text into names, numbers and signs, without comments.
func tokens(text string) []string {
	var plain strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		plain.WriteString(line + "\n")
	}
	signs := strings.NewReplacer("(", " ( ", ")", " ) ", ",", " , ", ";", " ; ", ":", " : ", ".", " . ")
	return strings.Fields(signs.Replace(plain.String()))
}

func (s *server) next() string {
	word := s.tokens[0]
	s.tokens = s.tokens[1:]
	return word
}

func (s *server) take(words ...string) {
	for _, w := range words {
		if got := s.next(); got != w {
			panic(fmt.Sprintf("%q where %q is expected", got, w))
		}
	}
}

// name takes an identifier: a letter, then letters, digits and underscores, and no
// reserved word.
func (s *server) name() string {
	word := s.next()
	for i, r := range word {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '_' && (r < '0' || r > '9')) {
			panic(fmt.Sprintf("%q is no identifier", word))
		}
	}
	if slices.Contains([]string{
		"CASCADE", "FORCE", "JOIN", "LEFT", "MAXVALUE", "MINVALUE", "ONLY", "OUTER", "UUID", "NULL", "FALSE", "TRUE",
	}, strings.ToUpper(word)) {
		panic(fmt.Sprintf("%q is a word of the language", word))
	}
	return word
}

func (s *server) tableName() string {
	namespace := s.name()
	if !slices.Contains(s.namespaces, namespace) {
		panic("there is no namespace " + namespace)
	}
	s.take(":")
	path := s.name()
	for s.tokens[0] == "." {
		s.next()
		path += "." + s.name()
	}
	return namespace + ":" + path
}

func (s *server) list() (names []string) {
	s.take("(")
	for {
		names = append(names, s.name())
		if s.tokens[0] != "," {
			s.take(")")
			return names
		}
		s.next()
	}
}

func (s *server) table() {
	name := s.tableName()
	t := &created{types: make(map[string]string)}
	child := strings.Contains(name, ".")
	if child {
		parent := s.tables[name[:strings.LastIndexByte(name, '.')]]
		if parent == nil {
			panic("there is no parent of table " + name)
		}
		for _, k := range parent.key {
			t.key = append(t.key, k)
			t.types[k] = parent.types[k]
		}
	}
	if s.tables[name] != nil {
		panic("table " + name + " is there")
	}
	s.tables[name] = t
	seen := make(map[string]bool)
	for k := range t.types {
		seen[strings.ToLower(k)] = true
	}
	for s.take("("); s.tokens[0] != "PRIMARY"; s.take(",") {
		column := s.name()
		if seen[strings.ToLower(column)] {
			panic("column " + column + " is there twice")
		}
		seen[strings.ToLower(column)] = true
		t.types[column] = s.typ()
		if s.tokens[0] == "AS" {
			s.take("AS", "UUID")
		}
	}
	s.take("PRIMARY", "KEY", "(")
	inherited := len(t.key)
	if s.tokens[0] == "SHARD" {
		s.next()
		if child {
			panic("a shard key of child table " + name)
		}
		t.key = s.list()
	}
	for s.tokens[0] != ")" {
		if s.tokens[0] == "," {
			s.next()
		}
		t.key = append(t.key, s.name())
	}
	s.take(")", ")")
	if len(t.key) == inherited {
		panic("child table " + name + " needs a key column of its own")
	}
	for _, k := range t.key {
		switch t.types[k] {
		case "STRING", "INTEGER", "LONG", "BOOLEAN", "TIMESTAMP(6)":
		default:
			panic(fmt.Sprintf("key column %s of table %s is %q", k, name, t.types[k]))
		}
	}
}

func (s *server) typ() string {
	switch t := s.next(); t {
	case "STRING", "INTEGER", "LONG", "BOOLEAN", "BINARY":
		return t
	case "TIMESTAMP":
		s.take("(", "6", ")")
		return "TIMESTAMP(6)"
	case "ARRAY", "MAP":
		s.take("(")
		t += "(" + s.typ() + ")"
		s.take(")")
		return t
	default:
		panic("type " + t)
	}
}
