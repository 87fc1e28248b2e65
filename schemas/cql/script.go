package cql

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// A Script is the definitions and statements of a CQL text, in its order.
type Script struct {
	Definitions []Definition
	Statements  []Statement
	Unread      []Unread
	Passed      []Unread // what defines no table and reads no row, such as CREATE ROLE

	use string // the keyspace of names that do not say it
}

// An Unread statement is one that the package could not read whole.
type Unread struct {
	Pos    lexer.Position // where the fault is
	Text   string         // the statement
	Reason string
}

// Bounds of a statement: open brackets, and tokens. A larger one is no CQL of an application.
const (
	mostNested = 100
	mostTokens = 50_000
)

// Parse reads the statements of source. A statement is in the Script whole, or it is Unread. It ends at a
// semicolon, or where the next line begins another one.
func Parse(file, source string) Script {
	var s Script
	tokens, notes := lex(file, source)
	for len(tokens) > 0 {
		if end := length(tokens); end > 0 {
			var above []string // the comments on the lines right above
			line := tokens[0].Pos.Line - 1
			for note, ok := notes[line]; ok; note, ok = notes[line] {
				above = append(above, note)
				line--
			}
			slices.Reverse(above)
			s.add(source, tokens[:end], above)
			tokens = tokens[end:]
		}
		if len(tokens) > 0 && tokens[0].Value == ";" {
			tokens = tokens[1:]
		}
	}
	return s
}

// lex divides source into tokens and leaves out spaces and comments. notes are the comments that have a
// line of their own, by that line.
func lex(file, source string) (tokens []lexer.Token, notes map[int]string) {
	notes = make(map[int]string)
	in, err := words.LexString(file, source)
	for err == nil {
		var t lexer.Token
		if t, err = in.Next(); err != nil || t.EOF() {
			break
		}
		switch t.Type {
		case spaceToken:
			continue
		case commentToken:
			if len(tokens) == 0 || tokens[len(tokens)-1].Pos.Line < t.Pos.Line {
				for i, line := range strings.Split(strings.TrimSuffix(t.Value, "*/"), "\n") {
					notes[t.Pos.Line+i] = strings.TrimSpace(strings.TrimLeft(line, "-/* \t"))
				}
			}
			continue
		}
		tokens = append(tokens, t)
	}
	return tokens, notes
}

// is reports whether tokens begin with words; "" is any word.
func is(tokens []lexer.Token, words ...string) bool {
	for i, w := range words {
		if i == len(tokens) || w != "" && !strings.EqualFold(tokens[i].Value, w) {
			return false
		}
	}
	return true
}

// length returns how many tokens the first statement has, without its semicolon.
func length(tokens []lexer.Token) int {
	isBatch := is(tokens, "begin", "batch") || is(tokens, "begin", "", "batch")
	depth := 0
	for i, t := range tokens {
		switch {
		case isBatch:
			if i > 0 && is(tokens[i-1:], "apply", "batch") {
				return i + 1
			}
		case t.Value == ";":
			return i
		case i > 0 && depth == 0 && t.Pos.Line > tokens[i-1].Pos.Line && begins(tokens[i:]) && !is(tokens[i-1:], "as"):
			return i
		case slices.Contains([]string{"(", "[", "{"}, t.Value):
			depth++
		case slices.Contains([]string{")", "]", "}"}, t.Value):
			depth--
		}
	}
	return len(tokens)
}

// begins reports whether a statement can begin with a token. ALTER and DROP are also parts of one.
func begins(tokens []lexer.Token) bool {
	switch first := strings.ToLower(tokens[0].Value); first {
	case "alter", "drop":
		kinds := []string{"table", "columnfamily", "type", "keyspace", "schema", "index", "materialized", "role", "user"}
		return len(tokens) > 2 && slices.Contains(kinds, strings.ToLower(tokens[1].Value)) && tokens[2].Value != ";"
	default:
		all := []string{"select", "insert", "update", "delete", "begin", "create", "truncate", "use", "grant"}
		return slices.Contains(all, first)
	}
}

// passed matches the first words of statements that change no table and are no access to one.
var passed = regexp.MustCompile(`^(?:(?:create|alter|drop) (?:or replace )?` +
	`(?:function|aggregate|role|user|trigger|service_level|service level|identity)|grant|revoke|list|describe|desc|` +
	`consistency|serial consistency|capture|copy|show|login|tracing|paging|expand|elapsed|unicode|history|debug|` +
	`clear|cls|help|exit|quit|attach|detach|prune materialized view|comment on|add identity)\b`)

