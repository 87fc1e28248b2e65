package cassandra

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
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

// bindsFrom returns n binds of the arguments from position at on.
func bindsFrom(at, n int) []bind {
	binds := make([]bind, n)
	for i := range binds {
		binds[i] = bind(at + i)
	}
	return binds
}

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

// writer writes one statement.
type writer struct {
	strings.Builder
	binds []bind
	conds int // the number of conditions so far
}

func (b *writer) write(words ...string) {
	for _, w := range words {
		b.WriteString(w)
	}
}

// cond appends a condition with its bound values.
func (b *writer) cond(text string, binds ...bind) {
	if b.conds == 0 {
		b.write(" WHERE ", text)
	} else {
		b.write(" AND ", text)
	}
	b.conds++
	b.binds = append(b.binds, binds...)
}

// equal adds a condition for each column. Their arguments begin at position at.
func (b *writer) equal(cs []*schemas.Column, at int) {
	for i, c := range cs {
		b.cond(cql.Quote(c.Name)+" = ?", bind(at+i))
	}
}

// query ends the statement. key lists the binds of the partition key.
func (b *writer) query(key []bind) *query {
	q := &query{text: b.String(), binds: b.binds}
	for _, k := range key {
		q.route = append(q.route, slices.Index(b.binds, k))
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
func (b *writer) ends(p *schemas.Pattern, with plan.Bounds, from, to int, tuple bool) {
	end := func(x *schemas.Bound, sign string, at int) {
		if !x.Open {
			sign += "="
		}
		if tuple {
			b.cond("("+cql.Quote(x.Column.Name)+") "+sign+" (?)", bind(at))
		} else {
			b.cond(cql.Quote(x.Column.Name)+" "+sign+" ?", bind(at))
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
func (b *writer) after(p *schemas.Pattern, at int) {
	binds := bindsFrom(at, len(p.After))
	sign := " " + relation(p.After[0], p.Reverse) + " "
	if len(p.After) == 1 {
		b.cond(cql.Quote(p.After[0].Name)+sign+"?", binds...)
		return
	}
	b.cond("("+ddl.Quoted(p.After)+")"+sign+"(?"+strings.Repeat(", ?", len(binds)-1)+")", binds...)
}

// stamp has a part of a batch give its own timestamp.
func (b *writer) stamp(timed bool) {
	if timed {
		b.write(" USING TIMESTAMP ?")
		b.binds = append(b.binds, bindTime)
	}
}

// insert writes an INSERT of the key and the columns.
func (st *statement) insert(timed bool) *writer {
	b, p := new(writer), st.Pattern()
	b.write("INSERT INTO ", st.table.Qualified(), " (", ddl.Quoted(slices.Concat(p.By, p.Columns)))
	b.binds = append(bindsFrom(0, len(p.By)), bindsFrom(st.Layout.Columns, len(p.Columns))...)
	b.write(") VALUES (?", strings.Repeat(", ?", len(b.binds)-1), ")")
	if p.Absent {
		b.write(" IF NOT EXISTS")
	}
	b.stamp(timed)
	return b
}

// update writes an UPDATE of the columns. adding: a put adds to sets and maps.
func (st *statement) update(timed, adding bool) *writer {
	b, p := new(writer), st.Pattern()
	b.write("UPDATE ", st.table.Qualified())
	b.stamp(timed)
	for i, c := range p.Columns {
		name, change := cql.Quote(c.Name), ""
		switch {
		case p.Kind == schemas.Remove:
			change = name + " - "
		case p.Kind == schemas.Add, p.Kind == schemas.Append, adding && addable(c):
			change = name + " + "
		}
		b.write([]string{" SET ", ", "}[min(i, 1)], name, " = ", change, "?")
		b.binds = append(b.binds, bind(st.Layout.Columns+i))
	}
	b.equal(p.By, 0)
	for i, c := range p.If {
		b.write([]string{" IF ", " AND "}[min(i, 1)], cql.Quote(c.Name), " = ?")
		b.binds = append(b.binds, bind(st.Layout.If+i))
	}
	return b
}

// compileWrite writes the statements of a write.
func (st *statement) compileWrite() error {
	p := st.Pattern()
	counters := slices.ContainsFunc(slices.Concat(p.Table.Columns, p.Table.Static),
		func(c *schemas.Column) bool { return c.Type.Kind == schemas.Counter })
	st.counter = counters
	switch {
	case p.ReturnsNew:
		return unsupported("a write in Cassandra returns no values")
	case p.Kind == schemas.Add && !counters:
		return unsupported("Cassandra adds only to counters, but column %s is a %s", p.Columns[0].Name, p.Columns[0].Type)
	case p.Kind == schemas.Put && counters:
		return unsupported("Cassandra has no put for counters, only add")
	case p.Kind == schemas.PutIf && !p.Absent && len(p.Columns) == 0:
		return unsupported("Cassandra has no conditional write that sets no column")
	}
	write := st.mutation(false, false)
	switch {
	case p.Kind == schemas.PutIf && !counters:
		st.writes[0] = forms{write, nil}
	case counters, p.Present:
		st.writes[0] = forms{write, write} // with the node's time, in a batch too
	default:
		st.writes[0] = forms{write, st.mutation(true, false)}
	}
	if p.Kind == schemas.Put && ddl.NewRows(st.table.Table) && slices.ContainsFunc(p.Columns, addable) {
		st.writes[1] = forms{st.mutation(false, true), st.mutation(true, true)}
	}
	return nil
}

// addable reports whether elements can be added to a column without harm if a write is sent twice.
func addable(c *schemas.Column) bool { return c.Type.Kind == schemas.Set || c.Type.Kind == schemas.Map }

// put returns the queries for a write's arguments.
func (st *statement) put(args []drivers.Value) *forms {
	for i, c := range st.Pattern().Columns {
		if st.writes[1][single] != nil && addable(c) && len(args[st.Layout.Columns+i].Elems()) > 0 {
			return &st.writes[1]
		}
	}
	return &st.writes[0]
}

// mutation writes the statement of a write. adding: a put of a new row adds to its sets and maps. An INSERT would
// delete their elements first. An UPDATE writes no row without values, so it is for rows with elements.
func (st *statement) mutation(timed, adding bool) *query {
	p := st.Pattern()
	var b *writer
	switch {
	case p.Kind == schemas.Delete:
		b = new(writer)
		b.write("DELETE FROM ", st.table.Qualified())
		b.stamp(timed)
		b.equal(p.By, 0)
	case p.Absent, p.Kind == schemas.Put && !adding:
		b = st.insert(timed)
	default:
		b = st.update(timed, adding)
	}
	if p.Present {
		b.write(" IF EXISTS")
	}
	return st.finish(b)
}

// finish ends the statement of a write.
func (st *statement) finish(b *writer) *query {
	p := st.Pattern()
	q := b.query(st.partition())
	if ddl.NewRows(st.table.Table) && p.Kind == schemas.Put || p.Absent {
		for i, from := range q.binds {
			if column := int(from) - st.Layout.Columns; column >= 0 && column < len(p.Columns) {
				q.optional = append(q.optional, i)
			}
		}
	}
	q.conditional = p.Conditional()
	q.idempotent = !q.conditional && !st.counter
	if !q.idempotent || p.Kind == schemas.Remove || p.Kind == schemas.Delete {
		return q
	}
	// A node makes the keys of a list's elements, so elements that are written twice appear twice. This also holds for a
	// write that replaces the list, because both attempts have the same timestamp.
	for i, c := range p.Columns {
		if c.Type.Kind == schemas.List {
			q.lists = append(q.lists, bind(st.Layout.Columns+i))
		}
	}
	return q
}

// compare compares two values of a key column in Cassandra's order: UUIDs by version, and those of version 1 by time.
// CQL takes one bound on a column, so the driver compares two to send the closer one.
func compare(a, b drivers.Value) int {
	u, v := a.UUIDBytes(), b.UUIDBytes()
	switch version, other := u[6]>>4, v[6]>>4; {
	case version != other:
		return cmp.Compare(version, other)
	case version != 1: // as of all that is no UUID
		return a.Compare(b)
	}
	return bytes.Compare(keys.Append(nil, drivers.TimeUUID(u), false), keys.Append(nil, drivers.TimeUUID(v), false))
}

// Explain implements drivers.Explainer. It returns the CQL of each request, and which bounds a
// call must give for it.
func (st *statement) Explain() ([]string, error) {
	if st.Pattern().Kind == schemas.Batch {
		return st.explainBatch(), nil
	}
	var lines []string
	add := func(q *query, notes ...string) { // when it is sent, and to whom
		line := q.text + ";"
		if notes = slices.DeleteFunc(notes, func(note string) bool { return note == "" }); len(notes) > 0 {
			line += "  -- " + strings.Join(notes, "; ")
		}
		lines = append(lines, line)
	}
	each := ""
	if st.readsEach() {
		each = fmt.Sprintf("a request for each element, %d in parallel", st.Pattern().Parallel)
	}
	for with, chain := range st.reads {
		if len(chain) == 1 {
			nodes := ""
			if len(chain[0].route) == 0 {
				nodes = "no partition key: all nodes are read"
			}
			add(chain[0], plan.Bounds(with).String(), each, nodes)
		} else if plan.Bounds(with) == plan.WithAfter { // with other bounds too, the last request has them
			for i, q := range chain {
				add(q, fmt.Sprintf("after a row: request %d of %d", i+1, len(chain)))
			}
		}
	}
	switch q := st.writes[0][single]; {
	case q != nil && q.conditional:
		add(q, "a lightweight transaction (Paxos)")
	case q != nil:
		add(q)
	}
	if q := st.writes[1][single]; q != nil {
		add(q, "with elements of a set or map")
	}
	return lines, nil
}

// explainBatch writes a batch as oneBatch sends it, or its parts if they are separate requests.
func (st *statement) explainBatch() []string {
	p := st.Pattern()
	separate := p.Atomic == schemas.AtomicNone && !st.unlogged
	_, _, head := st.batchType(false)
	switch {
	case separate && p.Parallel > 1:
		head = fmt.Sprintf("-- a request for each part, %d in parallel", p.Parallel)
	case separate:
		head = "-- a request for each part, one after another"
	}
	lines := []string{head}
	for i, part := range st.parts {
		form := inBatch
		if separate {
			form = single
		}
		line := "  " + part.writes[0][form].text + ";"
		if each := p.Parts[i].Each; each != "" {
			line += "  -- for each " + each
		}
		lines = append(lines, line)
	}
	if !separate {
		lines = append(lines, "APPLY BATCH;")
	}
	return lines
}
