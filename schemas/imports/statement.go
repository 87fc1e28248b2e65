package imports

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// statement adds the patterns of a statement, or says why there are none.
func (im *importer) statement(st cql.Statement) {
	batch := st.Kind == cql.Batch
	switch {
	case batch && len(st.Parts) == 0:
		im.pass(st, "a batch without statements does nothing")
		return
	case !batch && !im.own(st.Table):
		im.pass(st, "it is of keyspace "+st.Table.Keyspace)
		return
	case st.Kind == cql.Truncate && im.schema.Table(st.Table.Name) != nil:
		im.pass(st, "TRUNCATE is no access pattern")
		return
	}
	p, err := im.patternOf(st, im.readNotes(st.Pos, st.Comments, false))
	if err != nil {
		im.unread(st.Pos, st.Text, err.Error())
		return
	}
	im.res.Read = append(im.res.Read, Statement{st, p})
}

// patternOf adds the patterns of a statement, and returns that of the whole. One that is several patterns is a
// batch of them.
func (im *importer) patternOf(st cql.Statement, n notes) (*schemas.Pattern, error) {
	statements := st.Parts
	if st.Kind != cql.Batch {
		statements = []cql.Statement{st}
	}
	whole := &schemas.Pattern{Kind: schemas.Batch, Imported: at(st.Pos)}
	var parts []*schemas.Pattern
	known := true
	for _, part := range statements {
		patterns, err := im.patterns(part, whole, st.Kind == cql.Batch)
		if err != nil && st.Kind == cql.Batch {
			err = fmt.Errorf("line %d: %w", part.Pos.Line, err)
		}
		if err != nil {
			return nil, err
		}
		for _, p := range patterns {
			known = known && im.shapes[p.Shape()] != nil
			p.Imported, p.Name = at(part.Pos), fmt.Sprintf("p%d", len(parts))
			parts = append(parts, p)
		}
	}
	if !known {
		if err := im.refused(nil, parts...); err != nil {
			return nil, err
		}
	}
	if st.Kind != cql.Batch && len(parts) == 1 {
		return im.add(parts[0], n), nil
	}
	for _, p := range parts {
		im.part(whole, p, st, n)
	}
	if st.Kind == cql.Batch {
		im.batch(whole, parts, st, n)
	}
	return im.add(whole, n), nil
}

// part adds a pattern to a batch. A part of one statement has the name of the statement, and its kind.
func (im *importer) part(whole, p *schemas.Pattern, st cql.Statement, n notes) {
	own := notes{}
	if st.Kind != cql.Batch && n.name != "" {
		own.name = n.name + "_" + verbs.Replace(p.Kind.String())
	}
	if whole.Atomic = max(whole.Atomic, schemas.AtomicRow); p.Static {
		whole.Atomic = schemas.AtomicPartition
	}
	added := im.add(p, own)
	if at := slices.IndexFunc(whole.Parts, func(part schemas.Part) bool { return part.Pattern == added }); at >= 0 {
		whole.Parts[at].Each = "row"
		return
	}
	whole.Parts = append(whole.Parts, schemas.Part{Pattern: added})
}

