package cassandra

import (
	"slices"

	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/schemas"
)

// compileRead writes one SELECT for each set of bounds that a call may give.
func (st *statement) compileRead() error {
	p := st.Pattern()
	if p.Nested {
		return unsupported("a read of rows and of those around them, which are in other tables")
	}
	if p.Index != nil {
		if err := st.useIndex(); err != nil {
			return err
		}
	}
	for _, c := range st.shape.Filter {
		if p.Reverse && st.table.indexed[c.Name] {
			return unsupported("Cassandra would use the index on %s, and cannot read in reverse order through an index", c.Name)
		}
	}
	st.chooseColumns()
	// In a scan, a partition with static columns and no row counts towards a
	// LIMIT, so the driver counts the rows itself. A slice of such a partition
	// returns nothing else, so there LIMIT is correct.
	pseudo := p.Kind == schemas.Scan && (st.rowAt >= 0 || st.someOf != nil)
	st.limited = (p.Limit > 0 || p.LimitArg) && p.In == nil && !pseudo
	mixed := len(p.After) > 1 && !oneDirection(p.After)
	for with := range bounds(len(st.queries)) {
		if !st.possible(with) || mixed && with&withAfter != 0 {
			continue
		}
		st.queries[with] = st.selection(func(b *cql) {
			b.ends(p, with, st.Layout.From, st.Layout.To, with&withAfter != 0 && len(p.After) > 1)
			if with&withAfter != 0 {
				b.after(p, st.Layout.After)
			}
		})
	}
	if mixed {
		st.compileChain()
	}
	return nil
}

// useIndex turns a slice through an index into its form in CQL: the columns of the
// primary key are bound, and the index's last column is a filter.
func (st *statement) useIndex() error {
	p, x := st.Pattern(), st.Pattern().Index
	if !st.table.Table.OneColumn(x) {
		return unsupported("index %s: a Cassandra index finds equal values of one plain column, and has no order", x.Name)
	}
	last := len(x.Columns) - 1
	switch {
	case len(p.By) <= last:
		return unsupported("index %s: by must bind its last column, %s", x.Name, x.Columns[last].Column.Name)
	case p.Reverse:
		return unsupported("Cassandra cannot read in reverse order through an index")
	case last == 0 && (p.From != nil || p.To != nil || len(p.After) > 0 || p.In != nil):
		return unsupported("index %s without the partition key returns rows in no order, so a read cannot continue after one",
			x.Name)
	}
	// The positions of the arguments stay the same: the filter's argument is the
	// last of those for by.
	bound := *p
	bound.By, bound.Filter = p.By[:last], append([]*schemas.Column{p.By[last]}, p.Filter...)
	if p.In != nil || len(p.Filter) > 0 {
		return unsupported("index %s together with a list or a filter", x.Name)
	}
	st.shape, st.Layout.Filter = &bound, last
	return nil
}

// possible reports whether a call can give exactly these bounds. Of after and the
// bound at which reading begins, only the closer one is used.
func (st *statement) possible(with bounds) bool {
	p := st.shape
	if with&withFrom != 0 && p.From == nil || with&withTo != 0 && p.To == nil || with&withAfter != 0 && len(p.After) == 0 {
		return false
	}
	return with&withAfter == 0 || with&st.startBound() == 0
}

// startBound returns the bound at which reading begins in a pattern with after.
func (st *statement) startBound() bounds {
	if ascending(st.Pattern().After[0], st.Pattern().Reverse) {
		return withFrom
	}
	return withTo
}

