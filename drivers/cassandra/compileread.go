package cassandra

import (
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// compileRead writes a read as one statement for each set of bounds that a call
// may give.
func (st *statement) compileRead() error {
	p := st.Pattern()
	if p.Index != nil {
		if err := st.useIndex(); err != nil {
			return err
		}
	}
	for _, c := range st.shape.Filter {
		if p.Reverse && st.table.indexed[c.Name] {
			return unsupported("an index on %s is used where there is one, and Cassandra reads against the order through none", c.Name)
		}
	}
	st.chooseColumns()
	// In a scan, partitions that have statics and no row would use the limit up.
	// A slice of one gives nothing else.
	pseudo := p.Kind == schemas.Scan && (st.rowAt >= 0 || st.someOf != nil)
	st.limited = (p.Limit > 0 || p.LimitArg) && p.In == nil && !pseudo
	mixed := len(p.After) > 1 && !oneDirection(p.After)
	for with := range bounds(len(st.queries)) {
		if !st.possible(with) || mixed && with&withAfter != 0 {
			continue
		}
		st.queries[with] = st.selection(func(b *cql) {
			b.ends(p, with, st.At.From, st.At.To, with&withAfter != 0 && len(p.After) > 1)
			if with&withAfter != 0 {
				b.after(p, st.At.After)
			}
		})
	}
	if mixed {
		st.compileChain()
	}
	return nil
}

// useIndex turns a slice through an index into what CQL makes of one: the
// columns of the primary key are bound, and the last one is a filter that the
// index answers.
func (st *statement) useIndex() error {
	p, x := st.Pattern(), st.Pattern().Index
	if !keptIndex(st.table.Table, x) {
		return unsupported("Cassandra's indexes find equal values of one plain column; none has the order of %s", x.Name)
	}
	last := len(x.Columns) - 1
	switch {
	case len(p.By) <= last:
		return unsupported("index %s finds rows by its last column, which by does not bind", x.Name)
	case p.Reverse:
		return unsupported("Cassandra reads against the order through no index")
	case last == 0 && (p.From != nil || p.To != nil || len(p.After) > 0 || p.In != nil):
		return unsupported("without the partition key, index %s gives rows in no order that could be gone on in", x.Name)
	}
	// The arguments stay where they are: the filter's stands right behind by's.
	bound := *p
	bound.By, bound.Filter = p.By[:last], append([]*schemas.Column{p.By[last]}, p.Filter...)
	if p.In != nil || len(p.Filter) > 0 {
		return unsupported("index %s beside a list or a filter", x.Name)
	}
	st.shape, st.At.Filter = &bound, last
	return nil
}

// possible reports whether a call can give these bounds and no others. The bound
// at which reading begins and after are never both used: the closer one is.
func (st *statement) possible(with bounds) bool {
	p := st.shape
	if with&withFrom != 0 && p.From == nil || with&withTo != 0 && p.To == nil || with&withAfter != 0 && len(p.After) == 0 {
		return false
	}
	return with&withAfter == 0 || with&st.startBound() == 0
}

// start is the bound at which reading begins, where there is an after.
func (st *statement) startBound() bounds {
	if ascending(st.Pattern().After[0], st.Pattern().Reverse) {
		return withFrom
	}
	return withTo
}

// compileChain writes a page that goes on after a row in columns of both
// directions, which no comparison of tuples says in CQL, as a row of reads, one
// after another until the limit is reached: first the rows that share all but
// the last of the columns with it, and so on.
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
				b.equal(p.After[:i], st.At.After)
				b.cond(quote(p.After[i].Name)+" "+relation(p.After[i], p.Reverse)+" ?", bind(st.At.After+i))
				if i == 0 {
					b.ends(p, with, st.At.From, st.At.To, false)
				}
			}))
		}
	}
}

// choose decides which columns are selected: the pattern's, and behind them what
// is needed to put rows in order or to tell whether there is one.
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
		// A distinct selection names the whole partition key.
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

// single reports whether in is over a partition column, one read each.
func (st *statement) readsEach() bool {
	return st.Pattern().In != nil && st.Pattern().Parallel > 0
}

// selection writes a SELECT; more adds the conditions of the bounds.
func (st *statement) selection(more func(b *cql)) *query {
	p, t := st.shape, st.table
	b := new(cql)
	q := &query{idempotent: true}
	b.write("SELECT ")
	switch {
	case p.Element != nil:
		b.write(quote(p.Element.Name), "[?]")
		b.binds = append(b.binds, bind(st.At.Element))
		q.columns = []*schemas.Column{{Name: p.Element.Name, Type: *p.Element.Type.Elem}}
	default:
		if p.Static {
			b.write("DISTINCT ")
		}
		b.write(quoted(p.Columns))
		q.columns = p.Columns
	}
	b.write(" FROM ", t.qualified)
	b.equal(p.By, 0)
	key := st.partition()
	switch {
	case st.readsEach():
		b.cond(quote(p.In.Name)+" = ?", bindElement)
		key = nil
		for i := range p.By {
			key = append(key, bind(i))
		}
		key = append(key, bindElement)
	case p.In != nil:
		b.cond(quote(p.In.Name)+" IN ?", bind(st.At.In))
	}
	b.equal(p.Filter, st.At.Filter)
	more(b)
	if p.Reverse && len(t.Clustering) > 0 {
		b.write(" ORDER BY ", quote(t.Clustering[0].Name), direction(!t.Clustering[0].Desc))
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
	return st.store.add(q)
}
