package cassandra

import (
	"strings"

	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// bind says where the value of a bind marker comes from: the argument at that
// position, or one of the sources below.
type bind int

const (
	bindLimit      bind = -1 - iota // the number of rows that are still wanted
	bindTime                        // the write's timestamp
	bindElement                     // one element of the list that in binds
	bindAfterToken                  // the token before the first token of a part of a scan
	bindToToken                     // the last token of a part of a scan
)

// query is one CQL statement.
type query struct {
	text  string
	binds []bind
	// route are the positions in binds of the partition key's columns. If it is
	// empty, any node can take the request.
	route []int

	idempotent bool // it may be sent twice, unless lists says otherwise
	// optional are the positions in binds of values that are not sent if they are null or empty.
	optional    []int
	lists       []bind            // the list arguments: it may be sent twice only if they are empty
	conditional bool              // it is a Paxos round
	columns     []*schemas.Column // the columns that a read selects
}

// cql writes one statement.
type cql struct {
	strings.Builder
	binds []bind
	conds int // the number of conditions so far
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

// equal adds a condition for each column. Their arguments begin at position at.
func (b *cql) equal(cs []*schemas.Column, at int) {
	for i, c := range cs {
		b.cond(ddl.Quote(c.Name)+" = ?", bind(at+i))
	}
}

// query ends the statement. key lists the binds of the partition key.
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

// ascending reports whether a read in this direction sees the column's values
// ascend.
func ascending(c *schemas.Column, reverse bool) bool { return c.Desc == reverse }

// relation returns the comparison that holds for rows after a value, in reading
// order.
func relation(c *schemas.Column, reverse bool) string {
	if ascending(c, reverse) {
		return ">"
	}
	return "<"
}

// ends appends the conditions for the ends of a range, which are by value, whatever the reading order.
// CQL does not mix tuples and plain comparisons over one column, so tuple writes them as tuples.
func (b *cql) ends(p *schemas.Pattern, with plan.Bounds, from, to int, tuple bool) {
	end := func(x *schemas.Bound, sign string, at int) {
		if !x.Open {
			sign += "="
		}
		if tuple {
			b.cond("("+ddl.Quote(x.Column.Name)+") "+sign+" (?)", bind(at))
		} else {
			b.cond(ddl.Quote(x.Column.Name)+" "+sign+" ?", bind(at))
		}
	}
	if with&plan.WithFrom != 0 {
		end(p.From, ">", from)
	}
	if with&plan.WithTo != 0 {
		end(p.To, "<", to)
	}
}

// after appends the condition of a page. All its columns have one direction.
func (b *cql) after(p *schemas.Pattern, at int) {
	var binds []bind
	var marks []string
	for i := range p.After {
		binds = append(binds, bind(at+i))
		marks = append(marks, "?")
	}
	sign := " " + relation(p.After[0], p.Reverse) + " "
	if len(p.After) == 1 {
		b.cond(ddl.Quote(p.After[0].Name)+sign+"?", binds...)
		return
	}
	b.cond("("+ddl.Quoted(p.After)+")"+sign+"("+strings.Join(marks, ", ")+")", binds...)
}

// stamp has a part of a batch give its own timestamp.
func (b *cql) stamp(timed bool) {
	if timed {
		b.write(" USING TIMESTAMP ?")
		b.binds = append(b.binds, bindTime)
	}
}

// insert writes an INSERT of the key and the columns. The columns' arguments begin
// at position at. absent makes the INSERT conditional.
func insert(t *table, p *schemas.Pattern, at int, absent, timed bool) *cql {
	b := new(cql)
	b.write("INSERT INTO ", t.qualified, " (", ddl.Quoted(p.By))
	for i := range p.By {
		b.binds = append(b.binds, bind(i))
	}
	for i, c := range p.Columns {
		b.write(", ", ddl.Quote(c.Name))
		b.binds = append(b.binds, bind(at+i))
	}
	b.write(") VALUES (?", strings.Repeat(", ?", len(b.binds)-1), ")")
	if absent {
		b.write(" IF NOT EXISTS")
	}
	b.stamp(timed)
	return b
}

// update writes an UPDATE. set returns the assignment for each column, and the
// columns' arguments begin at position at.
func update(t *table, p *schemas.Pattern, at int, timed bool, set func(name string) string) *cql {
	b := new(cql)
	b.write("UPDATE ", t.qualified)
	b.stamp(timed)
	b.write(" SET ")
	for i, c := range p.Columns {
		if i > 0 {
			b.write(", ")
		}
		b.write(set(ddl.Quote(c.Name)))
		b.binds = append(b.binds, bind(at+i))
	}
	b.equal(p.By, 0)
	return b
}

// remove writes a DELETE of the rows that by names.
func remove(t *table, p *schemas.Pattern, timed bool) *cql {
	b := new(cql)
	b.write("DELETE FROM ", t.qualified)
	b.stamp(timed)
	b.equal(p.By, 0)
	return b
}
