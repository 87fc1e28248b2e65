package lint

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// columnRules are about tables and columns that nothing reads, or nothing writes.
var columnRules = []*Rule{{
	ID: "table-unread", Severity: Warning,
	table: func(c *checker, t *schemas.Table) {
		if u := c.uses(t); !u.reads && u.writes {
			c.atTable(t, "no pattern reads it")
		}
	},
}, {
	ID: "table-unwritten", Severity: Warning,
	table: func(c *checker, t *schemas.Table) {
		switch u := c.uses(t); {
		case u.writes || len(c.schema.Patterns) == 0:
		case !u.reads && !u.deletes:
			c.atTable(t, "no pattern reads or writes it").Do = "Remove the table, or add the patterns that use it."
		default:
			c.atTable(t, "no pattern writes it")
		}
	},
}, {
	ID: "column-unread", Severity: Warning,
	table: func(c *checker, t *schemas.Table) {
		u := c.uses(t)
		for _, col := range slices.Concat(t.Static, t.Columns) {
			if u.reads && u.written[col] && !u.read[col] {
				c.atColumn(t, col, "no pattern reads column %s", col.Name)
			}
		}
	},
}, {
	ID: "column-unwritten", Severity: Warning,
	table: func(c *checker, t *schemas.Table) {
		u := c.uses(t)
		for _, col := range slices.Concat(t.Static, t.Columns) {
			switch {
			case !u.writes || u.written[col] || t.View() != "":
			case !u.read[col] && !indexed(t, col):
				f := c.atColumn(t, col, "no pattern reads or writes column %s", col.Name)
				f.Do = "Remove the column, or name it in the patterns that need it."
			default:
				c.atColumn(t, col, "no pattern writes column %s", col.Name)
			}
		}
	},
}, {
	ID: "materialized-view", Severity: Warning, Engines: []string{cassandra},
	table: func(c *checker, t *schemas.Table) {
		if base := t.View(); base != "" {
			c.atTable(t, "is a materialized view of %s and can differ from it", base)
		}
	},
}, {
	ID: "counter-beside-plain", Severity: Warning, Engines: []string{cassandra},
	kinds: []schemas.PatternKind{schemas.Add},
	pattern: func(c *checker, p *schemas.Pattern) {
		for _, col := range p.Columns {
			if col.Type.Kind != schemas.Counter && len(p.Table.Columns) > 1 {
				c.atPattern(p, "adds to %s %s, which %s stores next to %s",
					col.Type, col.Name, p.Table.Name, words.Plural(len(p.Table.Columns)-1, "other column"))
			}
		}
	},
}}

// uses says what the patterns of a table do to it.
type uses struct {
	reads, writes, deletes bool // some pattern reads, writes or deletes rows or static columns
	read, written          map[*schemas.Column]bool
}

func (c *checker) uses(t *schemas.Table) uses {
	u := uses{read: make(map[*schemas.Column]bool), written: make(map[*schemas.Column]bool)}
	u.writes = t.View() != "" // with its base
	if c.unread[t.Name] {     // the columns of that statement are unknown
		u.reads, u.writes = true, true
		for _, col := range slices.Concat(t.Static, t.Columns) {
			u.read[col], u.written[col] = true, true
		}
	}
	for _, v := range c.schema.Tables {
		if v.View() == t.Name {
			u.reads = true
			for _, col := range slices.Concat(v.Key(), v.Columns) {
				u.read[t.Column(col.Name)] = true
			}
		}
	}
	for _, p := range c.on[t] {
		into := u.written
		switch p.Kind {
		case schemas.Get, schemas.Slice, schemas.Scan:
			u.reads, into = true, u.read
		case schemas.Put, schemas.PutIf, schemas.Add, schemas.Append:
			u.writes = true
		case schemas.Delete, schemas.Remove:
			u.deletes = true
		}
		u.reads = u.reads || p.Conditional() || carried(p, "if") != "" || p.ReturnsNew // a condition is a read
		for _, col := range p.Columns {
			into[col] = true
			u.read[col] = u.read[col] || p.ReturnsNew // the caller gets what it has added to
		}
		for _, col := range slices.Concat(p.By, p.Filter, p.If, namedIn(t, carried(p, "if")+" "+carried(p, "order by"))) {
			u.read[col] = true
		}
		u.read[p.Element] = true
	}
	return u
}

// namedIn returns the columns of a table whose names are words of a clause.
func namedIn(t *schemas.Table, clause string) []*schemas.Column {
	words := strings.FieldsFunc(clause, func(r rune) bool { return strings.ContainsRune(" ,()[]=<>!?", r) })
	return slices.DeleteFunc(slices.Concat(t.Static, t.Columns), func(c *schemas.Column) bool {
		return !slices.Contains(words, c.Name)
	})
}

// indexed reports whether an index is over a column.
func indexed(t *schemas.Table, c *schemas.Column) bool {
	return slices.ContainsFunc(t.Indexes, func(x *schemas.Index) bool {
		return slices.ContainsFunc(x.Columns, func(ic schemas.IndexColumn) bool { return ic.Column == c })
	})
}
