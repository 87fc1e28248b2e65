package lint

import (
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// partitionRules are about how many partitions answer a pattern.
func partitionRules() []*Rule {
	return []*Rule{{
		ID: "scan-all", Severity: Note,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if a := accessOf(p); len(a.dropped)+len(a.indexes) == 0 && !c.onlyFallback(p) && !counts(p) {
					c.atPattern(p, "reads every partition of %s", p.Table.Name)
				}
			}, schemas.Scan)
		},
	}, {
		ID: "count-all", Severity: Warning,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if counts(p) {
					c.atPattern(p, "counts the rows of all partitions of %s", p.Table.Name)
				}
			}, schemas.Scan)
		},
	}, {
		ID: "scan-filter", Severity: Error,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if a := accessOf(p); len(a.dropped) > 0 && len(a.indexes) == 0 && !c.onlyFallback(p) {
					c.atPattern(p, "reads every partition of %s to find rows by %s", p.Table.Name, names(a.dropped))
				}
			}, schemas.Scan)
		},
	}, {
		ID: "index-all-nodes", Severity: Warning,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if a := accessOf(p); len(a.indexes) > 0 && !bindsPartition(p) && !c.onlyFallback(p) {
					var through []string
					for _, x := range a.indexes {
						through = append(through, x.Name)
					}
					c.atPattern(p, "reads from every node through index %s, since it does not bind the partition key (%s)",
						list(through), names(p.Table.Partition))
				}
			}, schemas.Slice, schemas.Scan)
		},
	}, {
		ID: "many-partitions", Severity: Warning,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				switch {
				case p.In == nil || p.In.Role != schemas.Partition || p.Parallel > 0:
				case p.Imported != nil:
					c.atPattern(p, "reads a partition of %s for each %s in one query, so that a single node gathers them",
						p.Table.Name, p.In.Name)
				default:
					c.atPattern(p, "reads a partition of %s for each %s, one after another", p.Table.Name, p.In.Name)
				}
			}, schemas.Get, schemas.Slice)
		},
	}}
}

// counts reports whether a scan returns the number of all rows, and no group of them.
func counts(p *schemas.Pattern) bool {
	number := strings.Contains(strings.ToLower(carried(p, "select")), "count(")
	return number && carried(p, "group by") == "" && carried(p, "where") == "" && len(p.Filter) == 0
}
