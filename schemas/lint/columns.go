package lint

import (
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

// columnRules are about tables and columns that nothing reads, or nothing writes.
func columnRules() []*Rule {
	return []*Rule{{
		ID: "table-unread", Severity: Warning,
		Doc: "Patterns write a table that none reads: every write of it is wasted.",
		Source: `Chebotko, Kashlev and Lu, A Big Data Modeling Methodology for Apache Cassandra (2015): tables follow from
			queries`,
		Do: "Remove the table, or declare the pattern that reads it.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				if u := c.uses(t); !u.reads && u.writes {
					c.atTable(t, "no pattern reads it")
				}
			})
		},
	}, {
		ID: "table-unwritten", Severity: Warning,
		Doc:    "No pattern puts rows into a table: nothing can be in it.",
		Source: judgement,
		Do:     "Remove the table, or declare the pattern that writes it.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				if u := c.uses(t); !u.writes {
					c.atTable(t, "no pattern writes it")
				}
			})
		},
	}, {
		ID: "column-unread", Severity: Warning,
		Doc: `Patterns write a column that none reads, compares or finds rows by: it costs space on every disk and time
			in every compaction.`,
		Source: judgement,
		Do:     "Remove the column, or name it in the pattern that needs it.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				u := c.uses(t)
				for _, col := range slices.Concat(t.Static, t.Columns) {
					if u.reads && u.written[col] && !u.read[col] {
						c.atColumn(t, col, "no pattern reads column %s", col.Name)
					}
				}
			})
		},
	}, {
		ID: "column-unwritten", Severity: Warning,
		Doc:    "No pattern writes a column: it is null in every row.",
		Source: judgement,
		Do:     "Remove the column, or name it in the pattern that writes its rows.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				u := c.uses(t)
				for _, col := range slices.Concat(t.Static, t.Columns) {
					if u.writes && !u.written[col] {
						c.atColumn(t, col, "no pattern writes column %s", col.Name)
					}
				}
			})
		},
	}, {
		ID: "counter-beside-plain", Severity: Warning, Engines: []string{cassandra},
		Doc: `A number is added to, and its table has other columns beside it. Cassandra adds only to counters, and a
			table with counters has nothing beside them. So it needs a read and a conditional write instead: four
			round trips between replicas, and again for each writer that loses a race. (A column of type counter beside others
			is refused when the file is read.)`,
		Source: `Cassandra documentation, Counters
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/types.html#counters): a table that
			contains a counter can only contain counters`,
		Do: "Move the number into a table of its own, as a counter.",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				for _, col := range p.Columns {
					if col.Type.Kind != schemas.Counter && len(p.Table.Columns) > 1 {
						c.atPattern(p, "adds to %s %s, which %s stores beside %d other columns",
							col.Type, col.Name, p.Table.Name, len(p.Table.Columns)-1)
					}
				}
			}, schemas.Add)
		},
	}}
}

// uses says what the patterns of a table do to it.
type uses struct {
	reads, writes bool // some pattern reads, or writes, rows or static columns
	read, written map[*schemas.Column]bool
}

func (c *checker) uses(t *schemas.Table) uses {
	u := uses{read: make(map[*schemas.Column]bool), written: make(map[*schemas.Column]bool)}
	for _, p := range c.schema.Patterns {
		if p.Table != t {
			continue
		}
		into := u.written
		switch p.Kind {
		case schemas.Get, schemas.Slice, schemas.Scan:
			u.reads, into = true, u.read
		case schemas.Put, schemas.PutIf, schemas.Add, schemas.Append:
			u.writes = true
		}
		for _, col := range p.Columns {
			into[col] = true
		}
		for _, col := range slices.Concat(p.By, p.Filter, p.If) {
			u.read[col] = true
		}
		if p.Element != nil {
			u.read[p.Element] = true
		}
		if p.ReturnsNew { // the caller gets what it has added to
			for _, col := range p.Columns {
				u.read[col] = true
			}
			u.reads = true
		}
	}
	return u
}