func (s *Script) add(source string, tokens []lexer.Token, comments []string) {
	last := tokens[len(tokens)-1]
	end := last.Pos
	end.Advance(last.Value)
	text := source[tokens[0].Pos.Offset:end.Offset]
	r := reading{source: source, use: s.use}
	var first []string
	for _, t := range tokens[:min(len(tokens), 4)] {
		first = append(first, strings.ToLower(t.Value))
	}
	if m := passed.FindString(strings.Join(first, " ")); m != "" {
		why := strings.ToUpper(m) + " is neither a table nor an access to one"
		s.Passed = append(s.Passed, Unread{tokens[0].Pos, text, why})
		return
	}
	parsed, err := parse(tokens, end)
	var st *Statement
	switch {
	case err != nil:
		r.fail(err.Position(), "%s", reason(err, first))
	case parsed.Use != "":
		s.use = parsed.Use
		return
	case parsed.Definition != nil:
		parsed.Definition.Text, parsed.Definition.Comments = text, comments
		r.define(parsed.Definition)
	case parsed.Batch != nil:
		b := parsed.Batch
		st = &Statement{Kind: Batch, Pos: tokens[0].Pos, Text: text, Using: r.using(b.Using), Parts: b.Parts}
		st.Batch = cmp.Or(b.Kind, "logged")
		each(st.Parts, r.statement)
		for _, part := range st.Parts {
			if part.Kind == Select || part.Kind == Truncate {
				r.fail(part.Pos, "expected \"apply\", found %q", part.Kind)
			}
		}
	default:
		st = parsed.Statement
		r.statement(st)
	}
	switch {
	case r.fault != nil:
		r.fault.Text = text
		s.Unread = append(s.Unread, *r.fault)
	case parsed.Definition != nil:
		s.Definitions = append(s.Definitions, *parsed.Definition)
	default:
		st.Comments = comments
		s.Statements = append(s.Statements, *st)
	}
}

// parse reads the tokens of one statement. To the grammar a word is in lower case, a quoted name has no
// quotes, and a Space that ends each token says where.
func parse(tokens []lexer.Token, end lexer.Position) (*anything, participle.Error) {
	if len(tokens) > mostTokens {
		return nil, participle.Errorf(tokens[0].Pos, "a statement of more than %d words and signs", mostTokens)
	}
	var all replay
	var depth, open int
	for _, t := range tokens {
		raw := t
		switch {
		case t.Type == badToken:
			return nil, participle.Errorf(t.Pos, "a quote or comment that nothing closes, or a strange character: %.20q", t.Value)
		case t.Type == identToken, t.Type == reservedToken:
			t.Value = strings.ToLower(t.Value)
		case t.Type == quotedToken:
			t.Value = strings.ReplaceAll(t.Value[1:len(t.Value)-1], `""`, `"`)
		case t.Type == signToken && strings.ContainsAny(t.Value, "([{<"):
			if t.Value[0] != '<' {
				open++
			}
			if depth++; depth > mostNested {
				return nil, participle.Errorf(t.Pos, "more than %d brackets in each other", mostNested)
			}
		case t.Type == signToken && strings.ContainsAny(t.Value, ")]}>"):
			if t.Value[0] != '>' {
				open--
			}
			depth = max(depth-1, 0)
		}
		space := lexer.Token{Type: spaceToken, Pos: raw.Pos}
		space.Pos.Advance(raw.Value)
		all = append(all, t, space)
	}
	all = append(all, lexer.EOFToken(end))
	in, err := lexer.Upgrade(&all, spaceToken)
	if err != nil {
		return nil, participle.Wrapf(end, err, "read tokens")
	}
	parsed, err := grammar.ParseFromLexer(in)
	switch {
	case err == nil:
		return parsed, nil
	case open != 0:
		return nil, participle.Errorf(err.(participle.Error).Position(), "the brackets do not match")
	}
	return nil, err.(participle.Error)
}

// replay gives tokens to the grammar once more.
type replay []lexer.Token

func (r *replay) Next() (lexer.Token, error) {
	t := (*r)[0]
	if len(*r) > 1 {
		*r = (*r)[1:]
	}
	return t, nil
}