// patterns returns those of a statement that is no batch. They have no names yet. Several are parts of the whole, as
// are those of a batch.
func (im *importer) patterns(st cql.Statement, whole *schemas.Pattern, batch bool) ([]*schemas.Pattern, error) {
	t := im.schema.Table(st.Table.Name)
	switch {
	case !im.own(st.Table):
		return nil, fmt.Errorf("it is of keyspace %s", st.Table.Keyspace)
	case t == nil:
		return nil, fmt.Errorf("there is no table %s", st.Table.Name)
	}
	if why := refused(t, st); why != "" {
		return nil, errors.New(why)
	}
	var all []*schemas.Pattern
	if st.Kind == cql.Select {
		all = append(all, read(t, st))
	} else {
		all = writes(t, st)
	}
	// Rules must know more of a statement than its call: the literals that name its partition, whether it is an UPDATE
	// or the INSERT of a row of the schema, and columns to which an INSERT gives null.
	var fixed, null []string
	bound := func(v cql.Expr) bool { return v.Bound }
	using := func(u cql.Using) bool { return bound(u.Value) }
	seed := im.defines && st.Kind == cql.Insert &&
		!slices.ContainsFunc(st.Values, bound) && !slices.ContainsFunc(st.Using, using)
	for _, c := range t.Partition {
		if v := valueOf(st, c.Name); v.Text != "" && !v.Bound {
			fixed = append(fixed, c.Name+" = "+v.Text)
		}
	}
	for i, name := range st.Columns {
		if strings.EqualFold(st.Values[i].Text, "null") {
			null = append(null, name)
		}
	}
	if len(all) == 1 && !batch {
		whole = nil
	}
	for _, p := range all {
		condition(p, whole, st)
		for _, u := range st.Using {
			other(p, u.Name, u.Value.Text)
		}
		if len(fixed) == len(t.Partition) {
			other(p, "fixed", strings.Join(fixed, " and "))
		}
		if st.Kind == cql.Update && p.Kind == schemas.Put && !p.Static && len(st.If) == 0 && !st.IfExists {
			other(p, "update", "true")
		}
		if seed {
			other(p, "seed", "true")
		}
		other(p, "null", strings.Join(null, ", "))
	}
	return all, nil
}

// add adds a pattern, and returns the equal one that is there already, if there is one. Patterns that
// the sources name differently are different.
func (im *importer) add(p *schemas.Pattern, n notes) *schemas.Pattern {
	p.Name = ""
	shape := p.Shape()
	there := im.shapes[shape]
	if there == nil {
		there = im.page(p, n)
		im.shapes[shape] = there
	}
	if there != nil && (n.name == "" || n.name == there.Name || !im.named[there.Name]) {
		if _, taken := im.named[n.name]; n.name != "" && n.name != there.Name && !taken {
			delete(im.named, there.Name)
			there.Name = n.name
			im.named[n.name] = true
		}
		there.Doc = cmp.Or(there.Doc, n.doc)
		there.Other = slices.DeleteFunc(there.Other, func(s schemas.Setting) bool {
			return s.Aside() && !slices.Contains(p.Other, s)
		})
		for _, a := range n.accept {
			if !slices.ContainsFunc(there.Accept, func(b schemas.Acceptance) bool { return a.Rule == b.Rule }) {
				there.Accept = append(there.Accept, a)
			}
		}
		return there
	}
	p.Name = im.free(cmp.Or(n.name, nameOf(p)))
	im.named[p.Name] = n.name != ""
	p.Doc, p.Accept = n.doc, n.accept
	im.shapes[shape] = p
	if p.Kind == schemas.Slice && (p.Limit > 0 || p.LimitArg) {
		im.pages[firstPage(p)] = p
	}
	im.schema.Patterns = append(im.schema.Patterns, p)
	return p
}

// page finds the pattern of which p is the first page, or the next one: it has after and all else is
// equal. It is then the pattern of both.
func (im *importer) page(p *schemas.Pattern, n notes) *schemas.Pattern {
	q := im.pages[firstPage(p)]
	if q == nil || n.name != "" && n.name != q.Name && im.named[q.Name] ||
		len(p.After) > 0 && len(q.After) > 0 && !slices.Equal(p.After, q.After) {
		return nil
	}
	if len(q.After) == 0 {
		q.After = p.After
	}
	im.shapes[q.Shape()] = q
	return q
}

// firstPage is the shape of the first page of a slice.
func firstPage(p *schemas.Pattern) string {
	first := *p
	first.After = nil
	return first.Shape()
}

