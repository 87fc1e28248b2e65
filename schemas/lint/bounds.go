package lint

import (
	"github.com/mailbench/mailbench/schemas"
)

// boundRules are about what grows without end, in the store and in what is read.
var boundRules = []*Rule{{
	ID: "unbounded-partition", Severity: Warning, Engines: []string{cassandra},
	table: func(c *checker, t *schemas.Table) {
		if col := growing(t, 0); col != nil && !c.ends(t) {
			c.atTable(t, "partition (%s) grows without bound: each new %s adds rows", names(t.Partition), col.Name)
		}
	},
}, {
	ID: "unbounded-row", Severity: Warning, Engines: []string{hbase},
	table: func(c *checker, t *schemas.Table) {
		n := c.rowColumns(t)
		if col := growing(t, n-len(t.Partition)); col != nil && !c.ends(t) {
			c.atTable(t, "HBase row (%s) grows without bound: each new %s adds a cell",
				names(t.Key()[:n]), col.Name)
		}
	},
}, {
	ID: "growth-unknown", Severity: Warning, Engines: []string{cassandra},
	table: func(c *checker, t *schemas.Table) {
		if len(t.Rows) > 0 || len(t.Clustering) == 0 || growing(t, 0) != nil || c.ends(t) {
			return
		}
		for _, p := range c.of(t, schemas.Slice) {
			if bindsPartition(p) && (p.LimitArg || p.Limit > 1) {
				c.atTable(t, "%s reads it in pages, and the number of rows of a partition (%s), one per (%s), is unknown",
					p.Name, names(t.Partition), names(t.Clustering))
				return
			}
		}
	},
}, {
	ID: "unbounded-read", Severity: Warning,
	kinds: []schemas.PatternKind{schemas.Slice},
	pattern: func(c *checker, p *schemas.Pattern) {
		ends := p.Index == nil && (c.ends(p.Table) || c.drained(p) != nil) // rule queue has the latter
		if col := leftToGrow(p); col != nil && !limited(p) && !ends && !c.onlyFallback(p) {
			f := c.atPattern(p, "reads rows of %s without a limit, and each new %s adds rows", p.Table.Name, col.Name)
			if bindsPartition(p) && len(accessOf(p).indexes) > 0 {
				f.Severity = Note // how many of them have the value of the index is not known
			}
		}
	},
}, {
	ID: "filter-reads-more", Severity: Warning,
	kinds: []schemas.PatternKind{schemas.Slice, schemas.Scan},
	pattern: func(c *checker, p *schemas.Pattern) {
		a := accessOf(p)
		if c.schema.Native == hbase && indexOf(p) != nil && !indexOf(p).OverKeys() { // HBase has no such index
			a.dropped = p.Filter
		}
		if len(a.dropped) > 0 && (p.Kind == schemas.Slice || len(a.indexes) > 0) && !c.onlyFallback(p) {
			c.atFilter(p, "scans rows of %s and filters them by %s", p.Table.Name, names(a.dropped))
		}
	},
}, {
	ID: "large-delete", Severity: Note, Engines: []string{hbase},
	kinds: []schemas.PatternKind{schemas.Delete},
	pattern: func(c *checker, p *schemas.Pattern) {
		if p.Scope != schemas.ScopeRow && len(p.By) < c.rowColumns(p.Table) {
			c.atPattern(p, "reads and deletes all HBase rows of %s with the key prefix (%s)", p.Table.Name, names(p.By))
		}
	},
}}