// expected finds what the grammar expects first.
var expected = regexp.MustCompile(`^unexpected token .*? \(expected [(~!]*("[^"]+"|\w+|<\w+>)`)

// parts are the words of CQL for parts of the grammar. A part that begins with one of several words has the first.
var parts = map[string]string{
	"<ident>": "a name", "<quoted>": "a name", "Name": "a name", "Named": "a name", "Type": "a type", "Column": "a column",
	`"json"`: `"("`, // of an INSERT
	`"?"`:    "a value", "Expr": "a value", "Value": "a value", `"between"`: "a comparison", "Relation": "a comparison",
	"Using": "TTL or TIMESTAMP", `"ttl"`: "TTL or TIMESTAMP", `"timeout"`: "TTL or TIMESTAMP", "Assignment": "a change", "Element": "a column", "Option": "a setting",
}

// reason says in the words of CQL what the grammar did not expect.
func reason(err error, first []string) string {
	var u *participle.UnexpectedTokenError
	if !errors.As(err, &u) {
		return strings.TrimPrefix(err.(participle.Error).Message(), ": ")
	}
	found := fmt.Sprintf("found %q", u.Unexpected.Value)
	if u.Unexpected.EOF() {
		found = "found the end of the statement"
	}
	m := expected.FindStringSubmatch(u.Message())
	switch {
	case m == nil && u.Unexpected.Value == first[0], m != nil && (m[1] == "Create" || m[1] == "Alter" || m[1] == "Drop"):
		return fmt.Sprintf("%s is not read; expected CREATE, ALTER or DROP of a table, type or index, SELECT, INSERT, UPDATE, "+
			"DELETE, BATCH or TRUNCATE", strings.ToUpper(strings.Join(first[:min(len(first), 2)], " ")))
	case m == nil:
		return "expected the end of the statement, " + found
	}
	return fmt.Sprintf("expected %s, %s", cmp.Or(parts[m[1]], m[1]), found)
}

// A reading makes what the package returns of what the grammar read, up to the first fault.
type reading struct {
	source string
	use    string // the keyspace of names that do not say it
	fault  *Unread
}

func (r *reading) fail(pos lexer.Position, format string, args ...any) {
	if r.fault == nil {
		r.fault = &Unread{Pos: pos, Reason: fmt.Sprintf(format, args...)}
	}
}

func (r *reading) text(from, to lexer.Position) string { return r.source[from.Offset:to.Offset] }

// in gives a name the keyspace of USE.
func (r *reading) in(n Name) Name {
	if n.Keyspace == "" {
		n.Keyspace = r.use
	}
	return n
}

// statement fills in what the grammar does not.
func (r *reading) statement(s *Statement) {
	if s.Kind = cmp.Or(s.Kind, Select); s.Deletes {
		s.Kind = Delete
	}
	s.Text, s.Table, s.JSON = r.text(s.Pos, s.EndPos), r.in(s.On.Table), s.JSON || s.Kind == Insert && s.Columns == nil
	each(s.Select, r.selector)
	each(s.Delete, r.selector)
	each(s.Values, r.value)
	each(s.Set, r.assignment)
	each(s.Where, r.relation)
	each(s.If, r.relation)
	s.Using = r.using(s.Using)
	for _, g := range s.Groups {
		s.GroupBy = append(s.GroupBy, r.text(g.Pos, g.EndPos))
	}
	for _, limit := range []*Expr{s.PerPartition, s.Limit} {
		if limit != nil {
			r.value(limit)
		}
	}
	for _, x := range s.Delete {
		if x.Column == "" {
			r.fail(s.Pos, "expected a column, found %q", x.Text)
		}
	}
	if len(s.Values) != len(s.Columns) && !s.JSON {
		r.fail(s.Pos, "%d columns and %d values", len(s.Columns), len(s.Values))
	}
	r.clauses(s)
}