// batch sets what a BATCH says of its parts. They are in one partition if they are in one table and name the same
// values for its key.
func (im *importer) batch(whole *schemas.Pattern, parts []*schemas.Pattern, st cql.Statement, n notes) {
	elsewhere := func(p *schemas.Pattern) bool { return p.Table != parts[0].Table }
	switch {
	case !slices.ContainsFunc(parts, elsewhere) && sameKey(st.Parts, parts[0].Table):
		whole.Atomic = schemas.AtomicPartition
	case st.Batch == "logged":
		whole.Atomic = schemas.AtomicAll
	default:
		whole.Atomic = schemas.AtomicNone
	}
	if st.Batch == "unlogged" && whole.Atomic == schemas.AtomicNone {
		hint(parts[0].Table, "batches", "unlogged")
	}
	for _, u := range st.Using {
		other(whole, u.Name, u.Value.Text)
	}
	if len(parts) == 2 && len(whole.Parts) == 1 && !n.many {
		other(whole, "rows", "2") // these two, and no list
	}
}

// sameKey reports whether statements give equal texts for the partition key of a table. Two
// question marks can be different values.
func sameKey(parts []cql.Statement, t *schemas.Table) bool {
	for _, c := range t.Partition {
		first := valueOf(parts[0], c.Name).Text
		differs := func(part cql.Statement) bool { return valueOf(part, c.Name).Text != first }
		if first == "" || first == "?" && len(parts) > 1 || slices.ContainsFunc(parts, differs) {
			return false
		}
	}
	return true
}

// valueOf returns the value that a write gives a column of the key, or none.
func valueOf(st cql.Statement, column string) cql.Expr {
	if i := slices.Index(st.Columns, column); i >= 0 {
		return st.Values[i]
	}
	for _, r := range st.Where {
		if r.Op == "=" && len(r.Columns) == 1 && r.Columns[0] == column && !r.Within {
			return r.Terms[0]
		}
	}
	return cql.Expr{}
}

// refused says why Cassandra 4.1 and 5.0 refuse a statement on a table, or "".
func refused(t *schemas.Table, st cql.Statement) string {
	for _, name := range named(st) {
		if t.Column(name) == nil {
			return fmt.Sprintf("table %s has no column %s", t.Name, name)
		}
	}
	for _, r := range st.Where {
		if r.Tuple && t.Column(r.Columns[0]).Role != schemas.Clustering {
			return fmt.Sprintf("%s: Cassandra compares only clustering columns together", r.Text)
		}
	}
	switch base := t.View(); {
	case st.Kind == cql.Select:
		return ordered(t, st)
	case base != "":
		return fmt.Sprintf("%s is a materialized view of %s: Cassandra refuses writes", t.Name, base)
	}
	return cmp.Or(keyed(t, st), changes(t, st))
}

// named returns the columns that a statement names.
func named(st cql.Statement) []string {
	all := slices.Clone(st.Columns)
	for _, r := range slices.Concat(st.Where, st.If) {
		all = append(all, r.Columns...)
	}
	for _, x := range slices.Concat(st.Select, st.Delete) {
		all = append(all, x.Columns...)
	}
	for _, a := range st.Set {
		all = append(all, a.Column)
	}
	for _, o := range st.OrderBy {
		all = append(all, o.Column)
	}
	for _, text := range st.GroupBy {
		if !strings.Contains(text, "(") { // else a function
			all = append(all, text)
		}
	}
	return all
}

// ordered says what is wrong with the clauses of a SELECT. GROUP BY names columns of the key in its order, and
// ORDER BY clustering columns, both without those that WHERE binds; or ORDER BY one vector with an index.
func ordered(t *schemas.Table, st cql.Statement) string {
	for _, x := range st.Select {
		c := t.Column(x.Column)
		if st.Distinct && c != nil && c.Role != schemas.Partition && c.Role != schemas.Static {
			return fmt.Sprintf("SELECT DISTINCT %s: expected columns of the partition key and static columns", x.Column)
		}
	}
	if st.Limit != nil && (st.Limit.Text == "0" || st.Limit.Text[0] == '-') {
		return fmt.Sprintf("LIMIT %s: expected at least 1", st.Limit.Text)
	}
	where, next := conditionsOf(t, st.Where), 0
	for _, name := range st.GroupBy {
		at := slices.Index(t.Key(), t.Column(name))
		if !strings.Contains(name, "(") && (at < next || !where.binds(t.Key()[next:at]...)) {
			return fmt.Sprintf("GROUP BY %s: expected columns of the primary key in its order", name)
		}
		next = at + 1
	}
	next = 0
	for i, o := range st.OrderBy {
		c := t.Column(o.Column)
		at := slices.Index(t.Clustering, c)
		indexed := func(x *schemas.Index) bool { return x.Columns[0].Column == c }
		why := ""
		switch {
		case o.Near != nil && (!strings.HasPrefix(c.Type.Foreign, "vector") || !slices.ContainsFunc(t.Indexes, indexed)):
			why = "ANN OF needs a vector with an SAI index"
		case o.Near != nil:
		case at < next, !where.binds(slices.Concat(t.Partition, t.Clustering[next:at])...),
			i > 0 && (c.Desc != o.Descending) != (t.Column(st.OrderBy[0].Column).Desc != st.OrderBy[0].Descending):
			why = "Cassandra sorts partitions that WHERE binds by clustering columns, in their order or all of it backwards"
		}
		if why != "" {
			return "ORDER BY " + o.Column + ": " + why
		}
		next = at + 1
	}
	return ""
}

