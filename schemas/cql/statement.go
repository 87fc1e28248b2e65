package cql

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/participle/v2/lexer"
)

// StatementKind says what a statement does.
type StatementKind int

// The kinds of statement.
const (
	Select StatementKind = iota
	Insert
	Update
	Delete
	Batch
	Truncate
)

// A Statement reads or writes rows. Which fields it has follows from its kind.
type Statement struct {
	Kind     StatementKind
	Table    Name // not of a batch
	Pos      lexer.Position
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
	Column string // "" if it is no value of one column
	Token  bool   // it is a token of the partition key
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

func (r *reading) statement(a *anything, pos lexer.Position, text string) Statement {
	switch {
	case a.Select != nil:
		s := a.Select
		st := Statement{
			Kind: Select, Pos: pos, Text: text, Table: r.in(s.From.Table), tableAt: s.From.Pos.Offset - pos.Offset,
			tableNamed: s.From.Table.Keyspace != "", JSON: s.JSON, Distinct: s.Distinct, Select: r.selectors(s.Columns),
			Where: r.relations(s.Where), AllowFiltering: s.AllowFiltering,
		}
		for _, g := range s.GroupBy {
			st.GroupBy = append(st.GroupBy, r.text(g.Pos, g.EndPos))
		}
		for _, o := range s.OrderBy {
			st.OrderBy = append(st.OrderBy, Ordering{o.Column, o.Descending, o.Near != nil})
		}
		if s.PerPartition != nil {
			st.PerPartition = &r.terms(*s.PerPartition)[0]
		}
		if s.Limit != nil {
			st.Limit = &r.terms(*s.Limit)[0]
		}
		return st
	case a.Truncate != nil:
		return Statement{Kind: Truncate, Table: r.in(*a.Truncate), Pos: pos, Text: text}
	case a.Write != nil:
		return r.write(a.Write)
	}
	st := Statement{Kind: Batch, Pos: pos, Text: text, Using: r.using(a.Batch.Using)}
	st.Batch = cmp.Or(a.Batch.Kind, "logged")
	for _, w := range a.Batch.Parts {
		st.Parts = append(st.Parts, r.write(&w))
	}
	return st
}

func (r *reading) write(w *write) Statement {
	st := Statement{Pos: w.Pos, Text: r.text(w.Pos, w.EndPos)}
	switch {
	case w.Insert != nil:
		s := w.Insert
		st.Kind, st.Table, st.Columns, st.Using, st.IfNotExists = Insert, s.Table, s.Columns, r.using(s.Using), s.IfNotExists
		if st.Values = r.terms(s.Values...); len(s.Values) != len(s.Columns) {
			r.fail(w.Pos, "%d columns and %d values", len(s.Columns), len(s.Values))
		}
		if st.JSON = s.JSON != nil; st.JSON {
			st.Values = r.terms(*s.JSON)
		}
	case w.Update != nil:
		s := w.Update
		st.Kind, st.Table, st.Where, st.Using = Update, s.Table, r.relations(s.Where), r.using(s.Using)
		st.IfExists, st.If = s.IfExists, r.relations(s.If)
		for _, a := range s.Set {
			st.Set = append(st.Set, r.assignment(a))
		}
	default:
		s := w.Delete
		st.Kind, st.Table, st.Where, st.Using = Delete, s.Table, r.relations(s.Where), r.using(s.Using)
		st.IfExists, st.If, st.Delete = s.IfExists, r.relations(s.If), r.selectors(s.Columns)
		for _, x := range st.Delete {
			if x.Column == "" {
				r.fail(w.Pos, "expected a column, found %q", x.Text)
			}
		}
	}
	st.Table = r.in(st.Table)
	return st
}

func (r *reading) using(all []using) (out []Using) {
	for _, u := range all {
		if term := r.terms(u.Value)[0]; u.Name != "timeout" { // of ScyllaDB: it changes no row
			out = append(out, Using{u.Name, term})
		}
	}
	return out
}

func (r *reading) assignment(a assignment) Assignment {
	out := Assignment{Column: a.Column.Column, Within: a.Column.within(), Text: r.text(a.Pos, a.EndPos)}
	if out.Column == "" || a.Column.Cast != nil {
		r.fail(a.Pos, "expected a name, found %q", out.Text)
	}
	given, last := a.Value, len(a.Value.Rest)-1
	own := func(v value) bool { return v.Column == out.Column && !v.within() && !out.Within }
	out.Add, out.Remove = a.Operator == "+=", a.Operator == "-="
	switch {
	case last >= 0 && own(given.First) && a.Operator == "=": // n = n + 1
		out.Add, out.Remove = given.Operator[0] == '+', given.Operator[0] == '-'
		given = expr{Pos: given.Rest[0].Pos, EndPos: given.EndPos, First: given.Rest[0], Rest: given.Rest[1:]}
	case last >= 0 && own(given.Rest[last]) && given.Operator[last] == '+': // l = [?] + l
		out.Add, out.Prepend = true, true
		given.Rest = given.Rest[:last]
		out.Value.Text = r.text(given.Pos, given.EndPos)
	}
	if term := r.terms(given)[0]; !out.Prepend {
		out.Value = term
	}
	return out
}

// terms returns values, in which no column may be named.
func (r *reading) terms(all ...expr) (terms []Term) {
	for _, e := range all {
		e.columns(func(v value) { r.fail(v.Pos, "expected a value, found %q", v.Column) })
		terms = append(terms, Term{r.text(e.Pos, e.EndPos), e.First.Marker && e.First.Cast == nil && len(e.Rest) == 0})
	}
	return terms
}

func (r *reading) selectors(all []expr) (out []Selector) {
	for _, e := range all {
		x := Selector{Text: r.text(e.Pos, e.EndPos)}
		if len(e.Rest) == 0 && e.First.Cast == nil {
			x.Column, x.Within = e.First.Column, e.First.within()
		}
		e.columns(func(v value) { x.Columns = append(x.Columns, v.Column) })
		out = append(out, x)
	}
	return out
}

func (r *reading) relations(all []relation) (out []Relation) {
	for _, w := range all {
		x := Relation{
			Columns: w.Tuple, Token: w.Token, Tuple: w.Tuple != nil && !w.Token, Within: w.Element != nil || w.Field != "",
			Op: w.Op, Text: r.text(w.Pos, w.EndPos),
		}
		if w.Column != "" {
			x.Columns = []string{w.Column}
		}
		switch {
		case w.NotNull:
			x.Op = "is not null"
		case w.Between != nil:
			x.Op, x.Terms = "between", r.terms(w.Between...)
		case w.Value.First.Tuple != nil && len(w.Value.Rest) == 0 && (x.Tuple || w.Op == "in"):
			x.Terms = r.terms(w.Value.First.Tuple.Of...)
		default:
			x.Terms = r.terms(*w.Value)
		}
		x.Op = strings.Replace(x.Op, "containskey", "contains key", 1)
		if w.Element != nil {
			r.terms(*w.Element)
		}
		out = append(out, x)
	}
	return out
}

func (v *value) within() bool { return len(v.Path) > 0 }

// columns calls yield for each column that is named in an expression.
func (e *expr) columns(yield func(value)) {
	for _, v := range append([]value{e.First}, e.Rest...) {
		if v.Column != "" {
			yield(v)
		}
		var inner []expr
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
			i.columns(yield)
		}
	}
}
