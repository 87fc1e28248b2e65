package cassandra

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/schemas"
)

// compileWrite writes two statements for a write. One is sent alone, with its
// timestamp in the request. The other is part of a batch, with its own timestamp.
func (st *statement) compileWrite() error {
	p := st.Pattern()
	counters := slices.ContainsFunc(slices.Concat(p.Table.Columns, p.Table.Static),
		func(c *schemas.Column) bool { return c.Type.Kind == schemas.Counter })
	st.counter = counters
	switch {
	case p.In != nil:
		return unsupported("only a read can bind a list with in")
	case p.ReturnsNew:
		return unsupported("a write in Cassandra returns no values")
	case p.Kind == schemas.Add && !counters:
		return unsupported("Cassandra adds only to counters, but column %s is a %s", p.Columns[0].Name, p.Columns[0].Type)
	case p.Kind == schemas.Put && counters:
		return unsupported("Cassandra has no put for counters, only add")
	case p.Kind == schemas.PutIf && !p.Absent && len(p.Columns) == 0:
		return unsupported("Cassandra has no conditional write that sets no column")
	}
	st.queries[0] = st.mutation(false)
	switch {
	case counters:
		st.timed = st.queries[0]
	case p.Kind == schemas.PutIf:
	case p.Present:
		st.timed = st.queries[0] // with the node's time, in a batch too
	default:
		st.timed = st.mutation(true)
	}
	if p.Kind == schemas.Put && st.table.newRows && slices.ContainsFunc(p.Columns, addable) {
		for i := range st.adding {
			st.adding[i] = st.addition(i == 1)
		}
	}
	return nil
}

// addable reports whether elements can be added to a column without harm if a write is sent twice.
func addable(c *schemas.Column) bool { return c.Type.Kind == schemas.Set || c.Type.Kind == schemas.Map }

// addition writes a put of a new row that adds to its sets and maps. An INSERT would delete their
// elements first. An UPDATE writes no row without values, so it is for rows with elements.
func (st *statement) addition(timed bool) *query {
	p := st.Pattern()
	at := 0
	b := update(st.table, p, st.Layout.Columns, timed, func(c string) string {
		at++
		if addable(p.Columns[at-1]) {
			return c + " = " + c + " + ?"
		}
		return c + " = ?"
	})
	return st.finish(b)
}

// put returns the query for a write's arguments. timed: as part of a batch.
func (st *statement) put(args []drivers.Value, timed bool) *query {
	if st.adding[0] != nil {
		for i, c := range st.Pattern().Columns {
			if addable(c) && len(args[st.Layout.Columns+i].Elems()) > 0 {
				if timed {
					return st.adding[1]
				}
				return st.adding[0]
			}
		}
	}
	if timed {
		return st.timed
	}
	return st.queries[0]
}

// mutation writes the statement of a write.
func (st *statement) mutation(timed bool) *query {
	p, t := st.Pattern(), st.table
	var b *cql
	switch p.Kind {
	case schemas.Put:
		b = insert(t, p, st.Layout.Columns, false, timed)
	case schemas.PutIf:
		if p.Absent {
			b = insert(t, p, st.Layout.Columns, true, timed)
			break
		}
		b = update(t, p, st.Layout.Columns, timed, func(c string) string { return c + " = ?" })
		if p.Present {
			b.write(" IF EXISTS")
		}
		for i, c := range p.If {
			b.write([]string{" IF ", " AND "}[min(i, 1)], ddl.Quote(c.Name), " = ?")
			b.binds = append(b.binds, bind(st.Layout.If+i))
		}
	case schemas.Add, schemas.Append:
		b = update(t, p, st.Layout.Columns, timed, func(c string) string { return c + " = " + c + " + ?" })
	case schemas.Remove:
		b = update(t, p, st.Layout.Columns, timed, func(c string) string { return c + " = " + c + " - ?" })
	case schemas.Delete:
		if b = remove(t, p, timed); p.Present {
			b.write(" IF EXISTS")
		}
	}
	return st.finish(b)
}

// finish ends the statement of a write.
func (st *statement) finish(b *cql) *query {
	p := st.Pattern()
	q := b.query(st.partition())
	if st.table.newRows && p.Kind == schemas.Put || p.Absent {
		for i, from := range q.binds {
			if column := int(from) - st.Layout.Columns; column >= 0 && column < len(p.Columns) {
				q.optional = append(q.optional, i)
			}
		}
	}
	q.conditional = p.Conditional()
	q.idempotent, q.lists = st.idempotent()
	return q
}

// idempotent reports whether a write may be sent twice, and which of its arguments
// are lists. A node makes the keys of a list's elements, so elements that are
// written twice appear twice. This also holds for a write that replaces the list,
// because both attempts have the same timestamp.
func (st *statement) idempotent() (bool, []bind) {
	p := st.Pattern()
	if p.Conditional() || st.counter {
		return false, nil
	}
	if p.Kind == schemas.Remove || p.Kind == schemas.Delete {
		return true, nil
	}
	var lists []bind
	for i, c := range p.Columns {
		if c.Type.Kind == schemas.List {
			lists = append(lists, bind(st.Layout.Columns+i))
		}
	}
	return true, lists
}

// compare compares two values of a key column in Cassandra's order: UUIDs by version, and those of version 1 by time.
// CQL takes one bound on a column, so the driver compares two to send the closer one.
func compare(a, b drivers.Value) int {
	switch a.Kind() {
	case schemas.Text, schemas.Blob:
		return bytes.Compare(a.Raw(), b.Raw())
	case schemas.UUID, schemas.TimeUUID:
		u, v := a.UUIDBytes(), b.UUIDBytes()
		if u[6]>>4 != v[6]>>4 {
			return cmp.Compare(u[6]>>4, v[6]>>4)
		} else if u[6]>>4 != 1 {
			return bytes.Compare(u[:], v[:])
		}
		x, _ := keys.Append(nil, drivers.TimeUUID(u), false)
		y, _ := keys.Append(nil, drivers.TimeUUID(v), false)
		return bytes.Compare(x, y)
	}
	return cmp.Compare(a.Int64(), b.Int64())
}
