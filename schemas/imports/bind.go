package imports

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// conditions are the relations of a WHERE, by what they do to columns of a table.
type conditions struct {
	table *schemas.Table
	equal []*schemas.Column
	in    []*schemas.Column
	low   []*schemas.Bound
	high  []*schemas.Bound
	after []*schemas.Column // of (a, b) > (?, ?)
	sign  string            // its comparison
	// filter are columns compared in a way that only CQL has: contains, an element.
	filter []*schemas.Column
	rest   []string // conditions that are carried through
}

func conditionsOf(t *schemas.Table, where []cql.Relation) *conditions {
	c := &conditions{table: t}
	for _, r := range where {
		var columns []*schemas.Column
		for _, name := range r.Columns {
			columns = append(columns, t.Column(name))
		}
		c.add(r, columns)
	}
	return c
}

func (c *conditions) add(r cql.Relation, columns []*schemas.Column) {
	bound := func() *schemas.Bound { return &schemas.Bound{Column: columns[0], Open: r.Op == ">" || r.Op == "<"} }
	switch {
	case r.Token:
		c.carry(r)
	case r.Within:
		c.filter = append(c.filter, columns[0])
		c.carry(r)
	case r.Op == "=":
		c.equal = append(c.equal, columns...)
	case r.Op == "in" && len(columns) == 1:
		c.in = append(c.in, columns[0])
	case len(columns) > 1 && (r.Op == ">" || r.Op == "<"):
		c.after, c.sign = columns, r.Op
	case len(columns) > 1 || r.Op == "in":
		c.carry(r)
	case r.Op == ">" || r.Op == ">=":
		c.low = append(c.low, bound())
	case r.Op == "<" || r.Op == "<=":
		c.high = append(c.high, bound())
	case r.Op == "between":
		c.low, c.high = append(c.low, bound()), append(c.high, bound())
	default:
		c.filter = append(c.filter, columns[0])
		c.carry(r)
	}
}

// carry keeps a relation, with parameters in place of its values.
func (c *conditions) carry(r cql.Relation) {
	left := strings.Join(r.Columns, ", ")
	switch {
	case r.Token:
		left = "token(" + left + ")"
	case r.Tuple:
		left = "(" + left + ")"
	case r.Within:
		left += "[?]"
	}
	right := " ?"
	if r.Op == "is not null" {
		right = ""
	}
	c.rest = append(c.rest, left+" "+r.Op+right)
}

// take removes a column from a list and reports whether it was there.
func take(cs *[]*schemas.Column, c *schemas.Column) bool {
	i := slices.Index(*cs, c)
	if i >= 0 {
		*cs = slices.Delete(*cs, i, i+1)
	}
	return i >= 0
}

// takeBound removes the bound of a column from a list and returns it, or nil.
func takeBound(bs *[]*schemas.Bound, c *schemas.Column) *schemas.Bound {
	i := slices.IndexFunc(*bs, func(b *schemas.Bound) bool { return b.Column == c })
	if i < 0 {
		return nil
	}
	b := (*bs)[i]
	*bs = slices.Delete(*bs, i, i+1)
	return b
}

// bindsPartition reports whether = and IN bind the whole partition key.
func (c *conditions) bindsPartition() bool {
	for _, col := range c.table.Partition {
		if !slices.Contains(c.equal, col) && !slices.Contains(c.in, col) {
			return false
		}
	}
	return true
}

// prefix takes the first key columns that = binds. A list that is not the last of what is bound
// counts as one of its values, and is carried through.
func (c *conditions) prefix() (by []*schemas.Column) {
	key := c.table.Key()
	for i, col := range key {
		if take(&c.equal, col) {
			by = append(by, col)
			continue
		}
		last := i == len(key)-1 || i >= len(c.table.Partition)-1 && !slices.Contains(c.equal, key[i+1]) &&
			!slices.Contains(c.in, key[i+1])
		if last || !take(&c.in, col) {
			break
		}
		c.rest = append(c.rest, col.Name+" in ?")
		by = append(by, col)
	}
	return by
}

// key takes the first key columns that = or IN binds: those of the rows that a write changes. The rest is
// carried through, also a range.
func (c *conditions) key() []*schemas.Column {
	by, key := c.prefix(), c.table.Key()
	for len(by) < len(key) && take(&c.in, key[len(by)]) {
		c.rest = append(c.rest, key[len(by)].Name+" in ?")
		by = append(by, key[len(by)])
	}
	c.filters()
	return by
}

// filters returns the columns of all conditions that are left.
func (c *conditions) filters() (all []*schemas.Column) {
	add := func(col *schemas.Column) {
		if !slices.Contains(all, col) {
			all = append(all, col)
		}
	}
	for _, col := range c.equal {
		add(col)
	}
	for _, col := range c.filter {
		add(col)
	}
	for _, col := range c.in {
		add(col)
		c.rest = append(c.rest, col.Name+" in ?")
	}
	for _, b := range slices.Concat(c.low, c.high) {
		add(b.Column)
	}
	for _, b := range c.low {
		c.rest = append(c.rest, b.Column.Name+" "+operator(b, ">")+" ?")
	}
	for _, b := range c.high {
		c.rest = append(c.rest, b.Column.Name+" "+operator(b, "<")+" ?")
	}
	for _, col := range c.after {
		add(col)
	}
	if len(c.after) > 0 {
		c.rest = append(c.rest, "("+strings.Join(schemas.Names(c.after), ", ")+") "+c.sign+" ?")
	}
	return all
}

func operator(b *schemas.Bound, open string) string {
	if b.Open {
		return open
	}
	return open + "="
}

// other adds a clause to what a pattern carries through.
func other(p *schemas.Pattern, name, text string) {
	at := slices.IndexFunc(p.Other, func(s schemas.Setting) bool { return s.Name == name })
	switch {
	case text == "":
	case at >= 0:
		p.Other[at].Text += ", " + text
	default:
		p.Other = append(p.Other, schemas.Setting{Name: name, Text: text})
	}
}
