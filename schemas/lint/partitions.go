package lint

import (
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// partitionRules are about how many partitions answer a pattern.
func partitionRules() []*Rule {
	return []*Rule{{
		ID: "scan-all", Severity: Note,
		Doc: `A pattern reads every row of a table. Its cost grows with all data of the store. That suits an audit or an
			export and nothing that a user waits for.`,
		Source: `Cassandra documentation, Data Modeling: a query should read one partition
			(https://cassandra.apache.org/doc/latest/cassandra/developing/data-modeling/intro.html)`,
		Do: "Use it for audits only, or bind the partition key and make it a slice.",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if a := accessOf(p); len(a.dropped)+len(a.indexes) == 0 && !c.onlyFallback(p) && !counts(p) {
					c.atPattern(p, "reads every partition of %s", p.Table.Name)
				}
			}, schemas.Scan)
		},
	}, {
		ID: "count-all", Severity: Warning,
		Doc: `A pattern counts the rows of a whole table. All of them are read for one number, which no page ends: the
			request fails once the table is large.`,
		Source: `Cassandra documentation, Data Modeling: a query should read one partition
			(https://cassandra.apache.org/doc/latest/cassandra/developing/data-modeling/intro.html);
			range_request_timeout, 10 s`,
		Do: "Keep the number in a counter, or count in a job that pages through the table by ranges of tokens.",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if counts(p) {
					c.atPattern(p, "counts the rows of all partitions of %s", p.Table.Name)
				}
			}, schemas.Scan)
		},
	}, {
		ID: "scan-filter", Severity: Error,
		Doc: `A pattern reads every row of a table to find those with one value. Its cost grows with all data of the
			store, not with what it returns.`,
		Source: `Cassandra documentation, ALLOW FILTERING
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/dml.html#allow-filtering); guardrail
			allow_filtering_enabled; HBase Reference Guide, Scan with filters
			(https://hbase.apache.org/book.html#client.filter)`,
		Do: "Add a table whose partition key is the filtered column, and write it together with this one.",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if a := accessOf(p); len(a.dropped) > 0 && len(a.indexes) == 0 && !c.onlyFallback(p) {
					c.atPattern(p, "reads every partition of %s to find rows by %s", p.Table.Name, names(a.dropped))
				}
			}, schemas.Scan)
		},
	}, {
		ID: "index-all-nodes", Severity: Warning,
		Doc: `A slice goes through a secondary index and does not bind the partition key. The index is local to each
			node, so every node (or shard) is read, also those without a result. The slowest one decides, and the
			query fails if one range of tokens is down.`,
		Source: `DataStax, When to use an index (https://docs.datastax.com/en/cql/3.0/cql/ddl/ddl_when_use_index_c.html);
			Cassandra documentation, 2i concepts
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/indexing/2i/2i-concepts.html)`,
		Do: "Bind the partition key too, or add a table whose partition key is the indexed column.",
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
		Doc: `A get reads one partition for each element of a list, one after another, since it does not say how
			many at once (parallel). A SELECT with IN, as schema import finds it, is one query for all: a single node
			gathers them.`,
		Source: `Cassandra guardrails partition_keys_in_select_warn_threshold and _fail_threshold
			(https://cassandra.apache.org/_/blog/Apache-Cassandra-4.1-Features-Guardrails-Framework.html)`,
		Do: `Say how many are read at once (parallel: N; in an application a query for each), or put what is read
			together into one partition.`,
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
	return number && carried(p, "group by") == "" && len(p.Filter) == 0
}