// keyed says which part of the key a write lacks: it binds the first columns, and all of them unless it deletes
// rows, or changes static columns only.
func keyed(t *schemas.Table, st cql.Statement) string {
	where, key := conditionsOf(t, st.Where), t.Key()
	for _, c := range key {
		if slices.Contains(st.Columns, c.Name) || st.JSON {
			where.left = append(where.left, cql.Relation{Columns: []string{c.Name}, Op: "="})
		}
	}
	n := len(where.prefix(true))
	rows := st.Kind == cql.Delete && len(st.Delete) == 0
	plain := func(x change) bool { return x.Role != schemas.Static }
	given := changed(t, st)
	static := len(given) > 0 && !slices.ContainsFunc(given, plain)
	if n < len(t.Partition) || n < len(key) && !rows && !static {
		return fmt.Sprintf("it does not bind the primary key of table %s: %s is missing", t.Name, key[n].Name)
	}
	for _, r := range where.left {
		switch at := slices.Index(key, t.Column(r.Columns[0])); {
		case at < 0:
			return fmt.Sprintf("WHERE names %s: a write finds rows by the primary key only", r.Columns[0])
		case at > n:
			return fmt.Sprintf("it has a value of %s, and none of %s before it in the key", r.Columns[0], key[n].Name)
		case !rows:
			return fmt.Sprintf("it needs a value of %s: only a DELETE of rows has a range", r.Columns[0])
		}
	}
	if n == len(key) && static && st.Kind == cql.Update && n > len(t.Partition) {
		return "it changes static columns only: WHERE binds the partition key and nothing else"
	}
	return ""
}

// changes says what is wrong with the values that a write gives.
func changes(t *schemas.Table, st cql.Statement) string {
	for _, c := range t.Key() {
		is := func(x change) bool { return x.Column == c }
		if slices.ContainsFunc(changed(t, st), is) || strings.EqualFold(valueOf(st, c.Name).Text, "null") {
			return fmt.Sprintf("%s is in the primary key of table %s: it cannot be changed or null", c.Name, t.Name)
		}
	}
	counter := func(c *schemas.Column) bool { return c.Type.Kind == schemas.Counter }
	for _, a := range st.Set {
		c := t.Column(a.Column)
		switch adds := a.Add || a.Remove; {
		case counter(c) && !adds:
			return fmt.Sprintf("SET %s: Cassandra only adds to a counter, or subtracts from it", a.Text)
		case adds && !counter(c) && !c.Type.Collection():
			return fmt.Sprintf("SET %s: Cassandra only adds to counters and collections", a.Text)
		}
	}
	expires := slices.ContainsFunc(st.Using, func(u cql.Using) bool { return u.Name == "ttl" })
	if slices.ContainsFunc(slices.Concat(t.Static, t.Columns), counter) &&
		(st.Kind == cql.Insert || len(st.If) > 0 || st.IfExists || expires) {
		return fmt.Sprintf("table %s has counters: Cassandra refuses INSERT, TTL and IF; use UPDATE", t.Name)
	}
	return ""
}
