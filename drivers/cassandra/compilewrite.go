package cassandra

import (
	"slices"

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
	case p.Kind != schemas.PutIf:
		st.timed = st.mutation(true)
	}
	return nil
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
		for i, c := range p.If {
			b.write([]string{" IF ", " AND "}[min(i, 1)], quote(c.Name), " = ?")
			b.binds = append(b.binds, bind(st.Layout.If+i))
		}
	case schemas.Add, schemas.Append:
		b = update(t, p, st.Layout.Columns, timed, func(c string) string { return c + " = " + c + " + ?" })
	case schemas.Remove:
		b = update(t, p, st.Layout.Columns, timed, func(c string) string { return c + " = " + c + " - ?" })
	case schemas.Delete:
		b = remove(t, p, timed)
	}
	q := b.query(st.partition())
	q.conditional = p.Kind == schemas.PutIf
	q.idempotent, q.lists = st.idempotent()
	return st.store.add(q)
}

// idempotent reports whether a write may be sent twice, and which of its arguments
// are lists. A node makes the keys of a list's elements, so elements that are
// written twice appear twice. This also holds for a write that replaces the list,
// because both attempts have the same timestamp.
func (st *statement) idempotent() (bool, []bind) {
	p := st.Pattern()
	if p.Kind == schemas.PutIf || st.counter {
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
