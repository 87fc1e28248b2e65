package lint

import (
	"github.com/mailbench/mailbench/schemas"
)

// boundRules are about what grows without end, in the store and in what is read.
func boundRules() []*Rule {
	return []*Rule{{
		ID: "unbounded-partition", Severity: Warning, Engines: []string{cassandra},
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				if col := growing(t, 0); col != nil && !c.ends(t) {
					c.atTable(t, "a partition (%s) gets rows for each %s, without an end", names(t.Partition), col.Name)
				}
			})
		},
	}, {
		ID: "unbounded-row", Severity: Warning, Engines: []string{hbase},
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				n := c.rowColumns(t)
				if col := growing(t, n-len(t.Partition)); col != nil && !c.ends(t) {
					c.atTable(t, "an HBase row (%s) gets a cell for each %s, without an end",
						names(t.Key()[:n]), col.Name)
				}
			})
		},
	}, {
		ID: "growth-unknown", Severity: Warning, Engines: []string{cassandra},
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				if len(t.Rows) > 0 || len(t.Clustering) == 0 || growing(t, 0) != nil || c.ends(t) {
					return
				}
				for _, p := range c.of(t, schemas.Slice) {
					if p.LimitArg || p.Limit > 1 {
						c.atTable(t, "%s reads pages of it, and nothing says how many rows a partition (%s) gets by (%s)",
							p.Name, names(t.Partition), names(t.Clustering))
						return
					}
				}
			})
		},
	}, {
		ID: "unbounded-read", Severity: Warning,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				ends := p.Index == nil && (c.ends(p.Table) || c.drained(p) != nil) // rule queue has the latter
				if col := leftToGrow(p); col != nil && !limited(p) && !ends && !c.onlyFallback(p) {
					c.atPattern(p, "has no limit, and its rows of %s grow in number by %s", p.Table.Name, col.Name)
				}
			}, schemas.Slice)
		},
	}, {
		ID: "filter-reads-more", Severity: Warning,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				a := accessOf(p)
				if c.noIndex(p) {
					a.dropped = p.Filter
				}
				if len(a.dropped) > 0 && (p.Kind == schemas.Slice || len(a.indexes) > 0) && !c.onlyFallback(p) {
					c.atPattern(p, "reads rows of %s that it drops after it has compared %s", p.Table.Name, names(a.dropped))
				}
			}, schemas.Slice, schemas.Scan)
		},
	}, {
		ID: "large-delete", Severity: Note, Engines: []string{hbase},
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if p.Scope != schemas.ScopeRow && len(p.By) < c.rowColumns(p.Table) {
					c.atPattern(p, "deletes all HBase rows below (%s) of %s, which it has to read",
						names(p.By), p.Table.Name)
				}
			}, schemas.Delete)
		},
	}}
}

// noIndex reports whether the index that would answer p's filter is over plain columns,
// and the schema was written for an engine that keeps no such index.
func (c *checker) noIndex(p *schemas.Pattern) bool {
	return c.schema.Native == hbase && indexOf(p) != nil && !indexOf(p).OverKeys()
}