// clauses checks that a statement has the clauses that it needs, and none that its kind does not have.
func (r *reading) clauses(s *Statement) {
	reads := s.Groups != nil || s.OrderBy != nil || s.PerPartition != nil || s.Limit != nil || s.AllowFiltering
	for _, c := range []struct {
		name       string
		is         bool
		needs, may string // the kinds
	}{
		{"values", s.Values != nil, "insert", ""},
		{"if not exists", s.IfNotExists, "", "insert"},
		{"using", len(s.Using) > 0, "", "insert update delete"},
		{"set", s.Set != nil, "update", ""},
		{"where", s.Where != nil, "update delete", "select"},
		{"if", s.IfExists || s.If != nil, "", "update delete"},
		{"group by, order by, limit or allow filtering", reads, "", "select"},
	} {
		switch needed := strings.Contains(c.needs, string(s.Kind)); {
		case needed && !c.is:
			r.fail(s.EndPos, "expected %q, found the end of the statement", c.name)
		case c.is && !needed && !strings.Contains(c.may, string(s.Kind)):
			r.fail(s.Pos, "the statement has %q, which %s does not have", c.name, strings.ToUpper(string(s.Kind)))
		}
	}
}

// each calls do for all.
func each[T any](all []T, do func(*T)) []T {
	for i := range all {
		do(&all[i])
	}
	return all
}

func (r *reading) using(all []Using) []Using {
	each(all, func(u *Using) { r.value(&u.Value) })
	return slices.DeleteFunc(all, func(u Using) bool { return u.Name == "timeout" })
}

func (r *reading) assignment(a *Assignment) {
	a.Column, a.Within, a.Text = a.Target.Column, a.Target.within(), r.text(a.Pos, a.EndPos)
	if a.Column == "" || a.Target.Cast != nil {
		r.fail(a.Pos, "expected a name, found %q", a.Text)
	}
	given, last := &a.Value, len(a.Value.Rest)-1
	own := func(v value) bool { return v.Column == a.Column && !v.within() && !a.Within }
	a.Add, a.Remove = a.Operator == "+=", a.Operator == "-="
	switch {
	case last >= 0 && own(given.First) && a.Operator == "=": // n = n + 1
		a.Add, a.Remove = given.Operator[0] == '+', given.Operator[0] == '-'
		*given = Expr{Pos: given.Rest[0].Pos, EndPos: given.EndPos, First: given.Rest[0], Rest: given.Rest[1:]}
	case last >= 0 && own(given.Rest[last]) && given.Operator[last] == '+': // l = [?] + l
		a.Add, a.Prepend = true, true
		given.Rest = given.Rest[:last]
	}
	r.value(given)
}

// value reads an expression in which no column may be named.
func (r *reading) value(e *Expr) {
	r.selector(e)
	e.values(func(v value) {
		if v.Column != "" {
			r.fail(v.Pos, "expected a value, found %q", v.Column)
		}
	})
}

func (r *reading) selector(e *Expr) {
	e.Text = r.text(e.Pos, e.EndPos)
	if len(e.Rest) == 0 && e.First.Cast == nil {
		e.Marker, e.Column, e.Within = e.First.Marker, e.First.Column, e.First.within()
	}
	e.values(func(v value) {
		if e.Bound = e.Bound || v.Marker; v.Column != "" {
			e.Columns = append(e.Columns, v.Column)
		}
	})
}

func (r *reading) relation(w *Relation) {
	w.Tuple, w.Within, w.Text = w.Tuple && !w.Token, w.Element != nil || w.Field != "", r.text(w.Pos, w.EndPos)
	switch {
	case w.NotNull:
		w.Op = "is not null"
	case w.Between != nil:
		w.Op, w.Terms = "between", w.Between
	case w.Value.First.Tuple != nil && len(w.Value.Rest) == 0 && (w.Tuple || w.Op == "in"):
		w.Terms = w.Value.First.Tuple.Of
	default:
		w.Terms = []Expr{*w.Value}
	}
	each(w.Terms, r.value)
	w.Op = strings.Replace(w.Op, "containskey", "contains key", 1)
	if w.Element != nil {
		r.value(w.Element)
	}
}

func (v *value) within() bool { return len(v.Path) > 0 }

// values calls yield for each value of an expression, and for those within it.
func (e *Expr) values(yield func(value)) {
	for _, v := range append([]value{e.First}, e.Rest...) {
		yield(v)
		var inner []Expr
		for _, l := range []*list{v.Tuple, v.List, v.Call} {
			if l != nil {
				inner = slices.Concat(inner, l.Of)
			}
		}
		for _, x := range v.Entries {
			if x.Value == nil || x.Key.First.Column == "" { // else a field of a user-defined type
				inner = append(inner, *x.Key)
			}
			if x.Value != nil {
				inner = append(inner, *x.Value)
			}
		}
		for _, i := range inner {
			i.values(yield)
		}
	}
}
