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

	Select         []Expr   // SELECT; nil is *
	Distinct, JSON bool     // JSON: SELECT and INSERT
	GroupBy        []string // as the text has them
	OrderBy        []Ordering
	PerPartition   *Expr
	Limit          *Expr
	AllowFiltering bool

	Columns []string // INSERT; nil with JSON
	Values  []Expr
	Set     []Assignment // UPDATE
	Delete  []Expr       // DELETE: columns and elements; nil is whole rows
	Using   []Using      // INSERT, UPDATE, DELETE, BATCH

	IfExists, IfNotExists bool
	If                    []Relation

	tableAt    int  // SELECT: where in Text the name of its table begins
	tableNamed bool // the text names its keyspace

	Batch string      // BATCH: "logged", "unlogged" or "counter"
	Parts []Statement // BATCH
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
	for _, limit := range []*Expr{s.PerPartition, s.Limit} {
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
			OrderBy: s.OrderBy, PerPartition: s.PerPartition, Limit: s.Limit,
		}
		for _, g := range s.GroupBy {
			st.GroupBy = append(st.GroupBy, r.text(g.Pos, g.EndPos))
		}
		for _, limit := range []*Expr{s.PerPartition, s.Limit} {
			if limit != nil {
				r.value(limit)
			}
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
		if st.Values = r.values(s.Values); len(s.Values) != len(s.Columns) {
			r.fail(w.Pos, "%d columns and %d values", len(s.Columns), len(s.Values))
		}
		if st.JSON = s.JSON != nil; st.JSON {
			st.Values = r.values([]Expr{*s.JSON})
		}
	case w.Update != nil:
		s := w.Update
		st.Kind, st.Table, st.Where, st.Using = Update, s.Table, r.relations(s.Where), r.using(s.Using)
		st.IfExists, st.If, st.Set = s.IfExists, r.relations(s.If), s.Set
		for i := range st.Set {
			r.assignment(&st.Set[i])
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

func (r *reading) using(all []Using) []Using {
	for i := range all {
		r.value(&all[i].Value)
	}
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

func (r *reading) values(all []Expr) []Expr {
	for i := range all {
		r.value(&all[i])
	}
	return all
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

func (r *reading) selectors(all []Expr) []Expr {
	for i := range all {
		r.selector(&all[i])
	}
	return all
}

func (r *reading) relations(all []Relation) []Relation {
	for i := range all {
		w := &all[i]
		w.Columns, w.Tuple = w.Several, w.Several != nil && !w.Token
		w.Within, w.Text = w.Element != nil || w.Field != "", r.text(w.Pos, w.EndPos)
		if w.Column != "" {
			w.Columns = []string{w.Column}
		}
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
		r.values(w.Terms)
		w.Op = strings.Replace(w.Op, "containskey", "contains key", 1)
		if w.Element != nil {
			r.value(w.Element)
		}
	}
	return all
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
