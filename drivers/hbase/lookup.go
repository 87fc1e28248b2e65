package hbase

import (
	"context"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// lookup reads rows through an index: a page of entries, then their rows. An entry may be left over from
// an interrupted write, so a row counts only if it has the entry's values.
type lookup struct {
	index       *index
	lead        []int      // positions of the arguments that an entry begins with
	first, next *statement // a page of entries, and one that begins after an entry
	rows        *statement // the row of an entry: what the pattern yields, then the indexed columns
	n           int        // number of columns that the pattern yields
	same        []int      // for each further column of rows, its position in the entries' key
	key         []int      // for each column of the primary key, its position in the entries' key
}

// throughIndex makes the statement read through the index that its pattern names.
func (st *statement) throughIndex() error {
	p := st.Pattern()
	x := st.table.kept(p.Index.Name)
	switch {
	case x == nil:
		return fmt.Errorf("index %s: HBase has no indexes, and mailbench keeps only such over plain columns of rows, "+
			"in ascending order: %w", p.Index.Name, drivers.ErrUnsupported)
	case len(p.By) < len(p.Index.Columns):
		return fmt.Errorf("index %s: a read must bind all of its columns: %w", p.Index.Name, drivers.ErrUnsupported)
	}
	lead := make([]int, len(p.By))
	for i := range lead {
		lead[i] = i
	}
	return st.through(x, lead)
}

// throughFilter makes a slice that filters read through an index that begins with what it binds and
// filters, if there is one. Behind these columns the index must have the order of the primary key.
func (st *statement) throughFilter() error {
	p, t := st.Pattern(), st.table
	if p.Kind != schemas.Slice || p.Static || len(p.Filter) != 1 || p.In != nil || p.Element != nil {
		return nil
	}
	n := len(p.By) + 1
	for i := range t.indexes {
		x := &t.indexes[i]
		if len(x.schema.Columns) > n || n > len(x.from) {
			continue
		}
		var lead, rest []int
		for _, at := range x.from[:n] {
			switch {
			case at < len(p.By):
				lead = append(lead, at)
			case at == t.position(p.Filter[0].Name):
				lead = append(lead, st.Layout.Filter)
			}
		}
		for at := len(p.By); at < len(t.key); at++ {
			rest = append(rest, at)
		}
		if len(lead) == n && slices.Equal(x.from[n:], rest) {
			return st.through(x, lead)
		}
	}
	return nil
}

// through makes the statement read through an index whose entries begin with the arguments lead.
func (st *statement) through(x *index, lead []int) error {
	p, own, n := st.Pattern(), x.entries.key, len(lead)
	l := &lookup{index: x, lead: lead, n: len(p.Columns)}
	page := schemas.Pattern{
		Name: p.Name, Kind: schemas.Slice, Table: x.entries.schema, By: own[:n], Reverse: p.Reverse,
		LimitArg: true, Columns: own,
	}
	for _, b := range []struct{ of, to **schemas.Bound }{{&p.From, &page.From}, {&p.To, &page.To}} {
		if *b.of == nil {
			continue
		}
		if n == len(own) || own[n].Name != (*b.of).Column.Name {
			return errOrder
		}
		*b.to = &schemas.Bound{Column: own[n], Open: (*b.of).Open}
	}
	first, next := page, page
	for i, c := range p.After {
		if n+i >= len(own) || own[n+i].Name != c.Name {
			return errOrder
		}
		first.After = append(first.After, own[n+i])
	}
	next.After = own[n:]
	rows := schemas.Pattern{
		Name: p.Name, Kind: schemas.Get, Table: p.Table, By: st.table.key, Columns: slices.Clone(p.Columns),
	}
	for at, of := range x.from {
		if of >= len(st.table.key) {
			rows.Columns = append(rows.Columns, st.table.columns[of-len(st.table.key)])
			l.same = append(l.same, at)
		}
	}
	for at := range st.table.key {
		l.key = append(l.key, slices.Index(x.from, at))
	}
	l.first = &statement{Plan: plan.Of(&first), table: x.entries}
	l.next = &statement{Plan: plan.Of(&next), table: x.entries}
	l.rows = &statement{Plan: plan.Of(&rows), table: st.table}
	for _, part := range []*statement{l.first, l.next, l.rows} {
		if err := part.compile(); err != nil {
			return err
		}
	}
	st.lookup = l
	return nil
}

var errOrder = fmt.Errorf("the index has another order: %w", drivers.ErrUnsupported)

// args returns the arguments of a page: those of the call, the last entry of the page before, and the limit.
func (l *lookup) args(st, page *statement, args, last []drivers.Value, limit int64) []drivers.Value {
	p, to := page.Pattern(), page.Layout
	vals := make([]drivers.Value, len(p.Args()))
	for i, at := range l.lead {
		vals[i] = args[at]
	}
	if p.From != nil {
		vals[to.From] = args[st.Layout.From]
	}
	if p.To != nil {
		vals[to.To] = args[st.Layout.To]
	}
	switch {
	case last != nil:
		copy(vals[to.After:], last[len(l.lead):])
	case len(p.After) > 0:
		copy(vals[to.After:], args[st.Layout.After:st.Layout.After+len(p.After)])
	}
	vals[to.Limit] = drivers.Bigint(limit)
	return vals
}

// readThrough runs a statement that reads through an index.
func (r *reading) readThrough(ctx context.Context, st *statement, args []drivers.Value,
	yield func(row []drivers.Value) error,
) error {
	l, left := st.lookup, st.Limit(args)
	width := len(l.index.from)
	var last []drivers.Value
	for page := l.first; left != 0; page = l.next {
		want := int64(maxTogether)
		if left > 0 {
			want = min(want, left)
		}
		var found, keys []drivers.Value
		err := r.read(ctx, page, l.args(st, page, args, last, want), func(entry []drivers.Value) error {
			for i := range entry {
				found = append(found, entry[i].Clone())
			}
			return nil
		})
		if err != nil {
			return err
		}
		n := len(found) / width
		for i := range n {
			for _, at := range l.key {
				keys = append(keys, found[i*width+at])
			}
		}
		err = r.fetch(ctx, l.rows, keys, func(i int, row []drivers.Value) error {
			for of, at := range l.same {
				if !row[l.n+of].Equal(found[i*width+at]) {
					return nil
				}
			}
			if left > 0 {
				left--
			}
			return yield(row[:l.n])
		})
		if err != nil || int64(n) < want || len(l.lead) == width {
			return err
		}
		last = found[(n-1)*width:]
	}
	return nil
}

// fetch yields the rows of whole primary keys, which follow one another in keys, with the number of each.
func (r *reading) fetch(ctx context.Context, st *statement, keys []drivers.Value,
	yield func(i int, row []drivers.Value) error,
) error {
	width, at := len(st.table.key), 0
	r.prepareRow(st)
	r.ctx, r.st, r.args, r.left, r.yielded, r.staticOf = ctx, st, nil, -1, nil, nil
	r.yield = func(row []drivers.Value) error { return yield(at, row) }
	r.rows.reading, r.rows.key, r.rows.static = r, nil, false
	defer func() { r.yield = nil }()
	for at*width < len(keys) {
		n := min(maxTogether, len(keys)/width-at)
		r.multi.begin()
		for i := at; i < at+n; i++ {
			if err := r.rowKey(st.table.row, keys[i*width:(i+1)*width]); err != nil {
				return err
			}
			key, c := slices.Clone(r.key), r.multi.next()
			c.begin("Get", st.table.hbase, key)
			c.asGet(key, st.view.ask, st.view.filter, 0)
		}
		if _, err := r.multi.send(ctx, r.cluster, r.slot); err != nil {
			return st.Named(err)
		}
		for _, c := range r.multi.calls[:n] {
			if err := r.yieldGot(c); r.yielded != nil {
				return r.yielded
			} else if err != nil {
				return st.Named(err)
			}
			at++
		}
	}
	return nil
}
