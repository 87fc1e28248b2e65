package imports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

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
	if st.Kind != cql.Select {
		return cmp.Or(keyed(t, st), changes(t, st))
	}
	for _, x := range st.Select {
		c := t.Column(x.Column)
		if st.Distinct && c != nil && c.Role != schemas.Partition && c.Role != schemas.Static {
			return fmt.Sprintf("SELECT DISTINCT %s: expected columns of the partition key and static columns", x.Column)
		}
	}
	if st.Limit != nil && (st.Limit.Text == "0" || st.Limit.Text[0] == '-') {
		return fmt.Sprintf("LIMIT %s: expected at least 1", st.Limit.Text)
	}
	next := 0
	for _, name := range st.GroupBy {
		at := slices.Index(schemas.Names(t.Key()), name)
		if !strings.Contains(name, "(") && !follows(t.Key(), st, next, at) {
			return fmt.Sprintf("GROUP BY %s: expected columns of the primary key in its order", name)
		}
		next = at + 1
	}
	return ordered(t, st)
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
		if !strings.Contains(text, "(") {
			all = append(all, text)
		}
	}
	return all
}

// compares returns the operators with which WHERE compares a column.
func compares(st cql.Statement, c *schemas.Column) (ops []string) {
	for _, r := range st.Where {
		if !r.Token && !r.Within && slices.Contains(r.Columns, c.Name) {
			ops = append(ops, r.Op)
		}
	}
	return ops
}

// binds reports whether WHERE compares a column with = or IN, or an INSERT gives it.
func binds(st cql.Statement, c *schemas.Column) bool {
	ops := compares(st, c)
	return slices.Contains(ops, "=") || slices.Contains(ops, "in") || slices.Contains(st.Columns, c.Name) ||
		st.Kind == cql.Insert && st.JSON
}

// follows reports whether column at of the key comes after the ones before next, and WHERE binds all between.
func follows(key []*schemas.Column, st cql.Statement, next, at int) bool {
	return at >= next && !slices.ContainsFunc(key[next:at], func(c *schemas.Column) bool { return !binds(st, c) })
}

// ordered says what is wrong with ORDER BY: it names clustering columns in their order, without those that WHERE
// binds, in their direction or all against it, or one vector with an index.
func ordered(t *schemas.Table, st cql.Statement) string {
	next, against := 0, false
	for i, o := range st.OrderBy {
		c := t.Column(o.Column)
		at := slices.Index(t.Clustering, c)
		indexed := func(x *schemas.Index) bool { return x.Columns[0].Column == c }
		why := ""
		switch {
		case o.ANN && (!strings.HasPrefix(c.Type.Foreign, "vector") || !slices.ContainsFunc(t.Indexes, indexed)):
			why = "ANN OF needs a vector with an SAI index"
		case o.ANN:
		case at < 0:
			why = "Cassandra sorts by clustering columns only"
		case !follows(t.Partition, st, 0, len(t.Partition)):
			why = "Cassandra sorts only within partitions that WHERE binds"
		case !follows(t.Clustering, st, next, at), i > 0 && against != (o.Descending != c.Desc):
			why = "Cassandra sorts in the clustering order, or all of it backwards"
		}
		if why != "" {
			return "ORDER BY " + o.Column + ": " + why
		}
		next, against = at+1, c.Desc != o.Descending
	}
	return ""
}

// keyed says which part of the key a write lacks: it binds the first columns, and all of them unless it deletes
// rows, or changes static columns only.
func keyed(t *schemas.Table, st cql.Statement) string {
	rows := st.Kind == cql.Delete && len(st.Delete) == 0
	plain := func(c *schemas.Column) bool { return c.Role != schemas.Static }
	static := !rows && !slices.ContainsFunc(changed(t, st), plain)
	missing, first := "", "" // the latter is that of a tuple
	for _, r := range st.Where {
		if r.Tuple {
			first = r.Columns[0]
		}
	}
	for i, c := range t.Key() {
		switch compared := len(compares(st, c)) > 0; {
		case missing == "" && binds(st, c):
		case missing == "" && i < len(t.Partition):
			return fmt.Sprintf("it does not bind the partition key of table %s: %s is missing", t.Name, c.Name)
		case missing == "" && compared && !rows:
			return fmt.Sprintf("it needs a value of %s: only a DELETE of rows has a range", c.Name)
		case missing == "":
			missing = c.Name
		case (compared || binds(st, c)) && missing != first:
			return fmt.Sprintf("it has a value of %s, and none of %s before it in the key", c.Name, missing)
		}
	}
	for _, r := range st.Where {
		if c := t.Column(r.Columns[0]); !slices.Contains(t.Key(), c) {
			return fmt.Sprintf("%s: a write finds rows by the primary key only", r.Text)
		}
	}
	switch {
	case missing != "" && !rows && !static:
		return fmt.Sprintf("it does not bind the whole primary key of table %s: %s is missing", t.Name, missing)
	case missing == "" && static && st.Kind == cql.Update && len(t.Clustering) > 0:
		return "it changes static columns only: WHERE binds the partition key and nothing else"
	}
	return ""
}

// changed returns the columns that a write names besides those that find its row.
func changed(t *schemas.Table, st cql.Statement) (all []*schemas.Column) {
	for _, a := range st.Set {
		all = append(all, t.Column(a.Column))
	}
	for _, x := range st.Delete {
		all = append(all, t.Column(x.Columns[0]))
	}
	for _, name := range st.Columns {
		if c := t.Column(name); !slices.Contains(t.Key(), c) {
			all = append(all, c)
		}
	}
	return all
}

// changes says what is wrong with the values that a write gives.
func changes(t *schemas.Table, st cql.Statement) string {
	if base := t.View(); base != "" {
		return fmt.Sprintf("%s is a materialized view of %s: Cassandra refuses writes", t.Name, base)
	}
	for _, c := range t.Key() {
		if slices.Contains(changed(t, st), c) || strings.EqualFold(valueOf(st, c.Name), "null") {
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
