package imports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/cql"
)

// conditions are the relations of a WHERE.
type conditions struct {
	table *schemas.Table
	left  []cql.Relation // those that nothing has taken, by their operators; none is of several columns with =, or BETWEEN
	rest  []string       // those that are carried through
}

func conditionsOf(t *schemas.Table, where []cql.Relation) *conditions {
	c := &conditions{table: t}
	for _, r := range where {
		switch {
		case r.Op == "between":
			c.left = append(c.left, cql.Relation{Columns: r.Columns, Op: ">="}, cql.Relation{Columns: r.Columns, Op: "<="})
		case r.Op == "=" && !r.Token && !r.Within:
			for _, name := range r.Columns {
				c.left = append(c.left, cql.Relation{Columns: []string{name}, Op: "="})
			}
		default:
			c.left = append(c.left, r)
		}
	}
	slices.SortStableFunc(c.left, func(a, b cql.Relation) int { return cmp.Compare(rank(a), rank(b)) })
	return c
}

// rank is the place of a relation among others: equal statements can have them in any order.
func rank(r cql.Relation) int {
	if r.Within || r.Token {
		return 0
	}
	return 1 + slices.Index([]string{"=", "in", ">", ">=", "<", "<="}, r.Op)
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

// find returns the place of the relation that compares a column alone, or -1.
func (c *conditions) find(col *schemas.Column, op string) int {
	return slices.IndexFunc(c.left, func(r cql.Relation) bool {
		return r.Op == op && r.Columns[0] == col.Name && len(r.Columns) == 1 && !r.Token && !r.Within
	})
}

// take removes the relation of a column and reports whether it was there.
func (c *conditions) take(col *schemas.Column, op string) bool {
	i := c.find(col, op)
	if i >= 0 {
		c.left = slices.Delete(c.left, i, i+1)
	}
	return i >= 0
}

// bound removes the bound of a column and returns it, or nil. The sign is < or >.
func (c *conditions) bound(col *schemas.Column, sign string) *schemas.Bound {
	if c.take(col, sign) {
		return &schemas.Bound{Column: col, Open: true}
	} else if c.take(col, sign+"=") {
		return &schemas.Bound{Column: col}
	}
	return nil
}

// binds reports whether = or IN binds all of some columns.
func (c *conditions) binds(columns ...*schemas.Column) bool {
	free := func(col *schemas.Column) bool { return c.find(col, "=") < 0 && c.find(col, "in") < 0 }
	return !slices.ContainsFunc(columns, free)
}

// prefix takes the first key columns that = binds. A list counts as one of its values, and is carried through; of a
// read not the last one of what is bound.
func (c *conditions) prefix(write bool) (by []*schemas.Column) {
	key := c.table.Key()
	for i, col := range key {
		last := !write && (i == len(key)-1 || i >= len(c.table.Partition)-1 && !c.binds(key[i+1]))
		switch {
		case c.take(col, "="):
		case !last && c.take(col, "in"):
			c.rest = append(c.rest, col.Name+" in ?")
		default:
			return by
		}
		by = append(by, col)
	}
	return by
}

// filters returns the columns of all conditions that are left, and carries through what is more than =.
func (c *conditions) filters() (all []*schemas.Column) {
	for _, r := range c.left {
		if r.Op != "=" || r.Within {
			c.carry(r)
		}
		for _, name := range r.Columns {
			one := !r.Token && (len(r.Columns) == 1 || r.Op == ">" || r.Op == "<")
			if col := c.table.Column(name); one && !slices.Contains(all, col) {
				all = append(all, col)
			}
		}
	}
	return all
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
