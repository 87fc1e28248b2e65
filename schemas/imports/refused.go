package imports

import (
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
	switch base := t.View(); {
	case st.Kind == cql.Select:
		return ordered(t, st)
	case base != "":
		return fmt.Sprintf("%s is a materialized view of %s: Cassandra refuses writes", t.Name, base)
	}
	if why := keyed(t, st); why != "" {
		return why
	}
	return changes(t, st)
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
		case o.ANN && (!strings.HasPrefix(c.Type.Foreign, "vector") || !slices.ContainsFunc(t.Indexes, indexed)):
			why = "ANN OF needs a vector with an SAI index"
		case o.ANN:
		case at < 0:
			why = "Cassandra sorts by clustering columns only"
		case !where.binds(t.Partition...):
			why = "Cassandra sorts only within partitions that WHERE binds"
		case at < next || !where.binds(t.Clustering[next:at]...),
			i > 0 && (c.Desc != o.Descending) != (t.Column(st.OrderBy[0].Column).Desc != st.OrderBy[0].Descending):
			why = "Cassandra sorts in the clustering order, or all of it backwards"
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
	plain := func(c *schemas.Column) bool { return c.Role != schemas.Static }
	static := !rows && !slices.ContainsFunc(changed(t, st), plain)
	if n < len(t.Partition) {
		return fmt.Sprintf("it does not bind the partition key of table %s: %s is missing", t.Name, key[n].Name)
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
	switch {
	case n < len(key) && !rows && !static:
		return fmt.Sprintf("it does not bind the whole primary key of table %s: %s is missing", t.Name, key[n].Name)
	case n == len(key) && static && st.Kind == cql.Update && n > len(t.Partition):
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