// compileChain compiles a page that continues after a row in columns of mixed
// direction. CQL has no comparison for it, so the page is a chain of reads, run
// one after another until the limit is reached. The first one reads the rows that
// agree with that row in all columns but the last, the next in one column less,
// and so on.
func (st *statement) compileChain() {
	p := st.Pattern()
	end := (withFrom | withTo) &^ st.startBound()
	for i := len(p.After) - 1; i >= 0; i-- {
		for given := range st.chains {
			with := bounds(0)
			if given == 1 {
				with = end
			}
			if given == 1 && !st.possible(end|withAfter) {
				continue
			}
			st.chains[given] = append(st.chains[given], st.selection(func(b *cql) {
				b.equal(p.After[:i], st.Layout.After)
				b.cond(ddl.Quote(p.After[i].Name)+" "+relation(p.After[i], p.Reverse)+" ?", bind(st.Layout.After+i))
				if i == 0 {
					b.ends(p, with, st.Layout.From, st.Layout.To, false)
				}
			}))
		}
	}
}

// chooseColumns sets the columns to select: first those of the pattern, then those
// that the driver needs to order rows or to see whether a row exists.
func (st *statement) chooseColumns() {
	p := st.shape
	if p.Element != nil {
		st.out = 1
		return
	}
	st.out = len(p.Columns)
	columns := slices.Clone(p.Columns)
	at := func(c *schemas.Column) int {
		if i := slices.Index(columns, c); i >= 0 {
			return i
		}
		columns = append(columns, c)
		return len(columns) - 1
	}
	if p.Static {
		// SELECT DISTINCT must name the whole partition key.
		for _, c := range st.table.Partition {
			at(c)
		}
		for _, c := range st.table.Static {
			st.someOf = append(st.someOf, at(c))
		}
	} else if len(st.table.Static) > 0 && len(p.Filter) == 0 && p.In == nil && len(p.By) <= len(st.table.Partition) {
		st.rowAt = at(st.table.Clustering[0])
	}
	if p.In != nil && !st.readsEach() {
		st.inAt = at(p.In)
	}
	selected := *p
	selected.Columns = columns
	st.shape = &selected
}

// readsEach reports whether each element of the list is read by its own SELECT, as
// the elements are partitions.
func (st *statement) readsEach() bool {
	return st.Pattern().In != nil && st.Pattern().Parallel > 0
}

// selection writes a SELECT. The function more adds the conditions of the bounds.
func (st *statement) selection(more func(b *cql)) *query {
	p, t := st.shape, st.table
	b := new(cql)
	q := &query{idempotent: true}
	b.write("SELECT ")
	switch {
	case p.Element != nil:
		b.write(ddl.Quote(p.Element.Name), "[?]")
		b.binds = append(b.binds, bind(st.Layout.Element))
		q.columns = []*schemas.Column{{Name: p.Element.Name, Type: *p.Element.Type.Elem}}
	default:
		if p.Static {
			b.write("DISTINCT ")
		}
		b.write(ddl.Quoted(p.Columns))
		q.columns = p.Columns
	}
	b.write(" FROM ", t.qualified)
	b.equal(p.By, 0)
	key := st.partition()
	switch {
	case st.readsEach():
		b.cond(ddl.Quote(p.In.Name)+" = ?", bindElement)
		key = nil
		for i := range p.By {
			key = append(key, bind(i))
		}
		key = append(key, bindElement)
	case p.In != nil:
		b.cond(ddl.Quote(p.In.Name)+" IN ?", bind(st.Layout.In))
	}
	b.equal(p.Filter, st.Layout.Filter)
	more(b)
	if p.Reverse && len(t.Clustering) > 0 {
		b.write(" ORDER BY ", ddl.Quote(t.Clustering[0].Name), ddl.Direction(!t.Clustering[0].Desc))
	}
	if st.limited {
		b.write(" LIMIT ?")
		b.binds = append(b.binds, bindLimit)
	}
	if len(p.Filter) > 1 || len(p.Filter) == 1 && !t.indexed[p.Filter[0].Name] {
		b.write(" ALLOW FILTERING")
	}
	written := b.query(key)
	q.text, q.binds, q.route = written.text, written.binds, written.route
	q.id = st.of.number()
	return q
}
