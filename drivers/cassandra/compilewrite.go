package cassandra

import (
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// compileWrite writes a write twice: by itself, its timestamp in the request,
// and as a part of a batch, where each has its own.
func (st *statement) compileWrite() error {
	p := st.Pattern()
	counters := slices.ContainsFunc(slices.Concat(p.Table.Columns, p.Table.Static), func(c *schemas.Column) bool { return c.Type.Kind == schemas.Counter })
	st.counter = counters
	switch {
	case p.In != nil:
		return unsupported("in binds lists of reads only")
	case p.ReturnsNew:
		return unsupported("no write of Cassandra gives values back")
	case p.Kind == schemas.Add && !counters:
		return unsupported("Cassandra adds to counters only, and %s is a %s", p.Columns[0].Name, p.Columns[0].Type)
	case p.Kind == schemas.Put && counters:
		return unsupported("a row of counters begins with an addition")
	case p.Kind == schemas.PutIf && !p.Absent && len(p.Columns) == 0:
		return unsupported("a comparison without a column to set")
	}
	for with := range bounds(len(st.queries)) {
		if with&withAfter != 0 || with&withFrom != 0 && p.From == nil || with&withTo != 0 && p.To == nil {
			continue
		}
		st.queries[with] = st.mutation(with, false)
		if p.Kind != schemas.PutIf && !counters {
			st.timed[with] = st.mutation(with, true)
		}
	}
	if counters {
		st.timed = st.queries
	}
	return nil
}

// mutation writes the statement of a write.
func (st *statement) mutation(with bounds, timed bool) *query {
	p, t := st.Pattern(), st.table
	var b *cql
	switch p.Kind {
	case schemas.Put:
		b = insert(t, p, st.At.Columns, false, timed)
	case schemas.PutIf:
		if p.Absent {
			b = insert(t, p, st.At.Columns, true, timed)
			break
		}
		b = update(t, p, st.At.Columns, timed, func(c string) string { return c + " = ?" })
		for i, c := range p.If {
			b.write([]string{" IF ", " AND "}[min(i, 1)], quote(c.Name), " = ?")
			b.binds = append(b.binds, bind(st.At.If+i))
		}
	case schemas.Add, schemas.Append:
		b = update(t, p, st.At.Columns, timed, func(c string) string { return c + " = " + c + " + ?" })
	case schemas.Remove:
		b = update(t, p, st.At.Columns, timed, func(c string) string { return c + " = " + c + " - ?" })
	case schemas.Delete:
		b = remove(t, p, with, st.At.From, st.At.To, timed)
	}
	q := b.query(st.partition())
	q.conditional = p.Kind == schemas.PutIf
	q.idempotent, q.lists = st.idempotent()
	return st.store.add(q)
}

// idempotent reports whether a write that is sent twice does what it does once,
// and which arguments it writes to lists. The elements of a list have keys that
// the node makes: written twice, they are there twice, also where the list is
// replaced, since both have one timestamp.
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
			lists = append(lists, bind(st.At.Columns+i))
		}
	}
	return true, lists
}
