package cassandra

import (
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// bind says where a bound value of a statement comes from: from the argument at
// that position, or from one of the sources below.
type bind int

const (
	bindLimit   bind = -1 - iota // how many rows may still come
	bindTime                     // the write's timestamp
	bindElement                  // one element of the list that in binds
)

// query is one CQL statement.
type query struct {
	id    int // its number in the store: sessions keep what they need to run it
	text  string
	binds []bind
	// route are the bound values that are the partition key, by position in
	// binds; none: any node will do.
	route []int

	idempotent  bool              // it may be sent twice
	lists       []bind            // what it writes to lists: it may be sent twice if they are empty
	conditional bool              // a Paxos round
	columns     []*schemas.Column // what a read selects
}

// cql writes one statement.
type cql struct {
	strings.Builder
	binds []bind
	conds int // conditions so far
}

func (b *cql) write(words ...string) {
	for _, w := range words {
		b.WriteString(w)
	}
}

// cond appends a condition with its bound values.
func (b *cql) cond(text string, binds ...bind) {
	if b.conds == 0 {
		b.write(" WHERE ", text)
	} else {
		b.write(" AND ", text)
	}
	b.conds++
	b.binds = append(b.binds, binds...)
}

// equal binds columns to the arguments that begin at a position.
func (b *cql) equal(cs []*schemas.Column, at int) {
	for i, c := range cs {
		b.cond(quote(c.Name)+" = ?", bind(at+i))
	}
}

// query ends the statement. Its partition key is the first of its binds that are
// the arguments (or the element) that key lists.
func (b *cql) query(key []bind) *query {
	q := &query{text: b.String(), binds: b.binds}
	for _, k := range key {
		for i, from := range b.binds {
			if from == k {
				q.route = append(q.route, i)
				break
			}
		}
	}
	return q
}

// bounds are the ends of a range that are given in a call: a null end is none.
type bounds uint8

const (
	withFrom bounds = 1 << iota
	withTo
	withAfter
)

// ascending reports whether a read with this direction goes up in a column.
func ascending(c *schemas.Column, reverse bool) bool { return c.Desc == reverse }

// relation is the sign of rows strictly behind a value in reading order.
func relation(c *schemas.Column, reverse bool) string {
	if ascending(c, reverse) {
		return ">"
	}
	return "<"
}

// lower and upper are the signs of the ends of a range, which are ends by value.
func lower(b *schemas.Bound) string {
	if b.Open {
		return ">"
	}
	return ">="
}

func upper(b *schemas.Bound) string {
	if b.Open {
		return "<"
	}
	return "<="
}

// ends appends the ends of a range. Beside a tuple they are tuples themselves,
// since CQL does not mix the two over one column.
func (b *cql) ends(p *schemas.Pattern, with bounds, from, to int, tuple bool) {
	end := func(c *schemas.Column, sign string, at int) {
		if tuple {
			b.cond("("+quote(c.Name)+") "+sign+" (?)", bind(at))
		} else {
			b.cond(quote(c.Name)+" "+sign+" ?", bind(at))
		}
	}
	if with&withFrom != 0 {
		end(p.From.Column, lower(p.From), from)
	}
	if with&withTo != 0 {
		end(p.To.Column, upper(p.To), to)
	}
}

// after appends the condition of a page over columns of one direction.
func (b *cql) after(p *schemas.Pattern, at int) {
	var binds []bind
	var marks []string
	for i := range p.After {
		binds = append(binds, bind(at+i))
		marks = append(marks, "?")
	}
	sign := " " + relation(p.After[0], p.Reverse) + " "
	if len(p.After) == 1 {
		b.cond(quote(p.After[0].Name)+sign+"?", binds...)
		return
	}
	b.cond("("+quoted(p.After)+")"+sign+"("+strings.Join(marks, ", ")+")", binds...)
}

// oneDirection reports whether all columns are sorted the same way, so that one
// comparison of tuples says which rows come after one.
func oneDirection(cs []*schemas.Column) bool {
	for _, c := range cs {
		if c.Desc != cs[0].Desc {
			return false
		}
	}
	return true
}

// insert writes an INSERT of the key and columns, whose arguments begin at.
// Absent makes it conditional.
func insert(t *table, p *schemas.Pattern, at int, absent, timed bool) *cql {
	b := new(cql)
	b.write("INSERT INTO ", t.qualified, " (", quoted(p.By))
	for i := range p.By {
		b.binds = append(b.binds, bind(i))
	}
	for i, c := range p.Columns {
		b.write(", ", quote(c.Name))
		b.binds = append(b.binds, bind(at+i))
	}
	b.write(") VALUES (?", strings.Repeat(", ?", len(b.binds)-1), ")")
	if absent {
		b.write(" IF NOT EXISTS")
	}
	if timed {
		b.write(" USING TIMESTAMP ?")
		b.binds = append(b.binds, bindTime)
	}
	return b
}

// update writes an UPDATE that sets each column to set(column); its arguments
// begin at.
func update(t *table, p *schemas.Pattern, at int, timed bool, set func(name string) string) *cql {
	b := new(cql)
	b.write("UPDATE ", t.qualified)
	if timed {
		b.write(" USING TIMESTAMP ?")
		b.binds = append(b.binds, bindTime)
	}
	b.write(" SET ")
	for i, c := range p.Columns {
		if i > 0 {
			b.write(", ")
		}
		b.write(set(quote(c.Name)))
		b.binds = append(b.binds, bind(at+i))
	}
	b.equal(p.By, 0)
	return b
}

// remove writes a DELETE of a row, cells, or a range with the ends given.
func remove(t *table, p *schemas.Pattern, with bounds, from, to int, timed bool) *cql {
	b := new(cql)
	b.write("DELETE ")
	if p.Scope == schemas.ScopeCell {
		b.write(quoted(p.Columns), " ")
	}
	b.write("FROM ", t.qualified)
	if timed {
		b.write(" USING TIMESTAMP ?")
		b.binds = append(b.binds, bindTime)
	}
	b.equal(p.By, 0)
	b.ends(p, with, from, to, false)
	return b
}
