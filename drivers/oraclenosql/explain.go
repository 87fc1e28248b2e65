package oraclenosql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// statement is a pattern as SQL. No session runs it.
type statement struct {
	plan.Plan
	lines []string
}

// Explain implements drivers.Explainer.
func (st *statement) Explain() ([]string, error) { return st.lines, nil }

// writer writes the statements of one schema. They follow the rules sfw_expr,
// insert_statement, update_statement and delete_statement of KVQL.g4.
type writer struct {
	namespace string
	tables    map[*schemas.Table]*table
}

// compiler writes patterns as the SQL that a driver would send.
func compiler(s *schemas.Schema, o drivers.Options) (drivers.Compiler, error) {
	all, err := layout(s)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", s.Name, err)
	}
	w := writer{namespaceOf(o.Namespace, s.Name), make(map[*schemas.Table]*table)}
	for _, t := range all {
		w.tables[t.of] = t // the table of rows, which follows that of their static columns
	}
	return func(p *schemas.Pattern) (drivers.Statement, error) {
		lines, err := w.pattern(p)
		if err != nil {
			return nil, fmt.Errorf("pattern %s: %w", p.Name, err)
		}
		return &statement{plan.Of(p), lines}, nil
	}, nil
}

func unsupported(why string) error { return fmt.Errorf("%s: %w", why, drivers.ErrUnsupported) }

func (w *writer) pattern(p *schemas.Pattern) ([]string, error) {
	switch {
	case p.Kind == schemas.Batch:
		return w.batch(p)
	case p.Kind.Reads():
		return w.read(p)
	case p.Kind == schemas.Delete:
		return w.remove(p), nil
	}
	return w.write(p)
}

// name returns the full name of the table that a pattern reads or writes.
func (w *writer) name(p *schemas.Pattern) string {
	t := w.tables[p.Table]
	if p.Static {
		t = t.parent
	}
	return w.namespace + ":" + t.path
}

func (w *writer) read(p *schemas.Pattern) ([]string, error) {
	t := w.tables[p.Table]
	from, name := w.name(p), func(c *schemas.Column) string { return identifier(c.Name) }
	isStatic := func(c *schemas.Column) bool { return slices.Contains(p.Table.Static, c) }
	if !p.Static && slices.ContainsFunc(p.Columns, isStatic) {
		from = fmt.Sprintf("NESTED TABLES(%s r ANCESTORS(%s:%s s))", from, w.namespace, t.parent.path)
		name = func(c *schemas.Column) string {
			if isStatic(c) {
				return "s." + identifier(c.Name)
			}
			return "r." + identifier(c.Name)
		}
	}
	var columns []string
	for _, c := range p.Columns {
		columns = append(columns, name(c))
	}
	if p.Element != nil {
		if p.Element.Type.Key.Kind != schemas.Text {
			return nil, unsupported("the keys of a map are strings")
		}
		id := identifier(p.Element.Name)
		columns = []string{fmt.Sprintf("t.%s.$%s AS value", id, id)}
		from += " t"
	}
	where := equal(append(slices.Clone(p.By), p.Filter...), name)
	if p.In != nil {
		where = append(where, fmt.Sprintf("%s IN $%s[]", name(p.In), identifier(p.In.Name)))
	}
	where = append(where, bound(p.From, ">", name)...)
	where = append(where, bound(p.To, "<", name)...)
	order := w.order(p, name)
	end := order.clause
	switch {
	case p.LimitArg:
		end += " LIMIT $limit"
	case p.Limit > 0:
		end += fmt.Sprintf(" LIMIT %d", p.Limit)
	}
	head := "SELECT " + strings.Join(columns, ", ") + " FROM " + from
	lines := []string{head + clause(where) + end + ";" + order.note}
	if len(p.After) > 0 {
		where = append(where, behind(p, order.keys, name))
		lines = append(lines, head+clause(where)+end+";  -- with after")
	}
	return lines, nil
}

// ordered is the order in which a slice yields rows.
type ordered struct {
	clause, note string
	keys         []schemas.IndexColumn
}

func (w *writer) order(p *schemas.Pattern, name func(*schemas.Column) string) (o ordered) {
	if p.Kind != schemas.Slice {
		return o
	}
	if p.Index != nil {
		o.keys = slices.Clone(p.Index.Columns)
	} else {
		for _, c := range p.Table.Key() {
			o.keys = append(o.keys, schemas.IndexColumn{Column: c, Desc: c.Desc})
		}
	}
	var words []string
	backward := 0
	for _, k := range o.keys[min(len(p.By), len(o.keys)):] {
		word := name(k.Column)
		if k.Desc != p.Reverse {
			word += " DESC"
			backward++
		}
		words = append(words, word)
		if k.Column.Type.Kind == schemas.TimeUUID {
			o.note = "  -- timeuuids in the order of their text, not of time"
		}
	}
	if len(words) > 0 {
		o.clause = " ORDER BY " + strings.Join(words, ", ")
	}
	if backward > 0 && backward < len(words) {
		o.note += "  -- Oracle sorts"
	}
	return o
}

// behind returns the condition for rows after the given one, in the order of reading.
func behind(p *schemas.Pattern, keys []schemas.IndexColumn, name func(*schemas.Column) string) string {
	var either []string
	for i, c := range p.After {
		at := slices.IndexFunc(keys, func(k schemas.IndexColumn) bool { return k.Column == c })
		sign := ">"
		if keys[at].Desc != p.Reverse {
			sign = "<"
		}
		terms := append(equal(p.After[:i], name), fmt.Sprintf("%s %s $%s", name(c), sign, identifier(c.Name)))
		either = append(either, strings.Join(terms, " AND "))
	}
	if len(either) == 1 {
		return either[0]
	}
	return "(" + strings.Join(either, " OR ") + ")"
}

// equal returns the conditions that columns have the values of the call's arguments.
func equal(cs []*schemas.Column, name func(*schemas.Column) string) (terms []string) {
	for _, c := range cs {
		terms = append(terms, fmt.Sprintf("%s = $%s", name(c), identifier(c.Name)))
	}
	return terms
}

// bound returns the condition of one end of a range. sign is that of an open end.
func bound(b *schemas.Bound, sign string, name func(*schemas.Column) string) []string {
	if b == nil {
		return nil
	}
	end := "to"
	if sign == ">" {
		end = "from"
	}
	if !b.Open {
		sign += "="
	}
	return []string{fmt.Sprintf("%s %s $%s", name(b.Column), sign, end)}
}

func clause(terms []string) string {
	if len(terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(terms, " AND ")
}
